"""Cohorts whose rules fail: an open alert holds their clocks until they are settled again, and their people read so."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.lives import STILL_IN, in_sql
from parley_lab.store.facts import Event
from parley_lab.store.session import ReadSession, Session

COHORT_HELD: Final = "cohort_held"
"""The type of the alert about a cohort whose rules fail."""


def is_held(cohort: str) -> str:
    """Whether the clocks of a cohort wait, as SQL."""
    return f"""EXISTS (
        SELECT FROM alerts h WHERE h.cohort_id = {cohort} AND h.type = '{COHORT_HELD}' AND h.resolved_at IS NULL)"""


def held_since(cohort: str, *but_after: str) -> str:
    """Since when the clocks of a cohort wait, as SQL; NULL while they go."""
    since = ", ".join(("h.created_at", "e.resumed_at", *but_after))
    return f"""(SELECT greatest({since}) FROM alerts h JOIN experiments e ON e.id = h.experiment_id
        WHERE h.cohort_id = {cohort} AND h.type = '{COHORT_HELD}' AND h.resolved_at IS NULL)"""  # noqa: S608 - constants


def clock_of(cohort: str, *, now: str = ":now") -> str:
    """The time on the clocks of a cohort, as SQL: `now`, or since when they wait.

    While a cohort is held, an armed timer has left what lies between this time and its `due_at`: one that is armed
    meanwhile is due as if it had been armed when the hold began. A pause of the experiment has taken account of the
    part of the hold before its end.
    """
    return f"least(CAST({now} AS timestamptz), {held_since(cohort)})"


def lag_of(cohort: str) -> str:
    """How far the clocks of a cohort are behind `:now`, as SQL."""
    return f"(CAST(:now AS timestamptz) - {clock_of(cohort)})"


def milliseconds(interval: str) -> str:
    """A length of time as a whole number, as SQL; none is negative."""
    return f"greatest(0, CAST(1000 * extract(epoch FROM {interval}) AS bigint))"


def clock_of_thread(now: str) -> str:
    """The time on the clock of the thread `t`, as SQL: one that opens while its cohort is held waits from then on."""
    return f"least(CAST({now} AS timestamptz), {held_since('t.cohort_id', 't.opened_at')})"


PAUSED_ALONE: Final = (
    "(SELECT o.paused_at FROM members o WHERE o.cohort_id = t.cohort_id AND t.scope = 'private:' || o.path)"
)
"""Since when the member of a private thread `t` is paused alone, as SQL; NULL where they are not."""


def began_on_clock(opened_at: datetime, paused_ms: int, waits_since: datetime | None, now: datetime) -> datetime:
    """The time from which the time of a thread counts: it leaves out past pauses, and the hold that is going on."""
    held = timedelta() if waits_since is None else max(timedelta(), now - max(waits_since, opened_at))
    return opened_at + timedelta(milliseconds=paused_ms) + held


_SETTLED: Final = text(
    f"""
    SELECT a.cohort_id FROM alerts a JOIN streams s ON s.cohort_id = a.cohort_id
    WHERE a.type = '{COHORT_HELD}' AND a.resolved_at IS NULL AND s.settled >= s.unsettled
    """  # noqa: S608 - put together from constants
)
# In the order of all locks, so that what is armed, paused or said meanwhile reads the hold or its end.
_LOCKS: Final = (
    text("SELECT 1 AS one FROM cohorts WHERE id = :cohort_id FOR NO KEY UPDATE"),
    text("SELECT 1 AS one FROM members WHERE cohort_id = :cohort_id ORDER BY id FOR NO KEY UPDATE"),
    text("SELECT 1 AS one FROM threads WHERE cohort_id = :cohort_id ORDER BY id FOR NO KEY UPDATE"),
)
# A thread that waits for a pause, too, gets the time of the pause when that is over.
_HELD_FOR: Final = milliseconds(
    f"least(CAST(:now AS timestamptz), x.paused_at, {PAUSED_ALONE}) - {clock_of_thread(':now')}"
)
_RELEASE: Final = text(
    f"""
    WITH released AS (
        UPDATE alerts SET resolved_at = :now
        WHERE cohort_id = :cohort_id AND type = '{COHORT_HELD}' AND resolved_at IS NULL
        RETURNING cohort_id, experiment_id
    ), went_on AS (
        UPDATE threads t SET paused_ms = t.paused_ms + {_HELD_FOR}
        FROM released r JOIN experiments x ON x.id = r.experiment_id
        WHERE t.cohort_id = r.cohort_id AND t.ended_at IS NULL
    )
    UPDATE timers t SET due_at = t.due_at + {lag_of("t.cohort_id")}
    FROM released r WHERE t.cohort_id = r.cohort_id AND t.state = 'armed'
    """  # noqa: S608 - put together from constants
)


async def settled_again(session: ReadSession) -> Sequence[UUID]:
    """Cohorts that are still held, and have been settled since."""
    return [row.cohort_id for row in await session.all(_SETTLED)]


async def release(session: Session, cohort_id: UUID, now: datetime) -> None:
    """Let the clocks of a cohort go on, each with the time that it had left. Idempotent.

    Locks the cohort, its members and its threads.
    """
    for lock in _LOCKS:
        await session.run(lock, {"cohort_id": cohort_id})
    await session.run(_RELEASE, {"cohort_id": cohort_id, "now": now})
    await have_pages_read(session, cohort_id, now)


_PLACES: Final = text(
    f"""
    SELECT DISTINCT c.experiment_id, c.path, m.stage_ids[m.position + 1] AS stage_id
    FROM members m JOIN cohorts c ON c.id = m.cohort_id
    WHERE m.cohort_id = :cohort_id AND m.player = 'person' AND m.status IN {in_sql(STILL_IN)}
    ORDER BY stage_id
    """  # noqa: S608 - put together from constants
)


async def have_pages_read(session: Session, cohort_id: UUID, now: datetime) -> None:
    """Have the pages of a cohort read anew: it is held, or held no more."""
    for row in await session.all(_PLACES, {"cohort_id": cohort_id}):
        told = {"stage_id": row.stage_id}
        session.record(
            Event(
                experiment_id=row.experiment_id,
                cohort_id=cohort_id,
                type="stage.updated",
                actor="lab",
                cause="lab",
                subject=f"{row.path}/{row.stage_id}",
                subject_id=None,
                payload=told,
                public=told,
                at=now,
            )
        )
    session.tell(cohort_id)


_HOLDS: Final = text(
    f"SELECT {is_held('t.cohort_id')} AS is_held FROM members t WHERE t.token_hash = :token_hash"  # noqa: S608 - of constants
)


async def holds(session: ReadSession, token_hash: str) -> bool:
    """Whether the cohort of the member with this token is held."""
    row = await session.first(_HOLDS, {"token_hash": token_hash})
    return row is not None and bool(row.is_held)
