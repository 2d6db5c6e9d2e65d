"""What participants send and see: themselves, their pages, what is wanted from them."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from gateway.resources.base import Request, Resource, StorableJson, StorableText
from gateway.resources.members import ProfileRequest, ProfileResource


class JoinRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"profile": {"name": "Ada", "pronouns": "she/her"}}]})

    cohort_id: UUID | None = None
    """The cohort to join; left out: by the rule of the experiment (`joining` in its file)."""
    profile: ProfileRequest | None = None


class StageMark(Resource):
    """One stage on the way of a participant."""

    id: str = Field(examples=["talk"])
    title: str = Field(examples=["The conversation"])
    kind: str = Field(examples=["group_chat"])
    state: Literal["done", "current", "locked", "upcoming"]
    """`locked`: the participant is there, and it is not open yet."""


class AskResource(Resource):
    """Something that the lab wants from the participant now; the page of its stage shows what it is about."""

    id: UUID
    stage_id: str = Field(examples=["game"])
    key: str = Field(examples=["round:7/move"])
    """Names the answer on its stage."""
    purpose: str = Field(examples=["move"])
    """What it is for, in a word of the stage's kind."""
    opened_at: datetime


class AnswerRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"answer": "cooperate"}]})

    answer: StorableJson
    """What the ask's stage wants; the page says what that is."""


class AnsweredAsk(Resource):
    """An answer that stands for good."""

    ask_id: UUID
    stage_id: str = Field(examples=["game"])
    key: str = Field(examples=["round:7/move"])
    answer: Any = Field(examples=["cooperate"])
    """As it is stored."""


class Me(Resource):
    """Everything that the shell of a participant's page shows."""

    member_id: UUID
    cohort_id: UUID
    experiment_id: UUID
    profile: ProfileResource
    status: str = Field(examples=["in_progress"])
    status_reason: str | None
    is_paused: bool = False
    """The whole experiment is paused: what is posted or answered now is refused (409, reason `paused`)."""
    stages: list[StageMark]
    stage_id: str | None = Field(examples=["talk"])
    """Where the participant is; null after the last stage."""
    asks: list[AskResource] = Field(default=[], examples=[[]])
    """What is wanted from the participant now, the oldest first; a page to be filled in is not named."""
    cursor: str = Field(examples=["6f0f7a5e-1111-5222-8333-444455556666:17"])
    """Follow the live stream from here to miss nothing of what this answer does not show."""


class Joined(Resource):
    member_id: UUID
    token: str = Field(examples=["rVQ3v3mP..."])
    """The participant's key to everything below `/v1/me`; shown this once."""
    me: Me


class Lock(Resource):
    """Why a stage is not open yet."""

    reason: str = Field(examples=["Waiting for others: 2 of 3 have arrived."])
    arrived: int | None = Field(examples=[2])
    """How many have arrived; null when the stage does not say."""
    expected: int | None = Field(examples=[3])


class ThreadState(Resource):
    id: UUID
    last_seq: int = Field(examples=[4])
    has_ended: bool


class StagePage(Resource):
    """Everything that one stage shows to the participant."""

    stage_id: str = Field(examples=["talk"])
    kind: str = Field(examples=["group_chat"])
    state: Literal["done", "current", "locked"]
    lock: Lock | None
    view: dict[str, Any] | None
    """What the page shows; its fields belong to the kind. Null while the stage is locked."""
    answer: Any
    """The participant's own answer; null before there is one."""
    blocked_by: list[str] = Field(examples=[["Please answer the questions on this page."]])
    """Why the participant cannot go on yet, without an answer given with the request to go on."""
    thread: ThreadState | None
    asks: list[AskResource] = Field(default=[], examples=[[]])
    """What is wanted from the participant on this stage now, the oldest first."""


class Page(Resource):
    """Where the participant is now, and what is to be seen there."""

    me: Me
    page: StagePage | None
    """Null after the last stage, and when the participant is not in the experiment any more."""


class AdvanceRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"answer": {"age": 33, "city": "Chur"}}]})

    from_stage_id: StorableText | None = None
    """The stage to leave; when given, the same as in the path."""
    answer: StorableJson = None
    """The answer to the page; left out where the stage takes none."""


class GoOnRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"topic": "cost"}]})

    topic: StorableText = Field(min_length=1, max_length=100)
    """The topic that the person is done with, so that saying so again says nothing about the next one."""
