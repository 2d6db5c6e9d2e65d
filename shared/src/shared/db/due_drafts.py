"""Which drafts wait for a worker, in what order, and which are due to be published; nothing is locked."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from shared.contracts.hints import Hint, provider_queue
from shared.db.session import Session, as_json

_IS_THERE = text("SELECT 1 AS found FROM drafts WHERE id = :draft_id")
_IS_RUNNING = text("SELECT 1 AS found FROM experiments WHERE id = :experiment_id AND status = 'running'")


async def is_there(session: Session, draft_id: UUID) -> bool:
    """Whether there is such a draft; with an experiment all its drafts are deleted."""
    return await session.first(_IS_THERE, {"draft_id": draft_id}) is not None


async def is_running(session: Session, experiment_id: UUID) -> bool:
    """Whether the experiment goes on, so that a model may be asked for it."""
    return await session.first(_IS_RUNNING, {"experiment_id": experiment_id}) is not None


# In pace `fast` a ready reply waits for its wave, and whoever completes that publishes it.
_DUE_THREADS = text(
    """
    SELECT d.thread_id FROM drafts d
        JOIN cohorts c ON c.id = d.cohort_id JOIN experiments e ON e.id = c.experiment_id
    WHERE d.state = 'ready' AND d.due_at <= :now AND d.thread_id IS NOT NULL AND e.pace = 'live'
        AND e.status <> 'paused'
    GROUP BY d.thread_id ORDER BY min(d.due_at) LIMIT :most
    """
)


async def due_threads(session: Session, now: datetime, *, most: int = 200) -> Sequence[UUID]:
    """Threads in which a reply is due to be published."""
    return [row.thread_id for row in await session.all(_DUE_THREADS, {"now": now, "most": most})]


_IS_OVERDUE = """
    ((state = 'wanted' AND not_before <= :before) OR (state = 'thinking' AND lease_until < :now))
        AND cohort_id NOT IN (SELECT c.id FROM cohorts c JOIN experiments e ON e.id = c.experiment_id
            WHERE e.status = 'paused')
"""
# By provider, so that one that nobody serves does not hide the others.
_OVERDUE = text(f"SELECT provider, count(*) AS drafts FROM drafts WHERE {_IS_OVERDUE} GROUP BY provider")  # noqa: S608

_OVERDUE_OF = text(
    f"""
    SELECT id FROM drafts WHERE provider = :provider AND {_IS_OVERDUE}
    ORDER BY not_before, path OFFSET :safe LIMIT :most
    """  # noqa: S608
)

# Whose lease has run out stands before those who were never taken, as its ask is older.
_IN_TURN = text(
    """
    SELECT id FROM (
        SELECT d.id, d.not_before,
            row_number() OVER (PARTITION BY c.experiment_id ORDER BY d.not_before, d.path)
                + coalesce(CAST(CAST(:in_hand AS jsonb) ->> CAST(c.experiment_id AS text) AS int), 0) AS place
        FROM drafts d JOIN cohorts c ON c.id = d.cohort_id JOIN experiments e ON e.id = c.experiment_id
            LEFT JOIN threads t ON t.id = d.thread_id
        WHERE d.provider = :provider AND e.status <> 'paused' AND t.held IS NOT TRUE
            AND (d.state = 'wanted' AND d.not_before <= :now OR d.state = 'thinking' AND d.lease_until < :now)
    ) waiting
    ORDER BY place, not_before LIMIT :most
    """
)


async def in_turn(
    session: Session, provider: str, now: datetime, *, in_hand: Mapping[UUID, int], most: int
) -> list[UUID]:
    """The drafts that wait for this provider, in the order in which a worker is to take them.

    The experiments take turns, one that has fewer drafts in hand before one that has more; in an experiment the oldest
    goes first. Nothing is locked: somebody else may have taken them meanwhile.
    """
    counts = as_json({str(experiment_id): count for experiment_id, count in in_hand.items()})
    params = {"provider": provider, "now": now, "most": most, "in_hand": counts}
    return [row.id for row in await session.all(_IN_TURN, params)]


_QUEUED = text("SELECT queue, count(*) AS hints FROM outbox GROUP BY queue")


async def queued(session: Session) -> dict[str, int]:
    """How many hints of each queue are on their way to the bus."""
    return {row.queue: row.hints for row in await session.all(_QUEUED)}


async def overdue(session: Session, now: datetime, before: datetime) -> dict[str, int]:
    """How many drafts of each provider were wanted before `before` and not taken, or have a lease that has run out.

    Some may only wait: as many as there are hints in the queue, since each hint brings a draft (see `Sharing`).
    """
    rows = await session.all(_OVERDUE, {"now": now, "before": before})
    return {row.provider: row.drafts for row in rows}


async def overdue_hints(
    session: Session, provider: str, now: datetime, before: datetime, *, safe: int = 0, most: int = 5_000
) -> list[Hint]:
    """Hints for the overdue drafts of this provider but for so many of the oldest, which hints will bring."""
    params = {"provider": provider, "now": now, "before": before, "safe": safe, "most": most}
    rows = await session.all(_OVERDUE_OF, params)
    return [Hint(provider_queue(provider), "draft.wanted", str(row.id)) for row in rows]
