"""A draft is not leased while something is in its way: it is left as it is, or closed without a call."""

from collections.abc import Sequence
from datetime import timedelta
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from parley_lab.drafts import drafts
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.flows.test_adversity import SURVEY
from tests.flows.test_statements import only_steps

CHAT = """
parley: 1
name: A chat
seed: 0
personas: [{id: ada}, {id: ben}]
stages: [{id: q, kind: group_chat}]
cohorts: [{seats: [{persona: ada}, {persona: ben}]}]
"""
CLAIM = """
    INSERT INTO trigger_log (thread_id, trigger_key, member_id, draft_id, message_id, claimed_at)
    SELECT thread_id, trigger_key, member_id, id, gen_random_uuid(), now() FROM drafts WHERE id = :id
"""


async def lease_after(database: Database, document: str, *changes: str) -> tuple[drafts.Lease | None, str]:
    """The lease of the first wanted draft of this experiment after these statements, and the draft's state then."""
    lab = DrainLab(database)
    await lab.start(document)
    await only_steps(lab)
    (draft_id, *_) = [row.id for row in await lab.rows("SELECT id FROM drafts WHERE state = 'wanted' ORDER BY path")]
    await _run(database, changes, draft_id)
    now = lab.clock.now()
    async with database.transaction() as session:
        lease = await drafts.lease(session, draft_id, uuid4(), now, now + timedelta(seconds=30))
    (state,) = [row.state for row in await lab.rows("SELECT id, state FROM drafts") if row.id == draft_id]
    return lease, state


async def _run(database: Database, statements: Sequence[str], draft_id: UUID) -> None:
    async with database.transaction() as session:
        for statement in statements:
            await session.run(text(statement), {"id": draft_id} if ":id" in statement else {})


@pytest.mark.parametrize("document", [SURVEY, CHAT])
async def test_a_wanted_draft_is_leased(database: Database, document: str) -> None:
    lease, state = await lease_after(database, document)

    assert lease is not None
    assert state == "thinking"


@pytest.mark.parametrize(
    ("document", "change"),
    [
        (SURVEY, "UPDATE drafts SET not_before = now() + interval '1 hour'"),
        (SURVEY, "UPDATE members SET status = 'paused', paused_at = now()"),
        (SURVEY, "UPDATE experiments SET status = 'paused', paused_at = now(), pause_reason = 'requested'"),
        (CHAT, "UPDATE threads SET held = true"),
    ],
    ids=["its time has not come", "its author is paused", "its experiment is paused", "its conversation is held"],
)
async def test_a_draft_waits_while(database: Database, document: str, change: str) -> None:
    assert await lease_after(database, document, change) == (None, "wanted")


@pytest.mark.parametrize(
    ("document", "change", "state"),
    [
        (SURVEY, "UPDATE members SET status = 'removed'", "cancelled"),
        (SURVEY, "UPDATE asks SET state = 'cancelled'", "cancelled"),
        (CHAT, "UPDATE threads SET ended_at = now()", "ended"),
        (CHAT, CLAIM, "lost_claim"),
    ],
    ids=["its author is out", "nothing is asked any more", "its conversation is over", "another reply has the trigger"],
)
async def test_a_draft_is_closed_without_a_call_when(
    database: Database, document: str, change: str, state: str
) -> None:
    assert await lease_after(database, document, change) == (None, state)


async def test_a_draft_is_given_back_by_the_worker_that_has_it_alone(database: Database) -> None:
    lab = DrainLab(database)
    lease, _ = await lease_after(database, SURVEY)
    assert lease is not None
    await _run(database, ["UPDATE drafts SET lease_owner = gen_random_uuid()"], lease.draft_id)

    async with database.transaction() as session:
        returned = await drafts.give_back(session, lease, lab.clock.now(), "for the test", counts=True)

    (draft,) = await lab.rows("SELECT state FROM drafts")
    assert (returned, draft.state) == (False, "thinking")
