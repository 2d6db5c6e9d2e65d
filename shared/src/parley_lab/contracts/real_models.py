"""The check before real models are called: the environment, the experiment and every model must allow it."""

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from parley_lab.contracts.endpoints import Endpoints, unusable_address
from parley_lab.contracts.model_keys import ModelKeys, read_model_keys
from parley_lab.contracts.named_providers import PROVIDERS_VARIABLE, read_providers
from parley_lab.contracts.providers import (
    CREWAI_KEY_VARIABLES,
    CREWAI_PROVIDER,
    MOCK_PROVIDER,
    USE_MOCK_VARIABLE,
    ModelMode,
    Provider,
    account_of,
    effective_model_mode,
    needed_provider,
)

# Any other value means "use the mock": a typing error must not start paid calls.
_NOT_TRUE: Final = frozenset({"", "0", "false", "no", "off"})
_MOST_NAMED: Final = 5


@dataclass(frozen=True, slots=True, order=True)
class ModelUse:
    """A model of a persona, and its address; `base_url` None: the usual one."""

    provider: str
    model: str = "some-model"
    base_url: str | None = None
    persona_id: str = ""

    @property
    def account(self) -> str:
        return account_of(self.provider, self.model)

    @property
    def needed(self) -> str:
        return needed_provider(self.provider, self.model)


def model_mode_problems(
    mode: ModelMode,
    uses: Iterable[ModelUse],
    environ: Mapping[str, str],
    *,
    endpoints: Endpoints,
    requested_real: bool = False,
    is_draft: bool = True,
    served: Collection[str] | None = None,
) -> list[str]:
    """Why an experiment may not start, one sentence per reason; empty when it may.

    In mode mock it always may, unless real was requested. Mode real needs an environment that does not insist on the
    mock, the experiment's consent (its model_mode, or the request while it `is_draft`), and for every model a key, an
    address that `endpoints` allow, and a worker that serves it: `served` are the providers of this lab's workers, None
    when unknown. No message contains the value of a variable.
    """
    if effective_model_mode(mode, requested_real=requested_real) == "mock":
        return []
    uses = list(uses)
    return [
        *_switch_problems(environ),
        *_experiment_problems(mode, is_draft=is_draft),
        *_address_problems(uses, environ),
        *_use_problems(uses, read_providers(environ), read_model_keys(environ), endpoints, served),
    ]


def keyless_addresses(uses: Iterable[ModelUse], environ: Mapping[str, str]) -> list[str]:
    """A warning for each address that gets no key because only a file names it."""
    keys = read_model_keys(environ)
    by_address: dict[str, set[str]] = {}
    for use in uses:
        is_named_by_the_file = use.base_url is not None and not keys.is_own(use.account, use.base_url)
        if use.provider != MOCK_PROVIDER and is_named_by_the_file and keys.variable(use.account, use.base_url) is None:
            found = f"No key goes to {use.base_url}: {keys.how_to_give_one(use.account, use.base_url)}."
            by_address.setdefault(found, set()).add(use.persona_id)
    return [f"{found}{_named(ids)}" for found, ids in sorted(by_address.items())]


def insists_on_mock(environ: Mapping[str, str]) -> bool:
    """Whether this environment forbids calls of real models."""
    return environ.get(USE_MOCK_VARIABLE, "").strip().lower() not in _NOT_TRUE


def _switch_problems(environ: Mapping[str, str]) -> list[str]:
    if not insists_on_mock(environ):
        return []
    return [
        f"Real models are switched off by the environment: {USE_MOCK_VARIABLE} is set. "
        f"Set {USE_MOCK_VARIABLE}=false (or remove it), or run with the mock (--models mock)."
    ]


def _experiment_problems(mode: ModelMode, *, is_draft: bool) -> list[str]:
    if mode == "real" or is_draft:
        return []
    return [
        "Real models were requested, but the experiment says model_mode: mock and has been started, so it can no "
        "longer change. Continue it with the mock, or start a new experiment with model_mode: real (--models real)."
    ]


