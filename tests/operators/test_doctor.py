"""`parley doctor`: each thing is broken in turn, and the sentence about it says what to do."""

from collections.abc import AsyncIterator, Awaitable, Callable
from dataclasses import dataclass, replace
from datetime import timedelta
from pathlib import Path
from urllib.parse import urlsplit
from uuid import uuid4

import aio_pika
import pytest
from aio_pika.exceptions import ChannelNotFoundEntity
from sqlalchemy import text

from parley_lab.base.clock import SystemClock
from parley_lab.bus.contract import Subscription
from parley_lab.bus.rabbit import RabbitBus
from parley_lab.cli.doctor import Bounds, faults
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, Hint, provider_queue
from parley_lab.drafts import workers
from parley_lab.store.databases import create_database, drop_database, with_name
from parley_lab.store.session import Database
from parley_lab.testing.buses import RabbitBroker
from parley_lab.testing.fake_clock import FakeClock
from parley_lab.testing.services import Server
from tests.flows.drain import DrainLab
from tests.operators.test_lab_numbers import PAGE


@dataclass
class Lab:
    """A lab that is well: a migrated database, a registered worker, and consumers of all queues."""

    database: Database
    bus: RabbitBus
    address_of_broker: str
    servings: dict[str, Subscription]
    environment: pytest.MonkeyPatch
    clock: FakeClock
    bounds: Bounds

    async def faults(self) -> list[str]:
        return await faults(self.clock, Path(), self.bounds)


