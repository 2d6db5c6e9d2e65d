"""Which key each model provider needs, and the gate that refuses real calls unless everything says yes."""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Final, Literal

ModelMode = Literal["mock", "real"]

USE_MOCK_VARIABLE: Final = "LLM_USE_MOCK"
MOCK_PROVIDER: Final = "mock"
CREWAI_PROVIDER: Final = "crewai"
HUGGING_FACE_PROVIDER: Final = "hf-inference"

# By what the model's name begins with; None where no key is needed.
CREWAI_KEY_VARIABLES: Final[Mapping[str, str | None]] = {
    "openai": "OPENAI_API_KEY",
    "anthropic": "ANTHROPIC_API_KEY",
    "gemini": "GEMINI_API_KEY",
    "openrouter": "OPENROUTER_API_KEY",
    "deepseek": "DEEPSEEK_API_KEY",
    "ollama": None,
}

# The variables with which vendors' libraries, or CrewAI for them, are sent to another endpoint.
CREWAI_BASE_URL_VARIABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "openai": ("OPENAI_BASE_URL", "OPENAI_API_BASE"),
    "anthropic": ("ANTHROPIC_BASE_URL", "ANTHROPIC_API_BASE"),
    "gemini": ("GOOGLE_GEMINI_BASE_URL", "GEMINI_API_BASE"),
    "openrouter": ("OPENROUTER_BASE_URL", "OPENROUTER_API_BASE"),
    "deepseek": ("DEEPSEEK_BASE_URL", "DEEPSEEK_API_BASE"),
    "ollama": ("OLLAMA_HOST", "OLLAMA_API_BASE"),
}

# Everything else counts as "use the mock": a typing error must not start paid calls.
_NOT_TRUE: Final = frozenset({"", "0", "false", "no", "off"})


@dataclass(frozen=True)
class Provider:
    """A provider of models; `key_variable` is None when it needs no key.

    With `needs_base_url` it has no usual address, and nothing in its place: its key goes where the persona says.
    """

    name: str
    key_variable: str | None
    base_url_variable: str | None = None
    needs_base_url: bool = False


PROVIDERS: Final[Mapping[str, Provider]] = {
    provider.name: provider
    for provider in (
        Provider(MOCK_PROVIDER, key_variable=None),
        Provider("openai", key_variable="OPENAI_API_KEY", base_url_variable="OPENAI_BASE_URL"),
        Provider(HUGGING_FACE_PROVIDER, key_variable="HF_API_KEY", needs_base_url=True),
        *(Provider(f"{CREWAI_PROVIDER}/{vendor}", key) for vendor, key in CREWAI_KEY_VARIABLES.items()),
    )
}


def vendor_of(model: str) -> str:
    """Whose model CrewAI calls: what stands before the first slash; without one it is OpenAI's."""
    vendor, slash, _ = model.partition("/")
    return vendor if slash else "openai"


def account_of(provider: str, model: str) -> str:
    """Whose account a call is charged to, and so whose key it needs: `openai`, directly as well as through CrewAI."""
    return vendor_of(model) if provider == CREWAI_PROVIDER else provider


def needed_provider(provider: str, model: str) -> str:
    """The name under which `PROVIDERS` says which key this model needs."""
    return f"{CREWAI_PROVIDER}/{vendor_of(model)}" if provider == CREWAI_PROVIDER else provider


def effective_model_mode(mode: ModelMode, *, requested_real: bool) -> ModelMode:
    """The mode an experiment runs in when `--models real` was or was not given."""
    return "real" if requested_real else mode


def serving_provider(mode: ModelMode, provider: str) -> str:
    """The provider that answers a seat's calls: in mode mock always the mock."""
    return MOCK_PROVIDER if mode == "mock" else provider


def model_mode_problems(
    mode: ModelMode,
    providers: Iterable[str],
    environ: Mapping[str, str],
    *,
    requested_real: bool = False,
    is_draft: bool = True,
    served: Collection[str] | None = None,
) -> list[str]:
    """Why an experiment may not start, one sentence per reason; empty when it may.

    Mock always may, unless real was requested. Real needs the environment not to insist on the mock, the experiment
    (its model_mode, or the request while it `is_draft`) to say so, the key of every provider used, and somebody who
    serves it: `served` are the providers that this lab's workers have, None when they are not known here.
    No value of the environment is ever part of a message.
    """
    if effective_model_mode(mode, requested_real=requested_real) == "mock":
        return []
    return [
        *_switch_problems(environ),
        *_experiment_problems(mode, is_draft=is_draft),
        *(problem for name in sorted(set(providers)) for problem in _provider_problems(name, environ, served)),
    ]


def _switch_problems(environ: Mapping[str, str]) -> list[str]:
    if environ.get(USE_MOCK_VARIABLE, "").strip().lower() in _NOT_TRUE:
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


def _unknown_problem(name: str) -> str:
    """What to write in `model.provider` instead or, with `crewai`, in front of the model's name."""
    provider, _, vendor = name.partition("/")
    if provider == CREWAI_PROVIDER and vendor:
        vendors = ", ".join(f"{one}/" for one in sorted(CREWAI_KEY_VARIABLES))
        return f"CrewAI has no vendor {vendor!r} here. The names of its models begin with one of: {vendors}."
    known = sorted({one.partition("/")[0] for one in PROVIDERS})
    return f"No provider of models is called {name!r}. Use one of: {', '.join(known)}."


def _provider_problems(name: str, environ: Mapping[str, str], served: Collection[str] | None) -> list[str]:
    provider = PROVIDERS.get(name)
    if provider is None:
        return [_unknown_problem(name)]
    if provider.key_variable is None or environ.get(provider.key_variable, "").strip():
        return _unserved_problems(name, served)
    return [
        f"The key of provider {name!r} is missing: {provider.key_variable} is not set. Put it in the environment or "
        f"in .env (any text will do for a local endpoint that asks for none), or run with the mock (--models mock)."
    ]


def _unserved_problems(name: str, served: Collection[str] | None) -> list[str]:
    if served is None or name.partition("/")[0] in served:
        return []
    package = "parley-agent-worker[crewai]" if name.startswith(f"{CREWAI_PROVIDER}/") else "parley-agent-worker"
    return [f"Nobody in this lab serves the models of provider {name!r}. Install {package!r} where the lab runs."]
