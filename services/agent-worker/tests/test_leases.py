"""A lease is kept for as long as its model thinks, and given up by who is dead."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime, timedelta
from typing import Any, cast
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.thinking import Thinker
from parley_lab.base.clock import SystemClock
from parley_lab.base.errors import Unavailable
from parley_lab.base.failpoints import on_failpoint
from parley_lab.base.urgency import Urgency, urgency
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.drafts import drafts
from parley_lab.store.databases import connect
from parley_lab.store.session import Database, Session
from tests.flows.drain import DrainLab
from tests.flows.test_statements import only_steps

ROOM = """
parley: 1
name: A room
seed: 0
personas: [{id: ada}]
stages: [{id: q, kind: survey, questions: [{id: why, kind: text, title: Why}]}]
cohorts: [{seats: [{persona: ada}]}]
"""

_WAITING = "FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


class Slow:
    """A model that thinks until it is told to answer."""

    def __init__(self) -> None:
        self.asked = asyncio.Event()
        self.answer = asyncio.Event()
        self.was_broken_off = False

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.asked.set()
        try:
            await self.answer.wait()
        except asyncio.CancelledError:
            self.was_broken_off = True
            raise
        return ModelReply(status="ok", parsed={"why": "Because."}, raw="{}", model_returned="slow")

    async def aclose(self) -> None:
        pass


async def a_wanted_draft(database: Database) -> tuple[DrainLab, UUID]:
    lab = DrainLab(database)
    await lab.start(ROOM)
    await only_steps(lab)
    (draft,) = await lab.rows("SELECT id FROM drafts")
    return lab, draft.id


class Ahead(SystemClock):
    """The time, and an hour more once it is told so."""

    by = timedelta()

    def now(self) -> datetime:
        return super().now() + self.by


def a_thinker(lab: DrainLab, model: Slow, *, lease_seconds: float, clock: SystemClock | None = None) -> Thinker:
    return Thinker(
        database=lab.database,
        models={"mock": model},
        prompts=lab.prompts,
        clock=clock or SystemClock(),
        settings=WorkerSettings(lease_seconds=lease_seconds),
        later=lambda delay, work: None,
    )


async def lease_until(lab: DrainLab) -> datetime:
    (row,) = await lab.rows("SELECT lease_until FROM drafts")
    leased_until: datetime = row.lease_until
    return leased_until


async def test_a_lease_is_renewed_while_the_model_thinks(database: Database) -> None:
    lab, draft_id = await a_wanted_draft(database)
    model = Slow()
    work = asyncio.create_task(a_thinker(lab, model, lease_seconds=0.3).work_on(draft_id))
    await model.asked.wait()
    first = await lease_until(lab)
    renewed = asyncio.Event()

    async def note(name: str) -> None:
        if name == "lease.renewed":
            renewed.set()

    on_failpoint(note)
    try:
        await renewed.wait()
    finally:
        on_failpoint(None)
    second = await lease_until(lab)
    model.answer.set()
    await work

    assert second > first
    assert [row.state for row in await lab.rows("SELECT state FROM drafts")] == ["answered"]


async def test_a_call_whose_lease_was_taken_over_is_broken_off(database: Database) -> None:
    lab, draft_id = await a_wanted_draft(database)
    model = Slow()
    work = asyncio.create_task(a_thinker(lab, model, lease_seconds=0.3).work_on(draft_id))
    await model.asked.wait()
    later = SystemClock().now() + timedelta(hours=1)
    async with database.transaction() as session:
        assert await drafts.lease(session, draft_id, uuid4(), later, later + timedelta(hours=1))

    await work

    assert model.was_broken_off
    assert not await lab.rows("SELECT 1 FROM answers")


async def test_a_process_that_was_held_asks_no_model_under_a_lease_that_another_has_taken(database: Database) -> None:
    lab, draft_id = await a_wanted_draft(database)
    model, clock = Slow(), Ahead()
    model.answer.set()

    async def hold(name: str) -> None:
        if name == "draft.leased":
            clock.by = timedelta(hours=1)
            async with database.transaction() as session:
                now = clock.now()
                assert await drafts.lease(session, draft_id, uuid4(), now, now + timedelta(hours=1))

    on_failpoint(hold)
    try:
        await a_thinker(lab, model, lease_seconds=30, clock=clock).work_on(draft_id)
    finally:
        on_failpoint(None)

    assert not model.asked.is_set()
    assert [row.state for row in await lab.rows("SELECT state FROM drafts")] == ["thinking"]


async def test_a_lease_from_before_the_first_call_is_renewed_before_the_second(database: Database) -> None:
    lab, draft_id = await a_wanted_draft(database)
    clock, left = Ahead(), []

    class WrongAtFirst(Slow):
        async def reply(self, request: ModelRequest) -> ModelReply:
            left.append(await lease_until(lab) - clock.now())
            if len(left) > 1:
                return ModelReply(status="ok", parsed={"why": "Because."}, raw="{}", model_returned="slow")
            clock.by = timedelta(seconds=25)
            return ModelReply(status="invalid", raw="what?", model_returned="slow")

    await a_thinker(lab, WrongAtFirst(), lease_seconds=30, clock=clock).work_on(draft_id)

    first, second = left
    assert timedelta(seconds=25) < first < timedelta(seconds=31)
    assert timedelta(seconds=25) < second < timedelta(seconds=31)


async def test_a_lease_that_is_over_before_it_is_taken_is_renewed_before_the_model_is_asked(database: Database) -> None:
    lab, draft_id = await a_wanted_draft(database)
    model, clock = Slow(), Ahead()

    async with database.transaction() as holder:
        await holder.run(text("SELECT FROM drafts WHERE id = :id FOR UPDATE"), {"id": draft_id})
        work = asyncio.create_task(a_thinker(lab, model, lease_seconds=30, clock=clock).work_on(draft_id))
        while not await lab.rows(f"SELECT pid {_WAITING}"):
            pass
        clock.by = timedelta(hours=1)
    await model.asked.wait()
    until = await lease_until(lab)
    model.answer.set()
    await work

    assert until > SystemClock().now() + timedelta(minutes=59)


class Unreachable:
    """The database of a process that is cut off once it is told so: others still reach it."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self.is_cut_off = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._database, name)

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Session]:
        if self.is_cut_off:
            raise Unavailable("cut off")
        async with self._database.autocommit() as session:
            yield session


