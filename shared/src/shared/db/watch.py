"""Is a run stuck? When nothing is wanted, thinking, due or awaited from a person, and it has not ended."""

from collections.abc import Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import text

from shared.db.session import Session


@dataclass(frozen=True, slots=True)
class Stuck:
    """A member who will never get any further, and why."""

    member_path: str
    stage_id: str | None
    reason: str


_AT_WORK = text(
    """
    SELECT
        EXISTS (SELECT FROM drafts d JOIN cohorts c ON c.id = d.cohort_id
            WHERE c.experiment_id = :id AND d.state IN ('wanted', 'thinking', 'ready'))
        OR EXISTS (SELECT FROM timers t JOIN cohorts c ON c.id = t.cohort_id
            WHERE c.experiment_id = :id AND c.status = 'running' AND t.state = 'armed')
        OR EXISTS (SELECT FROM streams s JOIN cohorts c ON c.id = s.cohort_id
            WHERE c.experiment_id = :id AND s.settled < s.unsettled)
        OR EXISTS (SELECT FROM members m
            WHERE m.experiment_id = :id AND m.kind = 'participant' AND (
                m.player = 'person' AND (m.status = 'expected' OR m.status = 'in_progress' AND EXISTS (
                    SELECT FROM cohort_stages u
                    WHERE u.cohort_id = m.cohort_id AND u.stage_id = m.stage_ids[m.position + 1]))
                OR m.player <> 'person' AND m.status = 'in_progress' AND m.stepped_version < m.version))
        OR NOT EXISTS (SELECT FROM cohorts c WHERE c.experiment_id = :id AND c.status = 'running')
        OR EXISTS (SELECT FROM experiments e WHERE e.id = :id AND e.status <> 'running')
        OR EXISTS (SELECT FROM outbox)
    AS at_work
    """
)

_WAITING = text(
    """
    SELECT m.path, m.status, m.stage_ids[m.position + 1] AS stage_id, s.unlocked_at, t.ended_at IS NOT NULL AS ended,
        t.id IS NOT NULL AS has_thread
    FROM members m
        LEFT JOIN cohort_stages s ON s.cohort_id = m.cohort_id AND s.stage_id = m.stage_ids[m.position + 1]
        LEFT JOIN threads t ON t.cohort_id = m.cohort_id AND t.stage_id = m.stage_ids[m.position + 1]
            AND t.scope IN ('group', 'private:' || m.path)
    WHERE m.experiment_id = :id AND m.kind = 'participant' AND m.status IN ('in_progress', 'paused')
    ORDER BY m.path
    """
)


async def find_stuck(session: Session, experiment_id: UUID) -> Sequence[Stuck]:
    """The members of a stuck run; empty while anything can still happen, and when the run has ended.

    One look can fall between two steps of a lab at work: believe it when it says so twice with time in between.
    """
    if (await session.one(_AT_WORK, {"id": experiment_id})).at_work:
        return ()
    return [
        Stuck(row.path, row.stage_id, _why(row.status, row.unlocked_at is not None, row.has_thread, row.ended))
        for row in await session.all(_WAITING, {"id": experiment_id})
    ]


def _why(status: str, is_unlocked: bool, has_thread: bool, has_ended: bool) -> str:
    if status == "paused":
        return "paused, and nobody is there to resume it"
    if not is_unlocked:
        return "waits for a stage that never opens: too few participants are left to reach it"
    if has_thread and not has_ended:
        return "sits in a conversation in which nobody will speak again"
    return "has nothing left to do on this stage, and cannot leave it"
