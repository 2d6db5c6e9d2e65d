"""Looks at a distributed lab from outside and says what is wrong with it, and what to do, a sentence for each fault."""

import asyncio
import shutil
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from datetime import datetime, timedelta
from http import HTTPStatus
from pathlib import Path
from typing import Final
from urllib.request import ProxyHandler, build_opener

from parley_lab.base.clock import Clock
from parley_lab.base.errors import Unavailable
from parley_lab.base.settings import BrokerSettings, DatabaseSettings, read_settings
from parley_lab.bus import BusUnavailable
from parley_lab.bus.rabbit import RabbitBus
from parley_lab.cli import servers_away
from parley_lab.cli.directory import DataDirectory
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, provider_queue
from parley_lab.contracts.providers import MOCK_PROVIDER
from parley_lab.drafts import workers
from parley_lab.settle import standing_work
from parley_lab.store import embedded_postgres
from parley_lab.store.databases import connect
from parley_lab.store.schema import HEAD, read_revision
from parley_lab.store.session import Database

_GIGABYTE: Final = 1024**3
_ANSWER_SECONDS: Final = 5


@dataclass(frozen=True, slots=True)
class Bounds:
    """What is still well."""

    clock_seconds: float = 2.0
    free_bytes: int = 2 * _GIGABYTE
    free_connections: int = 25
    open_files: int = 1024
    outbox_seconds: float = 60.0
    stuck_seconds: float = 60.0
    needs_autovacuum: bool = True


async def faults(clock: Clock, folder: Path, bounds: Bounds) -> list[str]:
    """What is wrong with the lab at PARLEY_DATABASE_URL and PARLEY_AMQP_URL; empty when all is well.

    Changes nothing. `clock`: that of this machine; `folder`: whose disk is looked at.

    Raises:
        SettingsInvalid: an address is not set or cannot be read.
    """
    database_settings, broker = read_settings(DatabaseSettings), read_settings(BrokerSettings)
    async with AsyncExitStack() as stack:
        database = connect(database_settings.database_url, pool_size=1)
        stack.push_async_callback(database.close)
        bus = RabbitBus(broker.amqp_url, prefix=broker.amqp_prefix)
        stack.push_async_callback(bus.close)
        return [
            *[one async for one in _of_machine(folder, bounds)],
            *[one async for one in _of_lab(database, bus, clock, bounds)],
        ]


async def embedded_faults(clock: Clock, directory: DataDirectory, bounds: Bounds) -> list[str]:
    """What is wrong with the embedded lab in this folder; empty when all is well. Changes nothing."""
    found = [one async for one in _of_machine(directory.path, bounds)]
    if not directory.is_held():
        return [*found, f"No lab runs in {directory.path}. Start it: parley up"]
    async with AsyncExitStack() as stack:
        database = connect(embedded_postgres.url_of(directory.postgres), pool_size=1)
        stack.push_async_callback(database.close)
        found += [one async for one in _of_database(database, clock, bounds, {})]
    if (address := directory.address()) is not None and not await asyncio.to_thread(_answers, address):
        found.append(f"The lab does not answer at {address}. Look into {directory.log}.")
    return found


def _answers(address: str) -> bool:
    """Whether the lab says at this address of its own machine that it is ready."""
    try:
        # No proxy leads to this machine.
        with build_opener(ProxyHandler({})).open(f"{address}/readyz", timeout=_ANSWER_SECONDS) as answer:
            return bool(answer.status == HTTPStatus.OK)
    except (OSError, ValueError):
        return False


async def _of_machine(folder: Path, bounds: Bounds) -> AsyncIterator[str]:
    free = shutil.disk_usage(folder).free
    if free < bounds.free_bytes:
        yield (
            f"The disk of {folder} has {free / _GIGABYTE:.1f} GB left. Make room: without it RabbitMQ stops taking "
            f"hints, and PostgreSQL stops."
        )
    files = _most_open_files()
    if files is not None and files < bounds.open_files:
        yield f"A process may open {files} files here, and each stream is one. Raise the limit: ulimit -n 65536."


def _most_open_files() -> int | None:
    """The limit of this process; None on a system without limits, such as Windows."""
    try:
        import resource
    except ImportError:
        return None
    return resource.getrlimit(resource.RLIMIT_NOFILE)[0]


