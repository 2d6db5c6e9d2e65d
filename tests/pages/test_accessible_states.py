"""What a page shows later than at first is accessible, too: a wait after an answer, what the shell asks, the end."""

from typing import Any, Final, Literal
from uuid import uuid4

import pytest
from playwright.async_api import Browser, Page, expect

from parley_lab.kinds.stages import kinds
from parley_lab.testing.quick import quick_first
from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab
from tests.pages.going_through import act, title_of
from tests.pages.taking_part import STUDY, join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

Scheme = Literal["light", "dark"]
SCHEMES: Final = quick_first(["light", "dark"], 1, pytest.mark.grid)
WAIT_WITHIN: Final = ("matrix_game", "beauty_contest", "group_interview", "ranking", "survey_per_participant", "role")
"""Kinds in which one waits for the others after an answer, on the stage itself or before the next one."""


async def is_accessible(page: Page, state: str, scheme: Scheme) -> None:
    await page.emulate_media(color_scheme=scheme)
    assert await faults(page) == [], state


def another_joins(lab: RunningLab, experiment: dict[str, Any]) -> None:
    """A second person, who does nothing."""
    lab.ask("POST", f"/v1/join/{experiment['join_code']}", {"join_key": uuid4().hex})


@pytest.mark.parametrize("scheme", SCHEMES)
@pytest.mark.parametrize("kind", quick_first(WAIT_WITHIN, 1, pytest.mark.grid))
async def test_waiting_after_an_answer_is_accessible(page: Page, lab: RunningLab, kind: str, scheme: Scheme) -> None:
    then = {**STUDY["stages"][2], "id": "then", "name": "Together"}
    stage = kinds()[kind].example().model_dump(mode="json") | {"kind": kind, "name": kind}
    seats = [{"open": True, "count": 2}]
    experiment = lab.started({"language": "en", "stages": [stage, then], "cohorts": [{"seats": seats}]})
    await page.goto(f"/join/{experiment['join_code']}")
    await page.get_by_role("button", name="Take part").click()
    await expect(page.get_by_text("Waiting for others")).to_be_visible()
    await is_accessible(page, "before all are there", scheme)
    another_joins(lab, experiment)
    await expect(page.get_by_role("heading", level=1)).to_have_text(kind)
    waits = page.get_by_text("Waiting for others").or_(page.get_by_text("Waiting for the others"))
    form = page.locator("main form.form, main article .button").first
    while True:
        await expect(form.or_(waits).first).to_be_visible()
        if await waits.count():
            break
        await act(page, await title_of(page))
        await page.wait_for_timeout(200)
    await is_accessible(page, "after an answer", scheme)


@pytest.mark.parametrize("scheme", SCHEMES)
async def test_what_the_shell_asks_and_the_end_are_accessible(
    page: Page, browser: Browser, lab: RunningLab, scheme: Scheme
) -> None:
    pay = {
        "id": "pay",
        "kind": "payout",
        "name": "Your payment",
        "items": [{"id": "base", "stage": "welcome", "base": 2}],
    }
    stages = [STUDY["stages"][0], pay]
    completion = {"completed": {"code": "DONE1", "redirect": "https://example.org/done"}, "left": {"code": "LEFT1"}}
    seats = [{"open": True, "count": 2}]
    experiment = lab.started({**STUDY, "stages": stages, "completion": completion, "cohorts": [{"seats": seats}]})
    await page.goto(f"/join/{experiment['join_code']}")
    await expect(page.get_by_role("button", name="Take part")).to_be_visible()
    await is_accessible(page, "joining", scheme)
    await join(page, experiment)
    (member,) = [
        one for one in lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"] if one["joined_at"]
    ]
    lab.ask("POST", f"/v1/members/{member['id']}/check", {})
    lab.ask("POST", f"/v1/members/{member['id']}/message", {"text": "We start in a minute."})
    await expect(page.get_by_role("button", name="I am here")).to_be_visible()
    await expect(page.get_by_role("button", name="I have read this")).to_be_visible()
    await is_accessible(page, "a check and a message", scheme)
    await page.get_by_role("button", name="I am here").click()
    await page.get_by_role("button", name="I have read this").click()
    await page.get_by_role("button", name="Ask for help").click()
    await is_accessible(page, "asking for help", scheme)
    await page.get_by_label("What do you need help with?").fill("I see no picture.")
    await page.get_by_role("button", name="Send").click()
    await expect(page.get_by_text("Your question was sent.")).to_be_visible()
    await is_accessible(page, "help was asked for", scheme)
    await page.get_by_role("button", name="Leave the study").click()
    await is_accessible(page, "leaving", scheme)
    await page.get_by_role("button", name="No, stay").click()
    for title in ("Your payment", None):
        await page.get_by_role("button", name="Continue").click()
        if title:
            await expect(page.get_by_role("heading", level=1)).to_have_text(title)
    await expect(page.get_by_text("DONE1")).to_be_visible()
    await is_accessible(page, "the end", scheme)

    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    await join(other, experiment)
    await other.get_by_role("button", name="Leave the study").click()
    await other.get_by_role("button", name="Yes, leave").click()
    await expect(other.get_by_text("LEFT1")).to_be_visible()
    await is_accessible(other, "after leaving", scheme)
    # The seat of a person who leaves is free again until the next one comes.
    lab.ask("POST", f"/v1/join/{experiment['join_code']}", {"join_key": "k" * 32})
    await other.context.clear_cookies()
    await other.evaluate("localStorage.clear()")
    await other.goto(f"/join/{experiment['join_code']}")
    await expect(other.get_by_role("main").get_by_role("status")).to_be_visible()
    await is_accessible(other, "no place", scheme)
    await other.goto("/take/unknown")
    await expect(other.get_by_text("This browser has no place")).to_be_visible()
    await is_accessible(other, "without a place", scheme)
    await other.context.close()


async def test_what_is_not_accessible_is_found_each_time(page: Page) -> None:
    """A page keeps what looks at it."""
    shown = '<html lang="en"><title>Shown</title><main id="page"><h1>Shown</h1><img src="data:," {alt}></main></html>'

    await page.set_content(shown.format(alt=""))
    assert [one["id"] for one in await faults(page)] == ["image-alt"]
    await page.evaluate("document.querySelector('img').alt = 'A cat'")
    assert await faults(page) == []
    await page.evaluate("document.querySelector('img').removeAttribute('alt')")
    assert [one["id"] for one in await faults(page)] == ["image-alt"]
