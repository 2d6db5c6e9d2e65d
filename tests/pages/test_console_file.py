"""The file of a draft in the console: what is typed and added is not lost while something is saved."""

import asyncio
import re
from typing import Final

import pytest
from playwright.async_api import Browser, BrowserContext, FilePayload, Page, Route, expect

from tests.pages.conftest import RunningLab
from tests.pages.test_console import GROUPS, desk, signed_in

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

TABLE: Final[FilePayload] = {"name": "people.csv", "mimeType": "text/csv", "buffer": b"id,name\nana,Ana\n"}


async def file_of(context: BrowserContext, lab: RunningLab) -> tuple[Page, str]:
    made = lab.ask("POST", "/v1/experiments", {**GROUPS, "name": "Shared"})
    page = await signed_in(context, lab, f"/console/e/{made['id']}/file")
    await expect(page.get_by_label("Text of the file")).to_have_value(re.compile("Shared"))
    return page, f"/v1/experiments/{made['id']}"


async def test_what_is_typed_while_a_table_is_added_stays(desk: BrowserContext, lab: RunningLab) -> None:
    page, address = await file_of(desk, lab)
    text = page.get_by_label("Text of the file")
    written = await text.input_value()
    is_sent, may_go = asyncio.Event(), asyncio.Event()

    async def hold(route: Route) -> None:
        is_sent.set()
        await may_go.wait()
        await route.continue_()

    await page.route("**/file?*", hold)
    await page.get_by_label("Tables and pictures to add").set_input_files([TABLE])
    await is_sent.wait()
    typed = written.replace("Shared", "Typed meanwhile")
    await text.fill(typed)
    may_go.set()

    await expect(page.get_by_role("list", name="Files beside the text")).to_contain_text("people.csv")
    await expect(text).to_have_value(typed)
    await page.get_by_role("button", name="Save", exact=True).click()
    await expect(page.get_by_role("heading", level=1)).to_have_text("Typed meanwhile")
    assert lab.ask("GET", f"{address}/source")["files"] != []


async def test_mine_is_saved_over_theirs_with_the_table_that_was_added(browser: Browser, lab: RunningLab) -> None:
    context = await browser.new_context(base_url=lab.url, locale="en")
    page, address = await file_of(context, lab)
    lab.ask("PUT", f"{address}/file", {**GROUPS, "name": "Theirs"})

    await page.get_by_label("Tables and pictures to add").set_input_files([TABLE])
    await page.get_by_role("button", name="Save mine over it").click()

    await expect(page.get_by_role("list", name="Files beside the text")).to_contain_text("people.csv")
    found = lab.ask("GET", f"{address}/source")
    await context.close()
    assert "Shared" in found["text"]
    assert [one["name"] for one in found["files"]] == ["people.csv"]
