"""The interface to language models: settings, one request, one reply."""

import re
from typing import Any, Final, Literal
from urllib.parse import urlsplit

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from parley_lab.contracts.mock_script import MockScript

ModelStatus = Literal[
    "ok",
    "invalid",
    "refused",
    "too_long",
    "rate_limited",
    "unavailable",
    "unreachable",
    "auth_error",
    "no_quota",
    "bad_request",
    "timeout",
    "error",
]

RETRYABLE_STATUSES: Final[frozenset[str]] = frozenset(
    {"invalid", "rate_limited", "unavailable", "unreachable", "timeout", "error"}
)

KEY_FAULTS: Final[frozenset[str]] = frozenset({"auth_error", "no_quota", "unreachable"})
"""The fault is in the key or its address, not in the single call."""

ADDRESS_PATTERN: Final = r"^https?://[^@/?#\s]+(/[^?#\s]*)?$"
"""No user, password or query: settings are part of the data, secrets must not be."""
ADDRESS_EXPECTED: Final = "http:// or https://, a host and a path, without a user, a password or a query"

CUT_OFF: Final = "length"
"""The finish reason with which providers say that the reply reached its limit of tokens and was cut off."""

LONGEST_REPLY_BYTES: Final = 8_000_000
"""How much of an answer is read: far above what models write, log probabilities included."""

DEFAULT_TIMEOUT_SECONDS: Final = 120.0
"""The time-out of a call, unless settings say otherwise."""

Lack = Literal[
    "json_schema",
    "json_object",
    "system_role",
    "repeated_roles",
    "temperature",
    "top_p",
    "stop",
    "reasoning_effort",
    "max_tokens",
    "max_completion_tokens",
]
"""What a server of models may be unable to take, by OpenAI's names; `repeated_roles`: one role twice in a row."""

Hint = str | int | float | bool | None

# The hints for the mock, and for reading the reply; each is optional.
HINT_SPEAKER_NAME: Final = "speaker_name"
HINT_OWN_NAMES: Final = "own_names"
"""The names by which others know the speaker, one on each line. With the next one, they come off what is said."""
HINT_OTHER_NAMES: Final = "other_names"
"""The names of the other members, one on each line."""
HINT_LAST_TEXT: Final = "last_text"
HINT_MEMBER: Final = "member"
HINT_PERSONA: Final = "persona"
"""The persona's id; empty when none is known. With the member's path, it identifies who answers."""
HINT_IS_MEDIATOR: Final = "is_mediator"
HINT_MESSAGE_COUNT: Final = "message_count"
HINT_OWN_MESSAGE_COUNT: Final = "own_message_count"
HINT_STAYS: Final = "stays"
"""Whether the speaker does not leave the conversation yet: people are in it, and its time is not nearly over."""
HINT_PERSONA_TEXT: Final = "persona_text"
HINT_MANNER: Final = "manner"
"""Sentences that the mock uses in conversations in place of its own, one on each line."""
HINT_FORM: Final = "form"
"""The JSON Schema of the form, where its numbers have to fit together."""
HINT_SUGGESTED: Final = "suggest:"
"""Followed by the name of a field of the reply: the mock's value there, a text, a boolean or a number."""
HINT_QUESTION: Final = "question:"
"""Followed by the name of a field: the question that it answers, preceded by the group of its trait, if any:
`attitude/support`. The mock answers it by the persona's traits."""


def is_usable_address(url: str) -> bool:
    """Whether models can be called there, wherever the address is from."""
    try:
        # A port that is no number, or too large, raises.
        urlsplit(url).port  # noqa: B018
    except ValueError:
        return False
    return re.fullmatch(ADDRESS_PATTERN, url) is not None


