"""The page of a participant within the console: in its own language, with its own words and what was said."""

from typing import Any

import pytest
from playwright.async_api import BrowserContext, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.test_console import desk, signed_in
from tests.pages.test_console_talks import TALK, begin_talk

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

NOTHING_SAID = "Nothing was said yet."


def contest(language: str) -> dict[str, Any]:
    stages = [{"id": "contest", "kind": "beauty_contest", "name": "Contest", "rounds": 1}]
    cohorts = [{"seats": [{"open": True, "count": 3}]}]
    return {"parley": 1, "name": language, "language": language, "stages": stages, "cohorts": cohorts}


async def move(page: Page, to: str) -> None:
    """Move within the console, which loads nothing anew."""
    await page.evaluate("to => { history.pushState(null, '', to); dispatchEvent(new PopStateEvent('popstate')); }", to)


@pytest.mark.grid
async def test_a_frame_has_the_language_and_the_words_of_its_page_and_the_console_keeps_its_own(
    desk: BrowserContext, lab: RunningLab
) -> None:
    arabic, german = (lab.ask("POST", "/v1/experiments", contest(one))["id"] for one in ("ar", "de"))
    page = await signed_in(desk, lab, f"/console/e/{arabic}/see")
    inside = page.locator(".c-inside")

    await expect(inside).to_contain_text("اللاعبون")
    found = await page.evaluate("[document.documentElement.lang, document.documentElement.dir || 'ltr']")
    frame = await inside.locator(".shell").evaluate("one => [one.lang, one.dir]")
    await move(page, f"/console/e/{german}/see")
    await expect(inside).to_contain_text("Mitspielende")
    await move(page, f"/console/e/{arabic}/see")
    await expect(inside).to_contain_text("اللاعبون")

    assert (found, frame) == (["en", "ltr"], ["ar", "rtl"])


async def test_looking_through_shows_what_was_said_in_the_words_of_the_experiment(
    desk: BrowserContext, lab: RunningLab
) -> None:
    experiment_id, thread = begin_talk(lab, {"appearance": {"words": {"say_it": "Speak up"}}})
    lab.ask("POST", f"/v1/threads/{thread}/messages", {"text": "The lab speaks.", "client_message_id": "one"})
    members = lab.ask("GET", f"/v1/experiments/{experiment_id}/members")["members"]
    person = next(one["id"] for one in members if one["player"] == "person")
    page = await signed_in(desk, lab, f"/console/e/{experiment_id}?member={person}")

    await page.get_by_role("button", name="Look through").click()

    await expect(page.locator(".c-inside").get_by_text("The lab speaks.")).to_be_visible()
    await expect(page.locator(".c-inside")).to_contain_text("Speak up")
    await expect(page.get_by_text(NOTHING_SAID)).to_have_count(0)


@pytest.mark.grid
async def test_seeing_a_conversation_as_a_seat_says_nothing_of_what_was_said(
    desk: BrowserContext, lab: RunningLab
) -> None:
    made = lab.ask("POST", "/v1/experiments", TALK)
    page = await signed_in(desk, lab, f"/console/e/{made['id']}/see")

    await expect(page.locator(".c-inside").get_by_role("log")).to_be_visible()
    await expect(page.get_by_text(NOTHING_SAID)).to_have_count(0)
