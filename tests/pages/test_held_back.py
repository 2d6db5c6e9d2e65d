"""A network that holds streams back: it passes an answer on once it is complete, and a live stream never is."""

import asyncio
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.taking_part import join
from tests.pages.test_console import signed_in

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

TWO_TALK: Final[dict[str, Any]] = {
    "pace": "live",
    "language": "en",
    "stages": [{"id": "talk", "kind": "group_chat"}],
    "attention_checks": {"seconds": 5, "then": "remove"},
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}
TWO_PLAY: Final[dict[str, Any]] = {
    **TWO_TALK,
    "stages": [{"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": 2}}],
}
LONGEST_MS: Final = 10_000


@asynccontextmanager
async def holding_proxy(host: str, port: int) -> AsyncIterator[str]:
    """The address of a proxy that answers each request once the answer of the lab has ended."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        down = None
        try:
            request = await _request(reader)
            up, down = await asyncio.open_connection(host, port)
            down.write(request)
            whole = asyncio.ensure_future(up.read())
            gone = asyncio.ensure_future(reader.read(1))
            await asyncio.wait({whole, gone}, return_when=asyncio.FIRST_COMPLETED)
            if whole.done():
                writer.write(whole.result())
                await writer.drain()
            for task in (whole, gone):
                task.cancel()
            await asyncio.gather(whole, gone, return_exceptions=True)
        except (asyncio.IncompleteReadError, OSError):
            pass
        finally:
            for one in (down, writer):
                if one is not None:
                    one.close()

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    async with server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"


async def _request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = re.search(rb"(?i)content-length: *(\d+)", head)
    body = await reader.readexactly(int(length.group(1))) if length else b""
    head = re.sub(rb"(?i)\r\nconnection:[^\r]*", b"", head)
    return head.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n") + body


@pytest_asyncio.fixture(loop_scope="session")
async def behind(browser: Browser, lab: RunningLab) -> AsyncIterator[Page]:
    """A browser whose network holds streams back."""
    host, port = lab.url.removeprefix("http://").split(":")
    async with holding_proxy(host, int(port)) as address:
        context = await browser.new_context(base_url=address, locale="en")
        yield await context.new_page()
        await context.close()


@pytest.mark.grid
async def test_what_happens_is_asked_for_where_streams_are_held_back(page: Page, behind: Page, lab: RunningLab) -> None:
    experiment = lab.started(TWO_TALK)
    await join(behind, experiment)
    await join(page, experiment)

    await page.get_by_label("Your message").fill("Good morning")
    await page.get_by_label("Your message").press("Enter")
    await expect(behind.locator(".message .said")).to_have_text("Good morning", timeout=LONGEST_MS)
    await expect(behind.get_by_text("The connection is lost")).to_have_count(0)

    member = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"][0]
    lab.ask("POST", f"/v1/members/{member['id']}/check")
    await behind.get_by_role("button", name="I am here").click(timeout=LONGEST_MS)
    await expect(behind.get_by_role("button", name="I am here")).to_have_count(0)
    found = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"][0]
    assert found["status"] == "in_progress"

    lab.ask("POST", f"/v1/members/{member['id']}/message", {"text": "Please speak up."})
    await expect(behind.get_by_text("Please speak up.")).to_be_visible(timeout=LONGEST_MS)


@pytest.mark.grid
async def test_the_next_round_of_a_game_comes_where_streams_are_held_back(
    page: Page, behind: Page, lab: RunningLab
) -> None:
    experiment = lab.started(TWO_PLAY)
    await join(behind, experiment)
    await join(page, experiment)

    for one in (behind, page):
        await one.get_by_label("Cooperate").check()
        await one.get_by_role("button", name="Send").click()

    await expect(behind.locator(".round")).to_have_text("Round 2", timeout=LONGEST_MS)


async def test_the_console_reads_its_list_again_where_streams_are_held_back(behind: Page, lab: RunningLab) -> None:
    page = await signed_in(behind.context, lab)
    experiment = lab.started({**TWO_TALK, "name": "Held back"})
    row = page.get_by_role("listitem").filter(has_text="Held back")
    await expect(row).to_contain_text("running", timeout=LONGEST_MS)

    lab.ask("POST", f"/v1/experiments/{experiment['id']}/pause")

    await expect(row).to_contain_text("paused", timeout=LONGEST_MS)
    await expect(page.get_by_text("connection lost")).to_have_count(0)
