"""The broker or Postgres is cut off from a running lab: posts go on or are refused, nothing is lost or doubled."""

import asyncio
import os
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from statistics import median
from time import perf_counter
from urllib.parse import urlsplit
from uuid import UUID

import httpx2
import pytest
from sqlalchemy import text

from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, provider_queue
from parley_lab.store import embedded_postgres
from parley_lab.testing.buses import RabbitBroker
from parley_lab.testing.network import WITHOUT_TLS
from parley_lab.testing.quick import quick_first
from parley_lab.testing.tcp_proxy import TcpProxy, before_postgres, through
from tests.faults.lab_tools import start

pytestmark = [pytest.mark.fault, pytest.mark.slow, pytest.mark.timeout(300)]

ROOM = """
parley: 1
name: A room under fire
seed: 0
pace: live
personas: [{id: ada}, {id: bob}]
stages: [{id: talk, kind: group_chat, max_agent_run: 1, post_limit: null}]
cohorts: [{seats: [{open: true}, {persona: ada}, {persona: bob}]}]
"""
BROKER_SECONDS = 5.0
"""The time-out of the bus for any answer of the broker."""
BEFORE = 10
_EVENTUALLY_SECONDS = 90.0


class Person:
    """A person who has joined and talks over REST."""

    def __init__(self, client: httpx2.AsyncClient, thread_id: str) -> None:
        self._client = client
        self._thread_id = thread_id
        self.seconds: list[float] = []

    async def say(self, words: str) -> httpx2.Response:
        begun = perf_counter()
        response = await self._client.post(
            f"/v1/me/threads/{self._thread_id}/messages", json={"text": words, "client_message_id": words}
        )
        self.seconds.append(perf_counter() - begun)
        return response


async def eventually(condition: Callable[[], Awaitable[bool]], what: str) -> None:
    """Wait for a lab in real time, as its users do."""
    try:
        async with asyncio.timeout(_EVENTUALLY_SECONDS):
            while not await condition():  # noqa: ASYNC110 - the lab sends no word of it
                await asyncio.sleep(0.05)
    except TimeoutError:
        raise AssertionError(f"never happened: {what}") from None


@asynccontextmanager
async def person_in(lab: EmbeddedLab, experiment_id: UUID) -> AsyncIterator[Person]:
    assert lab.url is not None
    async with httpx2.AsyncClient(base_url=lab.url, timeout=15, verify=WITHOUT_TLS) as client:
        client.headers["Authorization"] = f"Bearer {lab.directory.local_key()}"
        joined = (await client.post(f"/v1/experiments/{experiment_id}/join")).json()
        client.headers["Authorization"] = f"Bearer {joined['token']}"
        thread: list[str] = []

        async def is_open() -> bool:
            page = (await client.get("/v1/me/stages/talk")).json()
            if page.get("thread"):
                thread.append(page["thread"]["id"])
            return bool(thread)

        await eventually(is_open, "the conversation opens")
        yield Person(client, thread[0])


async def counts(lab: EmbeddedLab) -> tuple[int, int, int]:
    """Messages of the person, distinct among them, and rows that wait in the outbox."""
    async with lab.database.transaction() as session:
        row = await session.one(
            text(
                """
                SELECT count(*) AS said, count(DISTINCT client_key) AS keys, (SELECT count(*) FROM outbox) AS waiting
                FROM messages WHERE author_kind = 'person'
                """
            )
        )
    return row.said, row.keys, row.waiting


async def one_reply_per_trigger(lab: EmbeddedLab) -> bool:
    async with lab.database.transaction() as session:
        rows = await session.all(text("SELECT trigger_key FROM messages WHERE trigger_key IS NOT NULL"))
    return len(rows) == len({row.trigger_key for row in rows})


async def last_was_answered(lab: EmbeddedLab) -> bool:
    """Both agents have closed their drafts about the newest message, and nothing waits."""
    async with lab.database.transaction() as session:
        row = await session.one(
            text(
                """
                SELECT (SELECT count(*) FROM outbox) AS waiting,
                    (SELECT count(*) FROM drafts WHERE state IN ('wanted', 'thinking', 'ready')) AS open
                """
            )
        )
    return bool(row.waiting == 0 and row.open == 0)


