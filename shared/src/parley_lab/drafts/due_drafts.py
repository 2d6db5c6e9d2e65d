"""Which drafts wait for a worker, in which order, and which are due; locks nothing."""

from collections.abc import Collection, Mapping
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.hints import Hint, provider_queue
from parley_lab.store.session import ReadSession
from parley_lab.store.statements import as_json

_IS_THERE = text("SELECT 1 AS found FROM drafts WHERE id = :draft_id")
_GOES_ON = text(
    """
    SELECT 1 AS found FROM members m JOIN experiments e ON e.id = m.experiment_id
    WHERE m.id = :member_id AND m.status <> 'paused' AND e.status = 'running'
    """
)


async def is_there(session: ReadSession, draft_id: UUID) -> bool:
    """Whether the draft exists; deleting an experiment deletes its drafts."""
    return await session.first(_IS_THERE, {"draft_id": draft_id}) is not None


async def goes_on(session: ReadSession, member_id: UUID) -> bool:
    """Whether the experiment and the member go on, so that a model may be called."""
    return await session.first(_GOES_ON, {"member_id": member_id}) is not None


# In pace `fast` a ready reply waits for its wave; the process that completes the wave publishes it.
_DUE_THREADS = text(
    """
    SELECT d.thread_id, (array_agg(d.correlation ORDER BY d.due_at))[1] AS correlation FROM drafts d
        JOIN cohorts c ON c.id = d.cohort_id JOIN experiments e ON e.id = c.experiment_id
        JOIN threads t ON t.id = d.thread_id
    WHERE d.state = 'ready' AND d.due_at <= :now AND NOT t.held AND e.pace = 'live'
        AND e.status <> 'paused' AND d.member_id NOT IN (SELECT id FROM members WHERE status = 'paused')
        AND d.thread_id <> ALL(CAST(:but AS uuid[]))
    GROUP BY d.thread_id ORDER BY min(d.due_at) LIMIT :most
    """
)


async def due_threads(
    session: ReadSession, now: datetime, *, but: Collection[UUID] = (), most: int = 200
) -> Mapping[UUID, str]:
    """Threads without those `but` in which a reply is due, each with the correlation of its oldest due draft."""
    rows = await session.all(_DUE_THREADS, {"now": now, "but": list(but), "most": most})
    return {row.thread_id: row.correlation for row in rows}


_IS_OVERDUE = """
    ((state = 'wanted' AND not_before <= :before) OR (state = 'thinking' AND lease_until < :now))
        AND cohort_id NOT IN (SELECT c.id FROM cohorts c JOIN experiments e ON e.id = c.experiment_id
            WHERE e.status = 'paused')
        AND member_id NOT IN (SELECT id FROM members WHERE status = 'paused')
        AND NOT EXISTS (SELECT FROM threads t WHERE t.id = thread_id AND t.held)
"""
# By provider, so that drafts of a provider without workers do not hide the others.
_OVERDUE = text(f"SELECT provider, count(*) AS drafts FROM drafts WHERE {_IS_OVERDUE} GROUP BY provider")  # noqa: S608

_OVERDUE_OF = text(
    f"""
    SELECT id FROM drafts WHERE provider = :provider AND {_IS_OVERDUE}
    ORDER BY not_before, path OFFSET :safe LIMIT :most
    """  # noqa: S608
)

# A draft whose lease has expired comes before drafts that were never leased, because its ask is older.
_IN_TURN = text(
    """
    SELECT id FROM (
        SELECT d.id, d.not_before,
            row_number() OVER (PARTITION BY c.experiment_id ORDER BY d.not_before, d.path)
                + coalesce(CAST(CAST(:in_hand AS jsonb) ->> CAST(c.experiment_id AS text) AS int), 0) AS place
        FROM drafts d JOIN cohorts c ON c.id = d.cohort_id JOIN experiments e ON e.id = c.experiment_id
            LEFT JOIN threads t ON t.id = d.thread_id
        WHERE d.provider = :provider AND e.status <> 'paused' AND t.held IS NOT TRUE
            AND d.member_id NOT IN (SELECT id FROM members WHERE status = 'paused')
            AND (d.state = 'wanted' AND d.not_before <= :now OR d.state = 'thinking' AND d.lease_until < :now)
    ) waiting
    ORDER BY place, not_before LIMIT :most
    """
)


async def in_turn(
    session: ReadSession, provider: str, now: datetime, *, in_hand: Mapping[UUID, int], most: int
) -> list[UUID]:
    """The drafts that wait for this provider, in the order in which workers should take them.

    Experiments take turns: one with fewer drafts in hand comes first; within an experiment the oldest draft does.
    Nothing is locked: another worker may have taken them meanwhile.
    """
    counts = as_json({str(experiment_id): count for experiment_id, count in in_hand.items()})
    params = {"provider": provider, "now": now, "most": most, "in_hand": counts}
    return [row.id for row in await session.all(_IN_TURN, params)]


_QUEUED = text("SELECT queue, count(*) AS hints FROM outbox GROUP BY queue")


async def queued(session: ReadSession) -> dict[str, int]:
    """How many hints of each queue are in the outbox."""
    return {row.queue: row.hints for row in await session.all(_QUEUED)}


async def overdue(session: ReadSession, now: datetime, before: datetime) -> dict[str, int]:
    """How many drafts of each provider were wanted before `before` and not taken, or have an expired lease.

    As many as there are hints in the queue may only be waiting, because each hint brings a draft (see `Sharing`).
    """
    rows = await session.all(_OVERDUE, {"now": now, "before": before})
    return {row.provider: row.drafts for row in rows}


async def overdue_hints(
    session: ReadSession, provider: str, now: datetime, before: datetime, *, safe: int = 0, most: int = 5_000
) -> list[Hint]:
    """Hints for the overdue drafts of this provider, without so many of the oldest, which queued hints will bring."""
    params = {"provider": provider, "now": now, "before": before, "safe": safe, "most": most}
    rows = await session.all(_OVERDUE_OF, params)
    return [Hint(provider_queue(provider), "draft.wanted", str(row.id)) for row in rows]
