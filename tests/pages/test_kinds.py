"""Every kind of stage has a page, and every page keeps the same promises: a walk through each, with what goes wrong."""

import json
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, Final, Literal

import pytest
from playwright.async_api import Error, Locator, Page, Response, expect

from parley_lab.kinds.stages import kinds, parts_of
from parley_lab.testing.quick import quick_first
from tests.pages.accessible import Looks, faults
from tests.pages.conftest import RunningLab
from tests.pages.going_through import LONG, go_through
from tests.pages.taking_part import join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

Scheme = Literal["light", "dark"]
LOOKS: Final[list[tuple[Scheme, int]]] = [
    ("light", 390),
    ("dark", 390),
    ("light", 320),
    ("dark", 320),
    ("light", 1280),
    ("dark", 1280),
]

QUICK: Final = ("group_chat", "matrix_game", "survey")
"""One of each sort: a conversation, a game and a form."""
WALKED: Final = quick_first([*QUICK, *sorted({*kinds()} - {*QUICK})], len(QUICK), pytest.mark.grid)

SECRET: Final = "SECRET-PERSONA"
HARM: Final = "<img src=x onerror=\"window.harm='yes'\"><script>window.harm='yes'</script>"
# No page may be told who is an agent, by what it acts, or what is right.
FORBIDDEN: Final = {"persona", "prompt", "model", "agent", "player", "provider", "correct", "script", "seed"}
# Whether one has a seat in a game; whether one's own answer was right, where the file shows it.
MAY_BE_TOLD: Final = {"is_correct", "is_player"}

PERSONAS = [
    {"id": "ann", "profile": {"name": f"Ann {HARM}", "avatar": "<b>A</b>"}, "text": SECRET},
    {"id": "guide", "profile": {"name": "Guide", "pronouns": HARM[:40]}, "text": SECRET},
]
BYE = {"id": "bye", "kind": "info", "name": "Goodbye", "lines": ["Thank you."]}


def example_of(kind: str) -> dict[str, Any]:
    """An experiment whose first stage is the example of this kind, with one open seat and agents beside it."""
    stage = kinds()[kind].example()
    parts = parts_of(stage)
    earlier = [_earlier(read.stage) for read in parts.reads]
    others = max(1, parts.players[0] - 1)
    return {
        "language": "en",
        "look_back": "all",
        "stages": [
            *earlier,
            stage.model_dump(mode="json") | {"id": stage.id, "kind": kind},
            BYE,
        ],
        "personas": PERSONAS,
        "cohorts": [{"seats": [{"open": True}, {"persona": "ann", "count": others}], "mediators": ["guide"]}],
    }


def _earlier(stage_id: str) -> dict[str, Any]:
    return {
        "id": stage_id,
        "kind": "survey",
        "name": f"Before: {stage_id} {HARM}",
        "questions": [
            {"id": "willing", "kind": "check", "title": "I am willing."},
            {
                "id": "capital",
                "kind": "choice",
                "title": "Which one is the capital?",
                "options": [{"id": "bern", "text": f"Bern {HARM}"}, {"id": "chur", "text": "Chur"}],
                "correct": "bern",
                "required": False,
            },
        ],
    }


class Received:
    """All that the browser has received from the API."""

    def __init__(self, page: Page) -> None:
        self.texts: list[str] = []
        page.on("response", self._keep)

    async def _keep(self, response: Response) -> None:
        if "/v1/" in response.url and not response.url.endswith("/stream"):
            with suppress(Error):  # the page was left meanwhile
                self.texts.append(await response.text())

    def secrets(self) -> set[str]:
        """What was told and must not be: names of fields, and the text of the personas."""
        told = {SECRET} if any(SECRET in text for text in self.texts) else set()
        names = {name for text in self.texts if text for name in _names(json.loads(text))}
        return told | {name for name in names - MAY_BE_TOLD if set(name.split("_")) & FORBIDDEN}


def _names(found: Any) -> Iterator[str]:
    if isinstance(found, dict):
        yield from found
        found = list(found.values())
    if isinstance(found, list):
        for one in found:
            yield from _names(one)


async def to_the_stage(page: Page) -> None:
    """Pass the surveys that the example reads."""
    title = page.get_by_role("heading", level=1)
    while (before := await title.inner_text()).startswith("Before: "):
        await page.get_by_role("button", name="Continue").click()
        await expect(title).not_to_have_text(before)


