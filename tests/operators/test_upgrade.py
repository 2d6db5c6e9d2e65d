"""Services go on while the database is migrated under them, and may be started again before they are replaced."""

import asyncio
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from random import Random
from typing import Any, Final
from uuid import uuid4

import pytest

from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, provider_queue
from parley_lab.store.databases import create_database, drop_database
from parley_lab.store.migrate import Migrated, current_revision, differences, upgrade
from parley_lab.testing.buses import RabbitBroker
from parley_lab.testing.next_migration import NEXT, with_next
from parley_lab.testing.services import Server
from tests.operators.commit_before import Repository, interpreter, require_running
from tests.operators.processes import KEY
from tests.storms.client import Client
from tests.storms.cluster import Cluster, cluster
from tests.storms.kinds import SEVERAL, module_in
from tests.storms.waiting import until

pytestmark = [pytest.mark.slow, pytest.mark.timeout(240)]

QUEUES: Final = [ORCHESTRATOR, AGENT_STEPS, *map(provider_queue, ("mock", "openai", "hf-inference"))]
TALK: Final[dict[str, Any]] = {
    "parley": 1,
    "name": "A talk",
    "seed": 1,
    "pace": "live",
    "personas": [
        {
            "id": "ann",
            "profile": {"name": "Ann"},
            "chat": {"max_responses": 20},
            # Each message is answered: by itself the mock is silent at times, and then has said enough.
            "mock": {"silence": 0, "lines": [f"Line {number}." for number in range(20)]},
            "pages": {"reading_words_per_minute": None, "writing_words_per_minute": None},
        }
    ],
    "stages": [
        {"id": "talk", "kind": "group_chat", "max_agent_run": 1},
        {"id": "page", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why?"}]},
    ],
    "cohorts": [{"seats": [{"open": True}, {"persona": "ann"}]}],
}


class Person:
    """Who takes part in a study of their own."""

    def __init__(self, staff: Client, study: str, client: Client) -> None:
        self._staff = staff
        self._study = study
        self._client = client
        self._said = 0

    async def has_ended(self) -> bool:
        """Whether the study has."""
        return bool((await self._staff.get(self._study))["status"] == "ended")

    async def talks(self) -> None:
        """Say something, and hear an answer."""
        thread = await until(self._thread)
        self._said += 1
        body = {"text": f"Hello {self._said}?", "client_message_id": str(self._said)}
        posted = await self._client.post(f"/v1/me/threads/{thread['id']}/messages", body)

        async def answered() -> bool:
            told = await self._client.get(f"/v1/me/threads/{thread['id']}/messages")
            return any(one["seq"] > posted["seq"] for one in told["messages"])

        await until(answered)

    async def answers(self) -> None:
        """Leave the talk, and answer the page."""
        await self._client.post("/v1/me/stages/talk/advance", {})
        await self._client.post("/v1/me/stages/page/advance", {"answer": {"why": "Because."}})

    async def _thread(self) -> Any:
        return (await self._client.get("/v1/me/stages/talk"))["thread"]


@asynccontextmanager
async def joining(url: str, broken: list[str]) -> AsyncIterator[Person]:
    """A participant of a study that was just started; `broken` gets what was answered with 500."""
    staff = Client([url], KEY, Random(1), broken)
    study = f"/v1/experiments/{(await staff.post('/v1/experiments', TALK))['id']}"
    await staff.post(f"{study}/start")
    client = Client([url], (await staff.post(f"{study}/join", {}))["token"], Random(1), broken)
    yield Person(staff, study, client)
    await client.close()
    await staff.close()


@asynccontextmanager
async def running(folder: Path, database_url: str, amqp_url: str, python: str) -> AsyncIterator[Cluster]:
    """One service of each kind, with this code."""
    broker = RabbitBroker(amqp_url, queues=QUEUES)
    common = {"PARLEY_DATABASE_URL": database_url, "PARLEY_AMQP_URL": amqp_url, "PARLEY_AMQP_PREFIX": broker.prefix}
    async with cluster(folder, common, several=dict.fromkeys(SEVERAL, 1), python=python) as services:
        yield services
    await broker.close()


async def go_through(services: Cluster, migrate: Callable[[], Migrated]) -> None:
    """A study begins before the migration, another after it; both end after all services were started again."""
    broken: list[str] = []
    async with joining(services.gateways[0], broken) as person:
        await person.talks()
        # What is read now is prepared on the connections that are there, and read again on the new tables.
        assert not await person.has_ended()
        migrating = asyncio.create_task(asyncio.to_thread(migrate))
        await person.talks()
        await migrating
        assert not await person.has_ended()
        await person.talks()
        async with joining(services.gateways[0], broken) as later:
            for service in services.services:
                await service.end(signal.SIGTERM)
                service.start()
            await services.wait_until_ready()
            for one in (person, later):
                await one.talks()
                await one.answers()
            for one in (person, later):
                await until(one.has_ended, every_seconds=0.5)

    assert broken == []


def complaints(services: Cluster) -> list[str]:
    """What services have logged of errors."""
    lines = [line for one in services.services for line in one.log.read_text().splitlines()]
    return [line for line in lines if '"level": "error"' in line or '"level":"error"' in line or "Traceback" in line]


async def test_services_run_on_what_a_later_migration_adds(tmp_path: Path, database_url: str, amqp_url: str) -> None:
    migrations = with_next(tmp_path / "migrations")
    async with running(tmp_path, database_url, amqp_url, sys.executable) as services, asyncio.timeout(90):
        await go_through(services, partial(upgrade, database_url, migrations=migrations))

        assert complaints(services) == []
    assert current_revision(database_url) == NEXT


@pytest.mark.history
@pytest.mark.long
async def test_services_of_the_commit_before_run_on_the_tables_of_the_newest_migration(
    tmp_path: Path, postgres_server: Server, amqp_url: str
) -> None:
    repository = Repository()
    sources = repository.unpack(repository.commit_before(), tmp_path / "before")
    python = interpreter(sources, tmp_path / "python")
    require_running(python)
    name = f"parley_before_{uuid4().hex[:16]}"
    url = create_database(postgres_server.url, name)
    try:
        environment = {"PATH": os.environ["PATH"], "PARLEY_DATABASE_URL": url}
        command = [python, "-m", module_in(python, "parley_lab.store.migrate")]
        await asyncio.to_thread(subprocess.run, command, env=environment, check=True)
        before = current_revision(url)
        async with running(tmp_path, url, amqp_url, python) as services, asyncio.timeout(90):
            await go_through(services, partial(upgrade, url))

            assert complaints(services) == []
        assert before is not None
        assert before < (current_revision(url) or "")
        assert differences(url) == []
    finally:
        drop_database(postgres_server.url, name)
