"""An attention check is seen wherever one is, and what it held back is sent afterwards."""

import re
from typing import Any, Final

import pytest
from playwright.async_api import Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

TALK: Final[dict[str, Any]] = {**STUDY, "stages": [STUDY["stages"][2]]}
LONG: Final[dict[str, Any]] = {
    **STUDY,
    "stages": [
        {
            "id": "about",
            "kind": "survey",
            "questions": [{"id": f"q{n}", "kind": "text", "title": f"Question {n}?"} for n in range(12)],
        },
        {"id": "bye", "kind": "info", "name": "Goodbye", "lines": ["Thank you."]},
    ],
}


def check(lab: RunningLab, experiment: dict[str, Any]) -> None:
    (member,) = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]
    lab.ask("POST", f"/v1/members/{member['id']}/check", {})


async def test_a_check_is_in_sight_in_the_title_and_has_the_focus_which_goes_back(page: Page, lab: RunningLab) -> None:
    experiment = lab.started(LONG)
    await join(page, experiment)
    last = page.get_by_label("Question 11?")
    await last.fill("Far below")

    check(lab, experiment)

    here = page.get_by_role("alertdialog").get_by_role("button", name="I am here")
    await expect(here).to_be_focused()
    await expect(here).to_be_in_viewport(ratio=1)
    await expect(page).to_have_title(re.compile("^Are you still there.*about$"))
    await here.press("Enter")
    await expect(page.get_by_role("alertdialog")).to_have_count(0)
    await expect(last).to_be_focused()
    await expect(page).to_have_title("about")


@pytest.mark.grid
async def test_a_message_that_a_check_has_held_goes_out_once_it_is_answered_beside_it(
    page: Page, lab: RunningLab
) -> None:
    experiment = lab.started(TALK)
    await join(page, experiment)
    await page.get_by_label("Your message").fill("Good morning")
    await page.route("**/v1/me", lambda route: route.abort())  # the page does not hear of the check
    check(lab, experiment)

    await page.get_by_label("Your message").press("Enter")
    held = page.locator(".message.pending")
    await expect(held).to_contain_text("Please first say that you are still there.")
    await page.unroute("**/v1/me")
    await held.get_by_role("button", name="I am here").click()

    await expect(page.locator(".message:not(.pending) .said")).to_have_text("Good morning")
    await expect(page.get_by_role("alertdialog")).to_have_count(0)


@pytest.mark.grid
async def test_an_answer_that_a_check_has_held_is_sent_once_it_is_answered(page: Page, lab: RunningLab) -> None:
    experiment = lab.started(LONG)
    await join(page, experiment)
    for number in range(12):
        await page.get_by_label(f"Question {number}?").fill("Yes")
    await page.route("**/v1/me", lambda route: route.abort())
    check(lab, experiment)

    await page.get_by_role("button", name="Continue").click()
    await page.unroute("**/v1/me")
    await page.get_by_role("alertdialog").get_by_role("button", name="I am here").click()

    await expect(page.get_by_role("heading", level=1, name="Goodbye")).to_be_visible()
