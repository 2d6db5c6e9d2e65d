"""Which models an experiment would call, by whom, and where."""

from collections.abc import Iterator
from functools import cache
from itertools import product

from shared.contracts.models import ModelSettings
from shared.contracts.real_models import ModelUse
from shared.experiment.document import Experiment
from shared.experiment.treatments import Resolved, resolve


def models_used(experiment: Experiment) -> list[ModelUse]:
    """The models that seats and mediators of this experiment would call, treatments included."""
    return [
        ModelUse(model.provider, model.model, model.base_url, persona_id)
        for persona_id, model in _models_used(experiment)
    ]


def _models_used(experiment: Experiment) -> Iterator[tuple[str, ModelSettings]]:
    """The personas that take part, each in every arm, with their models."""

    @cache
    def resolved(treatment_id: str | None) -> Resolved:
        return resolve(experiment, treatment_id)

    seen: set[tuple[str | None, str]] = set()
    arms: list[str | None] = [one.id for one in experiment.treatments] or [None]
    for plan in experiment.cohorts:
        named = [*(seat.persona for seat in plan.seats if seat.persona is not None), *plan.mediators]
        # Where the arm is drawn it may be any.
        for arm, persona_id in product(arms if plan.treatment is None else [plan.treatment], named):
            if (arm, persona_id) not in seen:
                seen.add((arm, persona_id))
                persona = resolved(arm).personas[persona_id]
                if persona.player == "agent":
                    yield persona_id, persona.model