async def test_a_worker_that_does_not_reach_postgres_stops_at_the_end_of_its_lease(database: Database) -> None:
    lab, draft_id = await a_wanted_draft(database)
    model, line = Slow(), Unreachable(database)
    lab.database = cast(Database, line)

    work = asyncio.create_task(a_thinker(lab, model, lease_seconds=0.3).work_on(draft_id))
    await model.asked.wait()
    line.is_cut_off = True
    await asyncio.wait_for(work, 10)

    assert model.was_broken_off
    lab.database = database
    other = Slow()
    other.answer.set()
    await a_thinker(lab, other, lease_seconds=30).work_on(draft_id)
    assert [row.value for row in await lab.rows("SELECT value FROM answers")] == [{"why": "Because."}]


MANY = """
parley: 1
name: Many
seed: 0
personas: [{id: ada}]
stages: [{id: q, kind: survey, questions: [{id: why, kind: text, title: Why}]}]
cohorts: [{count: 12, seats: [{persona: ada}]}]
"""


async def wanted_drafts(database: Database) -> tuple[DrainLab, list[UUID]]:
    lab = DrainLab(database)
    await lab.start(MANY)
    await only_steps(lab)
    return lab, [row.id for row in await lab.rows("SELECT id FROM drafts ORDER BY path")]


