"""The public link: Caddy with our Caddyfile, started as docker-compose.yml starts it, with a certificate of its own."""

import os
import shutil
import socket
import ssl
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import monotonic, sleep
from typing import Any, Final

import httpx2
import pytest
import yaml

from parley_lab.cli.lab_for_tests import ParleyLab, running_lab
from parley_lab.testing.network import free_port
from tests.containers.compose import ROOT

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("caddy") is None, reason="no caddy, which is in Debian's package caddy"),
]

DOMAIN: Final = "lab.example.org"
STUDY: Final = """
parley: 1
name: Buses
seed: 1
pace: live
stages: [{id: welcome, kind: info, lines: [Hello]}]
cohorts: [{seats: [{open: true}]}]
"""
_START_SECONDS: Final = 20.0


class PublicLink:
    """A Caddy that serves the lab; `ask` sends a request as a browser that knows its authority."""

    def __init__(self, folder: Path, upstream: str) -> None:
        self._ports = {"PARLEY_HTTP_PORT": free_port(), "PARLEY_HTTPS_PORT": free_port()}
        self._folder = folder
        self._variables = {
            "PARLEY_DOMAIN": DOMAIN,
            "PARLEY_CERTIFICATE": "internal",
            "PARLEY_UPSTREAM": upstream,
            "XDG_DATA_HOME": str(folder),
            "XDG_CONFIG_HOME": str(folder),
            **{name: str(port) for name, port in self._ports.items()},
        }

    @property
    def log(self) -> str:
        return (self._folder / "log").read_text()

    @contextmanager
    def running(self) -> Iterator[None]:
        command = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["public"]["command"]
        words = [word.replace("$$", "$").replace("/etc/caddy/", f"{ROOT}/deploy/") for word in command]
        variables = {"PATH": os.environ["PATH"], "HOME": str(self._folder), **self._variables}
        with (self._folder / "log").open("w") as log, subprocess.Popen(words, env=variables, stderr=log) as caddy:
            try:
                self._wait()
                yield
            finally:
                caddy.terminate()

    def _wait(self) -> None:
        until = monotonic() + _START_SECONDS
        while True:
            with suppress(OSError):
                self.connect().close()
                return
            assert monotonic() < until, self.log
            sleep(0.05)

    def context(self) -> ssl.SSLContext:
        return ssl.create_default_context(cafile=self._folder / "caddy/pki/authorities/local/root.crt")

    def connect(self) -> ssl.SSLSocket:
        """A connection whose certificate was checked, as a browser opens it."""
        context = self.context()
        context.set_alpn_protocols(["h2", "http/1.1"])
        plain = socket.create_connection(("127.0.0.1", self._ports["PARLEY_HTTPS_PORT"]), timeout=5)
        return context.wrap_socket(plain, server_hostname=DOMAIN)

    def client(self, **headers: str) -> httpx2.Client:
        address = f"https://127.0.0.1:{self._ports['PARLEY_HTTPS_PORT']}"
        return httpx2.Client(base_url=address, verify=self.context(), headers={"host": DOMAIN, **headers}, timeout=20)

    def without_tls(self, path: str) -> httpx2.Response:
        address = f"http://127.0.0.1:{self._ports['PARLEY_HTTP_PORT']}{path}"
        return httpx2.get(address, headers={"host": DOMAIN})


AS_DOMAIN: Final[dict[str, Any]] = {"sni_hostname": DOMAIN}


@pytest.fixture(scope="module")
def lab() -> Iterator[ParleyLab]:
    """Not below pytest's own folder: another pytest closes that to the user whom root's PostgreSQL runs as."""
    with TemporaryDirectory(ignore_cleanup_errors=True) as folder, running_lab(Path(folder), os.environ) as lab:
        yield lab


@pytest.fixture(scope="module")
def link(lab: ParleyLab, tmp_path_factory: pytest.TempPathFactory) -> Iterator[PublicLink]:
    link = PublicLink(tmp_path_factory.mktemp("caddy"), lab.url.removeprefix("http://"))
    with link.running():
        yield link


@pytest.fixture
def experiment(lab: ParleyLab) -> dict[str, Any]:
    told = lab.client.post("/v1/experiments", content=STUDY, headers={"content-type": "application/yaml"})
    made: dict[str, Any] = lab.client.get(f"/v1/experiments/{told.json()['id']}").json()
    return made


def test_a_page_comes_over_https_and_http_leads_to_it(link: PublicLink, experiment: dict[str, Any]) -> None:
    path = f"/join/{experiment['join_code']}"

    with link.client() as browser:
        page = browser.get(path, extensions=AS_DOMAIN)
    moved = link.without_tls(path)

    assert page.status_code == 200
    assert page.headers["content-type"].startswith("text/html")
    assert (moved.status_code, moved.headers["location"]) == (308, f"https://{DOMAIN}{path}")


def test_one_connection_carries_many_streams(link: PublicLink) -> None:
    with link.connect() as connection:
        assert connection.selected_alpn_protocol() == "h2"


def test_an_event_of_a_live_stream_comes_at_once(link: PublicLink, lab: ParleyLab, experiment: dict[str, Any]) -> None:
    """The stream stays open and says nothing else, so that an event that is collected would not come."""
    address = f"/v1/experiments/{experiment['id']}"
    key = lab.client.headers["authorization"]
    lab.client.post(f"{address}/start")

    with (
        link.client(authorization=key) as client,
        client.stream("GET", f"{address}/stream", extensions=AS_DOMAIN) as stream,
    ):
        lines = islice(stream.iter_lines(), 20)
        assert stream.headers["content-type"].startswith("text/event-stream")
        lab.client.post(f"{address}/pause")

        assert any("experiment.paused" in line for line in lines)


def test_a_body_and_headers_that_are_too_large_are_refused(link: PublicLink) -> None:
    with link.client() as client:
        body = client.post("/v1/join", content=b"x" * 2_000_000, extensions=AS_DOMAIN)
    with link.client(cookie="x" * 40_000) as client:
        headers = client.get("/", extensions=AS_DOMAIN)

    assert (body.status_code, body.json()["code"]) == (413, "too_large")
    assert headers.status_code == 431


def test_a_lab_that_is_away_gives_a_problem_and_no_ticket_is_logged(tmp_path: Path) -> None:
    link = PublicLink(tmp_path, f"127.0.0.1:{free_port()}")

    with link.running(), link.client(authorization="Bearer a-secret") as client:
        answer = client.get("/v1/me/stream?ticket=a-secret", extensions=AS_DOMAIN)

    assert (answer.status_code, answer.json()["status"], answer.json()["can_retry"]) == (502, 502, True)
    assert answer.headers["content-type"] == "application/problem+json"
    assert "a-secret" not in link.log


def test_without_a_domain_it_says_what_to_write() -> None:
    command = yaml.safe_load((ROOT / "docker-compose.yml").read_text())["services"]["public"]["command"]

    done = subprocess.run(
        [word.replace("$$", "$") for word in command],
        env={"PATH": os.environ["PATH"], "PARLEY_DOMAIN": ""},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode != 0
    assert "Write PARLEY_DOMAIN=lab.example.org" in done.stderr
