"""A study with a stage of every kind is taken by keyboard alone: all is reached, the focus is seen, and never lost."""

import pytest
from playwright.async_api import Browser, Page, expect

from parley_lab.kinds.stages import kinds
from tests.pages.by_keyboard import (
    EVERY_PAGE,
    STAGES,
    WATCH,
    WAYS,
    all_is_reached,
    fill_in,
    focused,
    next_page,
    tab_to,
    title_with_focus,
)
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]


@pytest.mark.grid
async def test_a_study_with_every_page_is_taken_by_keyboard_alone(page: Page, lab: RunningLab) -> None:
    assert {stage["kind"] for stage in STAGES} == set(kinds())
    await page.add_init_script(WATCH)
    experiment = lab.started(EVERY_PAGE)
    await page.goto(f"/join/{experiment['join_code']}")
    assert await title_with_focus(page)
    await all_is_reached(page)
    await tab_to(page, "Take part")
    await page.keyboard.press("Enter")
    await page.wait_for_url("**/take/*")

    for stage in STAGES:
        await expect(page.get_by_role("heading", level=1)).to_have_text(stage["name"])
        assert await title_with_focus(page) == stage["name"]
        await expect(page.locator("main form, main article .button").first).to_be_visible()
        await all_is_reached(page)
        await page.locator("h1").focus()
        await WAYS.get(stage["id"], fill_in)(page)
        await next_page(page, stage["name"])

    await expect(page.get_by_text("You have completed the study.")).to_be_visible()
    assert await page.evaluate("window.lost") == []


async def test_the_focus_stays_near_what_goes_away(page: Page, lab: RunningLab) -> None:
    await page.add_init_script(WATCH)
    experiment = lab.started(STUDY)
    await page.goto(f"/join/{experiment['join_code']}")
    assert await title_with_focus(page)
    await tab_to(page, "Take part")
    await page.keyboard.press("Enter")
    assert await title_with_focus(page) == "Welcome"
    (member,) = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]
    lab.ask("POST", f"/v1/members/{member['id']}/check", {})
    lab.ask("POST", f"/v1/members/{member['id']}/message", {"text": "We start in a minute."})
    await expect(page.get_by_role("button", name="I am here")).to_be_visible()
    await expect(page.get_by_role("button", name="I have read this")).to_be_visible()

    for words in ("I have read this", "I am here"):
        await page.keyboard.press("Shift+Tab")
        while (found := await focused(page)) is None or found["text"] != words:
            await page.keyboard.press("Shift+Tab")
        await page.keyboard.press("Enter")
        await expect(page.get_by_role("button", name=words)).to_have_count(0)
        assert await title_with_focus(page) == "Welcome"
    await tab_to(page, "Ask for help")
    await page.keyboard.press("Enter")
    await page.keyboard.type("I see no picture.")
    await tab_to(page, "Send")
    await page.keyboard.press("Enter")
    await expect(page.get_by_text("Your question was sent.")).to_be_visible()
    await tab_to(page, "Leave the study")
    await page.keyboard.press("Enter")
    await tab_to(page, "No, stay")
    await page.keyboard.press("Enter")
    await expect(page.get_by_role("button", name="Leave the study")).to_be_visible()

    assert await page.evaluate("document.activeElement !== document.body")
    assert await page.evaluate("window.lost") == []


@pytest.mark.grid
async def test_what_has_the_focus_in_a_conversation_stays_in_sight_while_others_speak(
    page: Page, browser: Browser, lab: RunningLab
) -> None:
    talk = {**STUDY, "stages": [STUDY["stages"][2]], "cohorts": [{"seats": [{"open": True, "count": 2}]}]}
    experiment = lab.started(talk)
    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    await page.goto(f"/join/{experiment['join_code']}")
    await page.get_by_role("button", name="Take part").click()
    await join(other, experiment)
    log, news = page.get_by_role("log"), page.get_by_role("button", name="new message")

    async def hear(first: int, last: int) -> None:
        for number in range(first, last + 1):
            await other.get_by_label("Your message").fill(f"Message {number}\n" + "and more\n" * 4)
            await other.get_by_label("Your message").press("Enter")
            await expect(log.get_by_text(f"Message {number}")).to_have_count(1)

    await hear(1, 2)
    await expect(log.get_by_text("Message 2")).to_be_in_viewport()
    await page.get_by_label("Your message").focus()
    for _ in range(2):
        await page.keyboard.press("Shift+Tab")
    before = await focused(page)
    await hear(3, 6)
    assert await focused(page) == before
    # As long as it stays in sight, the conversation moves on.
    await expect(news).to_have_text("3 new messages")
    # Who goes on with Tab comes to what is new.
    while not await page.get_by_label("Your message").evaluate("one => one === document.activeElement"):
        await page.keyboard.press("Tab")
        await focused(page)
    await expect(log.get_by_text("Message 6")).to_be_in_viewport()
    await expect(news).to_have_count(0)

    # A click is no place to stay at.
    await log.get_by_role("button", name="Thumbs up").last.click()
    await hear(7, 8)
    await expect(log.get_by_text("Message 8")).to_be_in_viewport()
    await expect(news).to_have_count(0)
    await other.context.close()
