"""A PostgreSQL and a RabbitMQ of the suite's own, which it may stop, kill and restart."""

import asyncio
import os
import signal
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import psycopg
from psycopg.rows import dict_row

from parley_lab.store import embedded_postgres
from parley_lab.store.migrate import upgrade
from parley_lab.testing.rabbitmq_node import RabbitNode
from parley_lab.testing.tcp_proxy import TcpProxy, before_postgres, through
from tests.storms.waiting import until

# More than any disk has.
_ALARMING_LIMIT: Final = "900000GB"
_USUAL_LIMIT: Final = "50MB"


class Rows(Protocol):
    """What a query finds in the database of a lab."""

    def __call__(self, query: str, **values: Any) -> Awaitable[list[dict[str, Any]]]: ...


class Postgres:
    """The server of one folder; commits survive a kill. The suite itself asks past the proxy."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "postgres"
        self._server = embedded_postgres.start(self._folder)
        self.url = self._server.url
        self.proxy = before_postgres(self.url)
        upgrade(self.url)

    @property
    def url_of_services(self) -> str:
        return through(self.proxy, self.url)

    async def rows(self, query: str, **values: Any) -> list[dict[str, Any]]:
        """What the query finds, on a connection of its own."""
        return await rows_of(self.url, query, **values)

    async def stop(self) -> None:
        await asyncio.to_thread(self._server.stop)

    async def kill(self) -> None:
        """SIGKILL, as by a kernel without memory; the children end by themselves."""
        first, *_ = (self._folder / "postmaster.pid").read_text().splitlines()
        os.kill(int(first), signal.SIGKILL)
        await until(lambda: asyncio.to_thread(_has_ended, int(first)), every_seconds=0.02)
        await self.stop()

    async def start(self) -> None:
        self._server = await asyncio.to_thread(embedded_postgres.start, self._folder)


def _has_ended(pid: int) -> bool:
    try:
        return not Path(f"/proc/{pid}/cmdline").read_bytes()
    except (FileNotFoundError, ProcessLookupError):
        return True


async def rows_of(url: str, query: str, **values: Any) -> list[dict[str, Any]]:
    """What the query finds in this database, on a connection of its own."""
    async with await psycopg.AsyncConnection.connect(url, row_factory=dict_row, autocommit=True) as connection:
        found = await connection.execute(query.encode(), values or None)
        return await found.fetchall() if found.description else []


class RabbitMQ:
    """A node of the suite's own; the services reach it through the proxy."""

    def __init__(self, folder: Path) -> None:
        self._node = RabbitNode(folder / "rabbitmq")
        self.proxy = TcpProxy("127.0.0.1", self._node.port)

    @property
    def url_of_services(self) -> str:
        return through(self.proxy, self._node.url)

    async def start(self) -> None:
        await asyncio.to_thread(self._node.start)

    async def end(self, number: signal.Signals) -> None:
        await asyncio.to_thread(self._node.end, number)

    async def set_alarm(self, is_on: bool) -> None:
        """The disk alarm: the broker takes no messages until it is over."""
        limit = _ALARMING_LIMIT if is_on else _USUAL_LIMIT
        await asyncio.to_thread(self._node.control, "set_disk_free_limit", limit)


@asynccontextmanager
async def own_servers(folder: Path) -> AsyncIterator[tuple[Postgres, RabbitMQ]]:
    """Both, running, with a proxy in front of each, until the block ends."""
    broker = RabbitMQ(folder)
    async with AsyncExitStack() as stack:
        stack.push_async_callback(broker.end, signal.SIGKILL)
        # One after the other: what starts first has the processors for itself.
        postgres = await asyncio.to_thread(Postgres, folder)
        stack.push_async_callback(postgres.stop)
        await broker.start()
        await stack.enter_async_context(postgres.proxy)
        await stack.enter_async_context(broker.proxy)
        yield postgres, broker