async def _of_lab(database: Database, bus: RabbitBus, clock: Clock, bounds: Bounds) -> AsyncIterator[str]:
    providers: dict[str, int] = {}
    async for fault in _of_database(database, clock, bounds, providers):
        yield fault
    try:
        async for fault in _of_queues(bus, providers):
            yield fault
    except BusUnavailable as error:
        yield servers_away.of_broker(error)


async def _of_database(
    database: Database, clock: Clock, bounds: Bounds, providers: dict[str, int]
) -> AsyncIterator[str]:
    """`providers` gets those whose drafts wait, with how many."""
    has_schema = False
    try:
        async with database.read() as session:
            revision = await read_revision(session)
        has_schema = revision == HEAD
        if not has_schema:
            yield _schema(revision)
        async with database.read() as session:
            server = await standing_work.server_state(session)
        for fault in _of_server(server, clock, bounds):
            yield fault
        if has_schema:
            async with database.read() as session:
                providers |= await standing_work.wanted(session)
            async for fault in _of_work(database, server.now, bounds, providers):
                yield fault
    except Unavailable as error:
        yield servers_away.of_database(error)


def _schema(revision: str | None) -> str:
    if revision is not None and revision > HEAD:
        return f"The database is at revision {revision}, and this version of Parley knows {HEAD}. Take a newer one."
    found = f"at revision {revision}" if revision else "without tables"
    return f"The database is {found}, and this version needs {HEAD}. Run: python -m parley_lab.store.migrate"


def _of_server(state: standing_work.ServerState, clock: Clock, bounds: Bounds) -> Iterator[str]:
    apart = abs((state.now - clock.now()).total_seconds())
    if apart > bounds.clock_seconds:
        yield (
            f"The clocks of this machine and of PostgreSQL are {apart:.0f} s apart. The lab goes by that of "
            f"PostgreSQL; logs do not. Have both set by NTP."
        )
    free = state.most_connections - state.connections
    if free < bounds.free_connections:
        yield (
            f"PostgreSQL has {free} of {state.most_connections} connections left. Raise max_connections, or lower "
            f"PARLEY_DATABASE_POOL_SIZE."
        )
    if bounds.needs_autovacuum and not state.has_autovacuum:
        yield (
            "PostgreSQL has no autovacuum. Set autovacuum and track_counts to on: without statistics of new rows it "
            "reads whole tables."
        )


async def _of_work(
    database: Database, now: datetime, bounds: Bounds, providers: Mapping[str, int]
) -> AsyncIterator[str]:
    """`now`: by the clock of PostgreSQL, which the lab goes by."""
    async with database.read() as session:
        served = await workers.served_providers(session, now)
        waits = await standing_work.oldest_hint_seconds(session)
        stuck = await standing_work.stuck_cohorts(session, now - timedelta(seconds=bounds.stuck_seconds))
    for provider, drafts in sorted(providers.items()):
        if provider not in served:
            yield (
                f"Drafts that wait for the provider {provider!r}, which no worker serves: {drafts}. Start a worker "
                f"that has its key: parley providers test {provider}"
            )
    if not served:
        yield "No agent worker is registered. Start one; its log says what keeps it from starting."
    if waits > bounds.outbox_seconds:
        yield f"A hint has waited for {waits:.0f} s to be published. See that RabbitMQ takes messages (alarms, disk)."
    if stuck:
        yield f"Cohorts that do not go on: {stuck}. Look for errors in the logs of the orchestrators."


async def _of_queues(bus: RabbitBus, providers: Mapping[str, int]) -> AsyncIterator[str]:
    who = {ORCHESTRATOR: "an orchestrator", AGENT_STEPS: "an agent worker"}
    for queue in (*who, *(provider_queue(one) for one in sorted({MOCK_PROVIDER, *providers}))):
        consumers = await bus.consumers(queue)
        if not consumers:
            yield f"No process consumes the queue {queue}. Start {who.get(queue, 'an agent worker that serves it')}."
        if consumers is None:
            continue
        dead = await bus.dead(queue)
        if dead:
            yield f"Hints of {queue} that were given up: {dead}. See which: parley dead list"