@pytest.mark.parametrize("outage_seconds", quick_first([3.0, 2 * BROKER_SECONDS], 1))
async def test_posts_go_on_while_the_broker_is_away_and_nothing_is_lost_or_doubled(
    database_url: str, amqp_url: str, tmp_path: Path, outage_seconds: float
) -> None:
    broker = urlsplit(amqp_url)
    queues = RabbitBroker(amqp_url, queues=[ORCHESTRATOR, AGENT_STEPS, provider_queue("mock")])
    async with AsyncExitStack() as stack, TcpProxy(broker.hostname or "", broker.port or 5672) as proxy:
        stack.push_async_callback(queues.close)
        proxied = broker._replace(netloc=f"{broker.username}:{broker.password}@127.0.0.1:{proxy.port}").geturl()
        servers = ServerSettings(database_url=database_url, amqp_url=proxied, amqp_prefix=queues.prefix)
        async with EmbeddedLab(tmp_path, servers=servers, environ=os.environ, port=0) as lab:
            experiment_id = await start(lab, ROOM)
            async with person_in(lab, experiment_id) as person:
                for number in range(BEFORE):
                    await person.say(f"before {number}")
                person.seconds.clear()
                await proxy.cut()
                begun = perf_counter()
                said = 0
                while perf_counter() - begun < outage_seconds:
                    assert (await person.say(f"message {said}")).status_code == 201
                    said += 1
                    await asyncio.sleep(0.1)
                await proxy.restore()

                await eventually(lambda: last_was_answered(lab), "everything is published and answered")

            assert await counts(lab) == (said + BEFORE, said + BEFORE, 0)
            assert await one_reply_per_trigger(lab)
            # No request waits for the broker to come back, or to answer. A busy machine may make single posts slow.
            assert median(person.seconds) < min(outage_seconds, BROKER_SECONDS) / 4
            assert max(person.seconds) < BROKER_SECONDS


async def test_postgres_is_restarted_and_nothing_is_lost_or_doubled(tmp_path: Path) -> None:
    server = await asyncio.to_thread(embedded_postgres.start, tmp_path / "postgres")
    servers = ServerSettings(database_url=server.url)
    try:
        async with EmbeddedLab(tmp_path / "lab", servers=servers, environ=os.environ, port=0) as lab:
            experiment_id = await start(lab, ROOM)
            async with person_in(lab, experiment_id) as person:
                restart = asyncio.create_task(asyncio.to_thread(_restart, server, tmp_path / "postgres"))
                for number in range(40):
                    await _say_until_heard(person, f"message {number}")
                server = await restart

                await eventually(lambda: last_was_answered(lab), "everything is published and answered")

            assert await counts(lab) == (40, 40, 0)
            assert await one_reply_per_trigger(lab)
    finally:
        await asyncio.to_thread(server.stop)


def _restart(server: embedded_postgres.EmbeddedPostgres, directory: Path) -> embedded_postgres.EmbeddedPostgres:
    server.stop()
    return embedded_postgres.start(directory)


async def _say_until_heard(person: Person, words: str) -> None:
    """Post with the same client_message_id until the message is stored, as a frontend does.

    However long the server is away: on a busy machine it takes many times as long to start.
    """
    while (response := await person.say(words)).status_code != 201:
        assert response.status_code == 503, response.text
        await asyncio.sleep(0.05)


@pytest.mark.long
async def test_a_database_that_fails_over_without_a_word_is_used_again_within_15_seconds(
    database_url: str, tmp_path: Path
) -> None:
    async with before_postgres(database_url) as proxy:
        servers = ServerSettings(database_url=through(proxy, database_url))
        async with EmbeddedLab(tmp_path, servers=servers, environ=os.environ, port=0) as lab:
            experiment_id = await start(lab, ROOM)
            async with person_in(lab, experiment_id) as person:
                await person.say("before")

                proxy.swallow()
                begun = perf_counter()
                await _say_until_heard(person, "after")
                away_seconds = perf_counter() - begun
                await eventually(lambda: last_was_answered(lab), "everything is published and answered")

            assert await counts(lab) == (2, 2, 0)
            assert await one_reply_per_trigger(lab)
            assert away_seconds < 15.0


@pytest.mark.long
async def test_a_broker_that_fails_over_without_a_word_is_used_again_within_15_seconds(
    database_url: str, amqp_url: str, tmp_path: Path
) -> None:
    broker = urlsplit(amqp_url)
    queues = RabbitBroker(amqp_url, queues=[ORCHESTRATOR, AGENT_STEPS, provider_queue("mock")])
    async with AsyncExitStack() as stack, TcpProxy(broker.hostname or "", broker.port or 5672) as proxy:
        stack.push_async_callback(queues.close)
        servers = ServerSettings(
            database_url=database_url, amqp_url=through(proxy, amqp_url), amqp_prefix=queues.prefix
        )
        async with EmbeddedLab(tmp_path, servers=servers, environ=os.environ, port=0) as lab:
            experiment_id = await start(lab, ROOM)
            async with person_in(lab, experiment_id) as person:
                await person.say("before")
                await eventually(lambda: last_was_answered(lab), "the first message is answered")

                proxy.swallow()
                begun = perf_counter()
                await person.say("after")
                await eventually(lambda: last_was_answered(lab), "everything is published and answered")
                away_seconds = perf_counter() - begun

            assert await counts(lab) == (2, 2, 0)
            assert await one_reply_per_trigger(lab)
            assert away_seconds < 15.0