async def test_drafts_that_many_take_together_at_the_same_time_are_leased_once_each(database: Database) -> None:
    lab, wanted = await wanted_drafts(database)
    until = lab.clock.now() + timedelta(seconds=30)

    async def take(draft_ids: list[UUID]) -> list[UUID]:
        async with database.transaction() as session:
            leased, _ = await drafts.lease_many(session, draft_ids, uuid4(), lab.clock.now(), until)
        return [draft_id for draft_id, lease in leased.items() if lease is not None]

    taken = await asyncio.gather(*(take(wanted[turn:] + wanted[:turn]) for turn in range(8)))

    assert sorted(draft_id for one in taken for draft_id in one) == sorted(wanted)


async def test_a_draft_that_someone_holds_is_passed_over_and_one_that_is_done_is_looked_at(database: Database) -> None:
    lab, (held, done, *others) = await wanted_drafts(database)
    until = lab.clock.now() + timedelta(seconds=30)
    await lab.rows("UPDATE drafts SET state = 'failed' WHERE id = :id RETURNING id", id=done)

    async with database.transaction() as holder:
        await holder.run(text("SELECT FROM drafts WHERE id = :held FOR UPDATE"), {"held": held})
        async with database.transaction() as session:
            leased, passed_over = await drafts.lease_many(
                session, [held, done, *others], uuid4(), lab.clock.now(), until
            )

    assert passed_over == [held]
    assert leased[done] is None
    assert {draft_id for draft_id, lease in leased.items() if lease is not None} == set(others)


async def test_a_draft_that_cannot_be_taken_costs_others_no_lease(database: Database) -> None:
    lab, (held, first, *others) = await wanted_drafts(database)
    model = Slow()
    model.answer.set()
    work_on = a_thinker(lab, model, lease_seconds=30).work_on

    async with asyncio.timeout(10), database.transaction() as holder:
        await holder.run(text("SELECT FROM drafts WHERE id = :held FOR UPDATE"), {"held": held})
        # The first is taken alone, and all that come meanwhile together.
        working = asyncio.gather(*map(work_on, [first, held, *others]), return_exceptions=True)
        while not await lab.rows(f"SELECT pg_terminate_backend(pid) {_WAITING}"):
            pass
        outcomes = await working

    states = {row.id: row.state for row in await lab.rows("SELECT id, state FROM drafts")}
    assert states == {held: "wanted", first: "answered", **dict.fromkeys(others, "answered")}
    assert [type(outcome) for outcome in outcomes if outcome is not None] == [Unavailable]


async def test_a_lease_for_which_a_person_waits_is_behind_no_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = DrainLab(database)
    await lab.start(ROOM.replace("cohorts: [{", "cohorts: [{count: 3, "))
    await only_steps(lab)
    first, second, awaited = [row.id for row in await lab.rows("SELECT id FROM drafts ORDER BY path")]
    taken: list[set[UUID]] = []
    lease_many = drafts.lease_many

    async def noted(session: Session, draft_ids: set[UUID], *how: Any, **more: Any) -> Any:
        leased = await lease_many(session, draft_ids, *how, **more)
        taken.append(draft_ids)
        return leased

    monkeypatch.setattr(drafts, "lease_many", noted)
    model = Slow()
    model.answer.set()
    busy = connect(database.url, pool_size=1)
    thinker = Thinker(
        database=busy,
        models={"mock": model},
        prompts=lab.prompts,
        clock=SystemClock(),
        settings=WorkerSettings(),
        later=lambda delay, work: None,
    )
    async with busy.transaction():
        work = [asyncio.create_task(thinker.work_on(draft_id)) for draft_id in (first, second)]
        await asyncio.sleep(0)
        token = urgency.set(Urgency.PERSON)
        work.append(asyncio.create_task(thinker.work_on(awaited)))
        urgency.reset(token)
        for _ in range(20):
            await asyncio.sleep(0)
    await asyncio.gather(*work)
    await busy.close()

    # `first` and `second` asked before it, and go out in one batch or in two.
    assert taken[0] == {awaited}
    assert set().union(*taken) == {first, second, awaited}
