"""A frontend of others, at an origin of its own, takes people through a study by the API and its client alone."""

import asyncio
import shutil
import subprocess
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.async_api import Browser, Page, expect

from parley_lab.testing.services import Server
from tests.pages.conftest import RunningLab, running_lab

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

ROOT = Path(__file__).parents[2]
COMPILER = ROOT / "web" / "node_modules" / ".bin" / "tsc"
STUDY: dict[str, Any] = {
    "language": "en",
    "pace": "live",
    "stages": [
        {"id": "welcome", "kind": "info", "name": "Welcome", "lines": ["Please read this."]},
        {
            "id": "about",
            "kind": "survey",
            "name": "About you",
            "questions": [
                {"id": "age", "kind": "number", "title": "How old are you?", "minimum": 18, "integer": True},
                {"id": "city", "kind": "text", "title": "Where do you live?"},
            ],
        },
        {"id": "talk", "kind": "group_chat", "name": "The conversation"},
    ],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}


STOPPED_AT_ONCE = """
    async () => {
      const { Parley } = await import("/clients/typescript/parley.js");
      const opened = [];
      window.EventSource = class extends EventTarget {
        constructor(url) {
          super();
          opened.push(String(url));
        }
        close() {}
      };
      let answer = () => {};
      window.fetch = () => new Promise((done) => { answer = () => done(new Response('{"ticket": "t"}')); });
      const stop = new Parley(location.origin, "token").follow("c:1", () => {});
      stop();
      answer();
      await new Promise((wake) => setTimeout(wake, 100));
      return opened;
    }
"""
"""The streams that are opened when one is stopped before its ticket has come."""

LEAVE = """
    async (lab) => {
      const { Parley } = await import("/clients/typescript/parley.js");
      await new Parley(lab, localStorage["token"]).call("POST /v1/me/leave");
    }
"""


class _Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def frontend(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The address of the compiled frontend."""
    if not COMPILER.exists():
        pytest.skip("no TypeScript: `make check` installs it where there is npm")
    folder = tmp_path_factory.mktemp("frontend")
    project = ROOT / "examples" / "frontend"
    subprocess.run([COMPILER, "--project", project, "--noEmit", "false", "--outDir", folder], check=True)
    shutil.copy(project / "index.html", folder / "examples" / "frontend")
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Quiet, directory=str(folder)))
    thread = Thread(target=server.serve_forever)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def open_lab(
    frontend: str, postgres_server: Server, template_database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningLab]:
    """A lab whose API pages of that origin may call."""
    settings = {"GATEWAY_ALLOWED_ORIGINS": f'["{frontend}"]'}
    with running_lab(postgres_server, template_database, tmp_path_factory.mktemp("open"), settings) as lab:
        yield lab


async def take_part(page: Page, frontend: str, lab: RunningLab, code: str) -> None:
    """Join, read, fill in, wrongly at first, and come to the conversation."""
    await page.goto(f"{frontend}/examples/frontend/index.html?lab={lab.url}&code={code}")
    await expect(page.get_by_text("Please read this.")).to_be_visible()
    await page.get_by_role("button", name="Go on").click()
    await page.get_by_label("How old are you?").fill("7")
    await page.get_by_label("Where do you live?").fill("Chur")
    await page.get_by_role("button", name="Go on").click()
    await expect(page.get_by_text("age: ")).to_be_visible()
    await page.get_by_label("How old are you?").fill("33")
    await page.get_by_role("button", name="Go on").click()
    await expect(page.get_by_role("heading", name="The conversation")).to_be_visible()


@pytest.mark.grid
async def test_two_people_go_through_a_study_in_a_frontend_of_someone_else(
    browser: Browser, frontend: str, open_lab: RunningLab
) -> None:
    code = open_lab.started(STUDY)["join_code"]
    ada, bo = [await (await browser.new_context()).new_page() for _ in range(2)]
    for page in (ada, bo):
        # As over plain HTTP from another machine.
        await page.add_init_script("delete Crypto.prototype.randomUUID")
    await asyncio.gather(*(take_part(page, frontend, open_lab, code) for page in (ada, bo)))

    await ada.get_by_placeholder("Your message").fill("Buses are fine")
    await ada.get_by_role("button", name="Send").click()
    await expect(bo.get_by_text("Buses are fine")).to_be_visible()
    await expect(ada.get_by_text("Buses are fine")).to_be_visible()
    for page in (ada, bo):
        await page.get_by_role("button", name="Go on").click()
        await expect(page.get_by_text("The end: completed")).to_be_visible()
        await page.context.close()


async def test_a_stream_that_is_stopped_before_its_ticket_has_come_is_not_opened(
    browser: Browser, frontend: str
) -> None:
    page = await browser.new_page()
    await page.goto(f"{frontend}/examples/frontend/")

    opened = await page.evaluate(STOPPED_AT_ONCE)
    await page.close()

    assert opened == []


@pytest.mark.grid
async def test_the_client_follows_no_stream_of_who_has_left(
    browser: Browser, frontend: str, open_lab: RunningLab
) -> None:
    code = open_lab.started(STUDY)["join_code"]
    page = await (await browser.new_context()).new_page()
    async with page.expect_request("**/v1/me/stream?*"):
        await page.goto(f"{frontend}/examples/frontend/index.html?lab={open_lab.url}&code={code}")
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))

    async with page.expect_response("**/v1/stream-tickets") as refused:
        await page.evaluate(LEAVE, open_lab.url)
    assert (await refused.value).status == 409
    await page.wait_for_timeout(2000)

    assert sum(url.endswith("/v1/stream-tickets") for url in asked) == 1
    await page.context.close()
