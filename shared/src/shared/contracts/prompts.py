"""What crosses the border to prompt-builder: one question, one answer; a worker's, or that of somebody who looks."""

from collections.abc import Iterable
from hashlib import sha256
from typing import Any
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
