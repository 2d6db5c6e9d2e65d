"""What crosses the border to prompt-builder: one question, one answer; a worker's, or that of somebody who looks."""

import re
from collections.abc import Iterable
from hashlib import sha256
from math import ceil
from typing import Any, Final
from uuid import UUID

import orjson
from pydantic import BaseModel, ConfigDict, Field

from shared.contracts.models import ChatMessage, Hint


class PromptQuestion(BaseModel):
    """Who is to say something, where, why and as of which sequence number: all of it stands on the draft.

    `token_budget` keeps the prompt to so many tokens, fewer than usual: the usual one was too long for the model.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    draft_id: UUID
    token_budget: int | None = Field(default=None, ge=1)


class Prompt(BaseModel):
    """What a model is shown for one draft, and the shape that its reply must have.

    `hints` are facts for the mock, never sent to a provider. The same question gives the same prompt for as long as
    what it is about stands, however much is said afterwards.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    messages: tuple[ChatMessage, ...]
    reply_schema: dict[str, Any]
    reply_name: str
    purpose: str
    hints: dict[str, Hint]
    fingerprint: str
    is_text: bool = False
    """Whether a plain text is asked for; `reply_schema` then says what is read from it."""
    left_out: int = 0
    """How many messages of transcripts are not shown, so that the prompt stays within its budget."""
    is_held: bool = False
    """Nobody may be asked this now: the experiment was paused or had ended when the prompt was made."""


class DraftPreview(BaseModel):
    """What a draft's author was shown, or will be."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    draft_id: UUID


class MemberPreview(BaseModel):
    """What an agent would be shown on a stage now; `stage_id` None: on the one where it is."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    member_id: UUID
    stage_id: str | None = None


class StagePreview(BaseModel):
    """What a persona of an experiment would be shown on a stage that has just opened, with everybody there."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    experiment_id: UUID
    persona_id: str
    stage_id: str
    treatment_id: str | None = None
    """None: the arm of the first cohort in which the persona sits."""


PreviewQuestion = DraftPreview | MemberPreview | StagePreview


class Preview(BaseModel):
    """A prompt for people to look at; `was_sent` says that a model was shown exactly this."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    prompt: Prompt
    draft_id: UUID | None = None
    was_sent: bool = False


def fingerprint(messages: Iterable[ChatMessage]) -> str:
    """The SHA-256 of the messages: two prompts with the same one say the same."""
    return sha256(orjson.dumps([[message.role, message.content] for message in messages])).hexdigest()


CHARACTERS_PER_TOKEN: Final = 4
"""What English texts have on average with the tokenizers in use."""
_SHARE: Final = 0.75
"""Of what a model can read: the rest is for its reply, and for languages with shorter tokens."""
_UNKNOWN: Final = 32_768
_LARGE: Final = 128_000
"""Larger ones count as this: nobody pays for a million tokens a message without having said so."""

# The first that is found in the model's name decides.
_WINDOWS: Final = (
    (re.compile(r"gpt-3\.5"), 16_384),
    (re.compile(r"(^|/)gpt-4(-0\d+.*)?$"), 8_192),
    (re.compile(r"(^|/)(gpt-[4-9]|chatgpt|o[1-9]|claude|gemini|grok|deepseek)"), _LARGE),
    (re.compile(r"llama-?(3\.[1-9]|4)|mistral-(large|medium|small)|command-[ar]"), _LARGE),
)
_ALLOWED: Final = re.compile(
    r"(?:length is|size \(|n_ctx['\"]?:|>|allowed \(|window of|limit is|limit of|at most)\s*\(?(\d[\d,]*)"
)
_SIZE: Final = re.compile(r"(?<![\w.-])\d[\d,]{3,}")
_MARGIN: Final = 0.9
_LEAST_CUT, _MOST_CUT, _HALF = 0.8, 0.1, 0.5


def default_budget(model: str) -> int:
    """The most tokens (as estimated here) of a prompt for a model of which the persona says nothing."""
    window = next((size for name, size in _WINDOWS if name.search(model.lower())), _UNKNOWN)
    return int(_SHARE * window)


def tokens_of(messages: Iterable[ChatMessage]) -> int:
    """An estimate that is the same for every provider: a token for every four characters begun."""
    return ceil(sum(len(message.content) for message in messages) / CHARACTERS_PER_TOKEN)


def shortened(tokens: int, error: str) -> int:
    """The budget for the next try after a prompt of so many tokens (as estimated here) was too long.

    `error` is what the endpoint said; most tell how many tokens it reads and how many came. Else it is the half.
    """
    allowed = _ALLOWED.search(error)
    came = max(map(_number, _SIZE.findall(error)), default=0)
    is_told = allowed is not None and 0 < _number(allowed[1]) < came
    share = _MARGIN * _number(allowed[1]) / came if allowed is not None and is_told else _HALF
    return max(1, int(tokens * min(max(share, _MOST_CUT), _LEAST_CUT)))


def _number(written: str) -> int:
    return int(written.replace(",", ""))
