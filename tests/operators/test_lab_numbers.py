"""The numbers of the lab move with what is in its tables and queues, and with what models and claims come to."""

from collections.abc import AsyncIterator
from math import isnan
from uuid import uuid4

import pytest
from prometheus_client import REGISTRY
from sqlalchemy import text

from parley_lab.agent_worker.models import MockModel
from parley_lab.bus.in_process import InProcessBus
from parley_lab.cli.testing import TINY
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, Hint
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.orchestrator import lab_numbers
from parley_lab.orchestrator.settings import OrchestratorSettings
from parley_lab.store import databases
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

PAGE = """
parley: 1
name: A page
seed: 0
stages: [{id: page, kind: survey, questions: [{id: why, kind: text, title: Why}]}]
personas: [{id: ann, profile: {name: Ann}}]
cohorts: [{seats: [{persona: ann}]}]
"""


def number(name: str, **labels: str) -> float | None:
    return REGISTRY.get_sample_value(name, labels)


@pytest.fixture
async def bus() -> AsyncIterator[InProcessBus]:
    bus = InProcessBus()
    yield bus
    await bus.close()


async def look(lab: DrainLab, bus: InProcessBus) -> None:
    await lab_numbers.look(lab.database, bus, lab.clock, OrchestratorSettings())


async def change(database: Database, statement: str) -> None:
    async with database.transaction() as session:
        await session.run(text(statement))


async def with_a_draft(database: Database) -> DrainLab:
    """A lab in which one agent is asked a question that no worker has taken."""
    lab = DrainLab(database)
    await lab.start(PAGE)
    while not await lab.rows("SELECT 1 FROM drafts"):
        await lab.deliver(lab.next_hints())
    return lab


async def test_a_wanted_draft_is_counted_with_its_ask_and_is_overdue_later(
    database: Database, bus: InProcessBus
) -> None:
    lab = await with_a_draft(database)
    await look(lab, bus)
    early = number("parley_drafts_overdue", provider="mock")

    lab.clock.advance(60)
    await look(lab, bus)

    assert early == 0
    assert number("parley_drafts_wanted", provider="mock") == 1
    assert number("parley_drafts_overdue", provider="mock") == 1
    assert number("parley_asks_open") == 1


async def test_the_oldest_hint_that_no_one_publishes_gets_older(database: Database, bus: InProcessBus) -> None:
    lab = await with_a_draft(database)

    await change(database, "UPDATE outbox SET created_at = statement_timestamp() - interval '1 hour'")
    await look(lab, bus)

    assert number("parley_outbox_oldest_seconds") == pytest.approx(3600, abs=60)


async def test_a_cohort_that_no_one_settles_is_stuck(database: Database, bus: InProcessBus) -> None:
    lab = await with_a_draft(database)
    await change(database, "UPDATE streams SET unsettled = last, settled = 0")
    await look(lab, bus)
    early = number("parley_cohorts_stuck")

    lab.clock.advance(lab_numbers.STUCK_AFTER_SECONDS + 1)
    await look(lab, bus)

    assert (early, number("parley_cohorts_stuck")) == (0, 1)


async def test_hints_are_counted_while_they_wait_are_worked_on_and_are_dead(
    database: Database, bus: InProcessBus
) -> None:
    lab, seen = DrainLab(database), []

    async def handle(_: Hint) -> None:
        seen.append(number("parley_queue_unacknowledged", queue=AGENT_STEPS))

    await bus.publish([Hint(AGENT_STEPS, "member.changed", str(uuid4())) for _ in range(3)])
    await bus.put(f"{ORCHESTRATOR}.dead", b"nonsense")
    await look(lab, bus)
    waiting = number("parley_queue_ready", queue=AGENT_STEPS)
    subscription = await bus.consume(AGENT_STEPS, handle, prefetch=1)
    while len(seen) < 3:
        await lab_numbers.look(lab.database, bus, lab.clock, OrchestratorSettings())
    await subscription.cancel()

    assert waiting == 3
    assert seen == [1, 1, 1]
    assert number("parley_queue_ready", queue=AGENT_STEPS) == 0
    assert number("parley_queue_unacknowledged", queue=AGENT_STEPS) == 0
    assert number("parley_queue_dead", queue=ORCHESTRATOR) == 1


async def test_without_the_database_no_old_number_is_told(database: Database, bus: InProcessBus) -> None:
    lab = await with_a_draft(database)
    await look(lab, bus)
    away = databases.connect("postgresql://nobody@127.0.0.1:9/nothing")

    await lab_numbers.look(away, bus, lab.clock, OrchestratorSettings())

    assert isnan(number("parley_asks_open") or 0)
    assert number("parley_drafts_wanted", provider="mock") is None
    await away.close()


async def test_claims_are_counted_as_won_and_lost(database: Database) -> None:
    won, lost = (number("parley_claims_total", outcome=one) or 0 for one in ("won", "lost"))
    lab = DrainLab(database)

    await lab.start(TINY)
    await lab.drain()

    drafts = {
        row.state: row.drafts for row in await lab.rows("SELECT state, count(*) AS drafts FROM drafts GROUP BY 1")
    }
    assert (number("parley_claims_total", outcome="won") or 0) - won == drafts["published"]
    assert (number("parley_claims_total", outcome="lost") or 0) - lost == drafts["lost_claim"]
    assert drafts["published"] > 0 < drafts["lost_claim"]


class PaidModel(MockModel):
    """Answers as the mock does, and says what a call of the real one would have used."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        reply = await super().reply(request)
        return reply.model_copy(update={"tokens_in": 1_000_000, "tokens_out": 1_000_000})


async def test_calls_tokens_and_cost_are_counted_by_provider(database: Database) -> None:
    names = {
        "calls": ("parley_model_calls_total", {"provider": "openai", "outcome": "ok"}),
        "in": ("parley_model_tokens_total", {"provider": "openai", "direction": "in"}),
        "cost": ("parley_model_cost_usd_total", {"provider": "openai"}),
        "timed": ("parley_model_call_seconds_count", {"provider": "openai"}),
    }
    before = {name: number(sample, **labels) or 0 for name, (sample, labels) in names.items()}
    lab = DrainLab(database, models={"openai": PaidModel()})
    paid = PAGE.replace("seed: 0", "seed: 0\nmodel_mode: real").replace(
        "name: Ann}", "name: Ann}, model: {provider: openai, model: gpt-4.1-mini}"
    )

    await lab.start(paid)
    await lab.drain()

    counted = {name: (number(sample, **labels) or 0) - before[name] for name, (sample, labels) in names.items()}
    assert counted == {"calls": 1, "in": 1_000_000, "cost": pytest.approx(2.0), "timed": 1}
