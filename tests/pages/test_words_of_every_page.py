"""On a German page nothing that the lab itself says is English; what the file says stays as it is.

The words of the pages are marked on their way to the browser. What is left on a page without marks has to be of the
file, of a person, or a number.
"""

import re
from collections.abc import Iterator
from typing import Any, Final

import pytest
from playwright.async_api import Page, Route, expect

from parley_lab.design.seat_names import seat_name
from parley_lab.kinds.stages import kinds
from parley_lab.testing.quick import quick_first
from tests.pages.conftest import RunningLab
from tests.pages.going_through import go_through, words_in
from tests.pages.test_kinds import BYE, PERSONAS, example_of

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

GERMAN: Final = words_in("de")
WORDY: Final = ("survey", "ranking", "group_chat", "group_interview", "matrix_game")
"""The kinds with most words: the first is for every run, the others for `make pages`."""
SAID_BY_PEOPLE: Final = ("Some words", "Hello to all")
NAME: Final = seat_name("participant", 1, "de")
MARKED: Final = re.compile(r"⟦[^⟦⟧]*⟧")
SHOWN: Final = """
    () => {
      const found = [];
      const byAgents = ".said:not(.own .said, .read-out .said), .chat blockquote";
      const isShown = (element) => element.closest(byAgents) === null && element.checkVisibility();
      const nodes = document.createTreeWalker(document.getElementById("page"), NodeFilter.SHOW_TEXT);
      while (nodes.nextNode()) if (isShown(nodes.currentNode.parentElement)) found.push(nodes.currentNode.data);
      for (const element of document.querySelectorAll("#page *")) {
        for (const name of ["aria-label", "placeholder", "title", "alt"]) {
          if (element.hasAttribute(name) && isShown(element)) found.push(element.getAttribute(name));
        }
      }
      return [...found, document.title];
    }
"""


def marked(words: Any) -> Any:
    """The same words, with marks around all that is not filled in."""
    if isinstance(words, dict):
        return {form: marked(said) for form, said in words.items()}
    parts = re.split(r"(\{\w+\})", words)
    return "".join(part if part.startswith("{") else f"⟦{part}⟧" for part in parts if part)


async def mark_the_words(page: Page) -> None:
    async def answer(route: Route) -> None:
        words = await (await route.fetch()).json()
        await route.fulfill(json={key: marked(said) for key, said in words.items()})

    await page.route("**/words/de.json", answer)


def texts_of(found: Any) -> Iterator[str]:
    """All texts of a document, without its names of fields."""
    if isinstance(found, dict):
        found = list(found.values())
    if isinstance(found, list | tuple):
        for one in found:
            yield from texts_of(one)
    if isinstance(found, str):
        yield found


async def left_over(page: Page, experiment: dict[str, Any]) -> set[str]:
    """What is on the page and neither in the page's words nor in the file."""
    of_the_file = [" ".join(text.split()) for text in (*texts_of(experiment), *SAID_BY_PEOPLE, NAME)]
    found = set()
    for text in await page.evaluate(SHOWN):
        # Texts of the file are put side by side: a name and a question, options that were chosen.
        # A number in brackets belongs to the name before it, and may have a comma.
        for piece in re.split("⟦⟧|[,:→]", re.sub(r"\([\d.,]+\)", "", MARKED.sub("⟦⟧", text))):
            words = " ".join(piece.split())
            is_known = any(re.search(rf"(?<!\w){re.escape(words)}(?!\w)", known) for known in of_the_file)
            if re.search(r"[^\W\d_]{2,}", words) and not is_known:
                found.add(words)
    return found


