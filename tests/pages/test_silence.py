"""The network drops what is sent without a word: the page notices, and goes on when the network does."""

import asyncio

import pytest
from playwright.async_api import Page, Route, expect

from parley_lab.testing.tcp_proxy import TcpProxy
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

LOST = "The connection is lost."
PAIR = {**STUDY, "stages": [STUDY["stages"][2]], "cohorts": [{"seats": [{"open": True, "count": 2}]}]}
LONGEST_ANSWER_MS = 20_500
LONGEST_SILENCE_MS = 45_500


async def meet(far: Page, page: Page, lab: RunningLab) -> None:
    """Both are in the conversation; the time of the first one's browser can be moved on."""
    code = lab.started(PAIR)["join_code"]
    await far.clock.install()
    for one in (far, page):
        await one.goto(f"/join/{code}")
        await one.get_by_role("button", name="Take part").click()
    for one in (far, page):
        await expect(one.get_by_label("Your message")).to_be_visible()


async def say(page: Page, text: str) -> None:
    await page.get_by_label("Your message").fill(text)
    await page.get_by_label("Your message").press("Enter")


async def wait_for_answers(far: Page) -> None:
    """As long as no answer may take, for each of the connections that a browser keeps: all are dead."""
    for _ in range(10):
        await far.clock.fast_forward(LONGEST_ANSWER_MS)
        await far.wait_for_timeout(500)


async def test_a_stream_that_is_silent_for_too_long_is_opened_anew(
    page: Page, far: Page, proxy: TcpProxy, lab: RunningLab
) -> None:
    await meet(far, page, lab)
    await say(page, "Before")
    await expect(far.locator(".log .said")).to_have_text(["Before"])

    proxy.freeze()
    await say(page, "Meanwhile")
    await expect(page.locator(".log .message:not(.pending)")).to_have_count(2)
    # What is held back may be the stream alone: the page asks for what has happened before it says that all is lost.
    async with far.expect_request("**/v1/me/stream?wait=false"):
        await far.clock.fast_forward(LONGEST_SILENCE_MS)
    await far.clock.fast_forward(LONGEST_ANSWER_MS)
    await expect(far.get_by_text(LOST)).to_be_visible()
    await proxy.restore()

    await expect(far.locator(".log .said")).to_have_text(["Before", "Meanwhile"])
    await expect(far.get_by_text(LOST)).to_have_count(0)
    await say(page, "After")
    await expect(far.locator(".log .said")).to_have_text(["Before", "Meanwhile", "After"])


@pytest.mark.grid
async def test_a_stream_whose_other_end_has_gone_is_opened_anew(
    page: Page, far: Page, proxy: TcpProxy, lab: RunningLab
) -> None:
    await meet(far, page, lab)

    proxy.swallow()
    await say(page, "Meanwhile")
    await expect(page.locator(".log .message:not(.pending)")).to_have_count(1)
    await far.clock.fast_forward(LONGEST_SILENCE_MS)
    await wait_for_answers(far)

    await expect(far.locator(".log .said")).to_have_text(["Meanwhile"])


@pytest.mark.grid
async def test_no_one_types_for_ever_when_a_silent_stream_gives_way_to_requests(
    page: Page, far: Page, proxy: TcpProxy, lab: RunningLab
) -> None:
    await meet(far, page, lab)
    await page.get_by_label("Your message").press_sequentially("Buses")
    await expect(far.get_by_text("is typing …")).to_be_visible()

    proxy.freeze()
    async with page.expect_response("**/typing"):
        await page.get_by_label("Your message").fill("")
    async with far.expect_request("**/v1/me/stream?wait=false"):
        await far.clock.fast_forward(LONGEST_SILENCE_MS)
    await proxy.restore()

    await expect(far.get_by_text("is typing …")).to_have_count(0)


@pytest.mark.grid
async def test_messages_that_hang_go_out_once_and_in_order(
    page: Page, far: Page, proxy: TcpProxy, lab: RunningLab
) -> None:
    await meet(far, page, lab)

    proxy.swallow()
    await say(far, "One")
    await say(far, "Two")
    await expect(far.locator(".pending")).to_have_count(2)
    await wait_for_answers(far)

    await expect(page.locator(".log .said")).to_have_text(["One", "Two"])
    await expect(far.locator(".log .message:not(.pending) .said")).to_have_text(["One", "Two"])
    await expect(far.locator(".pending")).to_have_count(0)


@pytest.mark.parametrize(
    "loses", [pytest.param(False, id="silent"), pytest.param(True, id="lost", marks=pytest.mark.grid)]
)
async def test_a_page_whose_words_do_not_come_says_those_that_it_has(
    page: Page, lab: RunningLab, *, loses: bool
) -> None:
    experiment = lab.started({**STUDY, "language": "de"})
    await page.clock.install()
    asked = asyncio.Event()

    async def refuse(route: Route) -> None:
        asked.set()
        if loses:
            await route.abort()

    await page.route("**/words/de.json", refuse)
    await page.goto(f"/join/{experiment['join_code']}")
    await asked.wait()
    await page.clock.fast_forward(LONGEST_ANSWER_MS)

    await expect(page.get_by_role("button", name="Take part")).to_be_visible()