class _Contract(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ModelSettings(_Contract):
    """How an agent's model is called; a setting that is left out is the provider's default and is not sent."""

    provider: str = Field(
        default="openai",
        min_length=1,
        description="Who serves the model: `openai` (OpenAI and every compatible endpoint), `anthropic` (Claude), "
        "`hf-inference` (the endpoint at base_url, with a key of its own), `crewai` or `mock`.",
    )
    model: str = Field(
        default="gpt-4.1-mini",
        min_length=1,
        description="The provider's name of the model; `crewai` wants the vendor before it: `anthropic/...`.",
    )
    temperature: float | None = Field(
        default=None, ge=0, le=2, description="Sampling temperature, 0 to 2; lower is more predictable."
    )
    top_p: float | None = Field(
        default=None, gt=0, le=1, description="Nucleus sampling: the share of probability that is sampled from."
    )
    max_tokens: int | None = Field(
        default=None,
        ge=1,
        description="The most tokens one reply may have; a reply cut short by it is not used. Left out: by what is "
        "asked for, and unlimited for models that think before they answer.",
    )
    stop: tuple[str, ...] = Field(
        default=(), max_length=4, description="Texts at which the model stops writing, at most four."
    )
    reasoning_effort: str | None = Field(
        default=None,
        min_length=1,
        description="How much a reasoning model thinks before it answers, such as `low`, `medium` or `high`.",
    )
    structured_output: Literal["schema", "json", "text"] = Field(
        default="schema",
        description="What the provider is told of a reply's form: its `schema`, that it is `json`, or nothing "
        "(`text`); the prompt always says it in words.",
    )
    lacks: tuple[Lack, ...] = Field(
        default=(),
        description="What the server of the model cannot take and is not sent, such as `system_role` (then the first "
        "message of the user begins with it) or `temperature`. The lab adds what a server refuses or ignores.",
    )
    base_url: str | None = Field(
        default=None,
        pattern=ADDRESS_PATTERN,
        description="Address of an OpenAI-compatible endpoint, such as a local server; it receives the key that the "
        "environment keeps for it (PARLEY_ENDPOINT_KEYS), or none.",
    )
    extra_body: dict[str, JsonValue] = Field(
        default_factory=dict, description="Further fields of the request body, sent to the provider as they are."
    )
    timeout_seconds: float | None = Field(
        default=None,
        gt=0,
        le=3_600,
        description="After how many seconds one call is given up; left out: as the lab's environment says, else 120.",
    )
    max_attempts: int = Field(
        default=4, ge=1, le=20, description="How often a call is tried before the reply counts as failed."
    )


class ChatMessage(_Contract):
    """One message of a prompt."""

    role: Literal["system", "user", "assistant"] = Field(description="Whose voice the message has.")
    content: str = Field(description="The text of the message.")


class ModelRequest(_Contract):
    """One attempt at a model; the reply should be an object of `reply_schema`, or a text that can be read as one."""

    path: str = Field(min_length=1, description="Unique path of the call in its experiment; seeds the mock.")
    seed: int = Field(description="The experiment's seed.")
    settings: ModelSettings = Field(description="How the model is called.")
    messages: tuple[ChatMessage, ...] = Field(min_length=1, description="The prompt.")
    reply_schema: dict[str, Any] = Field(
        description="JSON Schema of the reply: an object, all properties required, no additional ones."
    )
    reply_name: str = Field(
        default="reply", pattern=r"^[a-zA-Z0-9_-]{1,64}$", description="Name of the schema, told to the provider."
    )
    is_text: bool = Field(
        default=False, description="Whether a plain text is asked for; the schema then says what is read from it."
    )
    most_reply_tokens: int | None = Field(
        default=None, ge=1, description="The most tokens of the reply where the settings say nothing; null: no limit."
    )
    purpose: str = Field(default="", description="The stage kind that asks, such as `survey`.")
    role: str = Field(default="", description="Who the agent is, for providers that ask; empty: by its name.")
    goal: str = Field(default="", description="What the agent wants, for providers that ask.")
    backstory: str = Field(default="", description="The agent's past, for providers that ask; empty: the prompt's.")
    stage_id: str = Field(default="", description="The stage that the call is about; for the mock.")
    pace: str = Field(
        default="live", description="The experiment's pace; in `fast` the mock tells times and waits not."
    )
    mock: MockScript | None = Field(default=None, description="What the mock does; never sent to a provider.")
    hints: dict[str, Hint] = Field(
        default_factory=dict,
        description="Facts from which the mock writes plausible replies; never sent to a provider.",
    )


def _retry_by_status(values: dict[str, Any]) -> bool:
    return values.get("status") in RETRYABLE_STATUSES


class ModelReply(_Contract):
    """The outcome of one attempt; a failure is a reply, too, because it is a row in the data."""

    status: ModelStatus = Field(description="What came of the attempt; only `ok` has something to use.")
    parsed: dict[str, Any] | None = Field(default=None, description="The reply as an object, not yet validated.")
    raw: str = Field(default="", description="The reply as it came: its text, or the message as JSON (`text`).")
    text: str | None = Field(
        default=None, description="The words in it, where its content was no plain text; null: they are `raw`."
    )
    model_returned: str = Field(default="", description="The model that the provider says it used.")
    endpoint: str = Field(
        default="", description="The host that was called, as `https://host:port`; empty when none was called."
    )
    tokens_in: int | None = Field(default=None, ge=0, description="Tokens of the prompt; null when not told.")
    tokens_out: int | None = Field(default=None, ge=0, description="Tokens of the reply; null when not told.")
    finish_reason: str | None = Field(default=None, description="Why the model stopped, in the provider's words.")
    error: str | None = Field(default=None, description="What went wrong, without secrets; null when nothing did.")
    http_status: int | None = Field(default=None, description="Of an error: the status of the answer, or that in it.")
    retry_after_seconds: float | None = Field(
        default=None, ge=0, description="How long the provider wants us to wait; null when it did not say."
    )
    details: dict[str, JsonValue] = Field(
        default_factory=dict, description="What came beside the text and the settings asked for, such as `logprobs`."
    )
    simulated_seconds: float | None = Field(
        default=None, ge=0, description="How long the call took in simulated time; null: it took the time that it took."
    )
    has_list_price: bool = Field(
        default=True,
        description="Whether the provider's own endpoint answered, not another one under its name.",
    )
    can_retry: bool = Field(
        default_factory=_retry_by_status,
        description="Whether another attempt can help; follows from the status unless the provider says otherwise.",
    )

    @property
    def words(self) -> str:
        """What the model wrote, wherever the message had it."""
        return self.raw if self.text is None else self.text
