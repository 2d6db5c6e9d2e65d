"""Trying again what failed for good: members whom the lab gave up go on where they were, and are asked once more."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import Conflict
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, Hint, provider_queue
from parley_lab.contracts.lives import TAKING_PART, in_sql
from parley_lab.experiments.pausing import hold_still, lock
from parley_lab.store.facts import Event
from parley_lab.store.session import Session
from parley_lab.store.statements import Row


@dataclass(frozen=True, slots=True)
class Revived:
    """What is tried again: how many members who had failed, and how many asks."""

    members: int
    asks: int


# The seats and mediators of a cohort that had ended go on with it: its mediators have ended by nothing else.
_MEMBERS: Final = text(
    """
    WITH failed AS (
        UPDATE members SET status = 'in_progress', status_reason = NULL, ended_at = NULL, version = version + 1
        WHERE experiment_id = :id AND status = 'failed' AND player <> 'person'
        RETURNING id, path, cohort_id, kind
    ), mediators AS (
        UPDATE members m SET status = 'in_progress', ended_at = NULL, version = version + 1
        FROM cohorts c WHERE c.id = m.cohort_id AND c.status = 'ended' AND m.kind = 'mediator'
            AND m.status = 'completed' AND c.id IN (SELECT cohort_id FROM failed)
        RETURNING m.id
    )
    SELECT f.id, f.path, f.cohort_id, f.kind, (SELECT count(*) FROM mediators) AS mediators FROM failed f ORDER BY path
    """
)
# What the lab counted instead of their answers while they were out: trying again is asking for the answers.
_PASSED: Final = text("DELETE FROM answers WHERE member_id = ANY(:revived) AND passed")
# An ask that failed, or was called off when its member failed, on the stage where the member is now and with no answer
# in its place. Those of members who stay in the experiment count as well: nothing else asks them again.
_ASKS: Final = text(
    f"""
    UPDATE asks k SET state = 'open', reason = NULL, closed_at = NULL
    FROM members m
    WHERE m.id = k.member_id AND m.experiment_id = :id AND m.status IN {in_sql(TAKING_PART)} AND m.player <> 'person'
        AND (m.kind = 'mediator' OR m.stage_ids[m.position + 1] = k.stage_id)
        AND (k.state = 'failed' OR k.state = 'cancelled' AND m.id = ANY(:revived))
        AND NOT EXISTS (SELECT FROM answers a
            WHERE (a.member_id, a.stage_id, a.key) = (k.member_id, k.stage_id, k.key))
        AND (m.kind <> 'mediator' OR EXISTS (SELECT FROM members o WHERE o.cohort_id = m.cohort_id
            AND o.kind = 'participant' AND o.status IN {in_sql(TAKING_PART)}
            AND o.stage_ids[o.position + 1] = k.stage_id))
    RETURNING k.id, k.member_id, k.cohort_id
    """  # noqa: S608 - put together from constants
)
# What was asked in vain before uses up no attempt now. A draft that a worker still holds is left to it.
_DRAFTS: Final = text(
    """
    UPDATE drafts d SET state = 'wanted', reason = NULL, closed_at = NULL, attempts = 0, waits_for = NULL,
        lease_owner = NULL, lease_until = NULL, not_before = :now, tried_since = :now,
        free_calls = (SELECT count(*) FROM model_calls x WHERE x.draft_id = d.id AND x.part = '')
    WHERE d.ask_id = ANY(:asks) AND d.state IN ('failed', 'invalid', 'cancelled')
    RETURNING d.id, d.provider
    """
)
_WAKE: Final = text(
    "UPDATE members SET version = version + 1 WHERE id = ANY(:ids) AND NOT id = ANY(:revived) RETURNING id"
)
_COHORTS: Final = text(
    "UPDATE cohorts SET status = 'running', ended_at = NULL WHERE id = ANY(:ids) AND status = 'ended' RETURNING id"
)
_PATHS: Final = text("SELECT id, path FROM cohorts WHERE id = ANY(:ids) ORDER BY id")
# Retention deletes in its time, too, whatever members say from now on.
_EXPERIMENT: Final = text(
    """
    UPDATE experiments SET status = 'running', ended_at = NULL, forgotten_at = NULL WHERE id = :id AND status = 'ended'
    """
)
_ALERTS: Final = text(
    """
    UPDATE alerts SET resolved_at = :now
    WHERE experiment_id = :id AND type = 'model_failed' AND resolved_at IS NULL AND member_id = ANY(:members)
    """
)


async def retry_failed(session: Session, experiment_id: UUID, now: datetime, *, cause: str = "request") -> Revived:
    """Let members who failed go on where they were, with their cohorts and the experiment, and ask them again.

    What they missed stays missed: a conversation that is over is not held again. What counted instead of their answers
    on a stage with a state counts no more, so that they can give them. Idempotent, until a member fails
    again. A paused experiment stays paused.

    Raises:
        NotFound: there is no such experiment.
        Conflict: it has not been started.
    """
    row = await lock(session, experiment_id)
    if row.status == "draft":
        raise Conflict("This experiment has not been started.", reason="not_started")
    await hold_still(session, experiment_id)
    members = await session.all(_MEMBERS, {"id": experiment_id})
    revived = [member.id for member in members]
    await session.run(_PASSED, {"revived": revived})
    asks = await session.all(_ASKS, {"id": experiment_id, "revived": revived})
    if not members and not asks:
        return Revived(0, 0)
    drafts = await session.all(_DRAFTS, {"asks": [ask.id for ask in asks], "now": now})
    others = [ask.member_id for ask in asks]
    woken = await session.all(_WAKE, {"ids": others, "revived": revived})
    await session.run(_ALERTS, {"id": experiment_id, "members": [*revived, *others], "now": now})
    cohort_ids = sorted({row.cohort_id for row in (*members, *asks)})
    await session.run(_COHORTS, {"ids": cohort_ids})
    await session.run(_EXPERIMENT, {"id": experiment_id})
    await _tell(session, experiment_id, members, cohort_ids, now, cause=cause)
    for member in (*members, *woken):
        session.announce(Hint(AGENT_STEPS, "member.changed", str(member.id)))
    for draft in drafts:
        session.announce(Hint(provider_queue(draft.provider), "draft.wanted", str(draft.id)))
    return Revived(len(members), len(asks))


async def _tell(
    session: Session,
    experiment_id: UUID,
    members: Sequence[Row],
    cohort_ids: Sequence[UUID],
    now: datetime,
    *,
    cause: str,
) -> None:
    """Record who goes on, and have the cohorts settled."""
    for cohort in await session.all(_PATHS, {"ids": cohort_ids}):
        of_cohort = [member for member in members if member.cohort_id == cohort.id]
        # Only experimenters are told: others would learn that it is an agent.
        for path, subject_id in [(member.path, member.id) for member in of_cohort] or [(cohort.path, cohort.id)]:
            session.record(
                Event(
                    experiment_id=experiment_id,
                    cohort_id=cohort.id,
                    type="member.revived" if of_cohort else "cohort.revived",
                    actor="lab",
                    cause=cause,
                    subject=path,
                    subject_id=subject_id,
                    at=now,
                    unsettles=True,
                )
            )
        session.announce(Hint(ORCHESTRATOR, "cohort.unsettled", str(cohort.id)))
        session.tell(cohort.id)
