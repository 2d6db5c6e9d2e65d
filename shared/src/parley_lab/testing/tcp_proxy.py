"""A TCP proxy in front of a server, for tests: it cuts, freezes, swallows, delays and restores connections."""

import asyncio
import contextlib
from types import TracebackType
from typing import Self
from urllib.parse import parse_qs, urlsplit

_CHUNK_BYTES = 65_536


class TcpProxy:
    """Listens on 127.0.0.1 and passes bytes to `target_host:target_port`; the port stays the same after a cut.

    A `target_host` that is a folder holds the Unix socket of a PostgreSQL server.
    `latency_seconds` delays each piece of data, both ways, and may be changed at any time.
    """

    def __init__(self, target_host: str, target_port: int, *, latency_seconds: float = 0.0) -> None:
        self.latency_seconds = latency_seconds
        self.host = "127.0.0.1"
        self.port = 0
        self._target = (target_host, target_port)
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        self._server_writers: set[asyncio.StreamWriter] = set()
        self._pipes: set[asyncio.Task[None]] = set()
        self._flowing = asyncio.Event()
        self._flowing.set()

    async def start(self) -> None:
        self._server = await asyncio.start_server(self._serve, self.host, self.port)
        self.port = self._server.sockets[0].getsockname()[1]

    async def cut(self) -> None:
        """Drop every connection and refuse new ones."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for writer in tuple(self._writers):
            writer.transport.abort()
        await self._end_pipes()

    def freeze(self) -> None:
        """Keep connections, accept new ones, pass nothing on: a network that drops packets."""
        self._flowing.clear()

    def swallow(self) -> None:
        """A silent failover: the server loses its connections, their clients are not told; new ones pass."""
        for writer in tuple(self._server_writers):
            writer.transport.abort()
        self._flowing.clear()
        self._flowing = asyncio.Event()
        self._flowing.set()

    async def restore(self) -> None:
        """End a cut or a freeze; frozen data arrive now, swallowed data are lost."""
        self._flowing.set()
        if self._server is None:
            await self.start()

    async def lead_to(self, target_host: str, target_port: int | None = None) -> None:
        """Drop every connection, and lead new ones to another server, on the same port as before without a word."""
        await self.cut()
        self._target = (target_host, target_port or self._target[1])
        await self.restore()

    async def close(self) -> None:
        await self.cut()

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _serve(self, client_reader: asyncio.StreamReader, client_writer: asyncio.StreamWriter) -> None:
        self._writers.add(client_writer)
        task = asyncio.current_task()
        assert task is not None
        self._pipes.add(task)
        task.add_done_callback(self._pipes.discard)
        with contextlib.suppress(OSError, asyncio.CancelledError):
            server_reader, server_writer = await self._reach_target()
            self._writers.add(server_writer)
            self._server_writers.add(server_writer)
            flowing = self._flowing
            try:
                await asyncio.gather(
                    self._pipe(client_reader, server_writer, flowing), self._pipe(server_reader, client_writer, flowing)
                )
            finally:
                self._drop(server_writer)
        self._drop(client_writer)

    async def _reach_target(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        host, port = self._target
        if host.startswith("/"):
            return await asyncio.open_unix_connection(f"{host}/.s.PGSQL.{port}")
        return await asyncio.open_connection(host, port)

    async def _pipe(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, flowing: asyncio.Event) -> None:
        """Pass on until one side closes, in order; the latency delays pieces but not the throughput."""
        loop = asyncio.get_running_loop()
        pieces: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue(maxsize=1_000)
        delivering = asyncio.create_task(self._deliver(pieces, writer, flowing))
        try:
            while piece := await reader.read(_CHUNK_BYTES):
                await pieces.put((loop.time() + self.latency_seconds, piece))
            await pieces.put((loop.time() + self.latency_seconds, b""))
            await delivering
        finally:
            delivering.cancel()
            await asyncio.gather(delivering, return_exceptions=True)

    async def _deliver(
        self, pieces: "asyncio.Queue[tuple[float, bytes]]", writer: asyncio.StreamWriter, flowing: asyncio.Event
    ) -> None:
        loop = asyncio.get_running_loop()
        while True:
            due_at, piece = await pieces.get()
            if (wait_seconds := due_at - loop.time()) > 0:
                await asyncio.sleep(wait_seconds)
            await flowing.wait()
            if not piece:
                if writer.can_write_eof():
                    writer.write_eof()
                return
            writer.write(piece)
            await writer.drain()

    def _drop(self, writer: asyncio.StreamWriter) -> None:
        self._writers.discard(writer)
        self._server_writers.discard(writer)
        writer.transport.abort()

    async def _end_pipes(self) -> None:
        for task in tuple(self._pipes):
            task.cancel()
        if self._pipes:
            await asyncio.wait(tuple(self._pipes))


def before_postgres(url: str) -> TcpProxy:
    """A proxy in front of the PostgreSQL server of this address, which may be a Unix socket."""
    parts = urlsplit(url)
    options = parse_qs(parts.query)
    port = options["port"][0] if "port" in options else parts.port or 5432
    return TcpProxy(options["host"][0] if "host" in options else parts.hostname or "127.0.0.1", int(port))


def through(proxy: TcpProxy, url: str) -> str:
    """The address of the same database through the proxy."""
    parts = urlsplit(url)
    user = parts.netloc.rpartition("@")[0]
    return parts._replace(netloc=f"{user}@{proxy.host}:{proxy.port}", query="").geturl()
