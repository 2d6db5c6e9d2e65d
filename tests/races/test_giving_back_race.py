"""A person comes back at the moment at which the agent on their seat acts: one of them comes first, and the other finds
it."""

import asyncio
from random import Random
from typing import Any, Final
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.agent_worker.models.mock import MockModel
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.thinking import Thinker
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.contracts.providers import MOCK_PROVIDER
from parley_lab.members.standings import lock_standing
from parley_lab.people.giving_back import give_back
from parley_lab.people.standing_in import stand_in
from parley_lab.store.databases import connect
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab

pytestmark = [pytest.mark.postgres, pytest.mark.race]

FILE: Final = """
parley: 1
name: Somebody goes
seed: {seed}
pace: live
personas: [{{id: helper, profile: {{name: Helper}}, chat: {{words_per_minute: 0, max_responses: 1}},
    pages: {{writing_words_per_minute: 0, reading_words_per_minute: 0}}}}]
stages:
  - {{id: here, {stage}, when_gone: replace, stand_in: helper, gone_after_seconds: 60}}
  - {{id: last, kind: info, lines: [Bye]}}
cohorts: [{{seats: [{{open: true, count: 2}}]}}]
"""
STAGES: Final = {
    "a conversation": "kind: group_chat",
    "a page": "kind: survey, questions: [{id: why, kind: text, title: Why}]",
    "a page by questions": "kind: survey, ask: sequential, questions: [{id: why, kind: text, title: Why}]",
    "a game": "kind: beauty_contest, rounds: 2",
    "a text": "kind: info, lines: [Hello]",
}
ORDERS: Final = ("person first", "agent first", *range(5))
MOST_STEPS: Final = 12


class Asked(MockModel):
    """Says when it is asked. Where nothing is asked, the person need not wait for that."""

    def __init__(self, *, is_asked_here: bool) -> None:
        super().__init__()
        self.is_asked_here = is_asked_here
        self.was_asked = asyncio.Event()

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.was_asked.set()
        return await super().reply(request)


@pytest.mark.parametrize("stage", quick_first(STAGES.values(), 2), ids=STAGES)
async def test_the_seat_is_the_persons_exactly_while_the_agent_has_done_nothing(
    database: Database, database_url: str, stage: str
) -> None:
    other = connect(database_url, pool_size=4)
    came = []
    try:
        for seed, order in enumerate(ORDERS):
            model = Asked(is_asked_here=stage != STAGES["a text"])
            lab = DrainLab(database, models={MOCK_PROVIDER: model})
            experiment_id = await lab.start(FILE.format(seed=seed, stage=stage))
            member_id, _ = await lab.join(experiment_id)
            await lab.join(experiment_id)
            await lab.drain()
            lab.clock.advance(1)
            async with database.transaction() as session:
                assert await stand_in(session, await lock_standing(session, member_id), "helper", lab.clock.now())
            lab.clock.advance(1)

            came.append(await race(lab, model, other, member_id, order))
    finally:
        await other.close()
    assert came[:2] == ["person", "agent"]


async def race(lab: DrainLab, model: Asked, other: Database, member_id: UUID, order: int | str) -> str:
    """Who has the seat after the person has come back twice: before the agent acts, after it, or at the same time, so
    many statements after it has been asked as are drawn."""
    rng = Random(order)
    steps = [rng.randrange(MOST_STEPS) for _ in range(2)]
    if order == "person first" or not model.is_asked_here:
        model.was_asked.set()
    back = [come_back(other, member_id, lab, model, number) for number in steps]
    was_given: list[Any]
    match order:
        case "person first":
            was_given = [await one for one in back]
            await play(lab, model, member_id)
        case "agent first":
            await play(lab, model, member_id)
            was_given = [await one for one in back]
        case _:
            *was_given, _ = await asyncio.gather(*back, play(lab, model, member_id))
    return await look(lab, member_id, was_given)


async def play(lab: DrainLab, model: Asked, member_id: UUID) -> None:
    await asyncio.gather(lab.drain(), lab.step(member_id))
    # Where it was not asked anything, no one waits for that.
    model.was_asked.set()


