"""Moving on, leaving, waking: whoever closes a member's work moves that member."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from shared.acts.conversation import leave_thread
from shared.contracts.hints import AGENT_STEPS, FACTS, ORCHESTRATOR, Hint
from shared.db.facts import Event
from shared.db.session import Session, as_json
from shared.db.standings import Standing
from shared.stage import PAGE, Json


def record_member(
    session: Session,
    experiment_id: UUID,
    cohort_id: UUID,
    member_id: UUID,
    path: str,
    event_type: str,
    payload: Mapping[str, Any],
    now: datetime,
    *,
    cause: str,
    actor: str | None = None,
) -> None:
    """Record what has happened to a member; everybody who has to know is told after the commit."""
    session.record(
        Event(
            experiment_id=experiment_id,
            cohort_id=cohort_id,
            type=event_type,
            actor=actor or path,
            cause=cause,
            subject=path,
            subject_id=member_id,
            payload=payload,
            public=_public_part(event_type, member_id, payload),
            at=now,
            unsettles=True,
        )
    )
    session.announce(Hint(ORCHESTRATOR, "cohort.unsettled", str(cohort_id)))
    session.announce(Hint(FACTS, "cohort.updated", str(cohort_id)))


def _public_part(event_type: str, member_id: UUID, payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    # Only people join: to be told would be to know who is an agent.
    if event_type == "member.joined":
        return None
    # Why somebody is out of the experiment is theirs and the experimenter's to know.
    return {"member_id": str(member_id), **{key: value for key, value in payload.items() if key != "reason"}}


_ANSWER = text(
    """
    INSERT INTO answers (member_id, stage_id, key, cohort_id, value, invalid, completed_at, written_at)
    VALUES (:member_id, :stage_id, :key, :cohort_id, CAST(:value AS jsonb),
        (SELECT jsonb_object_agg(part.key, part.value) FROM answers e CROSS JOIN jsonb_each(e.invalid) part
            WHERE e.member_id = :member_id AND e.stage_id = :stage_id AND e.key <> :key),
        :completed_at, :now)
    ON CONFLICT (member_id, stage_id, key) DO UPDATE
        SET value = excluded.value, invalid = excluded.invalid, completed_at = excluded.completed_at,
            written_at = excluded.written_at, revision = answers.revision + 1
        WHERE answers.completed_at IS NULL
    """
)

_MOVE = text(
    """
    UPDATE members SET position = position + 1, version = version + 1, arrived_at = :now,
        status = CASE WHEN position + 1 >= cardinality(stage_ids) THEN 'completed' ELSE status END,
        ended_at = CASE WHEN position + 1 >= cardinality(stage_ids) THEN :now ELSE ended_at END
    WHERE id = :member_id AND position = :position AND status = 'in_progress'
    """
)

_CANCEL_ASKS = text(
    """
    WITH cancelled AS (
        UPDATE asks SET state = 'cancelled', reason = :reason, closed_at = :now
        WHERE member_id = :member_id AND state = 'open' RETURNING id
    )
    UPDATE drafts d SET state = 'cancelled', reason = :reason, closed_at = :now
    FROM cancelled WHERE d.ask_id = cancelled.id AND d.state IN ('wanted', 'ready')
    """
)


async def write_page(session: Session, standing: Standing, value: Json, now: datetime) -> None:
    """Store the member's page answer of the stage they are on, as final; what its entries miss is missing in it."""
    assert standing.stage is not None
    await session.run(
        _ANSWER,
        {
            "member_id": standing.member.id,
            "stage_id": standing.stage.id,
            "key": PAGE,
            "cohort_id": standing.cohort_id,
            "value": as_json(value),
            "completed_at": now,
            "now": now,
        },
    )


async def move_on(session: Session, standing: Standing, now: datetime, *, cause: str) -> bool:
    """Move this member one stage further than `standing` says; False when somebody has done so already.

    Whoever leaves a thread is announced in it. The caller holds the member's lock; the thread's lock is taken.
    """
    stage = standing.stage
    assert stage is not None
    moved = await session.run(_MOVE, {"member_id": standing.member.id, "position": standing.position, "now": now})
    if not moved:
        return False
    if any(ask.stage_id == stage.id for ask in standing.asks):
        await session.run(_CANCEL_ASKS, {"member_id": standing.member.id, "reason": "the member went on", "now": now})
    is_last = standing.position + 1 == len(standing.stage_ids)
    following = None if is_last else standing.stage_ids[standing.position + 1]
    record_member(
        session,
        standing.experiment_id,
        standing.cohort_id,
        standing.member.id,
        standing.member.path,
        "member.moved",
        {"from_stage_id": stage.id, "to_stage_id": following},
        now,
        cause=cause,
    )
    if (conversation_id := standing.conversation_id(stage)) is not None:
        await leave_thread(session, conversation_id, standing.member.id, now, cause=cause)
    return True


_END = text(
    """
    UPDATE members SET status = :status, status_reason = :reason, ended_at = :now, version = version + 1
    WHERE id = :member_id AND status IN ('expected', 'in_progress', 'paused')
    """
)


async def end_member(
    session: Session,
    standing: Standing,
    status: str,
    reason: str,
    now: datetime,
    *,
    cause: str,
    actor: str | None = None,
) -> bool:
    """Take a member out of the experiment for good: `left`, `removed` or `failed`; False when they were out already.

    What was wanted from them is cancelled, and those who waited for them are looked at again. `actor` is the member
    themself unless it says otherwise.
    """
    ended = await session.run(_END, {"member_id": standing.member.id, "status": status, "reason": reason, "now": now})
    if not ended:
        return False
    await session.run(_CANCEL_ASKS, {"member_id": standing.member.id, "reason": reason, "now": now})
    record_member(
        session,
        standing.experiment_id,
        standing.cohort_id,
        standing.member.id,
        standing.member.path,
        f"member.{status}",
        {"reason": reason},
        now,
        cause=cause,
        actor=actor,
    )
    was_here = standing.status != "expected" and standing.stage is not None
    if (
        was_here
        and standing.stage is not None
        and (conversation_id := standing.conversation_id(standing.stage)) is not None
    ):
        await leave_thread(session, conversation_id, standing.member.id, now, cause=cause)
    return True


_STEPPED = text("UPDATE members SET stepped_version = version WHERE id = :member_id AND stepped_version < version")


async def mark_stepped(session: Session, member_id: UUID) -> None:
    await session.run(_STEPPED, {"member_id": member_id})


_WAKE = text(
    """
    WITH locked AS (
        SELECT id, stepped_version >= version AS rests FROM members
        WHERE id = ANY(:member_ids) AND player <> 'person' AND status = 'in_progress'
        ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE members m SET version = version + 1 FROM locked WHERE m.id = locked.id AND locked.rests
    RETURNING m.id
    """
)


async def wake_agents(session: Session, member_ids: Sequence[UUID]) -> None:
    """Update the profiles of those among them who are no people, so that each takes a step.

    Whose last update has led to no step yet is about to take one, which begins with a look at everything. Whether it
    has is asked under the member's lock: a step that is under way may have looked too early.
    """
    if not member_ids:
        return
    for row in await session.all(_WAKE, {"member_ids": sorted(member_ids)}):
        session.announce(Hint(AGENT_STEPS, "member.changed", str(row.id)))
