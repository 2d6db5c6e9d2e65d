"""How long do people in a chat wait for a reply beside another researcher's big run? In the embedded lab, over HTTP.

docs/benchmarks.md says what is measured and how to read it.
"""

import asyncio
import os
import signal
import sys
import time
from argparse import ArgumentParser
from collections.abc import AsyncIterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final
from uuid import UUID

import httpx2
import orjson
import psycopg
import uvloop
from sqlalchemy import text

# The folder is no installed package; the processes started from here find it by their working directory.
sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from benchmarks.lab_runs import ended
from benchmarks.processes import StartFailed, fake_model
from benchmarks.report import percentile, write_samples
from benchmarks.servers import own_database
from benchmarks.survey_calls import document as survey
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.design import load
from parley_lab.experiments import starting

LATENCY_SECONDS: Final = 0.2
BAR_SECONDS: Final = 0.5
"""Above the model's latency, at p95."""
PAUSE_SECONDS: Final = 0.8
"""Between a reply and the next post: longer than the quiet time, which would be measured else."""
_PATIENCE_SECONDS: Final = 60.0
_MADE = text("SELECT count(*) AS calls FROM model_calls k JOIN drafts d ON d.id = k.draft_id WHERE d.thread_id IS NULL")


@dataclass(frozen=True)
class Sample:
    """The waits of people, each from the sending of a post until the stream has told of an agent's reply."""

    beside_agents: int
    questions: int
    parallel_calls: int
    people: int
    waits_seconds: tuple[float, ...]
    unheard: int
    run_seconds: float
    run_calls: int
    load_average: float

    @property
    def summary(self) -> str:
        p50, p95 = (percentile(self.waits_seconds, each) - LATENCY_SECONDS for each in (50, 95))
        beside = "alone"
        if self.beside_agents:
            calls = f"{self.run_calls} of {self.beside_agents * self.questions} calls in {self.run_seconds:.0f} s"
            beside = f"beside {self.beside_agents} agents x {self.questions} questions ({calls})"
        verdict = "met" if p95 <= BAR_SECONDS and not self.unheard else "NOT MET"
        return (
            f"{beside}, {self.parallel_calls} calls at a time: {len(self.waits_seconds)} replies, {self.unheard} never "
            f"heard; above the model's latency p50 {p50:.2f} s, p95 {p95:.2f} s, longest "
            f"{max(self.waits_seconds) - LATENCY_SECONDS:.2f} s (bar: {BAR_SECONDS} s, {verdict}); "
            f"load {self.load_average:.1f}"
        )


def chat(people: int) -> str:
    """Rooms of one person and two agents, of whom one replies to each post."""
    content = {
        "parley": 1,
        "name": "A chat",
        "seed": 1,
        "pace": "live",
        "model_mode": "real",
        "personas": [{"id": name, "chat": {"words_per_minute": 100_000}} for name in ("ada", "bob")],
        "stages": [{"id": "talk", "kind": "group_chat", "max_agent_run": 1}],
        "cohorts": [{"count": people, "seats": [{"open": True}, {"persona": "ada"}, {"persona": "bob"}]}],
    }
    return orjson.dumps(content).decode()


class Person:
    """Posts over HTTP and hears over the live stream, in a room of two agents."""

    def __init__(self, client: httpx2.AsyncClient, token: str) -> None:
        self._client = client
        self._headers = {"authorization": f"Bearer {token}"}
        self.waits: list[float] = []
        self.unheard = 0

    async def talk(self, is_over: asyncio.Event, most: int) -> None:
        """Post, wait for the reply, pause, again and again."""
        thread_id = await self._thread()
        async with self._client.stream("GET", "/v1/me/stream", headers=self._headers, timeout=None) as stream:
            lines = stream.aiter_lines()
            for number in range(most):
                if is_over.is_set():
                    return
                began = time.perf_counter()
                body = {"text": f"And what about {number}?", "client_message_id": str(number)}
                path = f"/v1/me/threads/{thread_id}/messages"
                answer = await self._client.post(path, json=body, headers=self._headers)
                answer.raise_for_status()
                try:
                    async with asyncio.timeout(_PATIENCE_SECONDS):
                        await _reply(lines, answer.json()["id"])
                except TimeoutError:
                    self.unheard += 1
                    return
                self.waits.append(time.perf_counter() - began)
                await asyncio.sleep(PAUSE_SECONDS)

    async def _thread(self) -> str:
        """The id of the conversation, once it has begun and the agents have said what they say first."""
        while True:
            page = (await self._client.get("/v1/me/stages/talk", headers=self._headers)).json()
            if page.get("thread"):
                await asyncio.sleep(1.0 + LATENCY_SECONDS)
                return str(page["thread"]["id"])
            await asyncio.sleep(0.1)


