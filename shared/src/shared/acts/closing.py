"""No more people come: empty seats are taken out of the run, and no more cohorts are made on arrival."""

from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from shared.acts.advancing import end_member
from shared.acts.own_arms import lock_draws
from shared.db.session import Session
from shared.db.standings import lock_standing

NO_ONE_CAME: Final = "nobody came"

_PLANNED: Final = text("DELETE FROM planned_cohorts WHERE experiment_id = :experiment_id")
_EMPTY: Final = text(
    "SELECT id FROM members WHERE experiment_id = :experiment_id AND status = 'expected' ORDER BY cohort_id, id"
)


async def close_to_people(session: Session, experiment_id: UUID, now: datetime, *, cause: str) -> list[str]:
    """The paths of the seats that were empty. May be repeated.

    The lock of joining is held, so that no one is joining meanwhile.
    """
    await lock_draws(session, experiment_id)
    await session.run(_PLANNED, {"experiment_id": experiment_id})
    closed = []
    for row in await session.all(_EMPTY, {"experiment_id": experiment_id}):
        standing = await lock_standing(session, row.id)
        if standing.status == "expected":
            await end_member(session, standing, "removed", NO_ONE_CAME, now, cause=cause, actor="lab")
            closed.append(standing.member.path)
    return closed
