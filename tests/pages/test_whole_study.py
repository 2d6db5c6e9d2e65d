"""A whole study in the browser: three people beside agents, a connection that is cut, a lab that is killed."""

import asyncio
import os
import re
import signal
import subprocess
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
import pytest_asyncio
import yaml
from playwright.async_api import Browser, Page, expect

from parley_lab.cli.testing import COMMAND, environment
from parley_lab.store.databases import copy_database, drop_database
from parley_lab.testing.services import Server
from parley_lab.testing.tcp_proxy import TcpProxy
from tests.pages.conftest import RunningLab, address_in
from tests.pages.going_through import go_through
from tests.pages.taking_part import STUDY, join, leave_talk

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

DEMO = Path(__file__).parents[2] / "demos" / "people_and_agents.yaml"
PICTURE = "PARLEY_TEST_PICTURE"
"""Names the file for a picture of the conversation, if one is wanted."""
TALK: dict[str, Any] = {
    **STUDY,
    "stages": [STUDY["stages"][2], STUDY["stages"][3]],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}


@pytest_asyncio.fixture(loop_scope="session")
async def people(browser: Browser, lab: RunningLab) -> AsyncIterator[list[Page]]:
    """Three browsers that know nothing of each other."""
    contexts = [await browser.new_context(base_url=lab.url, locale="en") for _ in range(3)]
    yield [await context.new_page() for context in contexts]
    for context in contexts:
        await context.close()


@pytest.mark.grid
async def test_three_people_and_agents_go_through_the_whole_demo(people: list[Page], lab: RunningLab) -> None:
    demo = yaml.safe_load(DEMO.read_text())
    demo["stages"][3]["time_limit_seconds"] = 25 if PICTURE in os.environ else 5
    for agent in demo["personas"]:
        agent["pages"] = {"reading_words_per_minute": 0, "writing_words_per_minute": 0}
    experiment = lab.started(demo)
    for person in people:
        await join(person, experiment)

    await asyncio.gather(*(go_through(person, "The conversation") for person in people))
    if PICTURE in os.environ:
        await _picture(people[0])
    await asyncio.gather(*(go_through(person, "Your payment") for person in people))
    for person in people:
        await expect(person.locator(".amount strong")).to_have_text(re.compile(r"€2\.(50|85)"), timeout=20_000)
        await person.get_by_role("button", name="Continue").click()
        await expect(person.get_by_text("LINDEN-THANKS")).to_be_visible()

    found = lab.ask("GET", f"/v1/experiments/{experiment['id']}/members")["members"]
    assert [one["status"] for one in found if one["player"] == "person"] == ["completed"] * 3


async def _picture(page: Page) -> None:
    """The conversation of the demo, for the README."""
    await page.set_viewport_size({"width": 760, "height": 760})
    await page.get_by_label("Your message").fill("Good morning! I walk there with my daughter every day.")
    await page.get_by_label("Your message").press("Enter")
    await expect(page.locator(".message")).to_have_count(3, timeout=20_000)
    await page.get_by_label("Your message").fill("What about the shops?")
    await page.screenshot(path=os.environ[PICTURE])


async def said(page: Page) -> list[str]:
    return await page.locator(".log .message:not(.pending) .said").all_inner_texts()


async def test_a_cut_connection_loses_no_message_and_doubles_none(
    browser: Browser, page: Page, lab: RunningLab
) -> None:
    host, port = lab.url.removeprefix("http://").split(":")
    experiment = lab.started(TALK)
    await join(page, experiment)
    async with TcpProxy(host, int(port)) as proxy:
        context = await browser.new_context(base_url=f"http://{proxy.host}:{proxy.port}", locale="en")
        other = await context.new_page()
        await join(other, experiment)
        mine = page.get_by_label("Your message")
        expected = [f"Message {number}" for number in range(1, 11)]
        for number, text in enumerate(expected, start=1):
            await mine.fill(text)
            await mine.press("Enter")
            if number == 4:
                await proxy.cut()
                await expect(other.get_by_text("The connection is lost.")).to_be_visible()
            if number == 8:
                await proxy.restore()
        await expect(page.locator(".pending")).to_have_count(0)

        await expect(other.locator(".log").get_by_text("Message 10", exact=True)).to_be_visible()
        await expect(other.get_by_text("The connection is lost.")).to_have_count(0)
        assert await said(other) == await said(page) == expected
        await context.close()


@pytest.mark.grid
@pytest.mark.fault
async def test_open_pages_go_on_when_a_killed_lab_is_started_again(
    browser: Browser, postgres_server: Server, template_database: str, tmp_path: Path
) -> None:
    name = f"parley_killed_{uuid4().hex[:12]}"
    variables = {"PARLEY_DATABASE_URL": copy_database(postgres_server.url, template_database, name)}
    command = [*COMMAND, "up", "--data-dir", str(tmp_path / "lab")]

    def start(*more: str) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [*command, *more],
            cwd=tmp_path,
            env=environment(variables),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            start_new_session=True,
        )

    first = start("--port", "0")
    url = await asyncio.to_thread(address_in, first)
    lab = RunningLab(url, (tmp_path / "lab" / "api-key").read_text().strip())
    experiment = lab.started(TALK)
    contexts = [await browser.new_context(base_url=url, locale="en") for _ in range(2)]
    one, other = [await context.new_page() for context in contexts]
    for page in (one, other):
        await join(page, experiment)
    await one.get_by_label("Your message").fill("Before")
    await one.get_by_label("Your message").press("Enter")
    await expect(other.locator(".log").get_by_text("Before")).to_be_visible()

    os.killpg(first.pid, signal.SIGKILL)
    first.communicate(timeout=10)
    await expect(one.get_by_text("The connection is lost.")).to_be_visible()
    await one.get_by_label("Your message").fill("After")
    second = start("--port", url.rpartition(":")[2], "--continue-all")
    try:
        await asyncio.to_thread(address_in, second)
        await expect(one.get_by_text("The connection is lost.")).to_have_count(0, timeout=20_000)
        await one.get_by_label("Your message").press("Enter")

        await expect(other.locator(".log").get_by_text("After")).to_be_visible(timeout=20_000)
        assert await said(other) == ["Before", "After"]
        for page in (one, other):
            await leave_talk(page)
            await expect(page.get_by_role("heading", level=1)).to_have_text("Goodbye")
    finally:
        for context in contexts:
            await context.close()
        second.terminate()
        second.communicate(timeout=30)
    drop_database(postgres_server.url, name)
