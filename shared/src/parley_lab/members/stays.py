"""How long a member stays on a stage, as the timers say."""

from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import Member
from parley_lab.store.session import ReadSession

LEAST: Final = "stay_least"
"""The purpose of the timer after which a person may go on."""
MOST: Final = "stay_most"
"""The purpose of the timer that ends a member's time on a stage."""

_TIMERS: Final = text(
    """
    SELECT purpose, state, due_at FROM timers
    WHERE member_id = :member_id AND path = ANY(:paths) AND state IN ('armed', 'held', 'fired')
    """
)


@dataclass(frozen=True, slots=True)
class StayTimes:
    """From when a member may go on, and when their time is up; None: no such time, or it is held by a pause."""

    may_go_on_at: datetime | None
    ends_at: datetime | None


def path_of(member_path: str, stage_id: str, purpose: str) -> str:
    return f"{member_path}/{stage_id}/{purpose}"


async def stay_times(session: ReadSession, member_id: UUID, member_path: str, stage: StageConfig) -> StayTimes | None:
    """The times of a member on a stage that has some; None on any other stage."""
    if not stage.stay.is_timed:
        return None
    paths = [path_of(member_path, stage.id, purpose) for purpose in (LEAST, MOST)]
    rows = await session.all(_TIMERS, {"member_id": member_id, "paths": paths})
    due = {row.purpose: row.due_at for row in rows if row.state != "held"}
    return StayTimes(due.get(LEAST), due.get(MOST))


async def may_go_on(session: ReadSession, member: Member, stage: StageConfig, now: datetime) -> bool:
    """Whether the member has stayed long enough; not before the stage was open to them."""
    rows = await session.all(_TIMERS, {"member_id": member.id, "paths": [path_of(member.path, stage.id, LEAST)]})
    return any(row.state == "fired" or (row.state == "armed" and row.due_at <= now) for row in rows)
