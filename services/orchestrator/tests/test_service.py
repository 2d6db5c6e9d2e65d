"""Runs of one cohort: what is announced while one is under way is looked at, and not twice."""

from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch
from uuid import UUID, uuid4

import pytest
from psycopg import AsyncCursor
from sqlalchemy import text

from parley_lab.bus.in_process import InProcessBus
from parley_lab.contracts.hints import ORCHESTRATOR, Hint
from parley_lab.design import load
from parley_lab.experiments import starting
from parley_lab.orchestrator.service import Orchestrator
from parley_lab.store import tables
from parley_lab.store.session import Database
from parley_lab.testing.fake_clock import FakeClock
from parley_lab.testing.statements import counted

pytestmark = pytest.mark.postgres

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PAGE = """
parley: 1
name: A page
seed: 0
stages: [{id: page, kind: info, lines: [Hello.]}]
cohorts: [{seats: [{open: true}]}]
"""
LOCK, LOOK = "FOR NO KEY UPDATE OF c NOWAIT", "settled < unsettled AS is_unsettled"
Then = Callable[[], Awaitable[None]]


async def a_cohort(database: Database) -> UUID:
    owner_id = uuid4()
    async with database.transaction() as session:
        await session.insert(tables.experimenters, [{"id": owner_id, "name": str(owner_id), "created_at": NOW}])
        experiment_id = await starting.create(session, owner_id, load(PAGE, "page.yaml"), NOW)
    async with database.transaction() as session:
        await starting.start(session, experiment_id, NOW)
    async with database.transaction() as session:
        return UUID(str((await session.one(text("SELECT id FROM cohorts"))).id))


@contextmanager
def after(part: str, then: Then) -> Iterator[list[str]]:
    """Does something once a statement with this part is through, the first time; counts settles and looks."""
    sent: list[str] = []
    execute = AsyncCursor.execute

    async def watching(cursor: AsyncCursor[Any], query: Any, *arguments: Any, **options: Any) -> AsyncCursor[Any]:
        result = await execute(cursor, query, *arguments, **options)
        seen = [name for name in (LOCK, LOOK) if name in str(query)]
        is_first = part in seen and part not in sent
        sent.extend(seen)
        if is_first:
            await then()
        return result

    with patch.object(AsyncCursor, "execute", watching):
        yield sent


async def something_happens(database: Database) -> None:
    async with database.transaction() as session:
        await session.run(text("UPDATE streams SET last = last + 1, unsettled = last + 1"))


async def is_settled(database: Database) -> bool:
    async with database.transaction() as session:
        return bool((await session.one(text("SELECT settled >= unsettled AS is_so FROM streams"))).is_so)


@pytest.mark.parametrize("moment", [LOCK, LOOK])
async def test_what_happens_during_a_run_or_the_look_after_it_is_settled_too(database: Database, moment: str) -> None:
    cohort_id = await a_cohort(database)
    orchestrator = Orchestrator(database=database, bus=InProcessBus(), clock=FakeClock(NOW))
    hint = Hint(ORCHESTRATOR, "cohort.unsettled", str(cohort_id))

    async def it_happens() -> None:
        await something_happens(database)
        await orchestrator.on_unsettled(hint)

    async def announced_again() -> None:
        await orchestrator.on_unsettled(hint)

    if moment == LOCK:
        with after(LOCK, it_happens):
            await orchestrator.on_unsettled(hint)
    else:
        with after(LOCK, announced_again), after(LOOK, it_happens):
            await orchestrator.on_unsettled(hint)

    assert await is_settled(database)


async def test_what_is_announced_again_and_seen_already_is_not_settled_again(database: Database) -> None:
    cohort_id = await a_cohort(database)
    orchestrator = Orchestrator(database=database, bus=InProcessBus(), clock=FakeClock(NOW))
    hint = Hint(ORCHESTRATOR, "cohort.unsettled", str(cohort_id))

    async def announced_again() -> None:
        await orchestrator.on_unsettled(hint)

    with after(LOCK, announced_again) as sent:
        await orchestrator.on_unsettled(hint)

    assert sent == [LOCK, LOOK]


async def test_a_hint_of_what_the_last_run_has_seen_reads_no_cohort(database: Database) -> None:
    cohort_id = await a_cohort(database)
    orchestrator = Orchestrator(database=database, bus=InProcessBus(), clock=FakeClock(NOW))
    hint = Hint(ORCHESTRATOR, "cohort.unsettled", str(cohort_id))
    await orchestrator.on_unsettled(hint)

    with counted() as late:
        await orchestrator.on_unsettled(hint)
    await something_happens(database)
    with counted() as new:
        await orchestrator.on_unsettled(hint)

    assert len(late) == 1
    assert len(new) > 1
    assert await is_settled(database)
