"""Enter in the console: an act runs once at a time, and a request whose answer is lost is done once."""

import asyncio

import pytest
from playwright.async_api import Browser, BrowserContext, Route, expect

from tests.pages.conftest import RunningLab
from tests.pages.test_console import GROUPS, desk, signed_in

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]


class Held:
    """Requests that wait; `keys` are those under which they came."""

    def __init__(self) -> None:
        self.keys: list[str | None] = []
        self.is_asked, self.may_go = asyncio.Event(), asyncio.Event()

    async def __call__(self, route: Route) -> None:
        if route.request.method != "POST":
            return await route.continue_()
        self.keys.append(route.request.headers.get("idempotency-key"))
        self.is_asked.set()
        await self.may_go.wait()
        return await route.continue_()


async def test_enter_twice_in_a_question_asks_the_lab_once(desk: BrowserContext, lab: RunningLab) -> None:
    experiment = lab.started(GROUPS)
    page = await signed_in(desk, lab, f"/console/e/{experiment['id']}")
    held = Held()
    await page.route("**/seats", held)
    await page.get_by_role("table", name="Groups by stages").get_by_role("link").first.click()
    await page.get_by_role("button", name="Add seats").click()
    dialog = page.get_by_role("dialog")
    await dialog.get_by_label("How many").fill("2")
    await dialog.get_by_label("How many").press("Enter")
    await held.is_asked.wait()
    await dialog.get_by_label("How many").press("Enter")
    held.may_go.set()

    await expect(dialog).to_have_count(0)
    assert len(held.keys) == 1
    members = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]
    assert len(members) == 6


@pytest.mark.grid
async def test_groups_whose_answer_is_lost_are_added_once(browser: Browser, lab: RunningLab) -> None:
    context = await browser.new_context(base_url=lab.url, locale="en")
    experiment = lab.started(GROUPS)
    page = await signed_in(context, lab, f"/console/e/{experiment['id']}")
    keys: list[str | None] = []

    async def lose(route: Route) -> None:
        keys.append(route.request.headers.get("idempotency-key"))
        await route.fetch()
        await route.abort()

    await page.route("**/cohorts", lose, times=1)
    await page.get_by_role("button", name="Add groups").click()
    await page.get_by_role("dialog").get_by_label("How many").press("Enter")

    await expect(page.get_by_text("1 group is added.")).to_be_visible()
    groups = lab.ask("GET", f"/v1/experiments/{experiment['id']}/cohorts")["cohorts"]
    await context.close()
    assert keys != [None]
    assert len(groups) == 3


@pytest.mark.grid
async def test_enter_twice_in_a_test_chat_says_it_once(desk: BrowserContext, lab: RunningLab) -> None:
    lab.ask("PUT", "/v1/personas/talker", {"profile": {"name": "Talker"}, "text": "You talk."})
    page = await signed_in(desk, lab, "/console/personas/talker")
    held = Held()
    text = page.get_by_label("Your message")
    await text.fill("Hello?")
    await page.route("**/chat", held)
    await text.press("Enter")
    await held.is_asked.wait()
    await text.press("Enter")
    held.may_go.set()

    await expect(page.get_by_role("log", name="Test chat").get_by_role("listitem")).to_have_count(2)
    said = lab.ask("GET", "/v1/personas/talker/chat")["messages"]
    assert len(held.keys) == 1
    assert [one["text"] for one in said if one["author"] == "you"] == ["Hello?"]
