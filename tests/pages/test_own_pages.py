"""Pages of kinds that are more than a form: orders, profiles, terms."""

import re
from typing import Any

import pytest
from playwright.async_api import Locator, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import join, leave_talk
from tests.pages.test_kinds import BYE, example_of

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]


def order(page: Page) -> Locator:
    return page.locator(".ranking .what")


async def test_an_order_is_made_by_buttons_keys_and_dragging(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(example_of("ranking")))
    safe, cheap, often = "People come home safely", "It costs little", "It comes often"
    await expect(order(page)).to_have_text([safe, cheap, often])

    await page.get_by_role("button", name=f"Move {often} up").click()
    await expect(order(page)).to_have_text([safe, often, cheap])
    await expect(page.get_by_text(f"{often} is now number 2 of 3.")).to_be_attached()

    await page.locator(".ranking li").nth(2).focus()
    await page.keyboard.press("Alt+ArrowUp")
    await page.keyboard.press("Alt+ArrowUp")
    await expect(order(page)).to_have_text([cheap, safe, often])

    await page.locator(".handle").nth(0).hover()
    await page.mouse.down()
    await page.locator(".ranking li").nth(2).hover()
    await page.mouse.up()
    await expect(order(page)).to_have_text([safe, often, cheap])

    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")
    await page.get_by_text("Step 2 of 2").click()
    await page.get_by_role("button", name="What matters most").click()
    await expect(page.locator("article ol li")).to_have_text([safe, often, cheap])


@pytest.mark.grid
async def test_where_only_some_have_a_place_the_others_are_below(page: Page, lab: RunningLab) -> None:
    experiment = example_of("ranking")
    experiment["stages"][0]["places"] = 1
    await join(page, lab.started(experiment))

    await expect(page.get_by_text("The first one counts.")).to_be_visible()
    await page.get_by_role("button", name="Move It comes often up").click()
    await page.get_by_role("button", name="Move It costs little up").click()
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")


@pytest.mark.grid
async def test_a_profile_is_shown_as_it_is_chosen(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(example_of("profile")))
    preview = page.locator(".preview .author")

    await page.get_by_label("Name").fill("Mira")
    await page.get_by_label("🧑🏽").check()
    await page.get_by_label("Pronouns").fill("they/them")

    await expect(preview).to_have_text(re.compile(r"🧑🏽\s*Mira\s*\(they/them\)"))


TERMS: dict[str, Any] = {
    "language": "en",
    "stages": [
        {"id": "terms", "kind": "terms_of_service", "name": "Before you begin", "lines": ["Nothing is kept."]},
        BYE,
    ],
    "cohorts": [{"seats": [{"open": True}]}],
}


@pytest.mark.grid
async def test_who_says_nothing_about_the_terms_has_not_declined_them(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(TERMS))

    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_role("alert")).to_contain_text("Please answer this.")
    await page.get_by_label("I do not agree").check()
    await page.get_by_role("button", name="Continue").click()
    await expect(page.get_by_text("You have not agreed to take part.")).to_be_visible()


@pytest.mark.grid
async def test_who_changes_nothing_of_an_order_is_told_to_take_it(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(example_of("ranking")))

    await page.get_by_role("button", name="Continue").click()
    await expect(page.locator(".problem")).to_have_text("Please put these in order, or take the order as it is.")
    await page.get_by_role("button", name="Take this order").click()
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_role("heading", level=1)).to_have_text(BYE["name"])


@pytest.mark.grid
async def test_an_interview_shows_what_all_are_told_before_they_are_asked(page: Page, lab: RunningLab) -> None:
    stage = {**example_of("group_interview")["stages"][-2], "context": "You are at a festival."}
    experiment = {**example_of("group_interview"), "stages": [stage, BYE]}
    await join(page, lab.started(experiment))

    await expect(page.get_by_text("You are at a festival.")).to_be_visible()


@pytest.mark.grid
async def test_reactions_of_a_conversation_that_one_has_left_can_only_be_read(page: Page, lab: RunningLab) -> None:
    talk = {"id": "talk", "kind": "group_chat", "name": "The talk", "replies_and_reactions": True}
    experiment = {"language": "en", "look_back": "all", "stages": [talk, BYE], "cohorts": [{"seats": [{"open": True}]}]}
    await join(page, lab.started(experiment))
    await page.get_by_label("Your message").fill("Hello")
    await page.get_by_label("Your message").press("Enter")
    await page.get_by_role("button", name="Like with a heart").click()
    await expect(page.locator(".reactions button").first).to_have_text(re.compile("1"))
    await leave_talk(page)
    await expect(page.get_by_role("heading", level=1)).to_have_text(BYE["name"])

    await page.get_by_text("Step 2 of 2").click()
    await page.get_by_role("button", name="The talk").click()

    await expect(page.get_by_text("Hello")).to_be_visible()
    await expect(page.locator(".reactions")).to_have_text(re.compile("❤️ 1"))
    await expect(page.locator(".reactions button")).to_have_count(0)
