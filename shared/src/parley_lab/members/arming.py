"""Timers of members are armed, each once; one that was cancelled is armed again when it is wanted again.

A seat may go back to a person, and a member who failed may go on: what was cancelled for them is wanted again.
"""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base import seeds
from parley_lab.members.held_cohorts import lag_of
from parley_lab.store.session import Session
from parley_lab.store.statements import as_json


@dataclass(frozen=True, slots=True)
class WantedTimer:
    """A timer of a member; its path is its name in the experiment."""

    member_id: UUID
    path: str
    purpose: str
    due_at: datetime
    generation: int = 1


# An upsert would lock the rows that it leaves alone, too. A process that fires such a timer holds the lock of its
# member, and a settle wants that lock after this.
_ARM: Final = text(
    f"""
    WITH wanted AS (
        SELECT g.id, g.path, g.member_id, g.purpose, g.generation,
            g.due_at - {lag_of(":cohort_id")} AS due_at
        FROM jsonb_to_recordset(CAST(:timers AS jsonb)) AS g(id uuid, path text, member_id uuid, purpose text,
            generation int, due_at timestamptz)
    ), again AS (
        UPDATE timers t SET state = 'armed', cohort_id = :cohort_id, due_at = w.due_at, remaining_ms = NULL,
            fired_at = NULL
        FROM wanted w WHERE t.id = w.id AND t.state = 'cancelled'
        RETURNING t.member_id
    ), first AS (
        INSERT INTO timers (id, path, cohort_id, member_id, purpose, generation, due_at)
        SELECT w.id, w.path, :cohort_id, w.member_id, w.purpose, w.generation, w.due_at FROM wanted w
        ON CONFLICT DO NOTHING RETURNING member_id
    )
    SELECT member_id FROM again UNION SELECT member_id FROM first
    """  # noqa: S608 - put together from constants
)


async def arm(
    session: Session, experiment_id: UUID, cohort_id: UUID, timers: Iterable[WantedTimer], now: datetime
) -> frozenset[UUID]:
    """Arm these timers; one that is armed, held or has fired is left alone. Returns the members of the others."""
    wanted = [{**asdict(timer), "id": seeds.row_id(experiment_id, timer.path)} for timer in timers]
    if not wanted:
        return frozenset()
    rows = await session.all(_ARM, {"cohort_id": cohort_id, "timers": as_json(wanted), "now": now})
    return frozenset(row.member_id for row in rows)
