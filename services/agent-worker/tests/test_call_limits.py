"""An experiment never exceeds its limit of calls, however many workers call at once."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from parley_lab.agent_worker.models.openai_model import OpenAIModel
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.thinking import Thinker
from parley_lab.base.errors import Conflict
from parley_lab.contracts.model_keys import NO_KEYS
from parley_lab.drafts.limits import call_limit, set_most_calls
from parley_lab.experiments.pausing import resume
from parley_lab.store.session import Database
from parley_lab.testing.fake_endpoint import FakeEndpoint, FakeReply
from tests.flows.drain import DrainLab
from tests.flows.test_statements import only_steps

pytestmark = pytest.mark.postgres

SURVEY = """
parley: 1
name: A question
seed: 0
model_mode: real
limits: {{calls: {most}}}
personas: [{{id: ada, profile: {{name: Ada}}, model: {{provider: {provider}}}}}]
stages:
  - {{id: q, kind: survey, ask: independent, questions: [
      {{id: one, kind: check, title: One}}, {{id: two, kind: check, title: Two}}]}}
cohorts: [{{seats: [{{persona: ada, count: 6}}]}}]
"""


class Rehearsed:
    def __init__(self, database: Database, endpoint: FakeEndpoint) -> None:
        self.lab = DrainLab(database)
        self.endpoint = endpoint
        self.model = OpenAIModel(NO_KEYS, base_url=endpoint.base_url)
        self.lab.thinker = self.worker()

    def worker(self) -> Thinker:
        return Thinker(
            database=self.lab.database,
            models={"openai": self.model, "mock": self.model},
            prompts=self.lab.prompts,
            clock=self.lab.clock,
            settings=WorkerSettings(),
            later=lambda delay, work: self.lab.later.append((delay, work)),
        )

    async def states(self) -> list[Any]:
        return await self.lab.rows("SELECT status, pause_reason FROM experiments")


@pytest.fixture
async def rehearsed(database: Database) -> AsyncIterator[Rehearsed]:
    async with FakeEndpoint() as endpoint:
        rehearsed = Rehearsed(database, endpoint)
        yield rehearsed
        await rehearsed.model.aclose()


@pytest.mark.race
async def test_many_workers_at_once_make_no_call_more_than_there_may_be(rehearsed: Rehearsed) -> None:
    lab, workers = rehearsed.lab, [rehearsed.worker() for _ in range(3)]
    experiment_id = await lab.start(SURVEY.format(most=5, provider="openai"))
    await only_steps(lab)
    drafts = await lab.rows("SELECT id FROM drafts")

    await asyncio.gather(*(worker.work_on(draft.id) for worker in workers for draft in drafts))
    await lab.drain()

    assert len(drafts) == 12
    assert rehearsed.endpoint.statistics["calls"] == 5
    assert len(await lab.rows("SELECT 1 FROM model_calls")) == 5
    assert await rehearsed.states() == [("paused", "calls_spent")]
    ((alert,),) = await lab.rows("SELECT text FROM alerts")
    assert "has made 5 calls" in alert
    assert {row.state for row in await lab.rows("SELECT state FROM drafts")} == {"wanted", "answered"}

    async with lab.database.transaction() as session:
        await set_most_calls(session, experiment_id, 12)
        await resume(session, experiment_id, lab.clock.now())
    await lab.drain()

    assert rehearsed.endpoint.statistics["calls"] == 12
    assert await rehearsed.states() == [("ended", None)]
    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}


async def test_a_limit_that_comes_later_counts_what_was_made_before(rehearsed: Rehearsed) -> None:
    lab = rehearsed.lab
    without = SURVEY.replace("limits: {{calls: {most}}}\n", "").format(provider="openai")
    experiment_id = await lab.start(without)
    await lab.drain()

    with pytest.raises(Conflict, match="has made 12 calls"):
        async with lab.database.transaction() as session:
            await set_most_calls(session, experiment_id, 12)
    async with lab.database.transaction() as session:
        await set_most_calls(session, experiment_id, 13)
        limit = await call_limit(session, experiment_id)

    assert limit is not None
    assert (limit.most, limit.taken) == (13, 12)


async def test_calls_that_fail_count_too(rehearsed: Rehearsed) -> None:
    rehearsed.endpoint.replies = lambda _body: FakeReply(503, {"error": {"message": "away"}})
    await rehearsed.lab.start(SURVEY.format(most=7, provider="openai"))
    await rehearsed.lab.drain()

    assert rehearsed.endpoint.statistics["calls"] == 7
    assert await rehearsed.states() == [("paused", "calls_spent")]
    assert {row.status for row in await rehearsed.lab.rows("SELECT status FROM members")} == {"in_progress"}


async def test_the_mock_costs_nothing_and_is_not_counted(rehearsed: Rehearsed) -> None:
    experiment_id = await rehearsed.lab.start(SURVEY.format(most=1, provider="mock"))
    await rehearsed.lab.drain()

    assert await rehearsed.states() == [("ended", None)]
    async with rehearsed.lab.database.transaction() as session:
        limit = await call_limit(session, experiment_id)
    assert limit is not None
    assert (limit.most, limit.taken) == (1, 0)


async def test_a_limit_below_what_was_made_is_refused(rehearsed: Rehearsed) -> None:
    experiment_id = await rehearsed.lab.start(SURVEY.format(most=5, provider="openai"))
    await rehearsed.lab.drain()

    with pytest.raises(Conflict, match="has made 5 calls"):
        async with rehearsed.lab.database.transaction() as session:
            await set_most_calls(session, experiment_id, 5)
