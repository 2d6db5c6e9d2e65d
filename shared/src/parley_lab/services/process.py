"""Runs a service as a process: reads its settings, connects, answers health checks, stops on a signal."""

import asyncio
import gc
import os
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final, TypeVar

import structlog

from parley_lab.base.background import Background
from parley_lab.base.clock import Clock
from parley_lab.base.errors import ParleyError, SettingsInvalid, Unavailable
from parley_lab.base.event_loop import call_on_signal, new_event_loop
from parley_lab.base.logs import set_up_logs
from parley_lab.base.metrics import METRICS_TYPE, SERVICE, in_words_of_prometheus
from parley_lab.base.settings import LogSettings, ProcessSettings, read_settings
from parley_lab.bus import Bus
from parley_lab.bus.publisher import OutboxPublisher
from parley_lab.bus.rabbit import RabbitBus
from parley_lab.contracts.secret_files import read_secret_files
from parley_lab.drafts.context import check_reachable
from parley_lab.store.databases import connect
from parley_lab.store.failures import retry_until_done
from parley_lab.store.lab import claim_lab
from parley_lab.store.lab_clock import LOOK_SECONDS, LabClock
from parley_lab.store.outbox import Outbox
from parley_lab.store.schema import HEAD, require_schema
from parley_lab.store.session import Database

log = structlog.get_logger(__name__)
SettingsT = TypeVar("SettingsT", bound=LogSettings)
_CHECK_SECONDS: Final = 2.0


@dataclass(frozen=True, slots=True)
class Parts:
    """The shared objects of a service."""

    database: Database
    bus: Bus
    clock: Clock


Check = Callable[[Parts], Awaitable[bool]]
Look = Callable[[Parts], Awaitable[None]]


async def no_look(_: Parts) -> None:
    """All numbers of this process are counted as they happen."""


async def reaches_both(parts: Parts) -> bool:
    """Whether Postgres and the broker answer."""
    return await reaches_database(parts) and await _reaches_bus(parts)


async def reaches_database(parts: Parts) -> bool:
    """Whether Postgres answers."""
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            await check_reachable(parts.database)
            return True
    except (TimeoutError, Unavailable):
        return False


async def _reaches_bus(parts: Parts) -> bool:
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            return await parts.bus.ping()
    except TimeoutError:
        return False


def run_process(service: str, settings_model: type[SettingsT], work: Callable[[SettingsT], Awaitable[None]]) -> int:
    """Run a service until SIGTERM or SIGINT; returns the exit code, 2 when its settings are missing or wrong."""
    try:
        read_secret_files(os.environ)
        settings = read_settings(settings_model)
        collect_garbage_rarely()
        SERVICE.labels(service).set(1)
        set_up_logs(service, level=settings.log_level, as_json=settings.log_format == "json")
        with asyncio.Runner(loop_factory=new_event_loop) as runner:
            runner.run(_until_told_to_stop(work(settings)))
    except SettingsInvalid as error:
        print(f"The service {service} cannot start.\n{error}", file=sys.stderr)
        return 2
    except ParleyError as error:
        print(f"The service {service} stops. {error}", file=sys.stderr)
        return 1
    return 0


async def _until_told_to_stop(work: Awaitable[None]) -> None:
    """A signal cancels `work`, which then finishes the work in hand."""
    task = asyncio.ensure_future(work)
    for number in (signal.SIGINT, signal.SIGTERM):
        call_on_signal(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        log.info("process.stopped")


@asynccontextmanager
async def connected(
    settings: ProcessSettings, *, is_ready: Check = reaches_both, look: Look = no_look
) -> AsyncIterator[Parts]:
    """A distributed lab's parts for one process, until the block ends.

    Waits for Postgres when it is away, and answers health checks meanwhile; the broker may come later. The process is
    ready while `is_ready` returns True, and not before the tables are known to be those that it needs. `look` reads
    numbers for /metrics each time they are asked for.

    Raises:
        SettingsInvalid: the database has not been migrated, or belongs to an embedded lab.
    """
    has_schema = asyncio.Event()
    async with AsyncExitStack() as stack:
        database = connect(settings.database_url, pool_size=settings.database_pool_size)
        stack.push_async_callback(database.close)
        bus = RabbitBus(settings.amqp_url, prefix=settings.amqp_prefix)
        stack.push_async_callback(bus.close)
        clock = LabClock(database)
        parts = Parts(database, bus, clock)

        async def ready() -> bool:
            return has_schema.is_set() and await is_ready(parts)

        await stack.enter_async_context(
            answering_health(settings.health_host, settings.health_port, ready, lambda: look(parts))
        )
        await wait_for_schema(database)
        has_schema.set()
        await retry_until_done(clock.look)
        background = Background()
        background.repeat(clock.look, every_seconds=LOOK_SECONDS)
        stack.push_async_callback(background.stop)
        claim = await claim_lab(settings.database_url, "rabbitmq")
        stack.push_async_callback(claim.close)
        outbox = Outbox(database)
        publisher = OutboxPublisher(bus, delete=outbox.delete, leftover=outbox.leftover)
        database.on_commit = publisher.offer
        publisher.start()
        stack.push_async_callback(publisher.stop)
        yield parts


async def wait_for_schema(database: Database) -> None:
    """Return once the database answers and has the tables that this code needs; those of the next version will do.

    Raises:
        SettingsInvalid: it has not, with what to do.
    """
    await retry_until_done(partial(_look_at_schema, database))


async def _look_at_schema(database: Database) -> None:
    async with database.read() as session:
        found = await require_schema(session)
    if found > HEAD:
        log.warning("schema.newer", revision=found, known=HEAD)


_ALLOCATIONS_BETWEEN_COLLECTIONS = 50_000


def collect_garbage_rarely() -> None:
    """Exclude imported objects from garbage collection, and collect the others less often.

    A service allocates many short-lived objects, which reference counting frees by itself. With the interpreter's
    defaults a full collection stops it for about 100 ms, and collections take a tenth of its CPU time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS, 20, 20)


Ready = Callable[[], Awaitable[bool]]
LookNow = Callable[[], Awaitable[None]]
_REQUEST_SECONDS = 5.0


@asynccontextmanager
async def answering_health(host: str, port: int, is_ready: Ready, look: LookNow) -> AsyncIterator[int]:
    """Answer until the block ends; yields the port, which matters when `port` is 0.

    /healthz always answers: a process that answers is alive. /metrics answers in Prometheus' format, after a `look`.
    """

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                writer.write(await _response(await reader.readuntil(b"\r\n\r\n"), is_ready, look))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, host, port, limit=4096)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def _response(request_line: bytes, is_ready: Ready, look: LookNow) -> bytes:
    match request_line.split(b" ")[:2]:
        case [b"GET", b"/healthz"]:
            return _as_http("200 OK", b'{"status":"ok"}')
        case [b"GET", b"/readyz"]:
            if await is_ready():
                return _as_http("200 OK", b'{"status":"ready"}')
            return _as_http("503 Service Unavailable", b'{"status":"not ready"}')
        case [b"GET", b"/metrics"]:
            await look()
            return _as_http("200 OK", in_words_of_prometheus(), METRICS_TYPE)
        case _:
            return _as_http("404 Not Found", b'{"status":"not found"}')


def _as_http(status: str, body: bytes, content_type: str = "application/json") -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: {content_type}\r\ncontent-length: {len(body)}\r\nconnection: close"
    return head.encode() + b"\r\n\r\n" + body
