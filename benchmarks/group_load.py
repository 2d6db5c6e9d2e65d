"""Groups of people who talk and follow their live streams: the load generator, a process of its own.

Reads one job as a line of JSON from standard input, and says "ready" when all follow their streams, and "done" when the
result is in its file, as JSON.
"""

import asyncio
import sys
import time
from collections import Counter, defaultdict
from dataclasses import dataclass
from pathlib import Path
from random import Random
from typing import Any, Final, Self

import orjson
import uvloop

from benchmarks.live_stream import LiveStream
from benchmarks.load import Client

_AT_ONCE: Final = 16
_PATIENCE_SECONDS: Final = 60.0
_READY_SECONDS: Final = 1.0


@dataclass(frozen=True)
class Job:
    """Each person of each group posts once a second, begun at a random moment, for so many seconds."""

    port: int
    code: str
    groups: int
    size: int
    seconds: int
    result: str
    """The path of a file."""

    @classmethod
    def read(cls, line: bytes) -> Self:
        return cls(**orjson.loads(line))


class Stream(LiveStream):
    """A live stream: when each text came, how often, and in which order."""

    def __init__(self) -> None:
        super().__init__()
        self.heard: dict[str, float] = {}
        self.times: Counter[str] = Counter()
        self.numbers: list[int] = []
        self.is_over = False

    def connection_lost(self, _: Exception | None) -> None:
        self.is_over = True

    def hear(self, line: bytes) -> None:
        if line.startswith(b"data: ") and b'"seq"' in line and b'"text"' in line:
            said = orjson.loads(line[6:])["data"]
            self.heard.setdefault(said["text"], time.perf_counter())
            self.times[said["text"]] += 1
            self.numbers.append(said["seq"])


class Person:
    """One browser: a connection for requests, another one for the stream."""

    def __init__(self, job: Job, number: int, run: str) -> None:
        self._job = job
        self._name = f"{run}{number:05}"
        self._client = Client(job.port)
        self._headers: dict[str, str] = {}
        self._thread = ""
        self.cohort = ""
        self.posted: dict[str, float] = {}
        self.answers: list[float] = []
        self.refused = 0
        self.stream = Stream()

    async def join(self) -> None:
        joined = await self._ask("POST", f"/v1/join/{self._job.code}", {"join_key": self._name.rjust(24, "k")})
        self._headers = {"authorization": f"Bearer {joined['token']}"}
        self.cohort = joined["me"]["cohort_id"]
        self.stream = await Stream.follow(self._job.port, self._headers, joined["me"]["cursor"])

    async def arrive(self) -> None:
        while not self._thread:
            page = await self._ask("GET", "/v1/me/stages/talk")
            if page["state"] == "current" and page["thread"]:
                self._thread = page["thread"]["id"]
            else:
                await asyncio.sleep(0.3)

    async def talk(self, after: float) -> None:
        start = time.perf_counter() + after
        for number in range(self._job.seconds):
            await asyncio.sleep(max(0.0, start + number - time.perf_counter()))
            text = f"{self._name} says thing {number} of what there is to be said about the bus."
            began = time.perf_counter()
            try:
                said = {"text": text, "client_message_id": str(number)}
                await self._ask("POST", f"/v1/me/threads/{self._thread}/messages", said)
            except (RuntimeError, OSError):
                self.refused += 1
                continue
            self.posted[text] = began
            self.answers.append(time.perf_counter() - began)

    async def _ask(self, method: str, path: str, content: Any = None) -> Any:
        return await self._client.request(method, path, self._headers, orjson.dumps(content) if content else b"")

    def close(self) -> None:
        self.stream.close()
        self._client.close()


async def measure(job: Job) -> dict[str, Any]:
    chance = Random()
    run = chance.randbytes(6).hex()
    people = [Person(job, number, run) for number in range(job.groups * job.size)]
    gate = asyncio.Semaphore(_AT_ONCE)

    async def join(person: Person) -> None:
        async with gate:
            await person.join()

    await asyncio.gather(*map(join, people))
    await asyncio.gather(*(person.arrive() for person in people))
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    await asyncio.sleep(_READY_SECONDS)
    used, began = time.process_time(), time.perf_counter()
    await asyncio.gather(*(person.talk(chance.random()) for person in people))
    seconds = time.perf_counter() - began
    groups: defaultdict[str, list[Person]] = defaultdict(list)
    for person in people:
        groups[person.cohort].append(person)
    await _all_heard(list(groups.values()))
    for person in people:
        person.close()
    return {**_found(list(groups.values())), "seconds": seconds, "cpu_seconds": time.process_time() - used}


async def _all_heard(groups: list[list[Person]]) -> None:
    """Wait until all have heard all that was said in their group, or for a minute."""
    until = time.perf_counter() + _PATIENCE_SECONDS
    while time.perf_counter() < until:
        wanted = [sum(len(person.posted) for person in group) for group in groups]
        if all(
            len(person.stream.heard) >= number for group, number in zip(groups, wanted, strict=True) for person in group
        ):
            return
        await asyncio.sleep(0.1)


def _found(groups: list[list[Person]]) -> dict[str, Any]:
    lost, last = 0, []
    for group in groups:
        for text, began in ((text, began) for person in group for text, began in person.posted.items()):
            came = [person.stream.heard[text] for person in group if text in person.stream.heard]
            lost += len(group) - len(came)
            if len(came) == len(group):
                last.append(max(came) - began)
    people = [person for group in groups for person in group]
    return {
        "posted": sum(len(person.posted) for person in people),
        "refused": sum(person.refused for person in people),
        "answer_seconds": [seconds for person in people for seconds in person.answers],
        "last_seconds": last,
        "lost": lost,
        "doubled": sum(sum(times - 1 for times in person.stream.times.values()) for person in people),
        "out_of_order": sum(person.stream.numbers != sorted(person.stream.numbers) for person in people),
        "broken": sum(person.stream.is_over for person in people),
    }


if __name__ == "__main__":
    job = Job.read(sys.stdin.buffer.readline())
    Path(job.result).write_bytes(orjson.dumps(uvloop.run(measure(job))))
    sys.stdout.write("done\n")