@pytest.mark.parametrize("kind", quick_first([*WORDY, *sorted({*kinds()} - {*WORDY})], 1, pytest.mark.grid))
async def test_a_german_page_of_a_kind_says_nothing_in_english(page: Page, lab: RunningLab, kind: str) -> None:
    await mark_the_words(page)
    document = {**example_of(kind), "language": "de"}
    experiment = lab.started(document)
    title = kinds()[kind].example().title

    await page.goto(f"/join/{experiment['join_code']}")
    await expect(page.get_by_role("button", name=GERMAN["join"])).to_be_visible()
    assert await left_over(page, document) == set(), "joining"
    await page.get_by_role("button", name=GERMAN["join"]).click()
    await page.wait_for_url("**/take/*")
    await expect(page.get_by_text("Schritt")).to_be_visible()
    await go_through(page, title, GERMAN)
    assert await left_over(page, document) == set()

    form = page.locator("main form.form").first
    if await form.count() and not await form.locator("input:checked, .preview").count():
        await form.locator("button[type=submit]").click()
        assert await left_over(page, document) == set(), "with errors"
    for key in ("help", "leave"):
        await page.get_by_role("button", name=GERMAN[key], exact=False).first.click()
    assert await left_over(page, document) == set(), "with help and leaving"
    await page.get_by_role("button", name=GERMAN["leave_no"]).click()
    await page.locator("footer form").locator("textarea").fill("Some words")
    await page.locator("footer form").get_by_role("button", name=GERMAN["send"]).click()
    await expect(page.locator("footer").get_by_role("status")).to_be_visible()

    await go_through(page, "Goodbye", GERMAN)
    await page.locator("header summary").click()
    assert await left_over(page, document) == set(), "afterwards"
    await page.get_by_role("button", name=title, exact=True).click()
    await expect(page.get_by_role("heading", level=1, name=title)).to_be_visible()
    assert await left_over(page, document) == set(), "looking back"
    await page.get_by_role("button", name=GERMAN["back_to_now"]).click()
    await page.locator("article").get_by_role("button", name=GERMAN["go_on"]).click()
    await expect(page.get_by_role("heading", level=1)).to_contain_text(GERMAN["end_completed"])
    assert await left_over(page, document) == set(), "at the end"


@pytest.mark.grid
async def test_results_of_a_game_are_revealed_in_german(page: Page, lab: RunningLab) -> None:
    await mark_the_words(page)
    game = {"id": "game", "kind": "matrix_game", "name": "Spiel", "horizon": {"type": "fixed", "rounds": 1}}
    order = {"id": "order", "kind": "ranking", "name": "Wahl", "rank": "participants", "self_vote": True}
    terms = {"id": "terms", "kind": "terms_of_service", "name": "Zuerst", "lines": ["Nichts."]}
    columns = [{"stage": "game", "audience": "all"}, {"stage": "order", "show": "result"}, {"stage": "terms"}]
    outcome = {"id": "outcome", "kind": "reveal", "name": "Was herauskam", "items": columns}
    document = {
        "language": "de",
        "stages": [terms, game, order, outcome, BYE],
        "personas": PERSONAS[:1],
        "cohorts": [{"seats": [{"open": True}, {"persona": "ann"}]}],
    }
    experiment = lab.started(document)
    await page.goto(f"/join/{experiment['join_code']}")
    await page.get_by_role("button", name=GERMAN["join"]).click()
    await page.wait_for_url("**/take/*")

    await go_through(page, "Was herauskam", GERMAN)

    await expect(page.get_by_text(GERMAN["label_own_points"]).first).to_be_visible()
    await expect(page.get_by_text(GERMAN["label_yes"], exact=False).first).to_be_visible()
    assert await left_over(page, document) == set()


async def test_what_is_left_over_is_found(page: Page, lab: RunningLab) -> None:
    """The test itself: without marks the page's words are seen."""
    document = {**example_of("info"), "language": "de"}
    experiment = lab.started(document)

    await page.goto(f"/join/{experiment['join_code']}")
    await expect(page.get_by_role("button", name=GERMAN["join"])).to_be_visible()

    assert GERMAN["join"] in await left_over(page, document)
    assert marked("Schritt {number} von {count}") == "⟦Schritt ⟧{number}⟦ von ⟧{count}"
