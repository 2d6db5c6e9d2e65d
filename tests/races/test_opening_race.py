"""An agent that comes to a stage while it is being opened for those who came before takes its step there."""

from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import pytest

from parley_lab.answers.advancing import wake_agents
from parley_lab.contracts.hints import AGENT_STEPS
from parley_lab.orchestrator import settling
from parley_lab.orchestrator.settling import settle
from parley_lab.store.session import Database, Session
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

FILE: Final = """
parley: 1
name: Two of three
seed: 4
pace: fast
personas: [{id: ada}, {id: bob}, {id: cid}]
stages:
  - {id: hello, kind: info, lines: [Hello]}
  - {id: page, kind: survey, progress: {min_participants: 2}, questions: [{id: why, kind: text, title: Why}]}
cohorts: [{seats: [{persona: ada}, {persona: bob}, {persona: cid}]}]
"""


async def test_an_agent_that_comes_while_the_stage_is_opened_takes_part(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = DrainLab(database)
    await lab.start(FILE)
    (cohort,) = await lab.rows("SELECT id FROM cohorts")
    *first, last = [row.id for row in await lab.rows("SELECT id FROM members ORDER BY path")]
    await settle(database, cohort.id, lab.clock.now())
    for member_id in first:
        await lab.step(member_id)

    async def meanwhile(session: Session, member_ids: Sequence[UUID]) -> Any:
        """The stage is open in this transaction, and in no other yet."""
        monkeypatch.setattr(settling, "wake_agents", wake_agents)
        await lab.step(last)
        await wake_agents(session, member_ids)

    monkeypatch.setattr(settling, "wake_agents", meanwhile)
    # All have taken the steps that they were to take.
    lab.hints = [hint for hint in lab.hints if hint.queue != AGENT_STEPS]
    await settle(database, cohort.id, lab.clock.now())
    await lab.drain()

    assert [row.status for row in await lab.rows("SELECT status FROM members")] == ["completed"] * 3
    assert [row.status for row in await lab.rows("SELECT status FROM cohorts")] == ["ended"]