@pytest.mark.grid
@pytest.mark.parametrize("kind", sorted(kinds()))
async def test_the_page_of_a_kind_is_accessible_in_every_look(page: Page, lab: RunningLab, kind: str) -> None:
    await join(page, lab.started(example_of(kind)))
    await to_the_stage(page)

    for scheme, width in LOOKS:
        await page.emulate_media(color_scheme=scheme)
        await page.set_viewport_size({"width": width, "height": 800})
        assert await faults(page) == [], (scheme, width)


async def typed(page: Page) -> str | None:
    """A long text, pasted into the first field for one; None where there is none."""
    if await fields_for_words(page).count() == 0:
        return None
    await fields_for_words(page).first.fill(LONG)
    return LONG


def fields_for_words(page: Page) -> Locator:
    return page.locator("main textarea, main input[type=text]:not([inputmode])")


@pytest.mark.parametrize("kind", WALKED)
async def test_the_page_of_a_kind_keeps_its_promises(page: Page, lab: RunningLab, kind: str) -> None:
    received = Received(page)
    experiment = lab.started(example_of(kind))
    await join(page, experiment)
    await to_the_stage(page)
    title = page.get_by_role("heading", level=1)
    await expect(title).to_have_text(kinds()[kind].example().title)

    assert await faults(page) == []
    await _errors_are_told_at_their_fields(page)
    await _nothing_is_lost(page)
    await _a_pause_takes_nothing(page, lab, experiment["id"])
    taking_part = page.url
    await page.go_back()
    await page.goto(taking_part)
    await expect(title).to_have_text(kinds()[kind].example().title)

    await go_through(page, "Goodbye", look=Looks(page).look)
    await page.get_by_text("Step ").first.click()
    await page.get_by_role("button", name=kinds()[kind].example().title, exact=True).click()
    await expect(page.get_by_role("heading", level=1, name=kinds()[kind].example().title)).to_be_visible()
    assert await faults(page) == [], "looking back"

    assert received.secrets() == set()
    assert len(received.texts) > 4
    assert await page.evaluate("window.harm") is None


async def _errors_are_told_at_their_fields(page: Page) -> None:
    """An empty form, and a number out of its bounds, are refused on the page, with a word at each field; the refusal
    is accessible, too."""
    form = page.locator("main form.form").first
    if await form.count() == 0 or await form.locator("input:checked, .preview").count():
        return
    sent: list[str] = []
    page.on("request", lambda request: sent.append(request.url) if request.method == "POST" else None)
    await _is_refused(page, form)
    numbers = form.locator("input[inputmode]")
    for number in await numbers.all():
        await number.fill("-1")
    if await numbers.count():
        await _is_refused(page, form)
        await expect(form.locator(".field", has=numbers.first).locator(".problem")).to_contain_text("At least")
        for number in await numbers.all():
            await number.fill("")
    assert [url for url in sent if url.endswith(("/advance", "/answer"))] == []


async def _is_refused(page: Page, form: Locator) -> None:
    await form.locator("button[type=submit]").click()
    await expect(form.get_by_role("alert").locator("a").first).to_be_visible()
    await expect(form.locator(".problem").first).to_be_visible()
    assert await faults(page) == [], "with errors"


async def _a_pause_takes_nothing(page: Page, lab: RunningLab, experiment_id: str) -> None:
    """While the study is paused each form says so and is closed, and what was entered there is there afterwards."""
    text = await typed(page)
    lab.ask("POST", f"/v1/experiments/{experiment_id}/pause")
    await expect(page.get_by_text("The study is paused.")).to_be_visible()
    forms = page.locator("main form.form")
    if await forms.count():
        await expect(forms.locator("input:enabled, textarea:enabled, select:enabled")).to_have_count(0)
        for button in await forms.locator("button[type=submit]").all():
            await expect(button).to_be_disabled()
    assert await faults(page) == [], "in a pause"
    lab.ask("POST", f"/v1/experiments/{experiment_id}/resume")
    await expect(page.get_by_text("The study is paused.")).to_have_count(0)
    if text is not None:
        await expect(fields_for_words(page).first).to_have_value(text)
        await fields_for_words(page).first.fill("")


async def _nothing_is_lost(page: Page) -> None:
    """While the network is away the page says so; a long text that is pasted meanwhile is there after a reload."""
    await page.context.set_offline(True)
    await expect(page.get_by_text("The connection is lost.")).to_be_visible()
    pasted = await typed(page)
    assert await faults(page) == [], "without a connection"
    await page.context.set_offline(False)
    await expect(page.get_by_text("The connection is lost.")).to_have_count(0)
    await page.reload()
    await expect(page.get_by_role("heading", level=1)).to_be_visible()
    if pasted is not None:
        await expect(fields_for_words(page).first).to_have_value(pasted)
        await fields_for_words(page).first.fill("")
