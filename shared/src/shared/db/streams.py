"""Events as live streams read them: by cohort, in commit order, from a cursor on."""

from collections.abc import Collection, Sequence
from uuid import UUID

from sqlalchemy import text

from shared.db.session import Row, Session

_AFTER = text(
    """
    SELECT e.cohort_id, e.stream_seq, e.type, e.actor, e.cause, e.subject, e.subject_id, e.audience, e.at,
        CAST(e.payload AS text) AS payload, CAST(e.public AS text) AS public,
        e.public ->> 'thread_id' AS thread_id, t.stage_id AS thread_stage_id, t.scope AS thread_scope
    FROM events e LEFT JOIN threads t ON t.id = CAST(e.public ->> 'thread_id' AS uuid)
    WHERE e.cohort_id = :cohort_id AND e.stream_seq > :after AND e.stream_seq <= :until
    ORDER BY e.stream_seq LIMIT :most
    """
)
_NEWEST = 2**62

_LAST = text("SELECT cohort_id, last FROM streams WHERE cohort_id = ANY(:cohort_ids)")

_COHORTS = text(
    """
    SELECT id FROM cohorts WHERE experiment_id = :experiment_id ORDER BY created_at, length(path), path COLLATE "C"
    """
)


async def events_after(
    session: Session, cohort_id: UUID, after: int, *, until: int = _NEWEST, most: int = 500
) -> Sequence[Row]:
    """The next events of a cohort; `payload` and `public` come as JSON text, ready to be sent.

    What happens in a thread says so in `public.thread_id`; the thread's stage and scope come with it.
    """
    return await session.all(_AFTER, {"cohort_id": cohort_id, "after": after, "until": until, "most": most})


async def last_of(session: Session, cohort_ids: Collection[UUID]) -> dict[UUID, int]:
    """The number of the newest event of each of these cohorts."""
    rows = await session.all(_LAST, {"cohort_ids": list(cohort_ids)})
    return {row.cohort_id: row.last for row in rows}


async def cohorts_of(session: Session, experiment_id: UUID) -> list[UUID]:
    """The cohorts of an experiment in the order in which they came to be: new ones stand at the end."""
    return [row.id for row in await session.all(_COHORTS, {"experiment_id": experiment_id})]
