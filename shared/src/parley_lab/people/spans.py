"""The stages that members of a cohort go through there, where people meet at stages: from one meeting to the next."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.experiment import CohortPlan
from parley_lab.store.session import ReadSession

_ROOM: Final = text(
    "SELECT c.alone, r.stage_id, r.plan FROM cohorts c JOIN rooms r ON r.id = c.room_id WHERE c.id = :cohort_id"
)


@dataclass(frozen=True, slots=True)
class Span:
    """`first`: the stage where the group was made; None: no group was made at a stage. `until`: the stage at which its
    people leave for another group, and before which the part of its agents ends; None: all stay."""

    first: str | None = None
    until: str | None = None


async def span_of(session: ReadSession, cohort_id: UUID) -> Span:
    """The span of this cohort; that of a person on the way to a group ends where the group is made."""
    row = await session.first(_ROOM, {"cohort_id": cohort_id})
    if row is None:
        return Span()
    if row.alone:
        return Span(until=row.stage_id)
    return Span(row.stage_id, next_meeting(CohortPlan.model_validate(row.plan), row.stage_id))


def next_meeting(plan: CohortPlan, stage_id: str) -> str | None:
    """The stage where people who have met at this one meet anew; None: they stay together."""
    later = plan.meetings[plan.meetings.index(stage_id) + 1 :]
    return later[0] if later else None
