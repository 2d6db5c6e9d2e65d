"""Which providers of models an experiment would call, and where."""

from collections.abc import Iterator
from functools import cache

from shared.contracts.endpoints import Endpoints
from shared.contracts.models import ModelSettings
from shared.contracts.providers import MOCK_PROVIDER, PROVIDERS, account_of, needed_provider
from shared.experiment.allocation import MediatorAssignment, SeatAssignment, allocate
from shared.experiment.document import Experiment
from shared.experiment.treatments import Resolved, resolve


def providers_used(experiment: Experiment) -> set[str]:
    """The providers of models that seats and mediators of this experiment would call, treatments included.

    Those behind `crewai` are told apart (`crewai/anthropic`), because each needs a key of its own.
    """
    return {needed_provider(model.provider, model.model) for _, model in _models_used(experiment)}


def endpoint_problems(experiment: Experiment, endpoints: Endpoints) -> list[str]:
    """Why models may not be called where the personas say, one sentence per persona and reason; empty when they may."""
    found: dict[str, None] = {}
    for persona_id, model in _models_used(experiment):
        if model.provider == MOCK_PROVIDER:
            continue
        problem = endpoints.problem(account_of(model.provider, model.model), model.base_url)
        if problem is not None:
            found[f"The persona {persona_id!r} may not call its model at its `model.base_url`: {problem}."] = None
        elif model.base_url is None and _needs_base_url(model):
            wanted = f"the provider {model.provider!r} has no usual address"
            found[f"The persona {persona_id!r} needs a `model.base_url`: {wanted}."] = None
    return list(found)


def _needs_base_url(model: ModelSettings) -> bool:
    provider = PROVIDERS.get(model.provider)
    return provider is not None and provider.needs_base_url


def _models_used(experiment: Experiment) -> Iterator[tuple[str, ModelSettings]]:
    """The personas that take part, each in every arm, with their models."""

    @cache
    def resolved(treatment_id: str | None) -> Resolved:
        return resolve(experiment, treatment_id)

    seen: set[tuple[str | None, str]] = set()
    for cohort in allocate(experiment):
        personas = resolved(cohort.treatment_id).personas
        seats: list[SeatAssignment | MediatorAssignment] = [*cohort.seats, *cohort.mediators]
        for seat in seats:
            if seat.persona_id is None or (cohort.treatment_id, seat.persona_id) in seen:
                continue
            seen.add((cohort.treatment_id, seat.persona_id))
            if personas[seat.persona_id].player == "agent":
                yield seat.persona_id, personas[seat.persona_id].model
