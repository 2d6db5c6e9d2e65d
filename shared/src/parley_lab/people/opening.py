"""Cohorts that people make by coming: kept as they are planned, made when no other has a place; and the end of all
coming, with the empty seats."""

from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import end_member
from parley_lab.design import CohortAssignment, MediatorAssignment, SeatAssignment
from parley_lab.members.designs import design
from parley_lab.members.standings import lock_standing
from parley_lab.people.assigning import given_at_opening
from parley_lab.people.making import arm_of, make_cohorts
from parley_lab.people.own_arms import lock_draws
from parley_lab.people.rooms import close_rooms
from parley_lab.store import tables
from parley_lab.store.session import Session


async def keep_for_arrivals(session: Session, experiment_id: UUID, plan: Sequence[CohortAssignment]) -> None:
    """Keep the cohorts of the plan that are made on arrival, in its order."""
    rows = [
        {
            "experiment_id": experiment_id,
            "number": number,
            "treatment_id": arm_of(cohort),
            "people": sum(seat.persona_id is None for seat in cohort.seats),
            "plan": asdict(cohort),
        }
        for number, cohort in enumerate(plan)
        if cohort.on_arrival
    ]
    await session.insert(tables.planned_cohorts, rows)


_ANY: Final = text("SELECT 1 AS one FROM planned_cohorts WHERE experiment_id = :experiment_id LIMIT 1")


async def may_be_opened(session: Session, experiment_id: UUID) -> bool:
    """Whether there is a cohort left that people may make by coming."""
    return await session.first(_ANY, {"experiment_id": experiment_id}) is not None


# A pause and the end of the experiment take a lock on this row that waits for this one.
_EXPERIMENT: Final = text(
    """
    SELECT id, status, seed, pace, model_mode, language, is_test, version, document -> 'assigned' AS assigned
    FROM experiments WHERE id = :experiment_id FOR SHARE
    """
)
_TAKE: Final = text(
    """
    DELETE FROM planned_cohorts WHERE (experiment_id, number) = (
        SELECT experiment_id, number FROM planned_cohorts
        WHERE experiment_id = :experiment_id AND (CAST(:arm AS text) IS NULL OR treatment_id = :arm)
        ORDER BY number LIMIT 1
    )
    RETURNING plan
    """
)


async def open_next(session: Session, experiment_id: UUID, arm: str | None, now: datetime) -> bool:
    """Make the next cohort of this arm (None: of any) that is made on arrival; False when none is left.

    The caller holds the lock of `joining`: cohorts are opened one after another. Nothing is made while the experiment
    is paused.
    """
    row = await session.one(_EXPERIMENT, {"experiment_id": experiment_id})
    if row.status != "running":
        return False
    taken = await session.first(_TAKE, {"experiment_id": experiment_id, "arm": arm})
    if taken is None:
        return False
    cohort = _planned(taken.plan)
    given = await given_at_opening(session, row.assigned or [], experiment_id, row.seed, cohort)
    arms = {arm_of(cohort), *cohort.own_arms}
    designs = {arm: await design(session, experiment_id, row.version, arm) for arm in sorted(arms)}
    await make_cohorts(session, row, [cohort], designs, given, now)
    return True


def _planned(stored: dict[str, Any]) -> CohortAssignment:
    return CohortAssignment(
        **{
            **stored,
            "seats": tuple(SeatAssignment(**one) for one in stored["seats"]),
            "mediators": tuple(MediatorAssignment(**one) for one in stored["mediators"]),
        }
    )


NO_ONE_CAME: Final = "nobody came"

_PLANNED: Final = text("DELETE FROM planned_cohorts WHERE experiment_id = :experiment_id")
_EMPTY: Final = text(
    "SELECT id FROM members WHERE experiment_id = :experiment_id AND status = 'expected' ORDER BY cohort_id, id"
)


async def open_no_more(session: Session, experiment_id: UUID, now: datetime) -> None:
    """Let people make no more groups by coming. The caller holds the lock of draws, or that of the experiment."""
    await session.run(_PLANNED, {"experiment_id": experiment_id})
    await close_rooms(session, experiment_id, now)


async def close_to_people(session: Session, experiment_id: UUID, now: datetime, *, cause: str) -> list[str]:
    """The paths of the seats that were empty. May be repeated.

    The lock of joining is held, so that no one is joining meanwhile.
    """
    await lock_draws(session, experiment_id)
    await open_no_more(session, experiment_id, now)
    closed = []
    for row in await session.all(_EMPTY, {"experiment_id": experiment_id}):
        standing = await lock_standing(session, row.id)
        if standing.status == "expected":
            await end_member(session, standing, "removed", NO_ONE_CAME, now, cause=cause, actor="lab")
            closed.append(standing.member.path)
    return closed
