"""What an experimenter reads to understand a run: members, conversations, drafts, calls."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import Field

from parley_lab.gateway.resources.base import Resource
from parley_lab.gateway.resources.threads import LineResource


class MemberEvent(Resource):
    seq: int
    """Larger for what was stored later."""
    cohort_id: UUID
    at: datetime
    type: str = Field(examples=["member.moved"])
    actor: str = Field(examples=["c1/m2"])
    cause: str = Field(examples=["request"])
    subject: str
    subject_id: UUID | None
    data: dict[str, Any]


class MemberEventList(Resource):
    events: list[MemberEvent]
    next_before: int | None
    """Give this as `before` to read on; null at the end."""


class AnswerResource(Resource):
    stage_id: str = Field(examples=["before"])
    key: str = Field(examples=["round:7/move"])
    """Empty for the answer to a whole page."""
    cohort_id: UUID
    value: Any
    is_valid: bool
    is_passed: bool
    """Whether it stands for one that was not given."""
    invalid: dict[str, Any] | None
    """What could not be used, by question."""
    revision: int
    completed_at: datetime | None
    written_at: datetime


class AnswerList(Resource):
    answers: list[AnswerResource]


class DraftItem(Resource):
    """A reply that was wanted of an agent, with its calls in figures."""

    id: UUID
    path: str
    member_id: UUID
    member: str = Field(examples=["c1/m2"])
    name: str | None = Field(examples=["Ada"])
    cohort_id: UUID
    stage_id: str
    thread_id: UUID | None
    ask_id: UUID | None
    ask: str | None = Field(examples=["round:7/move"])
    """The key of the ask that it answers."""
    trigger_key: str | None = Field(examples=["message:0198..."])
    """What let the agent answer: `message:` and its id, `start`, or another word of the lab."""
    wave: int
    """Agents who were asked about one trigger at the same time are a wave."""
    as_of_seq: int | None
    """The last message that it knows."""
    purpose: str = Field(examples=["talk"])
    state: str = Field(examples=["published"])
    reason: str | None
    message_id: UUID | None
    """The message that it became."""
    provider: str
    created_at: datetime
    not_before: datetime
    due_at: datetime | None
    closed_at: datetime | None
    finish_ms: int | None
    ready_to_end: bool
    calls: int
    failed_calls: int
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    """In US dollars."""
    model: str | None
    began_at: datetime | None
    """When the first call began."""
    finished_at: datetime | None
    milliseconds: int | None
    """What all calls took together."""


class DraftList(Resource):
    drafts: list[DraftItem]
    next_after: str | None
    """Give this as `after` to read on; null at the end."""


class AttemptResource(Resource):
    """One call of a model."""

    id: UUID
    part: str
    """Empty, or the name of the part of a draft that takes several calls."""
    attempt: int
    status: str = Field(examples=["ok"])
    error: str | None
    provider: str
    model_asked: str
    model_returned: str | None
    endpoint: str | None
    model_mode: Literal["mock", "real"]
    settings: dict[str, Any]
    prompt_hash: str
    raw: str | None
    """What came back."""
    parsed: Any
    """What was read in it."""
    read_as: Any
    """The reply as it was read, where its fields were written in another form."""
    details: Any
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    started_at: datetime
    finished_at: datetime
    milliseconds: int


class DraftResource(DraftItem):
    reply: Any
    """What it would have said, or has said."""
    attempts: list[AttemptResource]


class CallItem(Resource):
    """One call of a model in the list of all; its draft has the reply, and `/prompt` of the draft what was sent."""

    id: UUID
    draft_id: UUID
    member_id: UUID
    member: str
    cohort: str
    stage_id: str
    thread_id: UUID | None
    purpose: str
    draft_state: str
    part: str
    attempt: int
    status: str
    error: str | None
    provider: str
    model: str
    endpoint: str | None
    model_mode: Literal["mock", "real"]
    tokens_in: int | None
    tokens_out: int | None
    cost: float | None
    started_at: datetime
    finished_at: datetime
    milliseconds: int


class CallList(Resource):
    calls: list[CallItem]
    next_after: str | None
    """Give this as `after` to read on; null at the end."""


class ThreadItem(Resource):
    """A conversation in the list of all."""

    id: UUID
    cohort_id: UUID
    cohort: str = Field(examples=["c1"])
    stage_id: str
    stage: str
    """The title of the stage."""
    scope: str = Field(examples=["group"])
    member_id: UUID | None
    """The participant of a private conversation."""
    messages: int
    """All, those of the lab included."""
    of_people: int
    of_agents: int
    drafts: int
    calls: int
    cost: float | None
    author: str | None
    """Who said the last words; null for the lab."""
    last_words: str | None
    """At most 200 characters."""
    last_at: datetime | None
    opened_at: datetime
    ended_at: datetime | None
    end_reason: str | None


class ThreadItemList(Resource):
    threads: list[ThreadItem]
    next_after: str | None
    """Give this as `after` to read on; null at the end."""


class SaidResource(Resource):
    """A message as the experimenter reads it, private parts included."""

    id: UUID
    seq: int
    member_id: UUID | None
    """Null for what the lab says."""
    member: str | None = Field(examples=["c1/m2"])
    author_kind: Literal["person", "agent", "script", "system", "experimenter"]
    author: str | None = Field(examples=["Ada"])
    """The name under which the others know the author there."""
    text: str
    line: LineResource | None
    topic: str | None
    reply_to: UUID | None
    audience: list[UUID] | None
    """Who may read it; null: all."""
    trigger_key: str | None
    """What it answers."""
    explanation: str | None
    """Why the agent says it, in its own words."""
    draft_id: UUID | None
    """The draft that became this message."""
    reactions: list[tuple[str, UUID]]
    elapsed_ms: int
    created_at: datetime


class SaidList(Resource):
    messages: list[SaidResource]


class ActivityBucket(Resource):
    at: datetime
    """When it begins."""
    events: int
    messages: int
    calls: dict[str, int] = Field(examples=[{"ok": 12, "timeout": 1}])
    """Calls of models that began then, by status."""
    tokens_in: int
    tokens_out: int
    cost: float | None
    milliseconds: int | None
    """The median of what a call took."""


class ActivityResource(Resource):
    since: datetime
    until: datetime
    seconds: float
    """How long a part is."""
    buckets: list[ActivityBucket]
