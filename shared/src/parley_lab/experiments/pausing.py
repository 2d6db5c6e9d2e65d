"""Pausing and resuming an experiment: nothing is published, asked, timed or paid in between.

Every write in an experiment holds the lock of a cohort, a member or a thread, and reads the state after it has the
lock. A pause takes all these locks, in the usual order: earlier writes are committed by then, later ones read the
pause. Replies in flight are stored when they come, and used after the pause.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import Conflict, NotFound
from parley_lab.contracts.experiment import PauseReason
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, SCRIPTED_COHORTS, Hint, provider_queue
from parley_lab.contracts.lives import TAKING_PART, in_sql
from parley_lab.members.held_cohorts import PAUSED_ALONE, clock_of, clock_of_thread, milliseconds
from parley_lab.settle.settling import end_when_done
from parley_lab.store.facts import Event
from parley_lab.store.session import WHOLE_EXPERIMENT_SECONDS, Database, Session
from parley_lab.store.statements import Row

LAB_STOPPED: Final = "lab_stopped"

_LOCK: Final = text("SELECT id, status, paused_at, pause_reason FROM experiments WHERE id = :id FOR NO KEY UPDATE")
_LOCKS: Final = (
    text("SELECT 1 AS one FROM cohorts WHERE experiment_id = :id ORDER BY id FOR NO KEY UPDATE"),
    text("SELECT 1 AS one FROM members WHERE experiment_id = :id ORDER BY id FOR NO KEY UPDATE"),
    text(
        """
        SELECT 1 AS one FROM threads t JOIN cohorts c ON c.id = t.cohort_id
        WHERE c.experiment_id = :id ORDER BY t.id FOR NO KEY UPDATE OF t
        """
    ),
)


async def lock(session: Session, experiment_id: UUID) -> Row:
    """The experiment's row under its lock, which keeps others from starting, pausing, resuming and ending it.

    Raises:
        NotFound: there is no such experiment.
    """
    row = await session.first(_LOCK, {"id": experiment_id})
    if row is None:
        raise NotFound("There is no such experiment.")
    return row


async def hold_still(session: Session, experiment_id: UUID) -> None:
    """Take the locks of all cohorts, members and threads of a locked experiment: until the transaction ends nothing
    moves in it."""
    for statement in _LOCKS:
        await session.run(statement, {"id": experiment_id})


_PAUSE: Final = text(
    "UPDATE experiments SET status = 'paused', paused_at = :since, pause_reason = :reason WHERE id = :id"
)
_HOLD_THREADS: Final = text(
    """
    UPDATE threads t SET held = true FROM cohorts c
    WHERE c.id = t.cohort_id AND c.experiment_id = :id AND t.ended_at IS NULL
    """
)
_HOLD_TIMERS: Final = text(
    f"""
    UPDATE timers t SET state = 'held', due_at = NULL,
        remaining_ms = greatest(0, ceil(extract(epoch FROM t.due_at - {clock_of("t.cohort_id", now=":since")}) * 1000))
    FROM cohorts c WHERE c.id = t.cohort_id AND c.experiment_id = :id AND t.state = 'armed'
    """  # noqa: S608 - put together from constants
)
_COHORTS: Final = text("SELECT id, path FROM cohorts WHERE experiment_id = :id AND status = 'running' ORDER BY id")


async def pause(
    session: Session,
    experiment_id: UUID,
    now: datetime,
    *,
    reason: PauseReason = "requested",
    cause: str = "request",
    since: datetime | None = None,
) -> bool:
    """Let nothing happen in the experiment from the commit on; False when it was paused already.

    `since`: since when nothing has happened, when that was before now. What is paused because its lab was stopped can
    be paused on request as well: then it is not continued with the lab.

    Raises:
        NotFound: there is no such experiment.
        Conflict: it has not been started, or has ended.
    """
    row = await lock(session, experiment_id)
    if row.status == "paused":
        if reason == "requested" and row.pause_reason == LAB_STOPPED:
            await session.run(_PAUSE, {"id": experiment_id, "since": row.paused_at, "reason": reason})
        return False
    _require_begun(row)
    await hold_still(session, experiment_id)
    params = {"id": experiment_id, "since": since or now, "reason": reason}
    await session.run(_PAUSE, params)
    await session.run(_HOLD_THREADS, params)
    await session.run(_HOLD_TIMERS, params)
    cohorts = await session.all(_COHORTS, params)
    _record(session, experiment_id, cohorts, "experiment.paused", {"reason": reason}, now, cause=cause)
    return True


def _require_begun(row: Row) -> None:
    if row.status == "draft":
        raise Conflict("This experiment has not been started.", reason="not_started")
    if row.status == "ended":
        raise Conflict("This experiment has ended.", reason="ended")


_RESUME: Final = text(
    """
    UPDATE experiments SET status = 'running', paused_at = NULL, pause_reason = NULL, resumed_at = :now WHERE id = :id
    """
)
# Before the experiment counts as resumed: the time for which a cohort was held before the pause counts here, too. A
# private thread whose member is paused alone gets the rest with them.
_PAUSED_FOR: Final = milliseconds(f"least(CAST(:now AS timestamptz), {PAUSED_ALONE}) - {clock_of_thread(':since')}")
_RELEASE_THREADS: Final = text(
    f"""
    UPDATE threads t SET held = {PAUSED_ALONE} IS NOT NULL,
        paused_ms = t.paused_ms + CASE WHEN t.ended_at IS NULL THEN {_PAUSED_FOR} ELSE 0 END
    FROM cohorts c WHERE c.id = t.cohort_id AND c.experiment_id = :id AND t.held
    """  # noqa: S608 - put together from constants
)
# Those of members who are paused by themselves go on with them.
_ARM_TIMERS: Final = text(
    """
    UPDATE timers t SET state = 'armed', remaining_ms = NULL,
        due_at = CAST(:now AS timestamptz) + t.remaining_ms * interval '1 millisecond'
    FROM cohorts c WHERE c.id = t.cohort_id AND c.experiment_id = :id AND t.state = 'held'
        AND NOT EXISTS (SELECT FROM members m WHERE m.id = t.member_id AND m.status = 'paused')
        AND NOT EXISTS (SELECT FROM threads h WHERE h.id = t.thread_id AND h.held)
    """
)
# Replies that are being typed, and answers that are being written; what came in the pause takes its time after it.
_TYPE_ON: Final = text(
    """
    UPDATE drafts d SET due_at = CAST(:now AS timestamptz) + least(d.due_at - CAST(:since AS timestamptz),
        d.due_at - (SELECT max(x.finished_at) FROM model_calls x WHERE x.draft_id = d.id))
    FROM cohorts c WHERE c.id = d.cohort_id AND c.experiment_id = :id AND d.state = 'ready' AND d.due_at > :since
        AND NOT EXISTS (SELECT FROM members m WHERE m.id = d.member_id AND m.status = 'paused')
        AND NOT EXISTS (SELECT FROM threads h WHERE h.id = d.thread_id AND h.held)
    """
)
_CALLS_GO_ON: Final = text(
    "UPDATE alerts SET resolved_at = :now WHERE experiment_id = :id AND type = 'calls_spent' AND resolved_at IS NULL"
)
_WAKE: Final = text(
    f"""
    UPDATE members SET version = version + 1
    WHERE experiment_id = :id AND kind = 'participant' AND player <> 'person' AND status IN {in_sql(TAKING_PART)}
    RETURNING id, player
    """  # noqa: S608 - put together from constants
)
_WANTED: Final = text(
    """
    SELECT d.id, d.provider FROM drafts d JOIN cohorts c ON c.id = d.cohort_id
    WHERE c.experiment_id = :id AND d.state = 'wanted' ORDER BY d.not_before, d.id
    """
)


async def resume(session: Session, experiment_id: UUID, now: datetime, *, cause: str = "request") -> bool:
    """Let the experiment go on where it was paused; False when it goes on already.

    Raises:
        NotFound: there is no such experiment.
        Conflict: it has not been started, or has ended.
    """
    row = await lock(session, experiment_id)
    if row.status == "running":
        return False
    _require_begun(row)
    await hold_still(session, experiment_id)
    params = {"id": experiment_id, "now": now, "since": row.paused_at}
    await session.run(_RELEASE_THREADS, params)
    await session.run(_RESUME, params)
    await session.run(_ARM_TIMERS, params)
    await session.run(_TYPE_ON, params)
    await session.run(_CALLS_GO_ON, params)
    cohorts = await session.all(_COHORTS, params)
    _record(session, experiment_id, cohorts, "experiment.resumed", {}, now, cause=cause, unsettles=True)
    await _wake_all(session, experiment_id, cohorts)
    await end_when_done(session, experiment_id, now)
    return True


async def _wake_all(session: Session, experiment_id: UUID, cohorts: Iterable[Row]) -> None:
    """Announce all that may be due; what gets lost the watchdog finds."""
    woken = await session.all(_WAKE, {"id": experiment_id})
    if any(row.player == "script" for row in woken):
        session.announce(Hint(ORCHESTRATOR, SCRIPTED_COHORTS, str(experiment_id)))
    for row in cohorts:
        session.announce(Hint(ORCHESTRATOR, "cohort.unsettled", str(row.id)))
    for row in woken:
        session.announce(Hint(AGENT_STEPS, "member.changed", str(row.id)))
    for row in await session.all(_WANTED, {"id": experiment_id}):
        session.announce(Hint(provider_queue(row.provider), "draft.wanted", str(row.id)))


def _record(
    session: Session,
    experiment_id: UUID,
    cohorts: Sequence[Row],
    event_type: str,
    payload: dict[str, str],
    now: datetime,
    *,
    cause: str,
    unsettles: bool = False,
) -> None:
    """Tell everybody in these cohorts."""
    for row in cohorts:
        session.record(
            Event(
                experiment_id=experiment_id,
                cohort_id=row.id,
                type=event_type,
                actor="lab",
                cause=cause,
                subject=row.path,
                subject_id=row.id,
                payload=payload,
                public={},
                at=now,
                unsettles=unsettles,
            )
        )
        session.tell(row.id)


# The last moment of which it is known that a process was at work on the experiment.
_LEFT_BEHIND: Final = text(
    """
    SELECT e.id, least(CAST(:now AS timestamptz), greatest(e.started_at, e.resumed_at,
        (SELECT max(v.at) FROM cohorts c JOIN streams s ON s.cohort_id = c.id
            JOIN events v ON v.cohort_id = s.cohort_id AND v.stream_seq = s.last WHERE c.experiment_id = e.id),
        (SELECT max(w.seen_at) FROM workers w))) AS since
    FROM experiments e WHERE e.status = 'running' ORDER BY e.id
    """
)


async def pause_left_behind(database: Database, now: datetime) -> int:
    """Pause what a lab that is gone was running, from when it was last at work on it; returns how much that was.

    For callers that know that no lab is running on this database.
    """
    async with database.transaction() as session:
        left = await session.all(_LEFT_BEHIND, {"now": now})
    for row in left:
        async with database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
            await pause(session, row.id, now, reason=LAB_STOPPED, cause="lab", since=row.since)
    return len(left)
