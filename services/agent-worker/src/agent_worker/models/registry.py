"""Which providers of models this process can serve, by the environment it runs in."""

from collections.abc import Callable, Mapping
from typing import Final

from agent_worker.models.crewai_model import CrewAIModel
from agent_worker.models.crewai_model import is_installed as crewai_is_installed
from agent_worker.models.mock import MockModel
from agent_worker.models.openai_model import OpenAIModel
from agent_worker.models.seam import Model
from shared.contracts.endpoints import OPEN, Endpoints
from shared.contracts.providers import (
    CREWAI_BASE_URL_VARIABLES,
    CREWAI_KEY_VARIABLES,
    CREWAI_PROVIDER,
    HUGGING_FACE_PROVIDER,
    MOCK_PROVIDER,
    PROVIDERS,
)

# Makes the model of one provider, or None when the environment lacks its key.
Factory = Callable[[Mapping[str, str], Endpoints], Model | None]


def _openai(environ: Mapping[str, str], endpoints: Endpoints) -> Model | None:
    provider = PROVIDERS["openai"]
    key = environ.get(provider.key_variable or "", "").strip()
    base_url = environ.get(provider.base_url_variable or "", "").strip()
    return OpenAIModel(key, base_url=base_url or None, endpoints=endpoints) if key else None


def _hugging_face(environ: Mapping[str, str], endpoints: Endpoints) -> Model | None:
    """Such endpoints speak OpenAI's language; the key is their own, and goes nowhere but where the persona says."""
    key = environ.get(PROVIDERS[HUGGING_FACE_PROVIDER].key_variable or "", "").strip()
    return OpenAIModel(key, vendor=HUGGING_FACE_PROVIDER, base_url=None, endpoints=endpoints) if key else None


def _crewai(environ: Mapping[str, str], endpoints: Endpoints) -> Model | None:
    keys = {vendor: environ.get(name, "").strip() if name else "" for vendor, name in CREWAI_KEY_VARIABLES.items()}
    usable = {vendor: key for vendor, key in keys.items() if key or CREWAI_KEY_VARIABLES[vendor] is None}
    if not crewai_is_installed():
        return None
    return CrewAIModel(usable, elsewhere=_elsewhere(environ), endpoints=endpoints)


def _elsewhere(environ: Mapping[str, str]) -> frozenset[str]:
    """The vendors that the environment gives another endpoint, by the variables that their libraries read."""
    return frozenset(
        vendor
        for vendor, names in CREWAI_BASE_URL_VARIABLES.items()
        if any(environ.get(name, "").strip() for name in names)
    )


# A new provider is a module of this package, a row of shared.contracts.providers, and a line here.
FACTORIES: Final[Mapping[str, Factory]] = {
    "openai": _openai,
    HUGGING_FACE_PROVIDER: _hugging_face,
    CREWAI_PROVIDER: _crewai,
}


def build_models(
    environ: Mapping[str, str],
    *,
    endpoints: Endpoints = OPEN,
    mock_latency_seconds: float = 0.0,
) -> dict[str, Model]:
    """Every provider that this process can serve, by name; the mock always is one.

    A provider that is not in the answer cannot be served, and nothing else may answer in its place. `endpoints` says
    where models may be called.
    """
    models: dict[str, Model] = {MOCK_PROVIDER: MockModel(latency_seconds=mock_latency_seconds)}
    for name, factory in FACTORIES.items():
        model = factory(environ, endpoints)
        if model is not None:
            models[name] = model
    return models


def served_providers(environ: Mapping[str, str]) -> frozenset[str]:
    """The names of the providers that a process with this environment can serve."""
    return frozenset(build_models(environ))
