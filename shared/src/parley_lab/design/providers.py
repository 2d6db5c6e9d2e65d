"""The models that an experiment would call, with their providers and addresses."""

from collections.abc import Collection, Iterator
from functools import cache
from itertools import product

from parley_lab.contracts.models import ModelSettings
from parley_lab.contracts.real_models import ModelUse
from parley_lab.design.document import Experiment
from parley_lab.design.treatments import Resolved, resolve


def models_used(experiment: Experiment, *, also: Collection[str] = ()) -> list[ModelUse]:
    """The models of all seats and mediators of this experiment, in all treatments.

    `also`: further personas that are to take part in any cohort; those that the experiment lacks are passed over.
    """
    further = [one.id for one in experiment.personas if one.id in also]
    return [
        ModelUse(model.provider, model.model, model.base_url, persona_id)
        for persona_id, model in _models_used(experiment, further)
    ]


def _models_used(experiment: Experiment, further: Collection[str]) -> Iterator[tuple[str, ModelSettings]]:
    """The personas that take part, in every arm, with their models."""

    @cache
    def resolved(treatment_id: str | None) -> Resolved:
        return resolve(experiment, treatment_id)

    seen: set[tuple[str | None, str]] = set()
    is_by_participant = experiment.allocation.by == "participant"
    arms: list[str | None] = [one.id for one in experiment.treatments] or [None]
    if is_by_participant:
        # Mediators have no arm.
        arms = list(dict.fromkeys([None, *arms]))
    for plan in experiment.cohorts:
        seated = [seat.persona for seat in plan.seats if seat.persona is not None]
        fitting = [one for seat in plan.seats for one in seat.persona_for.values()]
        named = [*seated, *fitting, *plan.mediators, *experiment.stand_ins, *further]
        # A drawn arm may be any.
        for arm, persona_id in product(
            arms if plan.treatment is None or is_by_participant else [plan.treatment], named
        ):
            if (arm, persona_id) not in seen:
                seen.add((arm, persona_id))
                persona = resolved(arm).personas[persona_id]
                if persona.player == "agent":
                    yield persona_id, persona.model
