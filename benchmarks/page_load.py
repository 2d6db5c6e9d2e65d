"""People who take a study of surveys by the requests that their pages make: the load generator, a process of its own.

Reads one job as JSON from standard input and writes the result as JSON. Scripts, styles and the two documents are left
out: a browser fetches them once for a whole study.
"""

import asyncio
import sys
import time
from dataclasses import dataclass
from random import Random
from typing import Any, Final, Self

import orjson
import uvloop

from benchmarks.live_stream import LiveStream
from benchmarks.load import Client

ANSWER: Final = {"mood": 4, "why": "Because of the bus that never came.", "ticked": True}
_GATHER_SECONDS: Final = 0.04
"""So long a page waits for more events before it looks at where its participant is (GATHER_MS of live.js)."""
_PATIENCE_SECONDS: Final = 60.0


@dataclass(frozen=True)
class Job:
    """People take turns between the ports; `at_once` of them are on the way at any time."""

    ports: tuple[int, ...]
    code: str
    people: int
    at_once: int

    @classmethod
    def read(cls, text: bytes) -> Self:
        fields = orjson.loads(text)
        return cls(**{**fields, "ports": tuple(fields["ports"])})


class Stream(LiveStream):
    """A live stream, of which only is noted up to where something has come."""

    def __init__(self) -> None:
        super().__init__()
        self._heard = asyncio.Event()
        self._position = 0

    def connection_lost(self, _: Exception | None) -> None:
        self._heard.set()

    def hear(self, line: bytes) -> None:
        if line.startswith(b"id: "):
            self._position = int(line.rpartition(b":")[2])
            self._heard.set()

    async def has_news(self, cursor: str) -> bool:
        """Whether a page that has seen so much looks at what has come by now."""
        if self._position > _position(cursor):
            await asyncio.sleep(_GATHER_SECONDS)
            return True
        return False

    async def news(self, cursor: str) -> None:
        """Return when something has come that a page which has seen so much looks at."""
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while not await self.has_news(cursor):
                self._heard.clear()
                await self._heard.wait()


def _position(cursor: str) -> int:
    return int(cursor.rpartition(":")[2])


class Person:
    """One browser: a connection for requests, another one for the stream."""

    def __init__(self, port: int, code: str, join_key: str) -> None:
        self._port = port
        self._link = f"/v1/join/{code}"
        self._join_key = join_key
        self._client = Client(port)
        self._headers: dict[str, str] = {}
        self.advance_seconds: list[float] = []
        self.requests = 0

    async def take_part(self) -> None:
        await self._ask("GET", self._link)
        joined = await self._ask("POST", self._link, {"join_key": self._join_key, "external_id": None})
        self._headers = {"authorization": f"Bearer {joined['token']}"}
        me, page = await self._look()
        await self._ask("GET", "/v1/me/appearance")
        stream = await Stream.follow(self._port, self._headers, me["cursor"])
        self.requests += 1
        while page is not None:
            while page["state"] != "current":
                await stream.news(me["cursor"])
                me, page = await self._look()
                assert page is not None
            me, page = await self._answer(page["stage_id"])
            if await stream.has_news(me["cursor"]):
                me, page = await self._look()
        stream.close()
        self._client.close()

    async def _look(self) -> tuple[Any, Any]:
        me = await self._ask("GET", "/v1/me")
        return me, None if me["is_over"] else await self._ask("GET", f"/v1/me/stages/{me['stage_id']}")

    async def _answer(self, stage_id: str) -> tuple[Any, Any]:
        """What is entered is saved before it is sent. Returns where it has led to."""
        await self._ask("PUT", f"/v1/me/stages/{stage_id}/answer", {"answer": ANSWER})
        began = time.perf_counter()
        led_to = await self._ask("POST", f"/v1/me/stages/{stage_id}/advance", {"answer": ANSWER})
        self.advance_seconds.append(time.perf_counter() - began)
        return led_to["me"], led_to["page"]

    async def _ask(self, method: str, path: str, content: Any = None) -> Any:
        self.requests += 1
        return await self._client.request(method, path, self._headers, orjson.dumps(content) if content else b"")


async def measure(job: Job) -> dict[str, Any]:
    gate = asyncio.Semaphore(job.at_once)
    run = Random().randbytes(8).hex()
    people = [
        Person(job.ports[number % len(job.ports)], job.code, f"{run}{number:016}") for number in range(job.people)
    ]

    async def one(person: Person) -> None:
        async with gate:
            await person.take_part()

    began = time.perf_counter()
    # A failure ends the whole run with a message.
    await asyncio.gather(*map(one, people))
    return {
        "seconds": time.perf_counter() - began,
        "requests": sum(person.requests for person in people),
        "advance_seconds": [seconds for person in people for seconds in person.advance_seconds],
        "cpu_seconds": time.process_time(),
    }


if __name__ == "__main__":
    sys.stdout.write(orjson.dumps(uvloop.run(measure(Job.read(sys.stdin.buffer.read())))).decode() + "\n")
