"""A lab in a process of its own and a browser, for the tests of the pages."""

import json
import os
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from threading import Thread
from typing import Any, Final
from uuid import uuid4

import httpx2
import pytest
import pytest_asyncio
from playwright.async_api import Browser, BrowserContext, Page, async_playwright, expect

from parley_lab.cli import forked
from parley_lab.cli.testing import environment
from parley_lab.store.databases import copy_database, drop_database
from parley_lab.testing.network import WITHOUT_TLS
from parley_lab.testing.services import Server
from parley_lab.testing.tcp_proxy import TcpProxy

CHROMIUM_VARIABLE: Final = "PARLEY_TEST_CHROMIUM"
_BROWSERS: Final = ("chromium-headless-shell", "chromium", "chromium-browser")
_PATIENCE_MS: Final = 20_000
expect.set_options(timeout=_PATIENCE_MS)


@dataclass(frozen=True)
class RunningLab:
    """A lab of the test run. Requests carry its experimenter's key."""

    url: str
    key: str
    database_url: str = ""

    def ask(self, method: str, path: str, body: Any = None, *, media_type: str = "application/json") -> Any:
        """What the API answers to a request with the key of the experimenter."""
        content = body.encode() if isinstance(body, str) else None if body is None else json.dumps(body).encode()
        headers = {"Authorization": f"Bearer {self.key}", "Content-Type": media_type}
        answer = httpx2.request(
            method,
            f"{self.url}{path}",
            content=content,
            headers=headers,
            timeout=_PATIENCE_MS / 1000,
            verify=WITHOUT_TLS,
        )
        assert answer.is_success, answer.text
        return answer.json() if answer.content else None

    def started(self, experiment: dict[str, Any]) -> dict[str, Any]:
        """The experiment, once it runs."""
        created = self.ask("POST", "/v1/experiments?is_test=true", {"parley": 1, "name": "Pages", **experiment})
        self.ask("POST", f"/v1/experiments/{created['id']}/start")
        found: dict[str, Any] = self.ask("GET", f"/v1/experiments/{created['id']}")
        return found

    def end_all(self) -> None:
        """End what still runs: the lab would look after its members to the end of the tests."""
        for running in self.ask("GET", "/v1/experiments?status=running")["experiments"]:
            self.ask("POST", f"/v1/experiments/{running['id']}/end")


@pytest.fixture(scope="session")
def lab(
    postgres_server: Server, template_database: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[RunningLab]:
    """One lab for all tests of a process; each test starts experiments of its own."""
    with running_lab(postgres_server, template_database, tmp_path_factory.mktemp("pages"), {}) as found:
        yield found


@pytest.fixture(autouse=True)
def _end_experiments(request: pytest.FixtureRequest) -> Iterator[None]:
    lab = request.getfixturevalue("lab") if "lab" in request.fixturenames else None
    yield
    if isinstance(lab, RunningLab):
        lab.end_all()


@contextmanager
def running_lab(
    postgres_server: Server, template_database: str, folder: Path, settings: Mapping[str, str]
) -> Iterator[RunningLab]:
    """A lab on a database of its own, with these variables in its environment."""
    name = f"parley_pages_{uuid4().hex[:12]}"
    url = copy_database(postgres_server.url, template_database, name)
    # Each process of the tests has a lab of its own, and a server usually takes a hundred connections.
    variables = {**settings, "PARLEY_DATABASE_URL": url, "PARLEY_DATABASE_POOL_SIZE": "10"}
    with lab_process(folder, variables, "--port", "0") as found:
        yield found
    drop_database(postgres_server.url, name)


@contextmanager
def lab_process(folder: Path, variables: Mapping[str, str], *options: str) -> Iterator[RunningLab]:
    """The process of a lab with these options of `parley up`; it stops in order."""
    words = ["up", "--data-dir", str(folder / "lab"), *options]
    process = forked.begin(words, folder=folder, variables=environment(variables))
    try:
        address = address_in(process)
        # A pipe that no one reads is full after some hundred experiments, and the lab would wait for its reader.
        rest = Thread(target=process.stdout.read)
        rest.start()
        key = (folder / "lab" / "api-key").read_text().strip()
        yield RunningLab(address, key, variables["PARLEY_DATABASE_URL"])
        process.send_signal(signal.SIGTERM)
        rest.join()
    finally:
        process.close()


def address_in(process: "subprocess.Popen[str] | forked.Begun") -> str:
    """Where the lab answers, once it has said so."""
    assert process.stdout is not None
    said = []
    for line in process.stdout:
        said.append(line)
        if "REST API: " in line:
            return line.split("REST API: ")[1].split()[0]
    raise AssertionError(f"The lab did not start:\n{''.join(said)}")


def _chromium() -> str | None:
    """The browser without windows, where it is installed: a context of it takes a third of the CPU."""
    named = os.environ.get(CHROMIUM_VARIABLE)
    return named or next(filter(None, map(shutil.which, _BROWSERS)), None)


@asynccontextmanager
async def _running_browser(*arguments: str) -> AsyncIterator[Browser]:
    path = _chromium()
    if path is None:
        pytest.skip(f"no browser: install Chromium, or name one with {CHROMIUM_VARIABLE}")
    # As root, as in containers, Chromium starts only without its sandbox; pages here are our own.
    sandbox = ["--no-sandbox"] if hasattr(os, "geteuid") and os.geteuid() == 0 else []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=path, args=[*sandbox, *arguments])
        yield browser
        await browser.close()


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _browser() -> AsyncIterator[Browser]:
    # Otherwise Chromium starts one process more for each context, in advance: a fifth of the CPU.
    async with _running_browser("--renderer-process-limit=1") as browser:
        yield browser


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def _browser_of_tabs() -> AsyncIterator[Browser]:
    async with _running_browser() as browser:
        yield browser


@pytest.fixture
def browser(request: pytest.FixtureRequest) -> Browser:
    """The tabs of one context share a process, and take turns, unless the test is marked tabs."""
    has_tabs = request.node.get_closest_marker("tabs") is not None
    found: Browser = request.getfixturevalue("_browser_of_tabs" if has_tabs else "_browser")
    return found


@pytest_asyncio.fixture(loop_scope="session")
async def context(browser: Browser, lab: RunningLab) -> AsyncIterator[BrowserContext]:
    """A browser that remembers nothing; an error in a page fails the test."""
    context = await browser.new_context(base_url=lab.url, viewport={"width": 390, "height": 800}, locale="en")
    context.set_default_timeout(_PATIENCE_MS)
    errors: list[str] = []
    context.on("weberror", lambda error: errors.append(str(error.error)))
    context.on("console", lambda told: errors.append(told.text) if "Content Security Policy" in told.text else None)
    yield context
    await context.close()
    assert errors == []


@pytest_asyncio.fixture(loop_scope="session")
async def page(context: BrowserContext) -> Page:
    return await context.new_page()


@pytest_asyncio.fixture(loop_scope="session")
async def proxy(lab: RunningLab) -> AsyncIterator[TcpProxy]:
    host, port = lab.url.removeprefix("http://").split(":")
    async with TcpProxy(host, int(port)) as found:
        yield found


@pytest_asyncio.fixture(loop_scope="session")
async def far(browser: Browser, proxy: TcpProxy) -> AsyncIterator[Page]:
    """A browser that reaches the lab through the proxy."""
    context = await browser.new_context(base_url=f"http://{proxy.host}:{proxy.port}", locale="en")
    yield await context.new_page()
    await context.close()
