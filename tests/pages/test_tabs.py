"""Several tabs of one browser: one takes part, the others say so, and what was entered goes along."""

import asyncio

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join, take_along

pytestmark = [pytest.mark.pages, pytest.mark.tabs, pytest.mark.asyncio(loop_scope="session")]

ONE_QUESTION = {**STUDY, "stages": [STUDY["stages"][1]]}
TALK = {**STUDY, "stages": [STUDY["stages"][2]], "cohorts": [{"seats": [{"open": True, "count": 2}]}]}
ELSEWHERE = "You are taking part in another tab"


async def only_active(tabs: list[Page]) -> Page:
    """The one tab that takes part, once all others say that it is not them."""
    found: list[tuple[bool, bool]] = []
    for _ in range(100):
        says = [await tab.get_by_role("heading", level=1, name=ELSEWHERE).count() == 1 for tab in tabs]
        takes_part = [await tab.get_by_text("Step 1 of").count() == 1 for tab in tabs]
        found = list(zip(says, takes_part, strict=True))
        if sum(takes_part) == 1 and all(one != other for one, other in found):
            return tabs[takes_part.index(True)]
        await tabs[0].wait_for_timeout(50)
    raise AssertionError(f"says that another one takes part, and takes part: {found}")


@pytest.mark.grid
async def test_of_three_tabs_one_takes_part_and_has_what_was_typed_in_the_others(
    context: BrowserContext, page: Page, browser: Browser, lab: RunningLab
) -> None:
    await join(page, lab.started(ONE_QUESTION))
    tabs = [page]
    city = "Where do you live?"
    typed = ""
    for part in ("Chur", ", Graubünden", ", Switzerland"):
        await tabs[-1].get_by_label(city).press("End")
        await tabs[-1].keyboard.type(part)
        typed += part

        tabs.append(await context.new_page())
        await tabs[-1].goto(page.url)

        assert await only_active(tabs) is tabs[-1]
        await expect(tabs[-1].get_by_label(city)).to_have_value(typed)

    elsewhere = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    async with asyncio.timeout(20):
        while True:
            await take_along(tabs[-1], elsewhere)
            await expect(elsewhere.get_by_label(city)).to_be_visible()
            if await elsewhere.get_by_label(city).input_value() == typed:
                break
    await elsewhere.context.close()


async def test_a_tab_takes_part_again_when_one_says_so_and_when_the_other_is_closed(
    context: BrowserContext, page: Page, lab: RunningLab
) -> None:
    await join(page, lab.started(ONE_QUESTION))
    second = await context.new_page()
    await second.goto(page.url)
    assert await only_active([page, second]) is second
    await second.get_by_label("Where do you live?").fill("Chur")

    await page.get_by_role("button", name="Take part in this tab").click()

    assert await only_active([page, second]) is page
    await expect(page.get_by_label("Where do you live?")).to_have_value("Chur")
    await page.get_by_label("Where do you live?").fill("Chur, at last")
    await page.close()
    await expect(second.get_by_label("Where do you live?")).to_have_value("Chur, at last")


@pytest.mark.grid
async def test_a_tab_that_takes_part_again_has_what_was_saved_in_the_other_and_not_its_old_draft(
    context: BrowserContext, page: Page, lab: RunningLab
) -> None:
    city = "Where do you live?"
    await join(page, lab.started(ONE_QUESTION))
    # Another tab is opened before this is saved.
    await page.get_by_label(city).fill("Chur")
    second = await context.new_page()
    await second.goto(page.url)
    await expect(second.get_by_label(city)).to_have_value("Chur")
    async with second.expect_response(lambda answer: "Bern" in (answer.request.post_data or "")):
        await second.get_by_label(city).fill("Bern")

    await page.get_by_role("button", name="Take part in this tab").click()

    await expect(page.get_by_label(city)).to_have_value("Bern")


@pytest.mark.grid
async def test_tabs_that_are_opened_at_the_same_time_agree_on_one(
    context: BrowserContext, page: Page, lab: RunningLab
) -> None:
    await join(page, lab.started(ONE_QUESTION))
    tabs = [page, await context.new_page(), await context.new_page()]
    for _ in range(3):
        await asyncio.gather(*(tab.goto(page.url) for tab in tabs))

        await only_active(tabs)


@pytest.mark.grid
async def test_a_message_that_is_being_written_goes_along_and_one_that_was_sent_is_said_once(
    context: BrowserContext, page: Page, browser: Browser, lab: RunningLab
) -> None:
    experiment = lab.started(TALK)
    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    for one in (page, other):
        await one.goto(f"/join/{experiment['join_code']}")
        await one.get_by_role("button", name="Take part").click()
    await expect(page.get_by_label("Your message")).to_be_visible()
    await page.context.set_offline(True)
    await page.get_by_label("Your message").fill("I said this")
    await page.keyboard.press("Enter")
    await page.keyboard.type("And I was about to")
    await expect(page.locator(".pending")).to_have_count(1)
    await page.context.set_offline(False)

    second = await context.new_page()
    await second.goto(page.url)

    await expect(second.get_by_label("Your message")).to_have_value("And I was about to")
    for one in (second, other):
        await expect(one.locator(".message:not(.pending) .said")).to_have_text(["I said this"])
    await expect(second.locator(".pending")).to_have_count(0)
    await other.context.close()


@pytest.mark.grid
async def test_a_tab_that_does_not_take_part_asks_the_lab_nothing(
    context: BrowserContext, page: Page, lab: RunningLab
) -> None:
    await join(page, lab.started(ONE_QUESTION))
    second = await context.new_page()
    await second.goto(page.url)
    await only_active([page, second])
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    async with second.expect_response(lambda answer: answer.request.method == "PUT"):
        await second.get_by_label("Where do you live?").fill("Chur")
    await second.get_by_role("button", name="Ask for help").click()

    assert asked == []


@pytest.mark.grid
async def test_two_studies_in_one_browser_leave_each_other_alone(
    context: BrowserContext, page: Page, lab: RunningLab
) -> None:
    await join(page, lab.started(ONE_QUESTION))
    async with page.expect_response(lambda answer: answer.request.method == "PUT"):
        await page.get_by_label("Where do you live?").fill("Chur")
    second = await context.new_page()
    await join(second, lab.started(STUDY))

    await expect(page.get_by_role("heading", level=1, name="About you")).to_be_visible()
    await page.reload()

    await expect(page.get_by_label("Where do you live?")).to_have_value("Chur")
    await expect(second.get_by_role("heading", level=1, name="Welcome")).to_be_visible()
    await second.reload()
    await expect(second.get_by_role("heading", level=1, name="Welcome")).to_be_visible()


@pytest.mark.grid
async def test_a_page_from_before_studies_had_addresses_of_their_own_is_there_after_a_reload(
    page: Page, browser: Browser, lab: RunningLab
) -> None:
    await join(page, lab.started(ONE_QUESTION))
    token = await page.evaluate("localStorage.getItem(`parley.token.${location.pathname.split('/')[2]}`)")
    older = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    await older.add_init_script(f"localStorage.setItem('parley.token', '{token}')")

    await older.goto("/take")

    await expect(older.get_by_role("heading", level=1, name="About you")).to_be_visible()
    await older.context.close()
