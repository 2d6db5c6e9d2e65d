"""A call that ends its worker is tried alone after three such ends, then failed; its neighbours are answered."""

import asyncio
from collections.abc import Callable, Sequence
from datetime import timedelta
from typing import Any
from uuid import UUID, uuid4

import pytest

from parley_lab.agent_worker.calling import Flights
from parley_lab.agent_worker.models import Model
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.thinking import Thinker
from parley_lab.base.failpoints import on_failpoint
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.drafts import workers
from parley_lab.experiments import pausing
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.flows.test_statements import only_steps

pytestmark = pytest.mark.postgres

STUDY = """
parley: 1
name: Neighbours
seed: 0
model_mode: real
personas: [{id: ada}, {id: ben}, {id: cas}]
stages: [{id: q, kind: survey, questions: [{id: why, kind: text, title: Why}]}]
cohorts: [{seats: [{persona: ada}, {persona: ben}, {persona: cas}]}]
"""
DEADLY = "c1/m2"


class Scripted:
    """Ends its worker for the member whose call is deadly, once so many calls are in flight; the others wait for that.

    `in_flight` has what is sent, `most` how many at once.
    """

    def __init__(self, *, waits_for: int = 1) -> None:
        self.asked: list[str] = []
        self.in_flight: set[str] = set()
        self.most = 0
        self.killed = asyncio.Event()
        self._waits_for = waits_for
        self._all_here = asyncio.Event()

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.asked.append(request.path)
        self.in_flight.add(request.path)
        self.most = max(self.most, len(self.in_flight))
        if len(self.in_flight) >= self._waits_for:
            self._all_here.set()
        try:
            if request.path.startswith(DEADLY):
                await self._all_here.wait()
                self.killed.set()
                await asyncio.Event().wait()
            if self._waits_for > 1:
                await asyncio.Event().wait()
            await asyncio.sleep(0)
            return ModelReply(status="ok", parsed={"why": "Because."}, raw="{}", model_returned="some")
        finally:
            self.in_flight.discard(request.path)

    async def aclose(self) -> None:
        """Nothing is open."""


async def a_lab(database: Database) -> DrainLab:
    lab = DrainLab(database)
    await lab.start(STUDY)
    await only_steps(lab)
    return lab


async def a_worker(lab: DrainLab, model: Model) -> tuple[Thinker, UUID]:
    """A worker that is registered as those that run are."""
    worker_id = uuid4()
    await announce(lab, worker_id)
    return (
        Thinker(
            database=lab.database,
            models={"openai": model},
            prompts=lab.prompts,
            clock=lab.clock,
            settings=WorkerSettings(),
            later=lambda delay, work: None,
            worker_id=worker_id,
        ),
        worker_id,
    )


async def announce(lab: DrainLab, worker_id: UUID) -> None:
    now = lab.clock.now()
    async with lab.database.transaction() as session:
        await workers.announce(session, worker_id, "a worker", ["openai"], now, now + timedelta(seconds=30))


async def retire(lab: DrainLab, worker_id: UUID) -> None:
    async with lab.database.transaction() as session:
        await workers.retire(session, worker_id)


async def work(lab: DrainLab, model: Scripted, thinker: Thinker, draft_ids: Sequence[UUID]) -> bool:
    """Work on all of these at once; whether the worker was killed, of which nothing runs any more then.

    Afterwards the leases of a killed worker run out.
    """
    all_done = asyncio.gather(*(thinker.work_on(draft_id) for draft_id in draft_ids))
    killed = asyncio.create_task(model.killed.wait())
    either: list[asyncio.Future[Any]] = [all_done, killed]
    await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
    was_killed = model.killed.is_set()
    all_done.cancel()
    killed.cancel()
    await asyncio.gather(all_done, killed, return_exceptions=True)
    lab.clock.advance(60)
    return was_killed


async def open_drafts(lab: DrainLab) -> list[UUID]:
    rows = await lab.rows("SELECT id FROM drafts WHERE state IN ('wanted', 'thinking') ORDER BY path")
    return [row.id for row in rows]


async def states(lab: DrainLab) -> dict[str, str]:
    rows = await lab.rows("SELECT m.path, d.state FROM drafts d JOIN members m ON m.id = d.member_id")
    return {row.path: row.state for row in rows}


async def kill_a_worker(lab: DrainLab, draft_ids: Sequence[UUID], *, together: int = 1) -> UUID:
    model = Scripted(waits_for=together)
    thinker, worker_id = await a_worker(lab, model)
    assert await work(lab, model, thinker, draft_ids)
    return worker_id


async def test_a_call_that_ends_three_workers_is_tried_alone_and_then_failed(database: Database) -> None:
    lab = await a_lab(database)
    deadly = (await open_drafts(lab))[1:2]
    for _ in range(3):
        await kill_a_worker(lab, deadly)

    model = Scripted()
    thinker, _ = await a_worker(lab, model)
    assert await work(lab, model, thinker, await open_drafts(lab))
    assert model.most == 1
    after = Scripted()
    thinker, _ = await a_worker(lab, after)
    assert not await work(lab, after, thinker, await open_drafts(lab))

    assert await states(lab) == {"c1/m1": "answered", DEADLY: "failed", "c1/m3": "answered"}
    assert not [path for path in after.asked if path.startswith(DEADLY)]
    (alert,) = await lab.rows("SELECT type, text FROM alerts")
    assert alert.type == "model_failed"
    assert "ended 4 workers, the last one with nothing else in hand" in alert.text


