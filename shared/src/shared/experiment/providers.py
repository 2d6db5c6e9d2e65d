"""Which providers of models an experiment would call."""

from collections.abc import Iterator
from functools import cache

from shared.contracts.providers import needed_provider
from shared.experiment.allocation import MediatorAssignment, SeatAssignment, allocate
from shared.experiment.document import Experiment
from shared.experiment.treatments import Resolved, resolve


def providers_used(experiment: Experiment) -> set[str]:
    """The providers of models that seats and mediators of this experiment would call, treatments included.

    Those behind `crewai` are told apart (`crewai/anthropic`), because each needs a key of its own.
    """

    @cache
    def resolved(treatment_id: str | None) -> Resolved:
        return resolve(experiment, treatment_id)

    def used() -> Iterator[str]:
        for cohort in allocate(experiment):
            personas = resolved(cohort.treatment_id).personas
            seats: list[SeatAssignment | MediatorAssignment] = [*cohort.seats, *cohort.mediators]
            for seat in seats:
                if seat.persona_id is not None:
                    model = personas[seat.persona_id].model
                    yield needed_provider(model.provider, model.model)

    return set(used())
