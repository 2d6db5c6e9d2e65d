"""Errors of the console: each says what, where and what now, and keeps what was typed."""

import json
import re
from collections.abc import AsyncIterator
from typing import Any, Final

import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, expect

from parley_lab.testing.tcp_proxy import TcpProxy
from tests.pages.accessible import faults
from tests.pages.conftest import RunningLab
from tests.pages.test_console import GROUPS, code_of_a_newcomer, signed_in
from tests.pages.test_console_journeys import payload

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

LIMITED: Final = {"detail": "Too many requests.", "code": "too_many_requests", "params": {"seconds": 7}}


@pytest_asyncio.fixture(loop_scope="session")
async def window(browser: Browser, lab: RunningLab) -> AsyncIterator[BrowserContext]:
    """A browser in which requests may fail."""
    context = await browser.new_context(base_url=lab.url, locale="en")
    context.set_default_timeout(20_000)
    yield context
    await context.close()


async def editor(context: BrowserContext, lab: RunningLab) -> Page:
    """The editor of a draft, in which something was typed."""
    made = lab.ask("POST", "/v1/experiments", {**GROUPS, "name": "Errors"})
    page = await signed_in(context, lab, f"/console/e/{made['id']}/file")
    text = page.get_by_label("Text of the file")
    await expect(text).to_have_value(re.compile("Errors"))
    await text.fill((await text.input_value()).replace("Errors", "Typed"))
    return page


async def test_a_lab_that_is_away_and_a_limit_are_told_and_the_text_stays(
    browser: Browser, lab: RunningLab, proxy: TcpProxy
) -> None:
    context = await browser.new_context(base_url=f"http://{proxy.host}:{proxy.port}", locale="en")
    page = await editor(context, lab)
    save = page.get_by_role("button", name="Save", exact=True)

    await proxy.cut()
    await save.click()
    await expect(page.get_by_role("alert")).to_have_text("The lab cannot be reached.")
    await expect(page.get_by_text("connection lost")).to_be_visible()
    await proxy.restore()
    headers = {"Retry-After": "7"}
    await page.route("**/file?*", lambda route: route.fulfill(status=429, json=LIMITED, headers=headers))
    await save.click()
    await expect(page.get_by_role("alert")).to_have_text("Too many requests. Try again in 7 seconds.")
    await expect(page.get_by_label("Text of the file")).to_have_value(re.compile("Typed"))
    await page.unroute("**/file?*")
    await save.click()

    await expect(page.get_by_role("heading", level=1)).to_have_text("Typed")
    await expect(page.get_by_role("alert")).to_have_count(0)
    await context.close()


@pytest.mark.grid
async def test_what_ended_meanwhile_is_told_in_the_question_which_keeps_its_words(
    window: BrowserContext, lab: RunningLab
) -> None:
    experiment = lab.started(GROUPS)
    lab.ask("POST", f"/v1/experiments/{experiment['id']}/join", {"profile": {"name": "Ada"}})
    page = await signed_in(window, lab, f"/console/e/{experiment['id']}")
    await page.get_by_role("table", name="Groups by stages").get_by_role("link").first.click()
    await page.get_by_role("complementary").get_by_role("button", name="Ada").last.click()
    await page.get_by_role("complementary").get_by_role("button", name="Continue").click()
    question = page.get_by_role("dialog", name="Continue for Ada?")
    await question.get_by_label("Reason").fill("the page hangs")

    lab.ask("POST", f"/v1/experiments/{experiment['id']}/end", {"reason": "enough"})
    await expect(page.locator(".c-head .c-is-ended")).to_be_visible()
    await question.get_by_role("button", name="Continue").click()

    await expect(question.get_by_role("alert")).to_be_visible()
    await expect(question.get_by_label("Reason")).to_have_value("the page hangs")
    assert await faults(page) == []


@pytest.mark.grid
async def test_what_is_of_another_is_told_in_the_words_of_what_is_not_there(
    window: BrowserContext, lab: RunningLab
) -> None:
    experiment = lab.started(GROUPS)
    page = await window.new_page()
    await page.goto(f"/console#code={await code_of_a_newcomer(lab)}")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Experiments")

    for unseen in (experiment["id"], "00000000-0000-0000-0000-000000000000"):
        await page.goto(f"/console/e/{unseen}")
        await expect(page.get_by_role("alert")).to_contain_text("There is no such experiment.")
        await expect(page.get_by_role("link", name="Show all experiments")).to_be_visible()


@pytest.mark.grid
async def test_files_that_are_unknown_too_large_or_have_hundreds_of_problems_are_told(
    window: BrowserContext, lab: RunningLab
) -> None:
    page = await signed_in(window, lab, "/console?new=1")
    files, alert = page.get_by_label("Files of an experiment"), page.get_by_role("alert")

    await files.set_input_files([payload("notes.docx", b"?")])
    await expect(alert).to_contain_text("None of these is an experiment file")
    await files.set_input_files([payload("long.yaml", b"parley: 1\nname: " + b"x" * 1_200_000)])
    await expect(alert).to_contain_text("The text is too large: it has 1.1 MB, and a file may have 1 MB.")
    await files.set_input_files([payload("long.xlsx", b"x" * 1_200_000)])
    await expect(alert).to_contain_text("long.xlsx is too large")
    stages: list[Any] = [{"id": f"s{number}", "kind": "infos"} for number in range(120)]
    await files.set_input_files(
        [payload("wrong.json", json.dumps({"parley": 1, "name": "x", "stages": stages}).encode())]
    )
    await expect(alert).to_contain_text("more problem")
    assert await faults(page) == []


@pytest.mark.grid
async def test_a_page_whose_script_does_not_come_can_be_asked_for_again(
    window: BrowserContext, lab: RunningLab
) -> None:
    experiment = lab.started(GROUPS)
    page = await signed_in(window, lab, f"/console/e/{experiment['id']}")
    await page.route("**/console/data.js", lambda route: route.abort())

    await page.get_by_role("navigation", name="Pages of the experiment").get_by_role("link", name="Data").click()
    await expect(page.get_by_role("alert")).to_contain_text("The script of this page did not come.")
    await page.unroute("**/console/data.js")
    await page.get_by_role("alert").get_by_role("button", name="Try again").click()

    await expect(page.get_by_role("heading", name="Take home")).to_be_visible()
