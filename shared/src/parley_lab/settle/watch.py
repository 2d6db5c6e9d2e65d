"""Decides whether a run is stuck: it has not ended, and nothing is wanted, in progress, due or awaited from a
person."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.lives import STILL_IN, TAKING_PART, in_sql
from parley_lab.people.rooms import IS_OPEN
from parley_lab.store.session import ReadSession


@dataclass(frozen=True, slots=True)
class Stuck:
    """A member who cannot go on, and why."""

    member_path: str
    stage_id: str | None
    reason: str


_AT_WORK = text(
    f"""
    SELECT
        EXISTS (SELECT FROM drafts d JOIN cohorts c ON c.id = d.cohort_id
            WHERE c.experiment_id = :id AND d.state IN ('wanted', 'thinking', 'ready'))
        OR EXISTS (SELECT FROM timers t JOIN cohorts c ON c.id = t.cohort_id
            WHERE c.experiment_id = :id AND c.status = 'running' AND t.state = 'armed'
                AND t.purpose <> 'check_due')
        OR EXISTS (SELECT FROM streams s JOIN cohorts c ON c.id = s.cohort_id
            WHERE c.experiment_id = :id
                AND (CAST(:since AS timestamptz) IS NULL OR EXISTS (SELECT FROM events e
                    WHERE e.cohort_id = s.cohort_id AND e.stream_seq = s.last AND e.at > :since))
                AND (s.settled < s.unsettled OR EXISTS (SELECT FROM members m
                    WHERE m.cohort_id = c.id AND m.kind = 'participant' AND m.player <> 'person'
                        AND m.status IN {in_sql(TAKING_PART)} AND m.stepped_version < m.version)))
        OR EXISTS (SELECT FROM members m
            WHERE m.experiment_id = :id AND m.kind = 'participant' AND m.player = 'person'
                AND (m.status = 'expected' OR m.status IN {in_sql(TAKING_PART)} AND EXISTS (
                    SELECT FROM cohort_stages u
                    WHERE u.cohort_id = m.cohort_id AND u.stage_id = m.stage_ids[m.position + 1])))
        OR NOT EXISTS (SELECT FROM cohorts c WHERE c.experiment_id = :id AND c.status = 'running')
        OR EXISTS (SELECT FROM members m WHERE m.experiment_id = :id AND m.status = 'paused')
        OR EXISTS (SELECT FROM experiments e WHERE e.id = :id AND e.status <> 'running')
        OR EXISTS (SELECT FROM planned_cohorts WHERE experiment_id = :id)
        OR {IS_OPEN.format(experiment=":id")}
        OR EXISTS (SELECT FROM outbox)
    AS at_work
    """  # noqa: S608 - put together from constants
)

_UNDER_WAY = text(
    """
    SELECT EXISTS (SELECT FROM drafts d JOIN cohorts c ON c.id = d.cohort_id
        WHERE c.experiment_id = :id AND d.state = 'thinking' AND d.lease_until > :now) AS are_there
    """
)

_OPEN_DRAFTS = text(
    f"""
    SELECT EXISTS (SELECT FROM drafts d
            JOIN members m ON m.id = d.member_id JOIN experiments e ON e.id = m.experiment_id
        WHERE e.id = :id AND e.status = 'running' AND m.status IN {in_sql(STILL_IN)}
            AND d.state IN ('wanted', 'thinking', 'ready')) AS are_there
    """  # noqa: S608 - put together from constants
)

_WAITING = text(
    f"""
    SELECT m.path, m.stage_ids[m.position + 1] AS stage_id, s.unlocked_at, t.ended_at IS NOT NULL AS ended,
        t.id IS NOT NULL AS has_thread,
        v.settled < v.unsettled OR m.player <> 'person' AND m.stepped_version < m.version AS has_failed
    FROM members m JOIN streams v ON v.cohort_id = m.cohort_id
        LEFT JOIN cohort_stages s ON s.cohort_id = m.cohort_id AND s.stage_id = m.stage_ids[m.position + 1]
        LEFT JOIN threads t ON t.cohort_id = m.cohort_id AND t.stage_id = m.stage_ids[m.position + 1]
            AND t.scope IN ('group', 'private:' || m.path)
    WHERE m.experiment_id = :id AND m.kind = 'participant' AND m.status IN {in_sql(STILL_IN)}
    ORDER BY m.path
    """  # noqa: S608 - put together from constants
)


async def are_calls_under_way(session: ReadSession, experiment_id: UUID, now: datetime) -> bool:
    """Whether a worker still holds a draft whose model may have been called."""
    return bool((await session.one(_UNDER_WAY, {"id": experiment_id, "now": now})).are_there)


async def are_replies_to_come(session: ReadSession, experiment_id: UUID) -> bool:
    """Whether an agent that still takes part is to speak or to answer, however slow its model is."""
    return bool((await session.one(_OPEN_DRAFTS, {"id": experiment_id})).are_there)


async def find_stuck(
    session: ReadSession, experiment_id: UUID, *, waits_since: datetime | None = None
) -> Sequence[Stuck]:
    """The members of a stuck run; empty while anything can still happen, and when the run has ended.

    One look can fall between two steps of a running lab: trust two equal results with time in between. A cohort in
    which nothing has happened since `waits_since` waits for the orchestrator in vain; None: however long it waits.
    """
    if (await session.one(_AT_WORK, {"id": experiment_id, "since": waits_since})).at_work:
        return ()
    return [
        Stuck(row.path, row.stage_id, _why(row.unlocked_at is not None, row.has_thread, row.ended, row.has_failed))
        for row in await session.all(_WAITING, {"id": experiment_id})
    ]


def _why(is_unlocked: bool, has_thread: bool, has_ended: bool, has_failed: bool) -> str:
    if has_failed:
        return "cannot go on because of an error in the rules of the stage, which the log tells"
    if not is_unlocked:
        return "waits for a stage that never opens: too few participants are left to reach it"
    if has_thread and not has_ended:
        return "sits in a conversation in which no member will speak again"
    return "has nothing left to do on this stage, and cannot leave it"
