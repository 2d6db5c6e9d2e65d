"""Answers to shared asks that are stored by one statement, because their view was read meanwhile."""

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from random import Random
from uuid import UUID

import pytest

from parley_lab.agent_worker.models import build_models
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.answers.advancing import end_member
from parley_lab.base.failpoints import on_failpoint
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.members.standings import lock_standing
from parley_lab.store.session import Database, Session
from parley_lab.testing.quick import quick_first
from parley_lab.testing.rounds import rounds_for_info
from parley_lab.testing.statements import counted
from tests.flows.drain import DrainLab, empty
from tests.flows.test_deadlocks import someone_waits_for_a_lock
from tests.flows.test_shared_asks import GAME, data, prompts

pytestmark = pytest.mark.postgres

Meanwhile = Callable[[ModelRequest], Awaitable[None]]


class Patient:
    """The mock, which names no number before what the numbers will be checked against was read for all who think."""

    def __init__(self, meanwhile: Meanwhile | None = None) -> None:
        self._calls = self._looks = 0
        self._looked = asyncio.Condition()
        self._meanwhile = meanwhile
        self._mock = build_models({})["mock"]

    async def on_failpoint(self, name: str) -> None:
        if name == "ask.looked_at":
            async with self._looked:
                self._looks += 1
                self._looked.notify_all()

    async def reply(self, request: ModelRequest) -> ModelReply:
        if request.purpose == "number":
            self._calls += 1
            async with self._looked:
                await self._looked.wait_for(lambda: self._looks >= self._calls)
            if self._meanwhile is not None:
                await self._meanwhile(request)
        return await self._mock.reply(request)

    async def aclose(self) -> None:
        """Nothing is open."""


@pytest.fixture(autouse=True)
def _game() -> Iterator[None]:
    with rounds_for_info():
        yield
    on_failpoint(None)


def patient_lab(database: Database, meanwhile: Meanwhile | None = None, *, deliveries: int = 1) -> DrainLab:
    model = Patient(meanwhile)
    on_failpoint(model.on_failpoint)
    rng = Random(1) if deliveries > 1 else None
    settings = WorkerSettings(look_seconds=0)
    together = 6 if deliveries > 1 else 1
    return DrainLab(
        database, models={"mock": model}, deliveries=deliveries, together=together, rng=rng, settings=settings
    )


async def first_draft(lab: DrainLab) -> UUID:
    """The first draft that is wanted; its hint is still to be handled."""
    while not any(hint.type == "draft.wanted" for hint in lab.hints):
        await lab.deliver(lab.next_hints())
    return next(UUID(hint.id) for hint in lab.hints if hint.type == "draft.wanted")


@pytest.mark.parametrize("deliveries", quick_first([2, 1], 1))
async def test_a_game_comes_to_the_same_answers_and_prompts(database: Database, deliveries: int) -> None:
    plain = DrainLab(database)
    await plain.start(GAME)
    await plain.drain()
    expected = await data(plain), await prompts(plain)
    await empty(database)
    lab = patient_lab(database, deliveries=deliveries)

    await lab.start(GAME)
    await lab.drain()

    assert (await data(lab), await prompts(lab)) == expected
    assert {row.state for row in await lab.rows("SELECT state FROM asks")} == {"answered"}
    assert await lab.rows("SELECT count(*) AS n FROM events WHERE type = 'ask.answered'") == [(24,)]


async def test_an_answer_is_one_statement_after_the_reply(database: Database) -> None:
    before: list[int] = []

    async def count(_: ModelRequest) -> None:
        before.append(len(sent))

    lab = patient_lab(database, count)
    await lab.start(GAME)
    draft = await first_draft(lab)

    with counted() as sent:
        await lab.thinker.work_on(draft)

    assert len(sent) - before[0] == 1, sent[before[0] :]
    assert [row.state for row in await lab.rows("SELECT state FROM drafts WHERE id = :id", id=draft)] == ["answered"]
    assert [hint.type for hint in lab.hints][-1] == "cohort.unsettled"


async def test_who_was_removed_meanwhile_has_not_answered_and_the_call_is_kept(database: Database) -> None:
    async def remove(_: ModelRequest) -> None:
        async with database.transaction() as session:
            await take_out(lab, session)

    lab = patient_lab(database, remove)
    await lab.start(GAME)
    draft = await first_draft(lab)

    await lab.thinker.work_on(draft)

    await nothing_but_the_call_is_there(lab, draft)


async def test_an_answer_waits_for_a_removal_that_has_begun_and_does_not_count_then(database: Database) -> None:
    removal: list[asyncio.Task[None]] = []

    async def remove_slowly() -> None:
        async with database.transaction() as session:
            await take_out(lab, session)
            locked.set()
            await someone_waits_for_a_lock(database)

    async def begin(_: ModelRequest) -> None:
        removal.append(asyncio.create_task(remove_slowly()))
        await locked.wait()

    locked = asyncio.Event()
    lab = patient_lab(database, begin)
    await lab.start(GAME)
    draft = await first_draft(lab)

    await lab.thinker.work_on(draft)
    await removal[0]

    await nothing_but_the_call_is_there(lab, draft)


async def test_an_answer_under_a_lease_that_someone_else_has_by_now_does_not_count(database: Database) -> None:
    async def take_over(_: ModelRequest) -> None:
        await lab.rows("UPDATE drafts SET lease_owner = gen_random_uuid() WHERE state = 'thinking' RETURNING id")

    lab = patient_lab(database, take_over)
    await lab.start(GAME)
    draft = await first_draft(lab)

    await lab.thinker.work_on(draft)

    assert not await data(lab)
    assert [row.state for row in await lab.rows("SELECT state FROM drafts WHERE id = :id", id=draft)] == ["thinking"]
    assert len(await prompts(lab)) == 1


async def take_out(lab: DrainLab, session: Session) -> None:
    ((member_id,),) = await lab.rows("SELECT member_id FROM drafts WHERE state = 'thinking'")
    standing = await lock_standing(session, member_id)
    await end_member(session, standing, "removed", "removed", lab.clock.now(), cause="test")


async def nothing_but_the_call_is_there(lab: DrainLab, draft: UUID) -> None:
    assert not await data(lab)
    assert [row.state for row in await lab.rows("SELECT state FROM drafts WHERE id = :id", id=draft)] == ["cancelled"]
    assert len(await prompts(lab)) == 1
    assert not await lab.rows("SELECT 1 FROM events WHERE type = 'ask.answered'")
