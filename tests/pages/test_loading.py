"""How pages come to a browser: few requests, one after another; over a slow network; from an installed wheel."""

import json
import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterator
from pathlib import Path
from time import monotonic
from typing import Final

import pytest
from playwright.async_api import Browser, Page, Request, expect

from parley_lab.kinds.stages import kinds
from tests.pages.conftest import RunningLab
from tests.pages.taking_part import STUDY, join
from tests.pages.test_console import KEPT

pytestmark = [pytest.mark.pages, pytest.mark.asyncio(loop_scope="session")]

REPOSITORY: Final = Path(__file__).parents[2]
CONSOLE_PAGE_BYTES: Final = 100 * 1024
SERVER: Final = """
import socket, uvicorn
from starlette.applications import Starlette
from parley_lab.web.app import routes
from parley_lab.web.assets import assets

listening = socket.create_server(("127.0.0.1", 0))
print(listening.getsockname()[1], assets().root, flush=True)
uvicorn.Server(uvicorn.Config(Starlette(routes=routes()), log_level="error")).run([listening])
"""


async def test_a_page_can_be_read_after_three_round_trips(page: Page, lab: RunningLab) -> None:
    """The document, all that it names, and one answer of the API; what serves translations comes when all is shown."""
    experiment = lab.started({**STUDY, "join": {"title": "Buses"}})
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url.removeprefix(lab.url)))

    await page.goto(f"/join/{experiment['join_code']}")
    await expect(page.get_by_role("heading", level=1)).to_have_text("Buses")

    document = await (await page.context.request.get(f"/join/{experiment['join_code']}")).text()
    named = set(re.findall(r'(?:href|src)="(/assets/[^"]+)"', document))
    loaded = [one for one in asked if one.startswith("/assets/")]
    assert set(loaded[: len(named)]) == named
    assert {one.split("/", 3)[3] for one in loaded[len(named) :]} <= {"lab/translated.js", "lab/preact.js"}
    assert [one for one in asked if one.startswith("/v1/")] == [f"/v1/join/{experiment['join_code']}"]


async def test_the_console_can_be_read_after_three_round_trips(browser: Browser, lab: RunningLab) -> None:
    """The document, all that it names, and answers of the API that do not wait for each other; all is small."""
    context = await browser.new_context(base_url=lab.url, locale="de")
    kept = json.dumps(lab.ask("POST", "/v1/sign-ins", {}))
    await context.add_init_script(f"sessionStorage.setItem({json.dumps(KEPT)}, {json.dumps(kept)})")
    lab.ask("POST", "/v1/experiments", {"parley": 1, "name": "Erstes", **STUDY})
    page = await context.new_page()
    asked: list[Request] = []
    page.on("request", lambda request: asked.append(request))

    await page.goto("/console")
    await expect(page.get_by_role("link", name="Erstes").first).to_be_visible()

    document = await (await context.request.get("/console")).text()
    named = set(re.findall(r'(?:href|src)="(/assets/[^"]+)"', document))
    paths = [one.url.removeprefix(lab.url) for one in asked]
    files = [one for one in asked if "/v1/" not in one.url]
    sizes = [(await one.sizes())["responseBodySize"] for one in files]
    assert {one for one in paths if one.startswith("/assets/")} == named
    assert {one.partition("?")[0] for one in paths if one.startswith("/v1/")} == {"/v1/experiments", "/v1/stream"}
    assert 0 < sum(sizes) <= CONSOLE_PAGE_BYTES
    await context.close()


async def test_going_on_is_one_request(page: Page, lab: RunningLab) -> None:
    """What the live stream tells of it is in the answer already."""
    stages = [{"id": f"page{number}", "kind": "info", "lines": [f"Page {number}"]} for number in range(4)]
    experiment = lab.started({**STUDY, "stages": stages})
    await join(page, experiment)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(f"{request.method} {request.url.removeprefix(lab.url)}"))

    for number in range(3):
        await page.get_by_role("button", name="Continue").click()
        await expect(page.get_by_text(f"Page {number + 1}")).to_be_visible()
        await page.wait_for_timeout(300)

    said = [one for one in asked if "/v1/" in one]
    assert said == [f"POST /v1/me/stages/page{number}/advance" for number in range(3)]


@pytest.mark.grid
async def test_a_study_can_be_taken_over_a_slow_network(page: Page, lab: RunningLab) -> None:
    """What browsers call slow 3G: 400 ms to the lab and back, 50 kB a second."""
    network = await page.context.new_cdp_session(page)
    slow = {"offline": False, "latency": 400, "downloadThroughput": 50_000, "uploadThroughput": 50_000}
    await network.send("Network.emulateNetworkConditions", slow)
    experiment = lab.started(STUDY)

    begin = monotonic()
    await page.goto(f"/join/{experiment['join_code']}")
    await expect(page.get_by_role("button", name="Take part")).to_be_visible()
    assert monotonic() - begin < 8
    await join(page, experiment)
    await page.get_by_role("button", name="Continue").click()

    await expect(page.get_by_label("How old are you?")).to_be_visible()


@pytest.fixture(scope="module")
def served_from_wheel(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[str, str]]:
    """The address of pages, and the root of their files, in an environment that has the wheel."""
    folder = tmp_path_factory.mktemp("wheel")
    build = [sys.executable, "-m", "hatchling", "build", "--target", "wheel", "--directory", str(folder)]
    subprocess.run(build, cwd=REPOSITORY, check=True, capture_output=True)
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder / "venv")], check=True)
    python = folder / "venv" / "bin" / "python"
    (wheel,) = map(str, folder.glob("*.whl"))
    install = [sys.executable, "-m", "uv", "pip", "install", "--offline", "--no-deps", "--python", str(python), wheel]
    subprocess.run(install, check=True, capture_output=True)
    # What others have written comes from here; our own code does not, since no .pth file is read on this path.
    variables = {**os.environ, "PYTHONPATH": sysconfig.get_paths()["purelib"]}
    with subprocess.Popen(
        [str(python), "-c", SERVER], cwd=folder, env=variables, stdout=subprocess.PIPE, text=True
    ) as server:
        assert server.stdout is not None
        port, root = server.stdout.readline().split()
        yield f"http://127.0.0.1:{port}", root
        server.terminate()


@pytest.mark.grid
async def test_every_kinds_page_is_in_the_wheel(browser: Browser, served_from_wheel: tuple[str, str]) -> None:
    url, root = served_from_wheel
    page = await browser.new_page()
    await page.goto(f"{url}/take/unknown")

    own = await page.evaluate("JSON.parse(document.getElementById('lab').textContent).kinds")
    for kind in own:
        exported = await page.evaluate(f"import('{root}/kinds/{kind}/page.js').then((page) => typeof page.default)")
        assert exported == "function", kind
    await page.close()

    assert set(kinds()) - set(own) == {"info", "survey"}, "these two have the page that is made from their forms"
