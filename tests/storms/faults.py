"""What goes wrong: each fault does its harm when its block begins, and is mended when the block ends."""

import asyncio
import signal
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from random import Random
from typing import Any, Final

from tests.storms.cluster import FAKETIME
from tests.storms.kinds import SEVERAL
from tests.storms.lab import Lab, LabWithServers
from tests.storms.models import Mood

# A lab with servers for those that strike a server, else any.
Strike = Callable[[Any, Random], AbstractAsyncContextManager[None]]

_END_CONNECTIONS: Final = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
"""
_MOODS: Final[tuple[Mood, ...]] = ("429", "500", "garbage", "hangs")
_SERVICES: Final = {kind: kind.replace("_", "-") for kind in SEVERAL}


@dataclass(frozen=True)
class Fault:
    """`group` is what `--only` names. `repeats`: a model call that is in flight then may be made again."""

    group: str
    name: str
    strike: Strike
    repeats: bool = False


@asynccontextmanager
async def _kill(kind: str, lab: Lab, rng: Random) -> AsyncIterator[None]:
    service = rng.choice(lab.cluster.of(kind))
    await service.end(signal.SIGKILL)
    await asyncio.sleep(rng.uniform(0, 2))
    yield
    service.start()


@asynccontextmanager
async def _hold(kind: str, lab: Lab, rng: Random) -> AsyncIterator[None]:
    """Shorter and longer than a lease."""
    service = rng.choice(lab.cluster.of(kind))
    service.send(signal.SIGSTOP)
    await asyncio.sleep(rng.uniform(0.5, 10))
    yield
    service.send(signal.SIGCONT)


@asynccontextmanager
async def _move_clock(offset: str, lab: Lab, rng: Random) -> AsyncIterator[None]:
    service = rng.choice(lab.cluster.services)
    await service.end(signal.SIGTERM)
    service.start_with_movable_clock()
    await service.wait_until_ready()
    service.set_clock(offset)
    await asyncio.sleep(rng.uniform(3, 8))
    yield
    service.set_clock("+0")


@asynccontextmanager
async def _restart_broker(number: signal.Signals, lab: LabWithServers, rng: Random) -> AsyncIterator[None]:
    await lab.broker.end(number)
    await asyncio.sleep(rng.uniform(0, 1))
    yield
    await lab.broker.start()


@asynccontextmanager
async def _cut_broker(lab: LabWithServers, rng: Random) -> AsyncIterator[None]:
    await lab.broker.proxy.cut()
    await asyncio.sleep(rng.uniform(0, 4))
    yield
    await lab.broker.proxy.restore()


@asynccontextmanager
async def _raise_alarm(lab: LabWithServers, rng: Random) -> AsyncIterator[None]:
    await lab.broker.set_alarm(True)
    await asyncio.sleep(rng.uniform(1, 6))
    yield
    await lab.broker.set_alarm(False)


@asynccontextmanager
async def _restart_postgres(is_killed: bool, lab: LabWithServers, rng: Random) -> AsyncIterator[None]:
    await (lab.postgres.kill() if is_killed else lab.postgres.stop())
    await asyncio.sleep(rng.uniform(0, 2))
    yield
    await lab.postgres.start()


@asynccontextmanager
async def _end_connections(lab: LabWithServers, rng: Random) -> AsyncIterator[None]:
    await lab.rows(_END_CONNECTIONS)
    yield


@asynccontextmanager
async def _swallow_connections(lab: LabWithServers, rng: Random) -> AsyncIterator[None]:
    """The server is gone and its clients are not told; new connections pass."""
    lab.postgres.proxy.swallow()
    yield


@asynccontextmanager
async def _misbehave(mood: Mood, lab: Lab, rng: Random) -> AsyncIterator[None]:
    lab.models.mood = mood
    await asyncio.sleep(rng.uniform(1, 5))
    yield
    lab.models.mood = "well"


def _all() -> Iterator[Fault]:
    for kind, name in _SERVICES.items():
        is_worker = kind == "agent_worker"
        yield Fault("kill", f"{name} killed", partial(_kill, kind), repeats=is_worker)
        yield Fault("hold", f"{name} held", partial(_hold, kind), repeats=is_worker)
    yield Fault("broker", "broker restarted", partial(_restart_broker, signal.SIGTERM))
    yield Fault("broker", "broker killed", partial(_restart_broker, signal.SIGKILL))
    yield Fault("broker", "broker's connections cut", _cut_broker)
    yield Fault("alarm", "broker's disk alarm", _raise_alarm)
    yield Fault("postgres", "Postgres restarted", partial(_restart_postgres, False), repeats=True)
    yield Fault("postgres", "Postgres killed", partial(_restart_postgres, True), repeats=True)
    yield Fault("postgres", "Postgres ends its connections", _end_connections, repeats=True)
    yield Fault("postgres", "Postgres swallows its connections", _swallow_connections, repeats=True)
    for mood in _MOODS:
        yield Fault("endpoint", f"endpoint: {mood}", partial(_misbehave, mood))
    yield Fault("clock", "a clock an hour ahead", partial(_move_clock, "+3600"))
    yield Fault("clock", "a clock an hour back", partial(_move_clock, "-3600"))


FAULTS: Final = tuple(_all())
GROUPS: Final = tuple(dict.fromkeys(one.group for one in FAULTS))


def deal(rng: Random, groups: set[str]) -> Iterator[Fault]:
    """Faults without end: every one of the groups once in a drawn order, and again."""
    deck = [one for one in FAULTS if one.group in groups and (one.group != "clock" or FAKETIME.exists())]
    while True:
        yield from rng.sample(deck, len(deck))
