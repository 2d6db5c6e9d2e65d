"""Several processes of each service, which the suite may kill, hold, restart and give a wrong clock."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Final

import httpx2

from parley_lab.testing.network import WITHOUT_TLS, free_port
from tests.operators.forked_service import ForkedService, begin
from tests.operators.processes import KEY
from tests.storms.kinds import SEVERAL, module_in
from tests.storms.waiting import until

FAKETIME: Final = Path("/usr/lib/x86_64-linux-gnu/faketime/libfaketimeMT.so.1")
_ROOT: Final = Path(__file__).parents[2]
# Only the time of day jumps.
_CLOCK: Final = {
    "LD_PRELOAD": str(FAKETIME),
    "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    "FAKETIME_CACHE_DURATION": "1",
}
_READY_SECONDS: Final = 180.0
# So that a run is not over before what a dead worker had in hand is taken over.
_QUICKER: Final = {
    "AGENT_WORKER_LEASE_SECONDS": "8",
    "AGENT_WORKER_TIMEOUT_SECONDS": "6",
    "ORCHESTRATOR_WATCH_SECONDS": "1",
    "ORCHESTRATOR_OVERDUE_SECONDS": "1",
    "PARLEY_DATABASE_POOL_SIZE": "10",
    # Everybody joins from one address here.
    "GATEWAY_ADDRESS_REQUESTS_PER_MINUTE": "0",
}


class Nursery:
    """Starts services of these kinds, forked from a process that has loaded them.

    `python` is the interpreter of their code; one that is not the tests' own gets a `tests.storms.nursery`.
    """

    def __init__(self, kinds: Iterable[str], python: str) -> None:
        self._modules = {kind: module_in(python, f"parley_lab.{kind}") for kind in kinds}
        self._python = python
        self._forked: list[ForkedService] = []
        self._process: subprocess.Popen[bytes] | None = None

    def start(self, kind: str, environment: Mapping[str, str], log: Path, *, is_new: bool = False) -> int:
        """The id of the process; `is_new`: of an interpreter of its own, as its environment may demand."""
        if self._python == sys.executable and not is_new:
            self._forked.append(begin(self._modules[kind], environment, log))
            return self._forked[-1].pid
        process = self._process = self._process or self._begin()
        assert process.stdin is not None
        assert process.stdout is not None
        task = {"module": self._modules[kind], "environment": dict(environment), "log": str(log), "is_new": is_new}
        process.stdin.write(json.dumps(task).encode() + b"\n")
        process.stdin.flush()
        return int(process.stdout.readline())

    def _begin(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(
            [self._python, "-m", "tests.storms.nursery", *self._modules.values()],
            cwd=_ROOT,
            env={"PATH": os.environ["PATH"]},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )

    def close(self) -> None:
        """When all services have ended."""
        for one in self._forked:
            one.wait()
        if self._process is not None:
            self._process.communicate()


@dataclass
class Service:
    """One process. `ready_at` answers 200 once it can work."""

    kind: str
    name: str
    environment: Mapping[str, str]
    ready_at: str
    log: Path
    clock: Path
    url: str
    nursery: Nursery = field(repr=False)
    pid: int | None = None

    def start(self) -> None:
        self.pid = self.nursery.start(self.kind, self.environment, self.log)

    def start_with_movable_clock(self) -> None:
        """`set_clock` moves the clock of a process that was started so."""
        self.set_clock("+0")
        environment = {**self.environment, **_CLOCK, "FAKETIME_TIMESTAMP_FILE": str(self.clock)}
        self.pid = self.nursery.start(self.kind, environment, self.log, is_new=True)

    async def end(self, number: signal.Signals) -> None:
        """Send the signal and wait for the end; after SIGTERM it finishes what it has in hand."""
        if self.pid is not None:
            self.send(number)
            await until(partial(asyncio.to_thread, _has_ended, self.pid), every_seconds=0.02)
            self.pid = None

    def send(self, number: signal.Signals) -> None:
        """Also to one that has ended by itself."""
        if self.pid is not None:
            with suppress(ProcessLookupError):
                os.kill(self.pid, number)

    def set_clock(self, offset: str) -> None:
        """`+3600` is an hour ahead."""
        self.clock.write_text(offset)

    async def wait_until_ready(self) -> None:
        async with asyncio.timeout(_READY_SECONDS), httpx2.AsyncClient(verify=WITHOUT_TLS) as client:
            while True:
                with suppress(httpx2.TransportError):
                    if (await client.get(self.ready_at)).status_code == 200:
                        return
                assert self.pid is None or not _has_ended(self.pid), f"{self.name} has ended; see {self.log}"
                await asyncio.sleep(0.1)


def _has_ended(pid: int) -> bool:
    return not Path(f"/proc/{pid}").exists()


class Cluster:
    """The services of one lab; each worker asks one of the prompt-builders."""

    def __init__(
        self, folder: Path, common: Mapping[str, str], nursery: Nursery, several: Mapping[str, int] = SEVERAL
    ) -> None:
        builders = [free_port() for _ in range(several["prompt_builder"])]
        self.services: list[Service] = []
        for kind, count in several.items():
            for number in range(count):
                ports = {"health": free_port(), "api": free_port(), "builder": builders[number % len(builders)]}
                self.services.append(_service(folder, kind, f"{kind}-{number + 1}", ports, common, nursery))

    def of(self, kind: str) -> list[Service]:
        return [one for one in self.services if one.kind == kind]

    @property
    def gateways(self) -> list[str]:
        return [one.url for one in self.of("gateway")]

    async def wait_until_ready(self) -> None:
        await asyncio.gather(*(one.wait_until_ready() for one in self.services))


def _service(
    folder: Path, kind: str, name: str, ports: Mapping[str, int], common: Mapping[str, str], nursery: Nursery
) -> Service:
    builder, api = f"http://127.0.0.1:{ports['builder']}", f"http://127.0.0.1:{ports['api']}"
    health = f"http://127.0.0.1:{ports['health']}"
    clock = folder / f"{name}.clock"
    environment = {
        "PATH": os.environ["PATH"],
        **_QUICKER,
        **common,
        "PARLEY_BOOTSTRAP_API_KEY": KEY,
        "PARLEY_PROMPT_BUILDER_URL": builder,
        "PARLEY_HEALTH_PORT": str(ports["health"]),
        "PROMPT_BUILDER_PORT": str(ports["builder"]),
        "GATEWAY_PORT": str(ports["api"]),
    }
    ready_at = {"prompt_builder": builder, "gateway": api}.get(kind, health)
    return Service(kind, name, environment, f"{ready_at}/readyz", folder / f"{name}.log", clock, api, nursery)


@asynccontextmanager
async def cluster(
    folder: Path, common: Mapping[str, str], *, several: Mapping[str, int] = SEVERAL, python: str = sys.executable
) -> AsyncIterator[Cluster]:
    """All services, ready, until the block ends; `python` is the interpreter of their code."""
    nursery = Nursery(several, python)
    made = Cluster(folder, common, nursery, several)
    try:
        for one in made.services:
            await asyncio.to_thread(one.start)
        await made.wait_until_ready()
        yield made
    finally:
        # One that is held hears of its end only when it goes on.
        for one in made.services:
            one.send(signal.SIGCONT)
        await asyncio.gather(*(one.end(signal.SIGKILL) for one in made.services))
        nursery.close()
