"""Values of assigned variables: those that are known when an experiment starts, and those that follow arrival."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.assigned import Assigned
from parley_lab.design import CohortAssignment, Experiment
from parley_lab.design.assigning import Given, at_place, by_arrival, of_cohort, of_participant, read
from parley_lab.store import tables
from parley_lab.store.session import Session
from parley_lab.store.statements import as_json

Json = Any


@dataclass(frozen=True, slots=True)
class Planned:
    """What is known at the start, by the path of a cohort or a seat; how many have arrived, by variable and cohort."""

    cohorts: Mapping[str, Mapping[str, Given]]
    seats: Mapping[str, Mapping[str, Given]]
    arrived: Mapping[tuple[str, str], int]


def planned(experiment: Experiment, plan: Sequence[CohortAssignment], seed: int) -> Planned:
    """The values of all cohorts and seats. Agents arrive in the order of their seats; people when they join."""
    cohorts: dict[str, Mapping[str, Given]] = {}
    seats: dict[str, Mapping[str, Given]] = {}
    arrived: Counter[tuple[str, str]] = Counter()
    if not experiment.assigned:
        return Planned({}, {}, {})
    counting = by_arrival(experiment.assigned)
    for cohort in plan:
        cohorts[cohort.path] = of_cohort(experiment.assigned, seed, cohort.path, cohort.plan_id)
        for seat in cohort.seats:
            given = of_participant(experiment.assigned, seed, seat.path, seat.persona_id)
            for one in counting if seat.persona_id is not None else ():
                at = one.id, cohort.path if one.across == "cohort" else ""
                arrived[at] += 1
                given.update(at_place(one, cohort.path, arrived[at]))
            seats[seat.path] = given
    return Planned(cohorts, seats, arrived)


async def keep_arrivals(session: Session, experiment_id: UUID, found: Planned) -> None:
    rows = [
        {"experiment_id": experiment_id, "variable": variable, "cohort_path": cohort_path, "counted": counted}
        for (variable, cohort_path), counted in sorted(found.arrived.items())
    ]
    await session.insert(tables.arrivals, rows)


# The row is locked until the commit: the next arrival continues the count from here, and a join that fails does not
# count.
_COUNT = text(
    """
    INSERT INTO arrivals (experiment_id, variable, cohort_path, counted) VALUES (:experiment_id, :variable, :at, 1)
    ON CONFLICT (experiment_id, variable, cohort_path) DO UPDATE SET counted = arrivals.counted + 1
    RETURNING counted
    """
)
_GIVE = text("UPDATE members SET assigned = assigned || CAST(:given AS jsonb) WHERE id = :member_id")


async def arrive(session: Session, experiment_id: UUID, member_id: UUID, cohort_path: str, assigned: Json) -> None:
    """Give a person who joins the values that follow the order of arrival; `assigned` is as the document has it.

    Exact under concurrent joins: each place is counted under its lock (`tests/races/test_arrivals_race.py`).
    """
    given = await _counted(session, experiment_id, cohort_path, read(assigned))
    if given:
        await session.run(_GIVE, {"given": as_json(given), "member_id": member_id})


async def given_to_agent(
    session: Session, experiment: Experiment, experiment_id: UUID, seed: int, path: str, persona_id: str
) -> dict[str, Given]:
    """The values of an agent that comes to a cohort that runs, as if its seat were in the file; it counts as an
    arrival."""
    own = of_participant(experiment.assigned, seed, path, persona_id)
    return {**own, **await _counted(session, experiment_id, path.rpartition("/")[0], experiment.assigned)}


async def given_at_opening(
    session: Session, assigned: Json, experiment_id: UUID, seed: int, cohort: CohortAssignment
) -> Planned:
    """The values of a cohort that is made when people come; its agents arrive now, in the order of their seats."""
    variables = read(assigned)
    if not variables:
        return Planned({}, {}, {})
    seats: dict[str, Mapping[str, Given]] = {}
    for seat in cohort.seats:
        counted = {} if seat.persona_id is None else await _counted(session, experiment_id, cohort.path, variables)
        seats[seat.path] = {**of_participant(variables, seed, seat.path, seat.persona_id), **counted}
    return Planned({cohort.path: of_cohort(variables, seed, cohort.path, cohort.plan_id)}, seats, {})


async def _counted(
    session: Session, experiment_id: UUID, cohort_path: str, assigned: Sequence[Assigned]
) -> dict[str, Given]:
    given: dict[str, Given] = {}
    for one in sorted(by_arrival(assigned), key=lambda variable: variable.id):
        at = cohort_path if one.across == "cohort" else ""
        row = await session.one(_COUNT, {"experiment_id": experiment_id, "variable": one.id, "at": at})
        given.update(at_place(one, cohort_path, row.counted))
    return given
