"""Pausing and resuming one member: it is asked nothing, its timers wait, and other members do not wait for it.

What a model was asked before is stored when it comes, and used after the pause. A participant's private conversation
is held with them. Lock order: member, threads, drafts.
"""

from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import record_of
from parley_lab.base.errors import Paused
from parley_lab.contracts import lives
from parley_lab.contracts.hints import AGENT_STEPS, Hint, provider_queue
from parley_lab.members.held_cohorts import clock_of, clock_of_thread, milliseconds
from parley_lab.members.standing import Standing
from parley_lab.store.session import Session

_PAUSE: Final = text(
    "UPDATE members SET status = 'paused', paused_at = :now, version = version + 1 WHERE id = :member_id"
)
_OWN_THREADS: Final = "t.cohort_id = :cohort_id AND t.scope = 'private:' || :path AND t.ended_at IS NULL"
_OWN_TIMERS: Final = f"""(t.member_id = :member_id
    OR t.thread_id IN (SELECT t.id FROM threads t WHERE {_OWN_THREADS}))"""  # noqa: S608 - put together from constants
# A private conversation was held with the member, so the drafts of its mediators count as theirs.
_OWN_DRAFTS: Final = f"""(d.member_id = :member_id
    OR d.thread_id IN (SELECT t.id FROM threads t WHERE {_OWN_THREADS}))"""  # noqa: S608 - put together from constants
_HOLD_THREADS: Final = text(f"UPDATE threads t SET held = true WHERE {_OWN_THREADS}")  # noqa: S608
# A message whose author was read before the pause is stored by a statement that leaves a changed thread alone.
_CHANGE_SHARED_THREADS: Final = text(
    """
    WITH shared AS (
        SELECT id FROM threads WHERE cohort_id = :cohort_id AND scope = 'group' AND ended_at IS NULL
        ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE threads t SET held = t.held FROM shared s WHERE t.id = s.id
    """
)
_HOLD_TIMERS: Final = text(
    f"""
    UPDATE timers t SET state = 'held', due_at = NULL,
        remaining_ms = greatest(0, ceil(extract(epoch FROM t.due_at - {clock_of("t.cohort_id")}) * 1000))
    WHERE t.state = 'armed' AND {_OWN_TIMERS}
    """  # noqa: S608 - put together from constants
)


async def pause_member(
    session: Session, standing: Standing, now: datetime, *, cause: str, actor: str | None = None
) -> bool:
    """Let nothing happen to a locked member from the commit on; False when it was paused already.

    Raises:
        Paused: the whole experiment is paused.
        Conflict: the member is in a check, is offered a move, or takes no part.
    """
    if lives.after(standing.status, "pause") == standing.status:
        return False
    if standing.is_paused:
        raise Paused
    own = {**_own(standing), "now": now}
    await session.run(_PAUSE, {"member_id": standing.member.id, "now": now})
    await session.run(_CHANGE_SHARED_THREADS, own)
    await session.run(_HOLD_THREADS, own)
    await session.run(_HOLD_TIMERS, own)
    _record(session, standing, "member.paused", now, cause=cause, actor=actor)
    return True


_RESUME: Final = text(
    """
    UPDATE members m SET status = 'in_progress', paused_at = NULL, resumed_at = :now, version = m.version + 1
    FROM members before WHERE m.id = :member_id AND before.id = m.id
    RETURNING before.paused_at AS since
    """
)
# A statement of its own, so that the next one reads whether the cohort is held after the lock was acquired.
_LOCK_THREADS: Final = text(f"SELECT 1 AS one FROM threads t WHERE {_OWN_THREADS} ORDER BY id FOR NO KEY UPDATE")  # noqa: S608
_RELEASE_THREADS: Final = text(
    f"""
    UPDATE threads t SET held = false, paused_ms = t.paused_ms + {
        milliseconds(f"{clock_of_thread(':now')} - CAST(:since AS timestamptz)")
    } WHERE t.held AND {_OWN_THREADS}
    """  # noqa: S608 - put together from constants
)
_ARM_TIMERS: Final = text(
    f"""
    UPDATE timers t SET state = 'armed', remaining_ms = NULL,
        due_at = {clock_of("t.cohort_id")} + t.remaining_ms * interval '1 millisecond'
    WHERE t.state = 'held' AND {_OWN_TIMERS}
    """  # noqa: S608 - put together from constants
)
# As after a pause of the experiment: what was being typed goes on, what came in the pause takes its time after it.
_TYPE_ON: Final = text(
    f"""
    UPDATE drafts d SET due_at = CAST(:now AS timestamptz) + least(d.due_at - CAST(:since AS timestamptz),
        d.due_at - (SELECT max(x.finished_at) FROM model_calls x WHERE x.draft_id = d.id))
    WHERE {_OWN_DRAFTS} AND d.state = 'ready' AND d.due_at > :since
    """  # noqa: S608 - put together from constants
)
# A member who was gone in the pause has the full time to come back from now on.
_GONE_SINCE: Final = text("UPDATE presence SET gone_at = :now WHERE member_id = :member_id AND gone_at IS NOT NULL")
_WANTED: Final = text(
    f"SELECT d.id, d.provider FROM drafts d WHERE {_OWN_DRAFTS} AND d.state = 'wanted' ORDER BY d.not_before, d.id"  # noqa: S608
)


async def resume_member(
    session: Session, standing: Standing, now: datetime, *, cause: str, actor: str | None = None
) -> bool:
    """Let a locked member go on where it was paused; False when it goes on already.

    Raises:
        Paused: the whole experiment is paused.
        Conflict: the member is neither paused nor in progress.
    """
    if lives.after(standing.status, "resume") == standing.status:
        return False
    if standing.is_paused:
        raise Paused
    own = {**_own(standing), "now": now}
    row = await session.one(_RESUME, {"member_id": standing.member.id, "now": now})
    await session.run(_LOCK_THREADS, own)
    await session.run(_RELEASE_THREADS, {**own, "since": row.since})
    await session.run(_ARM_TIMERS, own)
    await session.run(_TYPE_ON, {**own, "since": row.since})
    await session.run(_GONE_SINCE, {"member_id": standing.member.id, "now": now})
    _record(session, standing, "member.resumed", now, cause=cause, actor=actor)
    if standing.member.player != "person":
        session.announce(Hint(AGENT_STEPS, "member.changed", str(standing.member.id)))
    for draft in await session.all(_WANTED, own):
        session.announce(Hint(provider_queue(draft.provider), "draft.wanted", str(draft.id)))
    return True


def _own(standing: Standing) -> dict[str, UUID | str]:
    return {"member_id": standing.member.id, "cohort_id": standing.cohort_id, "path": standing.member.path}


def _record(
    session: Session, standing: Standing, event_type: str, now: datetime, *, cause: str, actor: str | None
) -> None:
    """Told to the member alone: others would wonder who is an agent."""
    record_of(
        session,
        standing,
        event_type,
        {},
        now,
        cause=cause,
        actor=actor,
        audience=[standing.member.id],
    )
