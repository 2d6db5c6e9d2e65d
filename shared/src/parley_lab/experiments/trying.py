"""Trying a study alone: a test copy with one seat for a person, whose other seats the mock plays."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from parley_lab.contracts.experiment import CohortPlan, Persona, Seat
from parley_lab.design import Experiment, draft_of
from parley_lab.design.treatments import treatment_named
from parley_lab.experiments import sources
from parley_lab.experiments.starting import start, store
from parley_lab.store.session import Session

_MADE_UP: Final = "made-up-{number}"


async def try_alone(session: Session, row: Any, now: datetime, *, treatment: str | None) -> UUID:
    """The copy, which runs: one group of the experiment, in this arm where one is named.

    Raises:
        NotFound: there is no such arm.
        Conflict: the file was saved with problems, so that the document is an older one.
    """
    await sources.require_valid(session, row.id)
    experiment = Experiment.model_validate(row.document)
    if treatment is not None:
        treatment_named(experiment, treatment)
    copy = for_one_person(experiment, treatment)
    copy_id = await store(session, row.owner_id, draft_of(copy), now, is_test=True)
    await start(session, copy_id, now)
    return copy_id


def for_one_person(experiment: Experiment, treatment: str | None) -> Experiment:
    """The experiment with its first group for people, where one seat is open and agents of the mock have the others.

    Without any group for people, the person takes the first seat.
    """
    plan = next((one for one in experiment.cohorts if any(seat.open for seat in one.seats)), experiment.cohorts[0])
    seats = [seat for one in plan.seats for seat in [one.model_copy(update={"count": 1})] * one.count]
    seats = seats[: plan.groups_of]
    own = next((place for place, seat in enumerate(seats) if seat.open), 0)
    filled = list(_filled(seats, own))
    personas = [Persona(id=seat.persona) for seat in filled if seat.persona and seat.persona not in _ids(experiment)]
    alone = {"seats": tuple(filled), "count": 1, "made": "at_start", "at": None, "groups_of": None, "match": None}
    changed: Mapping[str, Any] = {
        "cohorts": (plan.model_copy(update={**alone, **_arm(experiment, plan, treatment)}),),
        "personas": (*experiment.personas, *personas),
        "model_mode": "mock",
    }
    return experiment.model_copy(update=changed)


def _ids(experiment: Experiment) -> set[str]:
    return {one.id for one in experiment.personas}


def _arm(experiment: Experiment, plan: CohortPlan, treatment: str | None) -> Mapping[str, Any]:
    return {"treatment": treatment or plan.treatment} if experiment.treatments else {}


def _filled(seats: Sequence[Seat], own: int) -> Iterator[Seat]:
    """The seat at the place `own` is open; agents without a persona take other open seats.

    No rule matches people with this one, so each agent has its usual persona.
    """
    for place, seat in enumerate(seats):
        if place == own:
            yield Seat(open=True, treatment=seat.treatment)
        elif seat.open:
            yield Seat(persona=_MADE_UP.format(number=place + 1), treatment=seat.treatment)
        else:
            yield seat.model_copy(update={"persona_for": {}})
