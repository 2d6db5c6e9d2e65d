"""A service as a process of its own: reads its settings, connects, answers health checks, stops when it is told to."""

import asyncio
import gc
import signal
import sys
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from typing import Final, TypeVar

import structlog
import uvloop

from shared.bus import Bus
from shared.bus.publisher import OutboxPublisher
from shared.bus.rabbit import RabbitBus
from shared.clock import Clock, SystemClock
from shared.db.context import check_reachable
from shared.db.databases import connect
from shared.db.lab import claim_lab
from shared.db.migrate import HEAD, read_revision
from shared.db.outbox import Outbox
from shared.db.session import Database
from shared.errors import ParleyError, SettingsInvalid, Unavailable
from shared.logs import set_up_logs
from shared.settings import LabSettings, LogSettings, ProcessSettings, read_settings

log = structlog.get_logger(__name__)
SettingsT = TypeVar("SettingsT", bound=LogSettings)
_CHECK_SECONDS: Final = 2.0
_RETRY_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class Parts:
    """What a service works with."""

    database: Database
    bus: Bus
    clock: Clock


def run_process(service: str, settings_model: type[SettingsT], work: Callable[[SettingsT], Awaitable[None]]) -> int:
    """Run a service until SIGTERM or SIGINT; returns the exit code, 2 when its settings are missing or wrong."""
    try:
        settings = read_settings(settings_model)
        collect_garbage_rarely()
        set_up_logs(service, level=settings.log_level, as_json=settings.log_format == "json")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(_until_told_to_stop(work(settings)))
    except SettingsInvalid as error:
        print(f"The service {service} cannot start.\n{error}", file=sys.stderr)
        return 2
    except ParleyError as error:
        print(f"The service {service} stops. {error}", file=sys.stderr)
        return 1
    return 0


async def _until_told_to_stop(work: Awaitable[None]) -> None:
    """A signal cancels `work`, which then finishes what it has in hand."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(number, task.cancel)
    try:
        await task
    except asyncio.CancelledError:
        log.info("process.stopped")


@asynccontextmanager
async def connected(settings: LabSettings) -> AsyncIterator[Parts]:
    """A distributed lab's parts for one process, until the block ends.

    Waits for Postgres when it is away; the broker may come later.

    Raises:
        SettingsInvalid: the database has not been migrated, or belongs to an embedded lab.
    """
    async with AsyncExitStack() as stack:
        database = connect(settings.database_url, pool_size=settings.database_pool_size)
        stack.push_async_callback(database.close)
        bus = RabbitBus(settings.amqp_url, prefix=settings.amqp_prefix)
        stack.push_async_callback(bus.close)
        if isinstance(settings, ProcessSettings):
            health = answering_health(settings.health_host, settings.health_port, lambda: _is_ready(database, bus))
            await stack.enter_async_context(health)
        await _require_schema(database)
        claim = await claim_lab(settings.database_url, "rabbitmq")
        stack.push_async_callback(claim.close)
        outbox = Outbox(database)
        publisher = OutboxPublisher(bus, delete=outbox.delete, leftover=outbox.leftover)
        database.on_commit = publisher.offer
        publisher.start()
        stack.push_async_callback(publisher.stop)
        yield Parts(database, bus, SystemClock())


async def _require_schema(database: Database) -> None:
    found = await _revision(database)
    if found is None or found < HEAD:
        raise SettingsInvalid(
            f"The database at PARLEY_DATABASE_URL stands at {f'revision {found}' if found else 'no revision'}, this "
            f"service needs {HEAD}. Run first: python -m shared.db.migrate"
        )


async def _revision(database: Database) -> str | None:
    while True:
        try:
            async with database.transaction() as session:
                return await read_revision(session)
        except Unavailable as error:
            log.warning("process.waits_for_database", reason=error.message)
        await asyncio.sleep(_RETRY_SECONDS)


async def _is_ready(database: Database, bus: Bus) -> bool:
    try:
        async with asyncio.timeout(_CHECK_SECONDS):
            await check_reachable(database)
            return await bus.ping()
    except (TimeoutError, Unavailable):
        return False


_ALLOCATIONS_BETWEEN_COLLECTIONS = 50_000


def collect_garbage_rarely() -> None:
    """Take what was imported out of garbage collection, and collect the rest less often.

    A service allocates many short-lived objects, which reference counting frees by itself. With the interpreter's
    defaults a full collection stops it for about 100 ms, and collections take a tenth of its CPU time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_ALLOCATIONS_BETWEEN_COLLECTIONS, 20, 20)


Ready = Callable[[], Awaitable[bool]]
_REQUEST_SECONDS = 5.0


@asynccontextmanager
async def answering_health(host: str, port: int, is_ready: Ready) -> AsyncIterator[int]:
    """Answer until the block ends; gives the port, which matters when `port` is 0."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                writer.write(await _response(await reader.readuntil(b"\r\n\r\n"), is_ready))
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


async def _response(request_line: bytes, is_ready: Ready) -> bytes:
    match request_line.split(b" ")[:2]:
        case [b"GET", b"/healthz"]:
            return _as_http("200 OK", b'{"status":"ok"}')
        case [b"GET", b"/readyz"]:
            if await is_ready():
                return _as_http("200 OK", b'{"status":"ready"}')
            return _as_http("503 Service Unavailable", b'{"status":"not ready"}')
        case _:
            return _as_http("404 Not Found", b'{"status":"not found"}')


def _as_http(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close"
    return head.encode() + b"\r\n\r\n" + body
