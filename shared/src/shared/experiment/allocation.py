"""Which cohort gets which treatment, and who sits where: a seeded complete draw, known before anybody comes."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from shared import seeds
from shared.contracts.experiment import CohortPlan
from shared.experiment.document import Experiment


@dataclass(frozen=True, slots=True)
class SeatAssignment:
    """One participant's place; `persona_id` is None for a person who joins."""

    path: str
    persona_id: str | None


@dataclass(frozen=True, slots=True)
class MediatorAssignment:
    path: str
    persona_id: str


@dataclass(frozen=True, slots=True)
class CohortAssignment:
    """One cohort with everybody in it. `name` is what the file calls it, or the path."""

    path: str
    name: str
    treatment_id: str | None
    seats: tuple[SeatAssignment, ...]
    mediators: tuple[MediatorAssignment, ...]

    @property
    def persona_ids(self) -> set[str]:
        """The personas that are there."""
        seated = {seat.persona_id for seat in self.seats if seat.persona_id is not None}
        return seated | {mediator.persona_id for mediator in self.mediators}


def allocate(experiment: Experiment, seed: int) -> list[CohortAssignment]:
    """Every cohort of the experiment, in the order of the file; the same file and seed give the same draw.

    Cohorts that name a treatment have it. Over the others the arms differ by one cohort at most.
    """
    plans = list(_repeated(experiment.cohorts))
    undecided = sum(plan.treatment is None for plan, _ in plans)
    drawn = iter(_draw([one.id for one in experiment.treatments], undecided, seeds.rng(seed, "allocation")))
    return [
        _cohort(f"c{number}", name, plan, plan.treatment or next(drawn))
        for number, (plan, name) in enumerate(plans, start=1)
    ]


def _draw(arms: Sequence[str], cohorts: int, rng: Random) -> Sequence[str | None]:
    if not arms:
        return [None] * cohorts
    rounds, rest = divmod(cohorts, len(arms))
    drawn = [*arms] * rounds + rng.sample(arms, rest)
    rng.shuffle(drawn)
    return drawn


def _repeated(plans: Sequence[CohortPlan]) -> Iterator[tuple[CohortPlan, str | None]]:
    for plan in plans:
        for number in range(1, plan.count + 1):
            yield plan, plan.id if plan.id is None or plan.count == 1 else f"{plan.id}-{number}"


def _cohort(path: str, name: str | None, plan: CohortPlan, treatment_id: str | None) -> CohortAssignment:
    players = [seat.persona for seat in plan.seats for _ in range(seat.count)]
    return CohortAssignment(
        path=path,
        name=name or path,
        treatment_id=treatment_id,
        seats=tuple(SeatAssignment(f"{path}/m{number}", player) for number, player in enumerate(players, start=1)),
        mediators=tuple(
            MediatorAssignment(f"{path}/med{number}", persona_id)
            for number, persona_id in enumerate(plan.mediators, start=1)
        ),
    )
