"""What a person has begun to answer follows them to another device."""

import asyncio
import json

import pytest
from playwright.async_api import Browser, Page, Request, Route, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join, take_along

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

ONE_QUESTION = {**STUDY, "stages": [STUDY["stages"][1]]}


async def test_what_was_entered_is_there_on_another_device(page: Page, browser: Browser, lab: RunningLab) -> None:
    await join(page, lab.started(ONE_QUESTION))
    async with page.expect_response(lambda answer: answer.request.method == "PUT") as saving:
        await page.get_by_label("Where do you live?").fill("Chur")
    assert (await saving.value).status == 204

    other = await (await browser.new_context(base_url=lab.url, locale="en")).new_page()
    await take_along(page, other)

    await expect(other.get_by_label("Where do you live?")).to_have_value("Chur")
    await other.context.close()


@pytest.mark.grid
async def test_what_was_entered_without_a_network_is_newer_than_what_the_lab_has(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(ONE_QUESTION))
    async with page.expect_response(lambda answer: answer.request.method == "PUT"):
        await page.get_by_label("Where do you live?").fill("Chur")

    await page.context.set_offline(True)
    await page.get_by_label("Where do you live?").fill("Chur, for now")
    await page.context.set_offline(False)
    await page.reload()

    await expect(page.get_by_label("Where do you live?")).to_have_value("Chur, for now")


@pytest.mark.grid
async def test_what_is_saved_slowly_does_not_come_after_what_was_entered_since(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started(ONE_QUESTION))
    may_arrive, is_saved = asyncio.Event(), asyncio.Event()
    saved: list[str] = []

    async def hold(route: Route) -> None:
        await may_arrive.wait()
        await route.continue_()

    def note(request: Request) -> None:
        if request.method == "PUT":
            saved.append(json.loads(request.post_data or "")["answer"]["city"])
            if len(saved) == 2:
                is_saved.set()

    await page.route("**/answer", hold, times=1)
    page.on("requestfinished", note)
    async with page.expect_request(lambda request: request.method == "PUT"):
        await page.get_by_label("Where do you live?").fill("Chur")
    await page.get_by_label("Where do you live?").fill("Chur, at last")
    # Until it would have been saved, were nothing on its way.
    await page.wait_for_timeout(1500)
    may_arrive.set()

    async with asyncio.timeout(20):
        await is_saved.wait()
    assert saved == ["Chur", "Chur, at last"]
