"""The time that is left is shown, and said aloud twice."""

import re

import pytest
from playwright.async_api import Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join, leave_talk

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

HURRIED = {**STUDY, "stages": [{**STUDY["stages"][0], "stay": {"at_most_seconds": 110}}]}


async def _stop(page: Page) -> int:
    """Stop the clock of the page, which then goes on by `run_for` alone; the seconds that are left."""
    shown = page.locator(".clock").get_by_text(re.compile("^1:.. left"))
    await expect(shown).to_be_visible()
    await page.clock.pause_at(await page.evaluate("Date.now() / 1000 + 10"))
    return 60 + int((await shown.inner_text())[2:4])


async def test_the_time_is_said_at_one_minute_and_at_ten_seconds(page: Page, lab: RunningLab) -> None:
    await page.clock.install()
    await join(page, lab.started(HURRIED))
    said = page.locator(".clock").get_by_role("status")
    seconds = await _stop(page)
    # The clock of the lab does not run ahead with that of the page, and every answer would set it back.
    await page.context.set_offline(True)

    before = await said.all_inner_texts()
    await page.clock.run_for((seconds - 58) * 1000)

    assert "".join(before).strip() == ""
    await expect(said.filter(has_text="One minute left.")).to_have_count(1)
    await page.clock.run_for(50_000)
    await expect(said.filter(has_text="Ten seconds left.")).to_have_count(1)


@pytest.mark.grid
async def test_a_conversation_shows_from_when_one_may_leave_it(page: Page, lab: RunningLab) -> None:
    talk = {**STUDY["stages"][2], "minimum_seconds": 12}
    await join(page, lab.started({**STUDY, "stages": [talk, STUDY["stages"][3]]}))
    leave = page.get_by_role("button", name="I am ready to end")
    await expect(leave).to_have_attribute("aria-disabled", "true")

    await page.get_by_label("Your message").fill("Hello")
    await page.get_by_label("Your message").press("Enter")

    await expect(page.locator(".clock").get_by_text("You can go on in 0:")).to_be_visible()
    # The clock alone says a number: that of a sentence would be out of date in a second.
    await expect(page.locator(".chat > .hint")).to_have_text(re.compile(r"^\D+$"))
    await expect(leave).not_to_have_attribute("aria-disabled", "true")
    await leave_talk(page)
    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")


@pytest.mark.grid
async def test_what_is_entered_in_the_last_seconds_is_sent_at_once(page: Page, lab: RunningLab) -> None:
    await page.clock.install()
    hurried = {**STUDY, "stages": [{**STUDY["stages"][1], "stay": {"at_most_seconds": 110, "then": "go_on"}}]}
    await join(page, lab.started(hurried))
    await expect(page.locator(".clock")).to_be_visible()
    # The clock of the lab does not run ahead with that of the page, and every answer would set it back.
    await page.route(re.compile("/v1/me$"), lambda route: route.abort())
    seconds = await _stop(page)
    await page.clock.run_for((seconds - 2) * 1000)

    async with page.expect_response(lambda answer: answer.request.method == "PUT") as saving:
        await page.get_by_label("Where do you live?").fill("Chur")
        await page.clock.run_for(150)

    assert (await saving.value).status == 204


async def test_what_is_filled_in_and_not_sent_when_the_time_is_up_is_the_answer(page: Page, lab: RunningLab) -> None:
    about = {**STUDY["stages"][1], "questions": STUDY["stages"][1]["questions"][:2]}
    hurried = {**about, "stay": {"at_most_seconds": 6, "then": "go_on"}}
    experiment = lab.started({**STUDY, "stages": [hurried, STUDY["stages"][3]]})
    await join(page, experiment)

    await page.get_by_label("Where do you live?").fill("Chur")

    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye", timeout=15_000)
    (member,) = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]
    (answer,) = lab.ask("GET", f"/v1/members/{member['id']}/answers")["answers"]
    assert (answer["value"]["city"], answer["value"].get("age")) == ("Chur", None)
