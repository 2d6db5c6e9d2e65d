"""Counts what goes to Postgres and RabbitMQ on the wire, in the same way for all contestants.

Runs as a process of its own, in a phase that measures no time. It listens on two free ports, prints them as JSON, and
answers every line on standard input with the counts so far.
"""

import asyncio
import sys
from argparse import ArgumentParser
from collections import Counter
from collections.abc import Callable
from contextlib import suppress

import orjson

_STARTUP_HEADER = 4
_CONTROL = ("BEGIN", "COMMIT", "ROLLBACK", "SAVEPOINT", "RELEASE")
_AMQP_HEADER = b"AMQP\x00\x00\x09\x01"
_METHOD_FRAME = 1
_PUBLISH = (60, 40)
_FRAME_OVERHEAD = 8  # type, channel, size, end

Reader = Callable[[bytes], None]


class PostgresReader:
    """Follows what one client says in the frontend/backend protocol; needs a connection without TLS."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._buffer = bytearray()
        self._started = False
        self._prepared: dict[bytes, bool] = {}
        self._bound_is_control = False

    def read(self, data: bytes) -> None:
        self._buffer += data
        while (size := self._next_size()) is not None and len(self._buffer) >= size:
            message = bytes(self._buffer[:size])
            del self._buffer[:size]
            if self._started:
                self._message(message[:1], message[5:])
            else:
                # SSL and GSS requests are shorter than a startup message, and another one follows them.
                self._started = size > 2 * _STARTUP_HEADER

    def _next_size(self) -> int | None:
        start = 1 if self._started else 0
        if len(self._buffer) < start + 4:
            return None
        return start + int.from_bytes(self._buffer[start : start + 4])

    def _message(self, kind: bytes, body: bytes) -> None:
        if kind == b"P":
            name, _, rest = body.partition(b"\0")
            self._prepared[name] = _is_control(rest.partition(b"\0")[0])
        elif kind == b"B":
            self._bound_is_control = self._prepared.get(body.partition(b"\0")[2].partition(b"\0")[0], False)
        elif kind == b"E":
            self._count(self._bound_is_control)
        elif kind == b"Q":
            self._count(_is_control(body))

    def _count(self, is_control: bool) -> None:
        self._counts["transaction_control" if is_control else "statements"] += 1


class AmqpReader:
    """Counts the basic.publish of one client."""

    def __init__(self, counts: Counter[str]) -> None:
        self._counts = counts
        self._buffer = bytearray()

    def read(self, data: bytes) -> None:
        self._buffer += data
        if self._buffer.startswith(_AMQP_HEADER):
            del self._buffer[: len(_AMQP_HEADER)]
        while len(self._buffer) >= _FRAME_OVERHEAD:
            size = _FRAME_OVERHEAD + int.from_bytes(self._buffer[3:7])
            if len(self._buffer) < size:
                return
            method = (int.from_bytes(self._buffer[7:9]), int.from_bytes(self._buffer[9:11]))
            if self._buffer[0] == _METHOD_FRAME and method == _PUBLISH:
                self._counts["messages"] += 1
            del self._buffer[:size]


def _is_control(statement: bytes) -> bool:
    return statement.lstrip().upper().startswith(tuple(word.encode() for word in _CONTROL))


async def _pump(source: asyncio.StreamReader, target: asyncio.StreamWriter, read: Reader | None) -> None:
    with suppress(OSError):
        while data := await source.read(65536):
            if read is not None:
                read(data)
            target.write(data)
            await target.drain()
    target.close()


async def _listen(address: str, make_reader: Callable[[], Reader]) -> asyncio.Server:
    """Forward every connection to `host:port`."""
    host, _, port = address.rpartition(":")

    async def connected(from_client: asyncio.StreamReader, to_client: asyncio.StreamWriter) -> None:
        from_server, to_server = await asyncio.open_connection(host, int(port))
        await asyncio.gather(_pump(from_client, to_server, make_reader()), _pump(from_server, to_client, None))

    return await asyncio.start_server(connected, "127.0.0.1", 0)


async def main(postgres_address: str, amqp_address: str) -> None:
    counts: Counter[str] = Counter()
    postgres = await _listen(postgres_address, lambda: PostgresReader(counts).read)
    amqp = await _listen(amqp_address, lambda: AmqpReader(counts).read)
    ports = {"postgres": postgres.sockets[0].getsockname()[1], "amqp": amqp.sockets[0].getsockname()[1]}
    print(orjson.dumps(ports).decode(), flush=True)
    while await asyncio.to_thread(sys.stdin.readline):
        print(orjson.dumps(counts).decode(), flush=True)


if __name__ == "__main__":
    parser = ArgumentParser()
    parser.add_argument("--postgres", metavar="HOST:PORT", required=True)
    parser.add_argument("--amqp", metavar="HOST:PORT", required=True)
    options = parser.parse_args()
    asyncio.run(main(options.postgres, options.amqp))
