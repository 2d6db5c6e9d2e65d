"""Providers of models, the accounts that pay for calls, and the variables of keys and addresses."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal

ModelMode = Literal["mock", "real"]
Api = Literal["chat_completions", "messages"]
"""How a provider is called: as OpenAI, or as Anthropic."""

USE_MOCK_VARIABLE: Final = "LLM_USE_MOCK"
MOCK_PROVIDER: Final = "mock"
CREWAI_PROVIDER: Final = "crewai"
HUGGING_FACE_PROVIDER: Final = "hf-inference"

# By the prefix of the model's name; None where no key is needed.
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

# The variables that send vendors' libraries, or CrewAI for them, to another endpoint.
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

    `base_url`: its usual address, with `api`. With `needs_base_url` it has none, and its key goes to the address
    in the persona. `path`: what an address of the environment is completed with, since vendors' libraries do so.
    `key_header`: the header that brings the key; None: `Authorization: Bearer`. `query`: what is added to each call of
    its own address.
    """

    name: str
    key_variable: str | None
    base_url_variable: str | None = None
    needs_base_url: bool = False
    base_url: str | None = None
    path: str = ""
    example_model: str = ""
    """A cheap model, for a call that only tries the key."""
    key_header: str | None = None
    query: Mapping[str, str] = field(default_factory=dict, hash=False)
    api: Api = "chat_completions"

    @property
    def is_direct(self) -> bool:
        """Whether it is called directly, not through CrewAI."""
        return self.base_url is not None or self.needs_base_url

    def address(self, environ: Mapping[str, str]) -> str | None:
        """The address of its calls: the one in the environment, else the usual one."""
        given = environ.get(self.base_url_variable or "", "").strip().rstrip("/")
        if not given:
            return self.base_url
        url = given if "://" in given else f"http://{given}"
        return url if url.endswith(self.path) else f"{url}{self.path}"


PROVIDERS: Final[Mapping[str, Provider]] = {
    provider.name: provider
    for provider in (
        Provider(MOCK_PROVIDER, key_variable=None),
        Provider(
            "openai",
            KEY_VARIABLES["openai"],
            "OPENAI_BASE_URL",
            base_url="https://api.openai.com/v1",
            example_model="gpt-4.1-nano",
        ),
        Provider(
            "anthropic",
            KEY_VARIABLES["anthropic"],
            "ANTHROPIC_BASE_URL",
            base_url="https://api.anthropic.com/v1",
            path="/v1",
            example_model="claude-haiku-4-5",
            api="messages",
        ),
        Provider(
            "gemini",
            KEY_VARIABLES["gemini"],
            "GOOGLE_GEMINI_BASE_URL",
            base_url="https://generativelanguage.googleapis.com/v1beta/openai",
            path="/v1beta/openai",
            example_model="gemini-2.5-flash-lite",
        ),
        Provider(
            "openrouter",
            KEY_VARIABLES["openrouter"],
            "OPENROUTER_BASE_URL",
            base_url="https://openrouter.ai/api/v1",
            example_model="openai/gpt-4.1-nano",
        ),
        Provider(
            "deepseek",
            KEY_VARIABLES["deepseek"],
            "DEEPSEEK_BASE_URL",
            base_url="https://api.deepseek.com/v1",
            example_model="deepseek-chat",
        ),
        Provider(
            "ollama",
            KEY_VARIABLES["ollama"],
            "OLLAMA_HOST",
            base_url="http://localhost:11434/v1",
            path="/v1",
            example_model="llama3.2",
        ),
        Provider(HUGGING_FACE_PROVIDER, KEY_VARIABLES[HUGGING_FACE_PROVIDER], needs_base_url=True),
        *(Provider(f"{CREWAI_PROVIDER}/{vendor}", key) for vendor, key in CREWAI_KEY_VARIABLES.items()),
    )
}


def api_of(provider: str) -> Api:
    """The API by which a provider is called."""
    return PROVIDERS[provider].api if provider in PROVIDERS else "chat_completions"


def vendor_of(model: str) -> str:
    """The vendor of a model for CrewAI: the part before the first slash; without a slash OpenAI."""
    vendor, slash, _ = model.partition("/")
    return vendor if slash else "openai"


def vendor_named(model: str) -> str | None:
    """The vendor in a model's prefix, or of its known family; None when the name has neither."""
    vendor, slash, _ = model.partition("/")
    if slash:
        return vendor
    return next((vendor for vendor, family in _FAMILIES.items() if family.match(model)), None)


def account_of(provider: str, model: str) -> str:
    """The account that pays for a call and whose key it needs: `openai`, directly or through CrewAI."""
    return vendor_of(model) if provider == CREWAI_PROVIDER else provider


def needed_provider(provider: str, model: str) -> str:
    """The name under which `PROVIDERS` lists the key of this model."""
    return f"{CREWAI_PROVIDER}/{vendor_of(model)}" if provider == CREWAI_PROVIDER else provider


def effective_model_mode(mode: ModelMode, *, requested_real: bool) -> ModelMode:
    """The mode of an experiment, with or without `--models real`."""
    return "real" if requested_real else mode


def serving_provider(mode: ModelMode, provider: str) -> str:
    """The provider that serves a seat's calls: in mode mock always the mock."""
    return MOCK_PROVIDER if mode == "mock" else provider