async def come_back(database: Database, member_id: UUID, lab: DrainLab, model: Asked, steps: int) -> bool:
    """Come back so many statements after the agent has been asked."""
    await model.was_asked.wait()
    async with database.transaction() as session:
        for _ in range(steps):
            await session.one(text("SELECT 1 AS one"), {})
    async with database.transaction() as session:
        return await give_back(session, member_id, lab.clock.now())


async def look(lab: DrainLab, member_id: UUID, was_given: list[Any]) -> str:
    """Who has the seat, after a look at what the agent has done."""
    (found,) = await lab.rows(
        """
        SELECT m.player, m.position, m.arrived_at > s.since AS has_moved,
            (SELECT count(*) FROM messages g WHERE g.member_id = m.id AND g.author_kind = 'agent') AS said,
            (SELECT count(*) FROM answers a WHERE a.member_id = m.id) AS answered,
            (SELECT count(*) FROM drafts d WHERE d.member_id = m.id
                AND d.state IN ('wanted', 'thinking', 'ready')) AS open
        FROM members m JOIN sittings s ON s.member_id = m.id AND s.player = 'agent' WHERE m.id = :id
        """,
        id=member_id,
    )
    deeds: dict[str, Any] = {"said": found.said, "answered": found.answered, "has_moved": bool(found.has_moved)}
    if found.player == "person":
        assert deeds == {"said": 0, "answered": 0, "has_moved": False}
        assert found.open == 0
        assert True in was_given
    else:
        assert any(deeds.values())
        assert was_given == [False, False]
    return str(found.player)


class Slow(MockModel):
    """Thinks until it may say these words."""

    def __init__(self, words: str) -> None:
        super().__init__()
        self.words = words
        self.asked, self.may_say = asyncio.Event(), asyncio.Event()

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.asked.set()
        await self.may_say.wait()
        return ModelReply(status="ok", parsed={"why": self.words}, raw=self.words, model_returned="slow")


async def test_a_call_from_before_the_return_is_not_that_of_the_agent_who_plays_on_next(database: Database) -> None:
    lab = DrainLab(database, models={MOCK_PROVIDER: MockModel()})
    experiment_id = await lab.start(FILE.format(seed=1, stage=STAGES["a page"]))
    member_id, _ = await lab.join(experiment_id)
    await lab.join(experiment_id)
    await lab.drain()
    models = [Slow("In vain."), Slow("Because.")]

    async def begin(model: Slow) -> asyncio.Task[None]:
        """An agent plays on, and its model is asked."""
        lab.clock.advance(1)
        async with database.transaction() as session:
            assert await stand_in(session, await lock_standing(session, member_id), "helper", lab.clock.now())
        await lab.step(member_id)
        (draft,) = await lab.rows("SELECT id FROM drafts WHERE state = 'wanted'")
        work = asyncio.create_task(a_thinker(lab, model).work_on(draft.id))
        await model.asked.wait()
        return work

    first = await begin(models[0])
    lab.clock.advance(1)
    async with database.transaction() as session:
        assert await give_back(session, member_id, lab.clock.now())
    second = await begin(models[1])
    for model, work in zip(models, (first, second), strict=True):
        model.may_say.set()
        await work

    calls = await lab.rows("SELECT attempt, status, raw FROM model_calls ORDER BY attempt, status")
    assert [(row.attempt, row.status, row.raw) for row in calls] == [
        (1, "lost", None),
        (1, "ok", "In vain."),
        (2, "ok", "Because."),
    ]
    (answer,) = await lab.rows("SELECT value FROM answers WHERE member_id = :id AND valid", id=member_id)
    assert answer.value == {"why": "Because."}


def a_thinker(lab: DrainLab, model: MockModel) -> Thinker:
    return Thinker(
        database=lab.database,
        models={MOCK_PROVIDER: model},
        prompts=lab.prompts,
        clock=lab.clock,
        settings=WorkerSettings(),
        later=lambda delay, work: lab.later.append((delay, work)),
    )
