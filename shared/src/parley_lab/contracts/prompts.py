"""The interface of prompt-builder: questions of workers and of readers, and the prompt as the answer."""

import re
from collections.abc import Iterable
from hashlib import sha256
from math import ceil
from typing import Any, Final, Literal
from uuid import UUID

import orjson
from pydantic import BaseModel, ConfigDict, Field

from parley_lab.base.rules import is_none
from parley_lab.contracts.experiment import Persona
from parley_lab.contracts.models import ChatMessage, Hint


class PromptQuestion(BaseModel):
    """Who is to reply, where, why and as of which sequence number; all of it is stored with the draft.

    `token_budget` limits the prompt to fewer tokens than usual, after one was too long for the model.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    draft_id: UUID
    token_budget: int | None = Field(default=None, ge=1)


class Prompt(BaseModel):
    """The messages for one draft, and the schema of its reply.

    `hints` are facts for the mock, never sent to a provider. The same question gives the same prompt until its draft is
    closed, whatever is said meanwhile.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    messages: tuple[ChatMessage, ...]
    reply_schema: dict[str, Any]
    reply_name: str
    purpose: str
    hints: dict[str, Hint]
    fingerprint: str
    is_text: bool = False
    """Whether to ask for plain text; `reply_schema` then describes what is read from it."""
    left_out: int = 0
    """How many messages of transcripts are left out to keep the prompt within its budget."""
    is_held: bool = False
    """The experiment was paused or had ended when the prompt was made: the model must not be called."""


class DraftPreview(BaseModel):
    """The prompt of a draft, sent or not."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    draft_id: UUID


class MemberPreview(BaseModel):
    """The prompt of an agent on a stage now; `stage_id` None: on its current stage."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    member_id: UUID
    stage_id: str | None = None


class StagePreview(BaseModel):
    """The prompt of a persona of an experiment on a stage that has just opened, with all members there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    experiment_id: UUID
    persona_id: str
    stage_id: str
    treatment_id: str | None = None
    """None: the arm of the first seat of the persona."""
    # Left out where there is none: a prompt-builder of before does not know it.
    persona: Persona | None = Field(default=None, exclude_if=is_none)
    """A persona with that id that the experiment does not have, or another form of its own. One that has no seat is
    shown the stage on the first seat of an agent, without agents on the first open one."""


PreviewQuestion = DraftPreview | MemberPreview | StagePreview


class Preview(BaseModel):
    """A prompt for people to read; `was_sent`: a model received exactly this."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: Prompt
    draft_id: UUID | None = None
    was_sent: bool = False


class SeatQuestion(BaseModel):
    """What a seat of an experiment is shown on a stage, before it was started or even stored.

    None: the first stage, the first arm, the first seat of the arm.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    document: dict[str, Any]
    experiment_id: UUID
    stage_id: str | None = None
    treatment_id: str | None = None
    seat: str | None = None
    """The path of a member, such as `c1/m2`."""


class SeatChoice(BaseModel):
    """A seat that can be looked at; of seats that differ in their number of cohort alone there is the first."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str
    kind: Literal["participant", "mediator"]
    player: Literal["person", "agent", "script"]
    persona: str | None


class StageChoice(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: str
    title: str
    kind: str


class SeenMember(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    id: UUID
    profile: dict[str, str]


class SeenForm(BaseModel):
    """What is asked there first: the page, or an ask of a game or an interview with its key."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    key: str
    purpose: str
    form: dict[str, Any]


class SeenText(BaseModel):
    """A text of the researcher, and who reads it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    where: str
    text: str
    in_page: bool
    in_prompt: bool


class Seen(BaseModel):
    """A stage as one seat is shown it: the page of a person, and the prompt of an agent."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    stage_id: str
    kind: str
    treatment_id: str | None
    seat: str
    stages: tuple[StageChoice, ...]
    treatments: tuple[str, ...]
    seats: tuple[SeatChoice, ...]
    me: SeenMember
    others: tuple[SeenMember, ...]
    """Whom one meets there."""
    links: bool
    view: dict[str, Any]
    """What the page shows, as the kind makes it."""
    forms: tuple[SeenForm, ...]
    has_thread: bool
    prompt: Prompt | None
    why_no_prompt: str | None
    texts: tuple[SeenText, ...]
    made_up: tuple[str, ...]
    """The earlier stages in which the mock has answered for all."""


def fingerprint(messages: Iterable[ChatMessage]) -> str:
    """The SHA-256 of the messages, equal for equal prompts."""
    return sha256(orjson.dumps([[message.role, message.content] for message in messages])).hexdigest()


CHARACTERS_PER_TOKEN: Final = 4
"""The average of English texts with the tokenizers in use."""
_SHARE: Final = 0.75
"""A share of the model's context: the rest is for its reply, and for languages with shorter tokens."""
_UNKNOWN: Final = 32_768
_LARGE: Final = 128_000
"""Larger contexts count as this: a million tokens a message must be asked for explicitly."""

# The first entry that is part of the model's name applies.
_WINDOWS: Final = (
    (re.compile(r"gpt-3\.5"), 16_384),
    (re.compile(r"(^|/)gpt-4(-0\d+.*)?$"), 8_192),
    (re.compile(r"(^|/)(gpt-[4-9]|chatgpt|o[1-9]|claude|gemini|grok|deepseek)"), _LARGE),
    (re.compile(r"llama-?(3\.[1-9]|4)|mistral-(large|medium|small)|command-[ar]"), _LARGE),
)
_ALLOWED: Final = re.compile(
    r"(?:length is|size \(|n_ctx['\"]?:|>|<=|allowed \(|window of|limit is|limit of|Limit|at most|less than)"
    r"\s*\(?(\d[\d,]*)"
)
_SUM: Final = re.compile(r"(\d[\d,]*) \+ (\d[\d,]*)")
"""The tokens of the prompt, and those of the reply that was asked for."""
_SIZE: Final = re.compile(r"(?<![\w.-])\d[\d,]{3,}")
_MARGIN: Final = 0.9
_LEAST_CUT, _MOST_CUT, _HALF = 0.8, 0.1, 0.5


def default_budget(model: str) -> int:
    """The default budget of a prompt, in estimated tokens."""
    window = next((size for name, size in _WINDOWS if name.search(model.lower())), _UNKNOWN)
    return int(_SHARE * window)


def tokens_of(messages: Iterable[ChatMessage]) -> int:
    """An estimate that is the same for every provider: a token for every four characters, rounded up."""
    return ceil(sum(len(message.content) for message in messages) / CHARACTERS_PER_TOKEN)


def shortened(tokens: int, error: str) -> int:
    """The next budget after a prompt of so many estimated tokens was too long.

    `error`: the endpoint's message; most name the limit and the number of tokens. Otherwise the budget is halved.
    """
    allowed = _ALLOWED.search(error)
    sums = [_number(one) + _number(other) for one, other in _SUM.findall(error)]
    came = max([*map(_number, _SIZE.findall(error)), *sums], default=0)
    is_told = allowed is not None and 0 < _number(allowed[1]) < came
    share = _MARGIN * _number(allowed[1]) / came if allowed is not None and is_told else _HALF
    return max(1, int(tokens * min(max(share, _MOST_CUT), _LEAST_CUT)))


def _number(written: str) -> int:
    return int(written.replace(",", ""))
