"""A page that is hidden for a while: another tab is in front, or the phone is locked."""

import pytest
from playwright.async_api import Page, Request, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

COUNT = """
  window.streams = { opened: 0, closed: 0 };
  const ask = window.fetch.bind(window);
  window.fetch = async (path, options) => {
    if (path !== "/v1/me/stream") return ask(path, options);
    window.streams.opened += 1;
    let ping;
    const body = new ReadableStream({
      start: (stream) => {
        stream.enqueue(new TextEncoder().encode("retry: 2000\\n\\n"));
        ping = setInterval(() => stream.enqueue(new TextEncoder().encode(": ping\\n\\n")), 15_000);
        options.signal.addEventListener("abort", () => {
          clearInterval(ping);
          window.streams.closed += 1;
          stream.error(options.signal.reason);
        });
      },
    });
    return new Response(body);
  };
"""
"""Counts the streams that the page opens, and those that it closes; they show signs of life by the page's clock."""
HIDE = """
  (isHidden) => {
    Object.defineProperty(document, "hidden", { configurable: true, get: () => isHidden });
    document.dispatchEvent(new Event("visibilitychange"));
  }
"""


async def streams(page: Page) -> tuple[int, int]:
    """How many were opened and closed."""
    opened, closed = await page.evaluate("[window.streams.opened, window.streams.closed]")
    return opened, closed


async def test_a_hidden_page_keeps_its_stream_for_two_minutes_and_opens_another_when_it_is_seen(
    page: Page, lab: RunningLab
) -> None:
    await page.add_init_script(COUNT)
    await page.clock.install()
    await join(page, lab.started(STUDY))
    await page.wait_for_function("window.streams.opened === 1")

    await page.evaluate(HIDE, True)
    await page.clock.run_for(119_000)
    at_a_glance = await streams(page)
    await page.clock.run_for(2_000)
    for_long = await streams(page)
    await page.evaluate(HIDE, False)

    assert (at_a_glance, for_long, await streams(page)) == ((1, 0), (1, 1), (2, 1))
    await expect(page.get_by_text("Step 1 of")).to_be_visible()


@pytest.mark.grid
async def test_a_page_that_was_hidden_at_a_glance_opens_its_stream_anew_and_keeps_it(
    page: Page, lab: RunningLab
) -> None:
    await page.add_init_script(COUNT)
    await page.clock.install()
    await join(page, lab.started(STUDY))
    await page.wait_for_function("window.streams.opened === 1")

    await page.evaluate(HIDE, True)
    await page.clock.run_for(30_000)
    await page.evaluate(HIDE, False)
    await page.clock.run_for(300_000)

    assert await streams(page) == (2, 1)


@pytest.mark.grid
async def test_a_conversation_that_is_seen_again_reads_no_message_that_it_has(page: Page, lab: RunningLab) -> None:
    await join(page, lab.started({**STUDY, "stages": [STUDY["stages"][2]]}))
    said = page.locator(".log .message:not(.pending) .said")
    for text in ("One", "Two"):
        await page.get_by_label("Your message").fill(text)
        await page.get_by_label("Your message").press("Enter")
    await expect(said).to_have_text(["One", "Two"])
    read: list[str] = []

    def note(request: Request) -> None:
        if "/messages?" in request.url:
            read.append(request.url)

    page.on("request", note)
    await page.evaluate(HIDE, True)
    async with page.expect_response("**/v1/me"):
        await page.evaluate(HIDE, False)
    await page.get_by_label("Your message").fill("Three")
    await page.get_by_label("Your message").press("Enter")

    await expect(said).to_have_text(["One", "Two", "Three"])
    assert read == []
