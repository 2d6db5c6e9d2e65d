"""The console keeps unsaved text while one moves about, and starts no experiment without it."""

import re

import pytest
from playwright.async_api import Browser, BrowserContext, Page, expect

from tests.pages.conftest import RunningLab
from tests.pages.test_console import desk, signed_in
from tests.pages.test_console_arena import editor_of
from tests.pages.test_console_file import file_of

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]


async def asks_before_it_is_left(page: Page) -> bool:
    return bool(await page.evaluate("!dispatchEvent(new Event('beforeunload', { cancelable: true }))"))


async def test_a_text_that_is_not_saved_is_there_again_after_a_move_and_the_old_one_does_not_start(
    desk: BrowserContext, lab: RunningLab
) -> None:
    page, address = await file_of(desk, lab)
    text = page.get_by_label("Text of the file")
    typed = (await text.input_value()).replace("Shared", "Typed")
    await text.fill(typed)

    await page.get_by_role("link", name="See as", exact=True).click()
    await expect(text).to_have_count(0)
    asks = await asks_before_it_is_left(page)
    await page.get_by_role("button", name="Start").click()
    await expect(page.get_by_text("changes that are not saved. Save or discard them")).to_be_visible()
    status = lab.ask("GET", address)["status"]
    await page.go_back()
    await expect(text).to_have_value(typed)
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Typed")
    asks_then = await asks_before_it_is_left(page)
    await page.get_by_role("button", name="Start").click()
    await expect(page.get_by_role("button", name="Pause")).to_be_visible()

    assert (asks, status, asks_then) == (True, "draft", False)
    assert lab.ask("GET", address)["name"] == "Typed"


@pytest.mark.grid
async def test_changes_are_discarded_only_after_a_question(desk: BrowserContext, lab: RunningLab) -> None:
    page, _ = await file_of(desk, lab)
    text = page.get_by_label("Text of the file")
    await text.fill("parley: 1")

    await page.get_by_role("button", name="Discard", exact=True).click()
    await page.get_by_role("dialog").get_by_role("button", name="Discard them").click()

    await expect(text).to_have_value(re.compile("Shared"))
    assert not await asks_before_it_is_left(page)


@pytest.mark.grid
async def test_the_arena_and_the_file_change_one_text(desk: BrowserContext, lab: RunningLab) -> None:
    page, source = await editor_of(desk, lab)
    await page.get_by_label("memory_window").fill("7")
    await page.get_by_label("memory_window").press("Enter")
    await expect(page.get_by_text("not saved", exact=True)).to_be_visible()

    await page.get_by_role("link", name="File", exact=True).click()
    await expect(page.get_by_label("Text of the file")).to_have_value(re.compile("memory_window: 7"))
    await page.get_by_role("link", name="Arena", exact=True).click()
    await expect(page.get_by_label("memory_window")).to_have_value("7")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_text("saved", exact=True)).to_be_visible()

    assert "memory_window: 7" in lab.ask("GET", source)["text"]


@pytest.mark.grid
async def test_a_persona_and_a_pasted_text_are_there_again_after_a_move(desk: BrowserContext, lab: RunningLab) -> None:
    lab.ask("PUT", "/v1/personas/moved", {"profile": {"name": "Moved"}, "text": "You move."})
    page = await signed_in(desk, lab, "/console/personas/moved")
    await page.get_by_label("Goal", exact=True).fill("Arrive.")
    await page.get_by_label("Name", exact=True).fill("Arrived")

    await page.get_by_role("navigation", name="Console").get_by_role("link", name="Experiments").click()
    await page.get_by_role("button", name="New experiment").click()
    await page.get_by_label("Or paste the text").fill("name: pasted")
    await page.get_by_role("button", name="Close").click()
    await page.get_by_role("button", name="New experiment").click()
    await expect(page.get_by_label("Or paste the text")).to_have_value("name: pasted")
    await page.get_by_label("Or paste the text").fill("")
    for _ in range(4):
        await page.go_back()
    await expect(page.get_by_label("Goal", exact=True)).to_have_value("Arrive.")
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Arrived")

    assert not await asks_before_it_is_left(page)
    assert lab.ask("GET", "/v1/personas/moved")["persona"]["goal"] == "Arrive."


async def test_a_persona_that_another_one_has_saved_is_saved_over_or_taken_as_it_is(
    browser: Browser, lab: RunningLab
) -> None:
    lab.ask("PUT", "/v1/personas/shared", {"profile": {"name": "Shared"}, "text": "You wait."})
    context = await browser.new_context(base_url=lab.url, locale="en")
    page = await signed_in(context, lab, "/console/personas/shared")
    title, name = page.get_by_role("heading", level=1), page.get_by_label("Name", exact=True)
    await expect(name).to_have_value("Shared")

    async def save_over(theirs: str) -> None:
        lab.ask("PUT", "/v1/personas/shared", {"profile": {"name": theirs}, "text": "You stay."})
        await name.fill("Mine")
        await page.get_by_role("button", name="Save", exact=True).click()
        await expect(page.get_by_role("alert")).to_contain_text("saved meanwhile")
        assert lab.ask("GET", "/v1/personas/shared")["persona"]["profile"]["name"] == theirs

    await save_over("Theirs")
    await page.get_by_role("button", name="Save mine over it").click()
    await expect(title).to_have_text("Mine")
    await save_over("Newer")
    await page.get_by_role("button", name="Take theirs").click()

    await expect(title).to_have_text("Newer")
    await expect(name).to_have_value("Newer")
    await context.close()
