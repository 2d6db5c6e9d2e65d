"""Those who talk see who is typing."""

import asyncio

import pytest
from playwright.async_api import Browser, Page, Route, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

TALK = {
    **STUDY,
    "stages": [STUDY["stages"][2]],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}


async def test_one_sees_that_the_other_types_stops_and_sends(page: Page, browser: Browser, lab: RunningLab) -> None:
    experiment = lab.started(TALK)
    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    await page.goto(f"/join/{experiment['join_code']}")
    await page.get_by_role("button", name="Take part").click()
    await join(other, experiment)
    mine, seen = page.get_by_label("Your message"), other.get_by_text("is typing …")

    await mine.press_sequentially("Buses")
    await expect(seen).to_be_visible()
    await expect(page.get_by_text("is typing …")).to_have_count(0)
    await mine.fill("")
    await expect(seen).to_have_count(0)
    await mine.press_sequentially("Buses")
    await expect(seen).to_be_visible()
    await page.keyboard.press("Enter")

    await expect(other.get_by_role("log").get_by_text("Buses")).to_be_visible()
    await expect(seen).to_have_count(0)
    await other.context.close()


@pytest.mark.grid
async def test_who_types_is_seen_by_one_whose_page_loads_slowly(page: Page, browser: Browser, lab: RunningLab) -> None:
    experiment = lab.started(TALK)
    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    may_load = asyncio.Event()

    async def hold(route: Route) -> None:
        await may_load.wait()
        await route.continue_()

    await other.route("**/kinds/group_chat/page.js", hold)
    await other.goto(f"/join/{experiment['join_code']}")
    async with other.expect_response("**/v1/me/stream") as following:
        await other.get_by_role("button", name="Take part").click()
    assert (await following.value).ok
    await join(page, experiment)

    async with page.expect_response("**/typing"):
        await page.get_by_label("Your message").press_sequentially("Buses")
    # Nothing on the other's page can tell that the hint has come.
    await asyncio.sleep(0.5)
    may_load.set()
    await expect(other.get_by_text("is typing …")).to_be_visible()
    await other.context.close()


@pytest.mark.grid
async def test_who_comes_to_the_conversation_sees_who_types_there(
    page: Page, browser: Browser, lab: RunningLab
) -> None:
    talk = {**STUDY["stages"][2], "progress": {"wait_for_all": False}}
    experiment = lab.started({**TALK, "stages": [STUDY["stages"][0], talk]})
    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    await join(page, experiment)
    await join(other, experiment)

    # No event tells that a conversation has begun which waits for no one.
    await page.get_by_role("button", name="Continue").click()
    async with page.expect_response("**/typing"):
        await page.get_by_label("Your message").press_sequentially("Buses")
    await other.get_by_role("button", name="Continue").click()
    await expect(other.get_by_text("is typing …")).to_be_visible(timeout=4000)
    await page.keyboard.press("Enter")
    await expect(other.get_by_role("log").get_by_text("Buses")).to_be_visible()
    await expect(other.get_by_text("is typing …")).to_have_count(0)
    await other.context.close()


@pytest.mark.grid
async def test_no_one_says_in_a_pause_that_they_type(page: Page, lab: RunningLab) -> None:
    experiment = lab.started({**TALK, "cohorts": [{"seats": [{"open": True}]}]})
    await join(page, experiment)
    lab.ask("POST", f"/v1/experiments/{experiment['id']}/pause")
    await expect(page.get_by_text("paused")).to_be_visible()
    told: list[str] = []
    page.on("request", lambda request: told.append(request.url))

    await page.get_by_label("Your message").press_sequentially("Buses")
    await page.get_by_label("Your message").fill("")

    lab.ask("POST", f"/v1/experiments/{experiment['id']}/resume")
    await expect(page.get_by_text("paused")).to_have_count(0)
    assert not [url for url in told if url.endswith("/typing")]
    async with page.expect_response("**/typing") as telling:
        await page.get_by_label("Your message").press_sequentially("Buses")
    assert (await telling.value).ok