async def test_neighbours_that_were_lost_with_it_are_answered(database: Database) -> None:
    lab = await a_lab(database)
    kills = 0
    for _ in range(12):
        left = await open_drafts(lab)
        if not left:
            break
        model = Scripted(waits_for=3 if kills < 3 else 1)
        thinker, _ = await a_worker(lab, model)
        kills += await work(lab, model, thinker, left)

    assert await states(lab) == {"c1/m1": "answered", DEADLY: "failed", "c1/m3": "answered"}
    assert kills == 4


@pytest.mark.parametrize("ends", [announce, retire])
async def test_outages_and_deployments_do_not_count(
    database: Database, ends: Callable[[DrainLab, UUID], "asyncio.Future[None]"]
) -> None:
    lab = await a_lab(database)
    deadly = (await open_drafts(lab))[1:2]
    gone: list[UUID] = []
    for _ in range(6):
        gone.append(await kill_a_worker(lab, deadly))
        for worker_id in gone:
            await ends(lab, worker_id)

    query = "SELECT alone_with, cardinality(lost_with) AS lost FROM drafts WHERE id = :id"
    (row,) = await lab.rows(query, id=deadly[0])
    assert row.lost == 5
    assert row.alone_with is None


async def test_calls_in_flight_at_a_kill_are_in_the_data_as_lost_and_use_up_no_attempt(database: Database) -> None:
    lab = await a_lab(database)
    deadly = (await open_drafts(lab))[1:2]
    for _ in range(2):
        await kill_a_worker(lab, deadly)

    class Well(Scripted):
        async def reply(self, request: ModelRequest) -> ModelReply:
            self.asked.append(request.path)
            return ModelReply(status="ok", parsed={"why": "Because."}, raw="{}", model_returned="some")

    model = Well()
    thinker, _ = await a_worker(lab, model)
    await work(lab, model, thinker, deadly)

    calls = await lab.rows("SELECT status, part, attempt FROM model_calls ORDER BY status, part")
    assert [(call.status, call.attempt) for call in calls] == [("lost", 1), ("lost", 2), ("ok", 3)]
    assert len({call.part for call in calls}) == 3
    assert model.asked[0].endswith("/call:3")


async def test_no_call_is_made_for_a_study_that_was_paused_while_it_waited_to_go_alone(database: Database) -> None:
    lab = await a_lab(database)
    draft_ids = await open_drafts(lab)
    (experiment,) = await lab.rows("SELECT id FROM experiments")
    for _ in range(3):
        await kill_a_worker(lab, draft_ids[1:2])
    is_asked, may_answer = asyncio.Event(), asyncio.Event()

    class Slow(Scripted):
        async def reply(self, request: ModelRequest) -> ModelReply:
            self.asked.append(request.path)
            is_asked.set()
            await may_answer.wait()
            return ModelReply(status="ok", parsed={"why": "Because."}, raw="{}", model_returned="some")

    model = Slow()
    thinker, _ = await a_worker(lab, model)
    first = asyncio.create_task(thinker.work_on(draft_ids[0]))
    await is_asked.wait()
    is_leased = asyncio.Event()

    async def note(name: str) -> None:
        if name == "draft.leased":
            is_leased.set()

    on_failpoint(note)
    try:
        second = asyncio.create_task(thinker.work_on(draft_ids[1]))
        await is_leased.wait()
    finally:
        on_failpoint(None)
    async with database.transaction() as session:
        await pausing.pause(session, experiment.id, lab.clock.now())
    may_answer.set()
    await asyncio.gather(first, second)

    assert [path.partition("/q")[0] for path in model.asked] == ["c1/m1"]
    assert (await states(lab))[DEADLY] == "wanted"


async def test_calls_go_together_or_one_alone() -> None:
    flights, log = Flights(), list[str]()
    may_end = asyncio.Event()

    async def go(name: str, *, alone: bool, wait: bool = False) -> None:
        async with flights.alone() if alone else flights.together():
            log.append(f"+{name}")
            if wait:
                await may_end.wait()
            await asyncio.sleep(0)
            log.append(f"-{name}")

    tasks = [asyncio.create_task(go(name, alone=False, wait=True)) for name in "ab"]
    await asyncio.sleep(0)
    tasks += [asyncio.create_task(go("X", alone=True)), asyncio.create_task(go("Y", alone=True))]
    await asyncio.sleep(0)
    tasks += [asyncio.create_task(go("c", alone=False))]
    await asyncio.sleep(0)
    may_end.set()
    await asyncio.gather(*tasks)

    assert log[:2] == ["+a", "+b"]
    for name in "XY":
        assert log.index(f"-{name}") == log.index(f"+{name}") + 1
    assert log.index("+c") > log.index("-X")
