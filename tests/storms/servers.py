"""A PostgreSQL and a RabbitMQ of the suite's own, which it may stop, kill and restart."""

import asyncio
import os
import signal
import subprocess
from collections.abc import AsyncIterator, Awaitable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final, Protocol

import psycopg
from psycopg.rows import dict_row

from shared import embedded_postgres
from shared.db.migrate import upgrade
from shared.testing.network import free_port
from shared.testing.tcp_proxy import TcpProxy, before_postgres, through
from tests.storms.waiting import until

RABBITMQ: Final = Path("/usr/lib/rabbitmq/bin")
# Many times what it takes on a machine with nothing else to do.
_START_SECONDS: Final = 300.0
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
    """A node of its own, with a cookie of its own: no command here reaches another node of the machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder / "rabbitmq"
        self._folder.mkdir()
        self._port = free_port()
        self._node = f"parley-storm-{self._port}@localhost"
        (self._folder / "rabbitmq.conf").write_text(f"listeners.tcp.1 = 127.0.0.1:{self._port}\n")
        self._environment = {
            "PATH": os.environ["PATH"],
            "HOME": str(self._folder),
            "RABBITMQ_NODENAME": self._node,
            "RABBITMQ_DIST_PORT": str(free_port()),
            "RABBITMQ_CONFIG_FILE": str(self._folder / "rabbitmq.conf"),
            "RABBITMQ_CONF_ENV_FILE": "/dev/null",
            "RABBITMQ_MNESIA_BASE": str(self._folder / "mnesia"),
            "RABBITMQ_LOG_BASE": str(self._folder / "log"),
            "RABBITMQ_ENABLED_PLUGINS_FILE": str(self._folder / "plugins"),
        }
        self._process: subprocess.Popen[bytes] | None = None
        self.proxy = TcpProxy("127.0.0.1", self._port)

    @property
    def url_of_services(self) -> str:
        return f"amqp://guest:guest@{self.proxy.host}:{self.proxy.port}/"

    async def start(self) -> None:
        await asyncio.to_thread(self._begin)
        async with asyncio.timeout(_START_SECONDS):
            while not await self._answers():
                assert self._process is None or self._process.poll() is None, (self._folder / "out").read_text()
                await asyncio.sleep(0.2)

    def _begin(self) -> None:
        with (self._folder / "out").open("ab") as out:
            # Where it crashes, it leaves the image of its memory in its working directory.
            self._process = subprocess.Popen(
                [RABBITMQ / "rabbitmq-server"],
                cwd=self._folder,
                env=self._environment,
                stdout=out,
                stderr=out,
                start_new_session=True,
            )

    async def end(self, number: signal.Signals) -> None:
        """The script and the virtual machine that it has started are a group of their own."""
        if self._process is not None:
            os.killpg(self._process.pid, number)
            await asyncio.to_thread(self._process.wait)
            self._process = None

    async def set_alarm(self, is_on: bool) -> None:
        """The disk alarm: the broker takes no messages until it is over."""
        limit = _ALARMING_LIMIT if is_on else _USUAL_LIMIT
        command = [str(RABBITMQ / "rabbitmqctl"), "--node", self._node, "set_disk_free_limit", limit]
        running = await asyncio.create_subprocess_exec(
            *command, env=self._environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        assert await running.wait() == 0, command

    async def _answers(self) -> bool:
        """Whether it speaks AMQP; it accepts connections earlier."""
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        except OSError:
            return False
        try:
            async with asyncio.timeout(2):
                writer.write(b"AMQP\x00\x00\x09\x01")
                return bool(await reader.read(1))
        except (TimeoutError, OSError):
            return False
        finally:
            writer.close()


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