async def _reply(lines: AsyncIterator[str], posted: str) -> None:
    """Return when the stream tells of an agent's message after this one."""
    is_after = False
    async for line in lines:
        if not line.startswith("data:"):
            continue
        event: dict[str, Any] = orjson.loads(line.removeprefix("data:"))
        if event["type"] == "message.created":
            if is_after:
                return
            is_after = event["data"]["id"] == posted


async def run(
    database_url: str, model_url: str, *, agents: int, questions: int, parallel_calls: int, people: int, posts: int
) -> Sample:
    servers = ServerSettings(database_url=database_url, amqp_url=None)
    limits = orjson.dumps({"openai": {"concurrent_calls": parallel_calls}}).decode()
    environ = {
        **os.environ,
        "OPENAI_BASE_URL": model_url,
        "OPENAI_API_KEY": "any",
        "LLM_USE_MOCK": "false",
        "PARLEY_LIMITS": limits,
    }
    is_over = asyncio.Event()
    with TemporaryDirectory() as folder:
        async with EmbeddedLab(Path(folder) / "lab", servers=servers, environ=environ, port=0) as lab:
            assert lab.url is not None
            chat_id = await _started(lab, chat(people))
            async with httpx2.AsyncClient(base_url=lab.url, timeout=_PATIENCE_SECONDS) as client:
                key = {"authorization": f"Bearer {lab.directory.local_key()}"}
                tokens = [
                    (await client.post(f"/v1/experiments/{chat_id}/join", headers=key)).json()["token"]
                    for _ in range(people)
                ]
                began = time.perf_counter()
                big = asyncio.create_task(_big_run(lab, survey(agents, questions), is_over)) if agents else None
                talking = [Person(client, token) for token in tokens]
                await asyncio.gather(*(person.talk(is_over, posts) for person in talking))
                seconds = time.perf_counter() - began
                async with lab.database.transaction() as session:
                    calls = (await session.one(_MADE)).calls
                if big is not None:
                    big.cancel()
                    with suppress(asyncio.CancelledError):
                        await big
    return Sample(
        beside_agents=agents,
        questions=questions,
        parallel_calls=parallel_calls,
        people=people,
        waits_seconds=tuple(wait for person in talking for wait in person.waits),
        unheard=sum(person.unheard for person in talking),
        run_seconds=seconds,
        run_calls=calls,
        load_average=os.getloadavg()[0],
    )


async def _big_run(lab: EmbeddedLab, document: str, is_over: asyncio.Event) -> None:
    await ended(lab, await _started(lab, document))
    is_over.set()


async def _started(lab: EmbeddedLab, document: str) -> UUID:
    async with lab.database.transaction() as session:
        experiment = load(document, "benchmark.json")
        experiment_id = await starting.create(session, lab.operator_id, experiment, lab.clock.now())
    async with lab.database.transaction() as session:
        await starting.start(session, experiment_id, lab.clock.now())
    return experiment_id


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit code 0 whatever the numbers are: the bar is judged by a reader, not on a noisy machine."""
    parser = ArgumentParser(description="Measure chats of people beside a big run.")
    parser.add_argument("--agents", type=int, nargs="+", default=[0, 200], help="0: no big run (default: 0 200)")
    parser.add_argument("--questions", type=int, default=10, help="asked of each agent (default: %(default)s)")
    parser.add_argument("--parallel-calls", type=int, default=20, help="limit of the key (default: %(default)s)")
    parser.add_argument("--people", type=int, default=3, help="each in a room of their own (default: %(default)s)")
    parser.add_argument("--posts", type=int, default=15, help="the most of each person (default: %(default)s)")
    options = parser.parse_args(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    samples = []
    scene = {name: getattr(options, name) for name in ("questions", "parallel_calls", "people", "posts")}
    try:
        with fake_model(LATENCY_SECONDS, always_speaks=True) as (model_url, _):
            for agents in options.agents:
                with own_database("beside") as database_url:
                    samples.append(uvloop.run(run(database_url, model_url, agents=agents, **scene)))
                print(samples[-1].summary, flush=True)
    except (StartFailed, psycopg.OperationalError) as error:
        print(f"The benchmark could not be run. {error}", file=sys.stderr)
        return 1
    print(f"All numbers: {write_samples('beside-a-big-run', samples, model_latency_seconds=LATENCY_SECONDS)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