@pytest.fixture
async def lab(
    database: Database, database_url: str, amqp_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[Lab]:
    queues = [ORCHESTRATOR, AGENT_STEPS, provider_queue("mock")]
    broker = RabbitBroker(amqp_url, queues=queues)
    bus, now = broker.bus(), SystemClock().now()

    async def handle(_: Hint) -> None: ...

    servings = {queue: await bus.consume(queue, handle, prefetch=1) for queue in queues}
    async with database.transaction() as session:
        await workers.announce(session, uuid4(), "a worker", ["mock"], now, now + timedelta(hours=1))
    monkeypatch.setenv("PARLEY_DATABASE_URL", database_url)
    monkeypatch.setenv("PARLEY_AMQP_URL", amqp_url)
    monkeypatch.setenv("PARLEY_AMQP_PREFIX", broker.prefix)
    # The clock of the test does not move by itself.
    bounds = Bounds(clock_seconds=300, free_bytes=0, free_connections=0, needs_autovacuum=False)
    yield Lab(database, bus, amqp_url, servings, monkeypatch, FakeClock(now), bounds)
    await broker.close()


async def test_a_lab_that_is_well_has_no_faults(lab: Lab) -> None:
    assert await lab.faults() == []


async def without_database(lab: Lab) -> None:
    lab.environment.setenv("PARLEY_DATABASE_URL", "postgresql://nobody@127.0.0.1:9/nothing")


async def without_broker(lab: Lab) -> None:
    lab.environment.setenv("PARLEY_AMQP_URL", "amqp://guest:guest@127.0.0.1:9/")


async def with_a_database_that_is_not_there(lab: Lab) -> None:
    lab.environment.setenv("PARLEY_DATABASE_URL", with_name(lab.database.url, "parley_gone"))


async def with_a_wrong_password(lab: Lab) -> None:
    address = urlsplit(lab.address_of_broker)
    port = f"{address.hostname}:{address.port or 5672}"
    lab.environment.setenv("PARLEY_AMQP_URL", address._replace(netloc=f"nobody:hush-hush@{port}").geturl())


async def with_a_virtual_host_that_is_not_there(lab: Lab) -> None:
    lab.environment.setenv("PARLEY_AMQP_URL", urlsplit(lab.address_of_broker)._replace(path="/gone").geturl())


async def with_another_clock(lab: Lab) -> None:
    lab.clock.advance(600)


async def without_orchestrator(lab: Lab) -> None:
    await lab.servings[ORCHESTRATOR].cancel()


async def without_worker(lab: Lab) -> None:
    await change(lab, "DELETE FROM workers")


async def with_an_unserved_provider(lab: Lab) -> None:
    drain = DrainLab(lab.database)
    await drain.start(PAGE)
    while not await drain.rows("SELECT 1 FROM drafts"):
        await drain.deliver(drain.next_hints())
    # Not as if the cohort were stuck, too: what is in it was looked at.
    await change(lab, "UPDATE streams SET settled = last")
    await change(lab, "DELETE FROM outbox")
    await change(lab, "UPDATE drafts SET provider = 'openai'")


async def with_an_old_hint(lab: Lab) -> None:
    await with_an_unserved_provider(lab)
    await change(lab, "UPDATE drafts SET provider = 'mock'")
    await change(
        lab,
        "INSERT INTO outbox (queue, type, subject_id, correlation, created_at) "
        "VALUES ('orchestrator', 'x', 'y', '', now() - interval '1 hour')",
    )


async def with_a_stuck_cohort(lab: Lab) -> None:
    await with_an_unserved_provider(lab)
    await change(lab, "UPDATE drafts SET provider = 'mock'")
    await change(lab, "UPDATE streams SET settled = 0, unsettled = last")


async def with_a_dead_letter(lab: Lab) -> None:
    await lab.bus.put(AGENT_STEPS, b"nonsense")
    while not await lab.bus.dead(AGENT_STEPS):
        pass


async def with_a_full_disk(lab: Lab) -> None:
    lab.bounds = replace(lab.bounds, free_bytes=2**62)


async def with_few_connections(lab: Lab) -> None:
    lab.bounds = replace(lab.bounds, free_connections=2**31)


async def with_few_files(lab: Lab) -> None:
    lab.bounds = replace(lab.bounds, open_files=2**62)


async def without_autovacuum(lab: Lab) -> None:
    # Autovacuum itself is off or on for the whole server; without counts it does nothing.
    await change(lab, f'ALTER DATABASE "{urlsplit(lab.database.url).path[1:]}" SET track_counts = off')
    lab.bounds = replace(lab.bounds, needs_autovacuum=True)


async def change(lab: Lab, statement: str) -> None:
    async with lab.database.transaction() as session:
        await session.run(text(statement))


@pytest.mark.parametrize(
    ("breaks", "says"),
    [
        (without_database, "PostgreSQL does not answer at PARLEY_DATABASE_URL. See that it runs"),
        (without_broker, "RabbitMQ does not answer at PARLEY_AMQP_URL. See that it runs"),
        (with_a_database_that_is_not_there, "PostgreSQL answers at PARLEY_DATABASE_URL and lets nobody in"),
        (with_a_wrong_password, "RabbitMQ answers at PARLEY_AMQP_URL and lets nobody in (ACCESS_REFUSED"),
        (with_a_virtual_host_that_is_not_there, "See the user, the password and the virtual host in it"),
        (with_another_clock, "s apart. The lab goes by that of PostgreSQL; logs do not. Have both set by NTP."),
        (without_orchestrator, "No process consumes the queue orchestrator. Start an orchestrator."),
        (without_worker, "No agent worker is registered. Start one"),
        (
            with_an_unserved_provider,
            "the provider 'openai', which no worker serves: 1. Start a worker that has its key",
        ),
        (with_an_old_hint, "to be published. See that RabbitMQ takes messages"),
        (with_a_stuck_cohort, "Cohorts that do not go on: 1. Look for errors in the logs of the orchestrators"),
        (with_a_dead_letter, "Hints of agent-worker.steps that were given up: 1. See which: parley dead list"),
        (with_a_full_disk, "GB left. Make room"),
        (with_few_connections, "connections left. Raise max_connections, or lower PARLEY_DATABASE_POOL_SIZE."),
        (without_autovacuum, "PostgreSQL has no autovacuum. Set autovacuum and track_counts to on"),
        (with_few_files, "Raise the limit: ulimit -n 65536."),
    ],
)
async def test_what_is_broken_is_said_with_what_to_do(
    lab: Lab, breaks: Callable[[Lab], Awaitable[None]], says: str
) -> None:
    await breaks(lab)

    found = await lab.faults()

    assert [says in fault for fault in found].count(True) == 1, found
    assert not any("hush" in fault for fault in found)


async def test_what_is_due_is_judged_by_the_clock_of_postgres(lab: Lab) -> None:
    lab.clock.advance(7200)

    found = await lab.faults()

    assert len(found) == 1
    assert "Have both set by NTP" in found[0]


async def test_a_broker_of_another_lab_gets_no_queues(lab: Lab, amqp_url: str) -> None:
    mistyped = f"{uuid4().hex}."
    lab.environment.setenv("PARLEY_AMQP_PREFIX", mistyped)

    found = await lab.faults()

    assert [fault for fault in found if fault.startswith("No process consumes")]
    connection = await aio_pika.connect(amqp_url)
    async with connection:
        channel = await connection.channel()
        with pytest.raises(ChannelNotFoundEntity):
            await channel.declare_queue(f"{mistyped}{ORCHESTRATOR}", passive=True)


async def test_a_database_without_tables_is_to_be_migrated(lab: Lab, postgres_server: Server) -> None:
    name = f"empty_{uuid4().hex}"
    lab.environment.setenv("PARLEY_DATABASE_URL", create_database(postgres_server.url, name))

    found = await lab.faults()

    drop_database(postgres_server.url, name)
    assert len(found) == 1
    assert found[0].endswith("Run: python -m parley_lab.store.migrate")
