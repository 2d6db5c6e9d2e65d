"""Which providers of models this process can serve, according to its environment."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from parley_lab.agent_worker.models.claude_model import ClaudeModel
from parley_lab.agent_worker.models.crewai_model import CrewAIModel
from parley_lab.agent_worker.models.crewai_model import is_installed as crewai_is_installed
from parley_lab.agent_worker.models.discreet import Discreet, Model
from parley_lab.agent_worker.models.endpoint_model import EndpointModel
from parley_lab.agent_worker.models.mock import MockModel
from parley_lab.agent_worker.models.openai_model import OpenAIModel
from parley_lab.contracts.endpoints import OPEN, Endpoints, read_endpoints
from parley_lab.contracts.model_keys import ModelKeys, read_model_keys
from parley_lab.contracts.models import LONGEST_REPLY_BYTES
from parley_lab.contracts.named_providers import read_providers
from parley_lab.contracts.providers import CREWAI_BASE_URL_VARIABLES, CREWAI_PROVIDER, MOCK_PROVIDER, Provider


@dataclass(frozen=True, slots=True)
class _Provider:
    """`make` builds the model of a provider; for OpenAI it imports the library, which takes half a second."""

    is_callable: Callable[[ModelKeys, Endpoints], bool]
    make: Callable[[Mapping[str, str], ModelKeys, Endpoints, int], Model]


def _direct(
    provider: Provider, environ: Mapping[str, str], keys: ModelKeys, endpoints: Endpoints, longest_reply_bytes: int
) -> Model:
    model: EndpointModel = (ClaudeModel if provider.api == "messages" else OpenAIModel)(
        keys,
        vendor=provider.name,
        base_url=provider.address(environ),
        endpoints=endpoints,
        key_header=provider.key_header,
        query=provider.query,
        longest_reply_bytes=longest_reply_bytes,
    )
    if provider.name == OpenAIModel.wire.vendor:
        model.get_ready()
    return model


def _crewai(environ: Mapping[str, str], keys: ModelKeys, endpoints: Endpoints, _: int) -> Model:
    return CrewAIModel(keys, elsewhere=_elsewhere(environ), endpoints=endpoints)


def _has_somewhere_to_call(account: str, keys: ModelKeys, endpoints: Endpoints) -> bool:
    """Whether the account may be called and has a key, or files may name endpoints of their own."""
    may_be_called = keys.missing(account, None) is None and endpoints.problem(account, None) is None
    return endpoints.allows_more_than_usual or may_be_called


def _is_installed(_: ModelKeys, __: Endpoints) -> bool:
    return crewai_is_installed()


def _elsewhere(environ: Mapping[str, str]) -> frozenset[str]:
    """The vendors that the environment gives another endpoint, by the variables that their libraries read."""
    return frozenset(
        vendor
        for vendor, names in CREWAI_BASE_URL_VARIABLES.items()
        if any(environ.get(name, "").strip() for name in names)
    )


def _real(environ: Mapping[str, str]) -> Mapping[str, _Provider]:
    """Every provider by name.

    One with the API of OpenAI or Anthropic needs a row of parley_lab.contracts.providers, or an entry in the
    environment; any other a module of this package and a line here.
    """
    direct = {
        one.name: _Provider(partial(_has_somewhere_to_call, one.name), partial(_direct, one))
        for one in read_providers(environ).values()
        if one.is_direct
    }
    return {**direct, CREWAI_PROVIDER: _Provider(_is_installed, _crewai)}


def build_models(
    environ: Mapping[str, str],
    *,
    endpoints: Endpoints = OPEN,
    mock_latency_seconds: float = 0.0,
    longest_reply_bytes: int = LONGEST_REPLY_BYTES,
) -> dict[str, Model]:
    """Every provider that this process can serve, by name; the mock is always one.

    No other provider may replace one that is missing. `endpoints` says where models may be called. Vendors'
    libraries behind CrewAI read replies of any length.
    """
    keys = read_model_keys(environ)
    models: dict[str, Model] = {MOCK_PROVIDER: MockModel(latency_seconds=mock_latency_seconds)}
    for name, provider in _real(environ).items():
        if provider.is_callable(keys, endpoints):
            models[name] = Discreet(provider.make(environ, keys, endpoints, longest_reply_bytes), keys)
    return models


def served_providers(environ: Mapping[str, str]) -> frozenset[str]:
    """The names of the providers that an embedded lab with this environment can serve."""
    keys, endpoints = read_model_keys(environ), read_endpoints(environ, is_open=True)
    callable_here = (name for name, one in _real(environ).items() if one.is_callable(keys, endpoints))
    return frozenset([MOCK_PROVIDER, *callable_here])