def _address_problems(uses: Iterable[ModelUse], environ: Mapping[str, str]) -> list[str]:
    """An address of a variable is held to the same as one of a file."""
    vendors = sorted({use.account for use in uses if use.base_url is None and use.provider != MOCK_PROVIDER})
    return [f"{problem}." for vendor in vendors if (problem := unusable_address(environ, vendor)) is not None]


def _use_problems(
    uses: Iterable[ModelUse],
    providers: Mapping[str, Provider],
    keys: ModelKeys,
    endpoints: Endpoints,
    served: Collection[str] | None,
) -> list[str]:
    found: dict[str, set[str]] = {}
    for use in sorted(set(uses), key=lambda use: (use.needed, use.persona_id)):
        provider = providers.get(use.needed)
        problems = (
            [_unknown_problem(use.needed, providers)]
            if provider is None
            else _problems(use, provider, keys, endpoints, served)
        )
        for problem in problems:
            found.setdefault(problem, set()).add(use.persona_id)
    return [f"{problem}{_named(ids)}" for problem, ids in found.items()]


def _problems(
    use: ModelUse, provider: Provider, keys: ModelKeys, endpoints: Endpoints, served: Collection[str] | None
) -> Iterator[str]:
    if use.provider == MOCK_PROVIDER:
        return
    if provider.needs_base_url and use.base_url is None:
        yield f"The provider {use.provider!r} has no usual address: a persona says it in `model.base_url`."
    if served is not None and use.provider not in served:
        yield _unserved_problem(use.needed, provider)
    refused = endpoints.problem(use.account, use.base_url)
    variable = keys.missing(use.account, use.base_url)
    if refused is not None:
        yield f"A model may not be called at its `model.base_url`: {refused}."
    elif variable is not None:
        whose = f"provider {use.needed!r}" if keys.is_own(use.account, use.base_url) else f"the address {use.base_url}"
        yield (
            f"The key of {whose} is missing: {variable} is not set. Put it in the environment or in .env (any text "
            f"will do for a local endpoint that asks for none), or run with the mock (--models mock)."
        )


def _unknown_problem(name: str, providers: Collection[str]) -> str:
    """What to write as `model.provider` or, with `crewai`, as the prefix of the model's name."""
    prefix, _, vendor = name.partition("/")
    if prefix == CREWAI_PROVIDER and vendor:
        vendors = ", ".join(f"{one}/" for one in sorted(CREWAI_KEY_VARIABLES))
        return f"CrewAI has no vendor {vendor!r} here. The names of its models begin with one of: {vendors}."
    known = sorted({one.partition("/")[0] for one in providers})
    return (
        f"No provider of models is called {name!r}. Use one of: {', '.join(known)}, or name it in {PROVIDERS_VARIABLE}."
    )


def _unserved_problem(name: str, provider: Provider) -> str:
    unserved = f"No worker of this lab serves the models of provider {name!r}."
    if not name.startswith(f"{CREWAI_PROVIDER}/"):
        key = f" ({provider.key_variable})" if provider.key_variable else ""
        return f"{unserved} A worker serves it that has its key{key}."
    return (
        f"{unserved} They are called through CrewAI: 'make crewai' installs it in .venv-crewai, where "
        f".venv-crewai/bin/parley has it; for containers, 'docker build --file deploy/Dockerfile --target crewai "
        f"--tag parley:crewai .' makes an image that has it."
    )


def _named(persona_ids: Collection[str]) -> str:
    names = [repr(one) for one in sorted(filter(None, persona_ids))]
    if not names:
        return ""
    more = [f"{len(names) - _MOST_NAMED} more"] if len(names) > _MOST_NAMED else []
    *first, last = [*names[:_MOST_NAMED], *more]
    who = f"{', '.join(first)} and {last}" if first else last
    return f" (persona{'s' if len(names) > 1 else ''} {who})"
