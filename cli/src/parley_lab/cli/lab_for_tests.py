"""A running lab for the tests of others: `parley_lab.cli.testing` has the fixture.

The lab is embedded, with a REST API at a port of its own, and its agents call a scripted model over HTTP. It runs in a
thread, so that tests are plain functions.
"""

import asyncio
import io
import json
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import httpx2

from parley_lab.base.settings import ServerSettings
from parley_lab.bus.rabbit import RabbitBus
from parley_lab.cli.dead_letters import work_queues
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.store.databases import create_database, drop_database
from parley_lab.testing import services
from parley_lab.testing.fake_endpoint import FakeEndpoint

Data = dict[str, Any]
Script = Callable[[Data], Any]
"""What the model replies to a request of the chat completions API: a text, or an object of the wanted shape."""

_POLL_SECONDS: Final = 0.05
_OVER: Final = ("ended", "completed")


@dataclass(frozen=True, slots=True)
class Run:
    """A finished experiment: its id, and its data as `data.json` has them."""

    id: str
    data: Data

    @property
    def messages(self) -> list[Data]:
        """All messages of its conversations, in order."""
        found: list[Data] = self.data["messages"]
        return found


class ParleyLab:
    """A running lab. `client` speaks to its REST API, with a key."""

    def __init__(self, url: str, key: str, endpoint: FakeEndpoint) -> None:
        self.url = url
        self.client = httpx2.Client(
            base_url=url, headers={"Authorization": f"Bearer {key}"}, timeout=60, trust_env=False
        )
        self._endpoint = endpoint

    @property
    def calls(self) -> list[Data]:
        """What the model was asked, a request of the chat completions API each."""
        return self._endpoint.calls

    def script(self, replies: Script | None) -> None:
        """Have the model reply so from now on; None: with something of the wanted shape that means nothing."""
        self._endpoint.replies = replies

    def says(self, words: str) -> None:
        """Have all agents say this in conversations from now on."""
        said = {"explanation": "", "shouldRespond": True, "response": words, "readyToEndChat": False}
        self.script(lambda _: said)

    def run(self, file: str | Path, *, seconds: float = 60.0) -> Run:
        """Run an experiment without people to its end, with the scripted model. `file`: its YAML, or where it is.

        Raises:
            AssertionError: the lab refuses the file or its start, with what it says; or it has not ended in time.
        """
        content = file.read_text(encoding="utf-8") if isinstance(file, Path) else file
        answer = self.client.post("/v1/experiments", content=content, headers={"content-type": "application/yaml"})
        experiment_id = _told(answer)["id"]
        address = f"/v1/experiments/{experiment_id}"
        _told(self.client.patch(address, json={"model_mode": "real"}))
        _told(self.client.post(f"{address}/start"))
        until = time.monotonic() + seconds
        while (status := _told(self.client.get(address))["status"]) not in _OVER:
            assert time.monotonic() < until, f"the experiment is {status} after {seconds:.0f} s"
            time.sleep(_POLL_SECONDS)
        return Run(experiment_id, self._data(address))

    def _data(self, address: str) -> Data:
        answer = self.client.get(f"{address}/export", params={"format": "json"})
        assert answer.status_code == 200, answer.text
        with zipfile.ZipFile(io.BytesIO(answer.content)) as packed:
            data: Data = json.loads(packed.read("data.json"))
        return data


def _told(answer: httpx2.Response) -> Data:
    assert answer.is_success, answer.text
    told: Data = answer.json()
    return told


@contextmanager
def running_lab(folder: Path, environ: Mapping[str, str]) -> Iterator[ParleyLab]:
    """A lab in this folder until the block ends.

    Its PostgreSQL is embedded, and its bus in memory. PARLEY_TEST_LAB=containers starts PostgreSQL and RabbitMQ in
    containers instead; PARLEY_TEST_DATABASE_URL and PARLEY_TEST_AMQP_URL name servers that there are.
    """
    with ExitStack() as stack:
        servers = _servers(stack, environ)
        ready, stop = threading.Event(), _Stop()
        found: list[ParleyLab | BaseException] = []
        thread = threading.Thread(
            target=lambda: asyncio.run(_serve(folder, servers, found, ready, stop)), name="parley-lab", daemon=True
        )
        thread.start()
        ready.wait()
        if isinstance(found[0], BaseException):
            raise found[0]
        try:
            yield found[0]
        finally:
            found[0].client.close()
            stop.now()
            thread.join()


def _servers(stack: ExitStack, environ: Mapping[str, str]) -> ServerSettings:
    in_containers = environ.get("PARLEY_TEST_LAB") == "containers"
    servers = ServerSettings(database_url=None, amqp_url=None)
    if in_containers or environ.get(services.DATABASE_VARIABLE, services.EMBEDDED) != services.EMBEDDED:
        server, name = stack.enter_context(services.postgres()), f"parley_lab_{uuid4().hex[:16]}"
        servers = servers.model_copy(update={"database_url": create_database(server.url, name)})
        stack.callback(drop_database, server.url, name)
    if in_containers or environ.get(services.AMQP_VARIABLE):
        url = stack.enter_context(services.rabbitmq()).url
        prefix = f"lab-{uuid4().hex[:12]}."
        servers = servers.model_copy(update={"amqp_url": url, "amqp_prefix": prefix})
        stack.callback(lambda: asyncio.run(_leave(url, prefix, environ)))
    return servers


async def _leave(url: str, prefix: str, environ: Mapping[str, str]) -> None:
    """Take this lab's queues off a broker that others use."""
    bus = RabbitBus(url, prefix=prefix)
    await bus.remove(list(work_queues(environ)))
    await bus.close()


class _Stop:
    """Lets another thread end what runs in a loop."""

    def __init__(self) -> None:
        self.loop: asyncio.AbstractEventLoop | None = None
        self.event = asyncio.Event()

    def now(self) -> None:
        if self.loop is not None:
            self.loop.call_soon_threadsafe(self.event.set)


async def _serve(
    folder: Path, servers: ServerSettings, found: list[ParleyLab | BaseException], ready: threading.Event, stop: _Stop
) -> None:
    stop.loop = asyncio.get_running_loop()
    try:
        async with FakeEndpoint() as endpoint:
            environ = {"OPENAI_API_KEY": "a key of tests", "OPENAI_BASE_URL": endpoint.base_url}
            async with EmbeddedLab(folder, servers=servers, environ=environ, port=0) as lab:
                assert lab.url is not None
                found.append(ParleyLab(lab.url, lab.directory.local_key(), endpoint))
                ready.set()
                await stop.event.wait()
    except BaseException as error:
        found.append(error)
        ready.set()
        if not isinstance(error, Exception):
            raise
