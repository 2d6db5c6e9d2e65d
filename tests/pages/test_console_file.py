"""The file of a draft in the console: what is typed and added is not lost while something is saved."""

import asyncio
import io
import re
import zipfile
from collections.abc import Mapping
from typing import Final

import pytest
from playwright.async_api import Browser, BrowserContext, FilePayload, Page, Route, expect

from tests.pages.conftest import RunningLab
from tests.pages.test_console import GROUPS, desk, signed_in

__all__ = ["desk"]

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

STUDY: Final = """parley: 1
name: Archived
stages: [{id: welcome, kind: info, lines: [Welcome.]}]
cohorts: [{seats: [{open: true}]}]
"""
TABLE: Final[FilePayload] = {"name": "people.csv", "mimeType": "text/csv", "buffer": b"id,name\nana,Ana\n"}


def pack(name: str, files: Mapping[str, str]) -> FilePayload:
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for one, text in files.items():
            archive.writestr(one, text)
    return {"name": name, "mimeType": "application/zip", "buffer": content.getvalue()}


async def limit_files(page: Page, file_bytes: int) -> None:
    """The page reads that one file may have so many bytes."""

    async def fulfill(route: Route) -> None:
        answer = await route.fetch()
        found = await answer.json()
        found["limits"]["file_bytes"] = file_bytes
        await route.fulfill(response=answer, json=found)

    await page.route("**/v1/whoami", fulfill)


async def file_of(context: BrowserContext, lab: RunningLab) -> tuple[Page, str]:
    made = lab.ask("POST", "/v1/experiments", {**GROUPS, "name": "Shared"})
    page = await signed_in(context, lab, f"/console/e/{made['id']}/file")
    await expect(page.get_by_label("Text of the file")).to_have_value(re.compile("Shared"))
    return page, f"/v1/experiments/{made['id']}"


@pytest.mark.grid
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


@pytest.mark.grid
async def test_an_archive_in_capitals_may_be_larger_than_one_file(desk: BrowserContext, lab: RunningLab) -> None:
    page = await signed_in(desk, lab, "/console?new=1")
    await limit_files(page, 100)

    await page.get_by_label("Files of an experiment").set_input_files([pack("STUDY.ZIP", {"study.yaml": STUDY})])

    # The first file that a lab reads waits for the process that reads it.
    await expect(page.get_by_role("heading", level=1)).to_have_text("Archived", timeout=60_000)


@pytest.mark.grid
async def test_a_workbook_of_tables_in_an_archive_in_capitals_is_sent_as_one(
    desk: BrowserContext, lab: RunningLab
) -> None:
    page = await signed_in(desk, lab, "/console?new=1")
    types: list[str] = []

    async def fulfill(route: Route) -> None:
        types.append(route.request.headers["content-type"])
        await route.fulfill(status=201, json={"experiments": [], "warnings": ["Forgiven."]})

    await page.route("**/v1/experiments/import", fulfill)
    book = pack("BOOK.ZIP", {"settings.csv": "a,b\n"})
    await page.get_by_label("Files of an experiment").set_input_files([book])

    await expect(page.get_by_text("Forgiven.")).to_be_visible()
    assert types == ["application/zip"]


@pytest.mark.grid
async def test_of_two_experiment_files_none_is_stored_and_both_are_named(desk: BrowserContext, lab: RunningLab) -> None:
    page = await signed_in(desk, lab, "/console?new=1")
    both: list[FilePayload] = [
        {"name": name, "mimeType": "application/yaml", "buffer": STUDY.encode()} for name in ("one.yaml", "two.yaml")
    ]

    await page.get_by_label("Files of an experiment").set_input_files(both)

    await expect(page.get_by_role("alert")).to_contain_text("several experiment files: one.yaml, two.yaml")
