"""Timers that are due: finding them, and firing each once."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from sqlalchemy import text

from parley_lab.members.held_cohorts import is_held
from parley_lab.store.session import ReadSession, Session


@dataclass(frozen=True, slots=True)
class DueTimer:
    """A timer whose time has come."""

    id: UUID
    thread_id: UUID | None
    member_id: UUID | None
    purpose: str
    generation: int


_DUE = text(
    f"""
    SELECT id, thread_id, member_id, purpose, generation FROM timers t
    WHERE state = 'armed' AND due_at <= :now AND id <> ALL(CAST(:but AS uuid[])) AND NOT {is_held("t.cohort_id")}
    ORDER BY due_at LIMIT :most
    """  # noqa: S608 - put together from constants
)
_FIRE = text(
    f"""
    UPDATE timers t SET state = 'fired', fired_at = :now
    WHERE id = :timer_id AND state = 'armed' AND due_at <= :now AND NOT {is_held("t.cohort_id")}
    """  # noqa: S608 - put together from constants
)
_LOCK_THREAD = text("SELECT FROM threads WHERE id = :thread_id FOR NO KEY UPDATE")
_LOCK_MEMBER = text("SELECT FROM members WHERE id = :member_id FOR NO KEY UPDATE")


async def due_timers(
    session: ReadSession, now: datetime, *, but: Collection[UUID] = (), most: int = 200
) -> Sequence[DueTimer]:
    """Timers of threads and members whose time has come, without those `but`, and those of held cohorts."""
    rows = await session.all(_DUE, {"now": now, "but": list(but), "most": most})
    return [DueTimer(row.id, row.thread_id, row.member_id, row.purpose, row.generation) for row in rows]


_DUE_AT = text("SELECT due_at FROM timers WHERE id = :timer_id AND state = 'armed'")


async def due_at(session: ReadSession, timer_id: UUID) -> datetime | None:
    """When this timer is due; None when it is not armed any more."""
    row = await session.first(_DUE_AT, {"timer_id": timer_id})
    return None if row is None else row.due_at


async def fire(session: Session, timer: DueTimer, now: datetime) -> bool:
    """Take a due timer under its owner's lock; True exactly once, and its effect belongs in this transaction."""
    if timer.thread_id is not None:
        await session.first(_LOCK_THREAD, {"thread_id": timer.thread_id})
    else:
        await session.first(_LOCK_MEMBER, {"member_id": timer.member_id})
    return bool(await session.run(_FIRE, {"timer_id": timer.id, "now": now}))
