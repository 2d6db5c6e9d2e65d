"""Who serves models, whose account a call is charged to, and which variables hold keys and addresses."""

import re
from collections.abc import Mapping
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

KEY_VARIABLES: Final[Mapping[str, str | None]] = {**CREWAI_KEY_VARIABLES, HUGGING_FACE_PROVIDER: "HF_API_KEY"}
"""By account."""

_FAMILIES: Final = {
    "openai": re.compile(r"gpt-|chatgpt-|o\d"),
    "anthropic": re.compile(r"claude-"),
    "gemini": re.compile(r"gemini-"),
    "deepseek": re.compile(r"deepseek-"),
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
        Provider("openai", KEY_VARIABLES["openai"], base_url_variable="OPENAI_BASE_URL"),
        Provider(HUGGING_FACE_PROVIDER, KEY_VARIABLES[HUGGING_FACE_PROVIDER], needs_base_url=True),
        *(Provider(f"{CREWAI_PROVIDER}/{vendor}", key) for vendor, key in CREWAI_KEY_VARIABLES.items()),
    )
}


def vendor_of(model: str) -> str:
    """Whose model CrewAI calls: what stands before the first slash; without one it is OpenAI's."""
    vendor, slash, _ = model.partition("/")
    return vendor if slash else "openai"


def vendor_named(model: str) -> str | None:
    """The vendor that a model's name begins with, or whose family of models it is of; None when it names nobody."""
    vendor, slash, _ = model.partition("/")
    if slash:
        return vendor
    return next((vendor for vendor, family in _FAMILIES.items() if family.match(model)), None)


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
