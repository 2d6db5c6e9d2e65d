"""Which providers of models this process can serve, by the environment it runs in."""

from collections.abc import Callable, Mapping
from typing import Final

from agent_worker.models.crewai_model import CrewAIModel
from agent_worker.models.crewai_model import is_installed as crewai_is_installed
from agent_worker.models.discreet import Discreet, Model
from agent_worker.models.mock import MockModel
from agent_worker.models.openai_model import OpenAIModel
from shared.contracts.endpoints import OPEN, Endpoints, read_endpoints
from shared.contracts.model_keys import ModelKeys, read_model_keys
from shared.contracts.providers import (
    CREWAI_BASE_URL_VARIABLES,
    CREWAI_PROVIDER,
    HUGGING_FACE_PROVIDER,
    MOCK_PROVIDER,
    PROVIDERS,
)

# Makes the model of one provider, or None when it cannot be called anywhere.
Factory = Callable[[Mapping[str, str], ModelKeys, Endpoints], Model | None]


def _openai(environ: Mapping[str, str], keys: ModelKeys, endpoints: Endpoints) -> Model | None:
    base_url = environ.get(PROVIDERS["openai"].base_url_variable or "", "").strip()
    is_callable = _has_somewhere_to_call("openai", keys, endpoints)
    return OpenAIModel(keys, base_url=base_url or None, endpoints=endpoints) if is_callable else None


def _hugging_face(environ: Mapping[str, str], keys: ModelKeys, endpoints: Endpoints) -> Model | None:
    """Such endpoints speak OpenAI's language."""
    is_callable = _has_somewhere_to_call(HUGGING_FACE_PROVIDER, keys, endpoints)
    return OpenAIModel(keys, vendor=HUGGING_FACE_PROVIDER, endpoints=endpoints) if is_callable else None


def _crewai(environ: Mapping[str, str], keys: ModelKeys, endpoints: Endpoints) -> Model | None:
    return CrewAIModel(keys, elsewhere=_elsewhere(environ), endpoints=endpoints) if crewai_is_installed() else None


def _has_somewhere_to_call(account: str, keys: ModelKeys, endpoints: Endpoints) -> bool:
    """Its usual address takes its key; others that files may name need not."""
    return endpoints.allows_more_than_usual or keys.missing(account, None) is None


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
    keys = read_model_keys(environ)
    models: dict[str, Model] = {MOCK_PROVIDER: MockModel(latency_seconds=mock_latency_seconds)}
    for name, factory in FACTORIES.items():
        model = factory(environ, keys, endpoints)
        if model is not None:
            models[name] = Discreet(model, keys)
    return models


def served_providers(environ: Mapping[str, str]) -> frozenset[str]:
    """The names of the providers that an embedded lab with this environment can serve."""
    return frozenset(build_models(environ, endpoints=read_endpoints(environ, is_open=True)))
