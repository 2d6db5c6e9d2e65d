"""The load generator, a process of its own: posts as people over REST and notes when each reply is readable.

A reply is readable once its transaction is committed, which one connection to Postgres polls for all rooms at once: the
same query for all contestants, without work for their services. Reads one job as JSON from standard
input; writes `begin` and `end` at the borders of the measured window, then the result as JSON.
"""

import asyncio
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from random import Random
from typing import Any, Self, cast

import orjson
import uvloop
from psycopg import AsyncConnection

_READABLE = """
    SELECT w.trigger_key
    FROM unnest(%s::uuid[], %s::text[]) AS w(thread_id, trigger_key)
        JOIN trigger_log t ON t.thread_id = w.thread_id AND t.trigger_key = w.trigger_key
"""
_PATIENCE_SECONDS = 30.0
OBSERVER = "benchmark observer"
"""The name by which Postgres knows the load generator's own connection."""


@dataclass(frozen=True)
class Room:
    """A conversation of one person and one agent, and the request by which the person speaks."""

    thread_id: str
    path: str
    headers: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Job:
    """`pause_seconds`: how long a person waits after a reply, drawn between 0.5 and 1.5 times of it."""

    port: int
    database_url: str
    rooms: tuple[Room, ...]
    ramp_seconds: float
    seconds: float
    pause_seconds: float
    poll_seconds: float
    latency_seconds: float

    @classmethod
    def read(cls, text: bytes) -> Self:
        fields = orjson.loads(text)
        return cls(**{**fields, "rooms": tuple(Room(**room) for room in fields["rooms"])})


class Client(asyncio.Protocol):
    """One keep-alive connection that speaks as much HTTP/1.1 as is needed, so that the load costs little."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._buffer = bytearray()
        self._answer: asyncio.Future[tuple[int, bytes]] | None = None
        self._transport: asyncio.Transport | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is one in all but its class

    def connection_lost(self, _: Exception | None) -> None:
        self._transport = None
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(ConnectionError("the gateway closed the connection"))

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return
        head = bytes(self._buffer[:end]).lower()
        length = int(head.partition(b"content-length:")[2].split(b"\r\n", 1)[0] or 0)
        if len(self._buffer) < end + 4 + length:
            return
        body = bytes(self._buffer[end + 4 : end + 4 + length])
        self._buffer.clear()
        assert self._answer is not None
        self._answer.set_result((int(head[9:12]), body))

    async def post(self, path: str, headers: Mapping[str, str], body: bytes) -> Any:
        """The decoded answer. Raises: RuntimeError when it is no success."""
        return await self.request("POST", path, headers, body)

    async def request(self, method: str, path: str, headers: Mapping[str, str], body: bytes = b"") -> Any:
        """The decoded answer, None where it is empty. Raises: RuntimeError when it is no success."""
        if self._transport is None:  # not yet, or closed by the server after a pause
            await asyncio.get_running_loop().create_connection(lambda: self, "127.0.0.1", self._port)
        assert self._transport is not None
        lines = [f"{method} {path} HTTP/1.1", "host: 127.0.0.1"]
        lines += [f"{name}: {value}" for name, value in headers.items()]
        lines += ["content-type: application/json", f"content-length: {len(body)}"] if body else []
        self._answer = asyncio.get_running_loop().create_future()
        self._transport.write("\r\n".join([*lines, "", ""]).encode() + body)
        status, content = await self._answer
        if not 200 <= status < 300:
            raise RuntimeError(f"{method} {path} was answered {status}: {content.decode(errors='replace')[:500]}")
        return orjson.loads(content) if content else None

    def close(self) -> None:
        if self._transport is not None:
            self._transport.close()


class Observer:
    """Tells each waiting room when the reply to its message is readable."""

    def __init__(self, connection: AsyncConnection[Any], poll_seconds: float) -> None:
        self._connection = connection
        self._poll_seconds = poll_seconds
        self._waiting: dict[str, tuple[str, asyncio.Future[float]]] = {}

    def readable(self, thread_id: str, trigger_key: str) -> asyncio.Future[float]:
        future: asyncio.Future[float] = asyncio.get_running_loop().create_future()
        self._waiting[trigger_key] = (thread_id, future)
        return future

    async def keep_looking(self) -> None:
        while True:
            if self._waiting:
                threads = [thread_id for thread_id, _ in self._waiting.values()]
                cursor = await self._connection.execute(_READABLE, (threads, list(self._waiting)))
                rows = await cursor.fetchall()
                now = time.perf_counter()
                for (trigger_key,) in rows:
                    self._waiting.pop(trigger_key)[1].set_result(now)
            await asyncio.sleep(self._poll_seconds)


class Run:
    def __init__(self, job: Job) -> None:
        self._job = job
        self._rng = Random(1)
        self._measuring = False
        self._posting = True
        self._posts = 0
        self._replies = 0
        self._overheads: list[float] = []
        self._post_seconds: list[float] = []

    async def measure(self) -> dict[str, Any]:
        job = self._job
        clients = [Client(job.port) for _ in job.rooms]
        async with await _look_into(job.database_url) as connection:
            observer = Observer(connection, job.poll_seconds)
            looking = asyncio.create_task(observer.keep_looking())
            people = asyncio.gather(
                *(self._converse(room, client, observer) for room, client in zip(job.rooms, clients, strict=True))
            )
            window = self._window()
            # A failure ends the whole run with a message.
            seconds, _ = await asyncio.gather(window, people)
            looking.cancel()
        return {
            "seconds": seconds,
            "posts": self._posts,
            "replies": self._replies,
            "overhead_seconds": self._overheads,
            "post_seconds": self._post_seconds,
            "cpu_seconds": time.process_time(),
        }

    async def _window(self) -> float:
        await asyncio.sleep(self._job.ramp_seconds)
        _say("begin")
        begin = time.perf_counter()
        self._measuring = True
        await asyncio.sleep(self._job.seconds)
        self._measuring = False
        seconds = time.perf_counter() - begin
        _say("end")
        self._posting = False
        return seconds

    async def _converse(self, room: Room, client: Client, observer: Observer) -> None:
        await asyncio.sleep(self._rng.uniform(0, self._job.ramp_seconds / 2))
        while self._posting:
            self._posts += 1
            body = orjson.dumps(
                {"text": f"What do you think of number {self._posts}?", "client_message_id": f"{time.time_ns()}"}
            )
            posted_at = time.perf_counter()
            posted = await client.post(room.path, room.headers, body)
            answered_at = time.perf_counter()
            async with asyncio.timeout(_PATIENCE_SECONDS):
                readable_at = await observer.readable(room.thread_id, f"message:{posted['id']}")
            if self._measuring:
                self._replies += 1
                self._overheads.append(readable_at - posted_at - self._job.latency_seconds)
                self._post_seconds.append(answered_at - posted_at)
            if self._job.pause_seconds:
                await asyncio.sleep(self._job.pause_seconds * self._rng.uniform(0.5, 1.5))


async def _look_into(database_url: str) -> AsyncConnection[Any]:
    # By the key, however few rows there are yet: the question costs the same from the first to the last.
    return await AsyncConnection.connect(
        database_url, autocommit=True, application_name=OBSERVER, options="-c enable_seqscan=off"
    )


def _say(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    _say(orjson.dumps(uvloop.run(Run(Job.read(sys.stdin.buffer.read())).measure())).decode())
