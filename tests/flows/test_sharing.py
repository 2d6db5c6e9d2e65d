"""Waiting experiments share a worker's slots, and any hint brings the next draft in turn."""

from collections.abc import Iterator
from unittest.mock import patch
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.agent_worker import leasing
from parley_lab.bus.in_process import InProcessBus
from parley_lab.contracts.hints import Hint, provider_queue
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.orchestrator.service import Orchestrator
from parley_lab.orchestrator.settings import OrchestratorSettings
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

PAGE = """
parley: 1
name: A page
seed: {seed}
personas: [{{id: ada}}]
stages: [{{id: page, kind: survey, questions: [{{id: q, kind: text, title: Q}}]}}]
cohorts: [{{count: {cohorts}, seats: [{{persona: ada}}]}}]
"""
MOCK = provider_queue("mock")
CLEARED = text("DELETE FROM outbox")


class Noting:
    """A model that answers and notes who asked."""

    def __init__(self) -> None:
        self.seeds: list[int] = []

    async def reply(self, request: ModelRequest) -> ModelReply:
        self.seeds.append(request.seed)
        return ModelReply(status="ok", parsed={"q": "Well."}, raw='{"q": "Well."}')

    async def aclose(self) -> None:
        """Nothing is open."""


@pytest.fixture
def always_full() -> Iterator[None]:
    """A worker whose slots count as full from the first draft on."""
    with patch.object(leasing, "ALONE", 0):
        yield


async def drafts_of(lab: DrainLab, *, seed: int, cohorts: int) -> list[Hint]:
    """An experiment whose agents are to be asked, and the hints about their drafts."""
    await lab.start(PAGE.format(seed=seed, cohorts=cohorts))
    return await wanted_by(lab)


async def wanted_by(lab: DrainLab) -> list[Hint]:
    """The hints about drafts, once all agents have taken their step."""
    wanted: list[Hint] = []
    while lab.hints:
        hints, lab.hints = lab.hints, []
        wanted += [hint for hint in hints if hint.queue == MOCK]
        await lab.deliver([hint for hint in hints if hint.queue != MOCK])
    return wanted


async def work_on(lab: DrainLab, hints: list[Hint]) -> None:
    for hint in hints:
        await lab.thinker.work_on_next("mock", UUID(hint.id))


@pytest.mark.usefixtures("always_full")
async def test_a_small_experiment_does_not_wait_for_a_big_one_that_was_first(database: Database) -> None:
    model = Noting()
    lab = DrainLab(database, models={"mock": model})
    big = await drafts_of(lab, seed=1, cohorts=20)
    small = await drafts_of(lab, seed=2, cohorts=3)

    await work_on(lab, [*big, *small])

    assert sorted(model.seeds[:6]) == [1, 1, 1, 2, 2, 2]
    assert len(model.seeds) == 23


async def test_alone_a_worker_brings_the_draft_that_a_hint_names(database: Database) -> None:
    model = Noting()
    lab = DrainLab(database, models={"mock": model})
    big = await drafts_of(lab, seed=1, cohorts=5)
    small = await drafts_of(lab, seed=2, cohorts=2)

    await work_on(lab, [*big, *small])

    assert model.seeds == [1] * 5 + [2] * 2


@pytest.mark.usefixtures("always_full")
async def test_a_draft_whose_hint_was_lost_is_brought_by_the_hint_of_another(database: Database) -> None:
    lab = DrainLab(database, models={"mock": Noting()})
    hints = await drafts_of(lab, seed=1, cohorts=10)
    oldest = (await lab.rows("SELECT id FROM drafts ORDER BY not_before, path LIMIT 1"))[0].id

    await work_on(lab, [hint for hint in hints if hint.id != str(oldest)])

    waiting = await lab.rows("SELECT id FROM drafts WHERE state <> 'answered'")
    assert len(waiting) == 1
    assert waiting[0].id != oldest


@pytest.mark.usefixtures("always_full")
async def test_a_hint_that_comes_twice_finds_nothing(database: Database) -> None:
    model = Noting()
    lab = DrainLab(database, models={"mock": model})
    hints = await drafts_of(lab, seed=1, cohorts=4)

    await work_on(lab, hints * 2)

    assert len(model.seeds) == 4


async def test_drafts_that_merely_wait_in_the_queue_are_not_announced_again(database: Database) -> None:
    lab, bus = DrainLab(database), InProcessBus()
    hints = await drafts_of(lab, seed=1, cohorts=20)
    async with database.transaction() as session:
        await session.run(CLEARED)
    orchestrator = Orchestrator(
        database=database, bus=bus, clock=lab.clock, settings=OrchestratorSettings(overdue_seconds=0)
    )
    lab.clock.advance(1)

    await bus.publish(hints)
    await orchestrator.watch()
    none_lost = await bus.waiting(MOCK)
    lost_two = InProcessBus()
    await lost_two.publish(hints[2:])
    watching = Orchestrator(
        database=database, bus=lost_two, clock=lab.clock, settings=OrchestratorSettings(overdue_seconds=0)
    )
    await watching.watch()

    assert none_lost == 20
    assert await lost_two.waiting(MOCK) == 20


MANY = """
parley: 1
name: Many questions
seed: 1
personas: [{id: ada}]
stages: [{id: page, kind: survey, ask: independent, questions: [{QUESTIONS}]}]
cohorts: [{count: 20, seats: [{persona: ada}]}]
""".replace("QUESTIONS", "}, {".join(f"id: q{number}, kind: text, title: Q" for number in range(500)))


@pytest.mark.usefixtures("always_full")
async def test_a_lost_hint_is_found_in_ten_seconds_beside_ten_thousand_drafts_that_wait(database: Database) -> None:
    """By the watchdog, and by the next hint of any other draft."""
    model = Noting()
    lab, bus = DrainLab(database, models={"mock": model}), InProcessBus()
    await lab.start(MANY)
    hints = await wanted_by(lab)
    async with database.transaction() as session:
        await session.run(CLEARED)
    # In turns each worker takes the oldest first, so this one is the last that a hint of another would bring.
    youngest = (await lab.rows("SELECT id FROM drafts ORDER BY not_before DESC, path DESC LIMIT 1"))[0].id
    await bus.publish([hint for hint in hints if hint.id != str(youngest)])
    orchestrator = Orchestrator(database=database, bus=bus, clock=lab.clock)

    for _ in range(2):
        lab.clock.advance(5)
        await orchestrator.watch()
    found = await bus.waiting(MOCK)
    for _ in range(2):
        lab.clock.advance(5)
        await orchestrator.watch()

    assert len(hints) == found == await bus.waiting(MOCK) == 10_000
    oldest = (await lab.rows("SELECT id FROM drafts ORDER BY not_before, path LIMIT 1"))[0].id
    await lab.thinker.work_on_next("mock", youngest)
    assert [row.id for row in await lab.rows("SELECT id FROM drafts WHERE state <> 'wanted'")] == [oldest]
