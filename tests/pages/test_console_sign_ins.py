"""A sign-in that follows another one in place: the streams and the requests of the page go on with it."""

import asyncio
import json
from datetime import UTC, datetime, timedelta

import pytest
from playwright.async_api import Browser, BrowserContext, Page, Route, expect

from tests.pages.conftest import RunningLab
from tests.pages.test_console import GROUPS, KEPT, code_of_a_newcomer, desk, signed_in

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

END_SOON = """([key, soon]) => {
    const kept = { ...JSON.parse(sessionStorage.getItem(key)), expires_at: soon };
    sessionStorage.setItem(key, JSON.stringify(kept));
}"""


async def token_of(page: Page) -> str:
    token: str = json.loads(await page.evaluate("key => sessionStorage.getItem(key)", KEPT))["token"]
    return token


async def ends_soon(context: BrowserContext, lab: RunningLab, path: str) -> Page:
    page = await signed_in(context, lab)
    await page.evaluate(END_SOON, [KEPT, (datetime.now(UTC) + timedelta(minutes=10)).isoformat()])
    await page.goto(path)
    await expect(page.get_by_text("Your sign-in ends at")).to_be_visible()
    return page


async def sign_in_again(page: Page, lab: RunningLab) -> None:
    """Sign in again in place; the lab has ended the sign-in from before then."""
    await page.get_by_role("button", name="Sign in again").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("Or paste an API key").fill(lab.key)
    async with page.expect_response(lambda answer: answer.request.method == "DELETE"):
        await dialog.get_by_role("button", name="Sign in", exact=True).click()


async def test_the_board_goes_on_with_the_new_sign_in(browser: Browser, lab: RunningLab) -> None:
    context = await browser.new_context(base_url=lab.url, locale="en")
    experiment = lab.started(GROUPS)
    page = await ends_soon(context, lab, f"/console/e/{experiment['id']}")
    board = page.get_by_role("table", name="Groups by stages")
    await expect(board.locator(".c-dot.c-person.c-open")).to_have_count(2)

    async with page.expect_request(lambda request: "/stream" in request.url) as asked:
        await sign_in_again(page, lab)
    header = await (await asked.value).header_value("authorization")
    token = await token_of(page)
    lab.ask("POST", f"/v1/experiments/{experiment['id']}/pause")

    await expect(page.get_by_role("button", name="Resume")).to_be_visible()
    assert header == f"Bearer {token}"
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await context.close()


@pytest.mark.grid
async def test_a_request_of_the_sign_in_before_does_not_end_the_new_one(browser: Browser, lab: RunningLab) -> None:
    context = await browser.new_context(base_url=lab.url, locale="en")
    page = await ends_soon(context, lab, "/console")
    is_asked, may_go = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        is_asked.set()
        await may_go.wait()
        await route.continue_()

    await page.route("**/v1/deeds?*", hold, times=1)
    await page.goto("/console/account")
    await is_asked.wait()
    await sign_in_again(page, lab)
    async with page.expect_response(lambda answer: answer.status == 401):
        may_go.set()

    await expect(page.get_by_role("table", name="What you have done")).to_be_visible()
    await expect(page.get_by_role("dialog")).to_have_count(0)
    await context.close()


async def sign_in_by_code(context: BrowserContext, lab: RunningLab) -> Page:
    """A tab that is opened by the address which a terminal shows."""
    page = await context.new_page()
    await page.goto(f"/console#code={await code_of_a_newcomer(lab)}")
    await expect(page.get_by_role("button", name="Sign out")).to_be_visible()
    return page


@pytest.mark.grid
@pytest.mark.tabs
async def test_the_address_of_a_terminal_signs_in_the_tabs_whose_sign_in_has_ended(
    browser: Browser, lab: RunningLab
) -> None:
    context = await browser.new_context(base_url=lab.url, locale="en")
    page = await sign_in_by_code(context, lab)
    await page.get_by_role("link", name="newcomer").click()
    await page.get_by_label("Name of a new key").fill("typed")
    RunningLab(lab.url, await token_of(page)).ask("DELETE", "/v1/sign-ins/current")
    # The stream may have heard of it already, and the page ask over the button.
    await page.get_by_role("button", name="Make a key").dispatch_event("click")
    dialog = page.get_by_role("dialog", name="Your sign-in has ended")
    await expect(dialog).to_be_visible()
    without = await context.new_page()
    await without.goto("/console")
    await expect(without.get_by_role("heading", level=1)).to_have_text("Sign in")

    other = await sign_in_by_code(context, lab)

    await expect(dialog).to_have_count(0)
    await expect(page.get_by_label("Name of a new key")).to_have_value("typed")
    assert await token_of(page) == await token_of(other)
    await context.close()
