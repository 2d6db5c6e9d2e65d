"""Cohorts and their members, as the experimenter sees them."""

from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from pydantic import AfterValidator, Field, JsonValue

from parley_lab.base.storable import storable_json
from parley_lab.contracts.experiment import PersonaId, Slug, seen_or_empty
from parley_lab.gateway.resources.acts import ReasonRequest
from parley_lab.gateway.resources.base import Number, Request, Resource, StorableText


class PromptMessage(Resource):
    role: Literal["system", "user", "assistant"]
    content: str


class PromptResource(Resource):
    """What a model is shown, and the shape that its reply must have."""

    draft_id: UUID | None
    """The draft that it is for; null when nothing is wanted of the agent now."""
    was_sent: bool
    """Whether a model was shown exactly this."""
    messages: list[PromptMessage]
    reply_schema: dict[str, Any]
    """The JSON Schema of the reply."""
    purpose: str = Field(examples=["talk"])
    fingerprint: str
    """The SHA-256 of the messages."""
    left_out: int = Field(examples=[0])
    """How many of the oldest messages are not shown, so that the prompt stays within its budget."""


class PromptRequest(Request):
    """A persona to show a stage to."""

    persona: PersonaId | Annotated[dict[str, JsonValue], AfterValidator(storable_json)] = Field(examples=["guide"])
    """The id of a persona of the experiment or, where it has none with this id, of the library; or a persona as files
    have them, which stands in for the experiment's own one with the same id."""
    stage: Slug = Field(examples=["talk"])
    treatment: Slug | None = Field(default=None, examples=["control"])
    """Left out: the arm of the first cohort in which it sits."""


class CohortResource(Resource):
    id: UUID
    path: str = Field(examples=["c1"])
    name: str = Field(examples=["morning"])
    treatment_id: str | None = Field(examples=["control"])
    """Null where its participants have treatments of their own."""
    status: Literal["running", "ended"]
    locked: bool
    open_seats: int = Field(examples=[1])
    join_code: str = Field(examples=["q2pZb0dLr1vKk7Ta"])
    """Leads to this cohort alone: `/join/{join_code}`."""
    alone: bool
    """Whether it is one person who is on the way to a group of those who are there."""
    created_at: datetime
    ended_at: datetime | None


class CohortList(Resource):
    cohorts: list[CohortResource]
    next_after: UUID | None
    """Give this as `after` to read on; null at the end."""


class ProfileResource(Resource):
    """How others see a member; the same shape for people and agents."""

    name: str = Field(default="", examples=["Ada"])
    avatar: str = Field(default="", examples=["🦊"])
    pronouns: str = Field(default="", examples=["she/her"])


class ProfileRequest(Request):
    """How the participant wants to be seen; what is left out is given by the lab."""

    name: Annotated[StorableText, AfterValidator(seen_or_empty)] = Field(default="", max_length=100, examples=["Ada"])
    avatar: StorableText = Field(default="", max_length=32, examples=["🦊"])
    pronouns: StorableText = Field(default="", max_length=40, examples=["she/her"])


class JoiningResource(Resource):
    """How a person came to a cohort."""

    rule: Literal["drawn", "one_arm", "by_arrival", "named", "filled", "when_together"]
    """`drawn`: the arm was drawn. `named`: the request to join named the cohort. `filled`: an agent took the seat of a
    person who did not come. The others: in order."""
    draw: int | None = Field(default=None, examples=[7])
    """The number of the draw in the experiment."""
    block: int | None = Field(default=None, examples=[3])
    """The number of the permuted block."""
    probability: float | None = Field(default=None, examples=[0.5])
    """That of this arm, given all draws before."""


class AllocatedResource(Resource):
    """How a participant came by a treatment of their own."""

    rule: Literal["drawn", "complete", "blocked", "simple", "named"]
    """`drawn`: when they came. `named`: the file says it. The others: at the start, by this method."""
    draw: int | None = Field(default=None, examples=[7])
    """The number of the draw."""
    block: int | None = Field(default=None, examples=[3])
    probability: float | None = Field(default=None, examples=[0.5])
    """That of this treatment: at the start before anything was drawn, later given all draws before."""


class MemberResource(Resource):
    """A member as the experimenter sees them, private parts included."""

    id: UUID
    path: str = Field(examples=["c1/m2"])
    kind: Literal["participant", "mediator"]
    player: Literal["person", "agent", "script"]
    profile: ProfileResource
    agent: dict[str, Any] | None
    """The private configuration of an agent: persona, model settings, chat settings."""
    status: str = Field(examples=["in_progress"])
    status_reason: str | None
    stage_id: str | None = Field(examples=["talk"])
    """Where the member is; null after the last stage."""
    stage_ids: list[str]
    cohort_id: UUID
    cohort: str = Field(examples=["morning"])
    treatment_id: str | None = Field(examples=["control"])
    """The member's own treatment, or that of the cohort; null before a person has drawn an own one, and of mediators
    there."""
    allocated: AllocatedResource | None
    """How the member came by a treatment of their own; null where cohorts have the treatments."""
    joining: JoiningResource | None
    """How a person who joined was assigned to this cohort; null for agents and open seats."""
    added_by: str | None = Field(examples=["Ellen"])
    """Who added this agent while the cohort ran; null for seats of the file."""
    is_test: bool
    created_at: datetime
    joined_at: datetime | None
    arrived_at: datetime | None
    paused_at: datetime | None
    """Since when this member alone is paused."""
    gone_at: datetime | None = None
    """Since when a person who takes part is gone: without an open page; null for all others."""
    ended_at: datetime | None


class MemberList(Resource):
    members: list[MemberResource]
    next_after: UUID | None
    """Give this as `after` to read on; null at the end."""


class AdditionRequest(ReasonRequest):
    """An agent that comes to a cohort that runs."""

    persona: PersonaId | Annotated[dict[str, JsonValue], AfterValidator(storable_json)] = Field(examples=["guide"])
    """The id of an agent among the experiment's personas; or a new persona as files have them, with an id that none of
    them has. The file of the experiment stays as it is."""
    kind: Literal["participant", "mediator"] = "participant"
    stage_id: Slug | None = Field(default=None, examples=["talk"])
    """The stage on which a participant begins; left out: the first one. A mediator sits where its persona says."""


class CheckRequest(ReasonRequest):
    text: StorableText = Field(default="", max_length=500, examples=["Are you still there?"])
    """What the member is asked; empty: what the file says."""


class ViewRequest(Request):
    seconds: Number = Field(default=600, gt=0, le=3600)
    """How long the token is valid."""


class ViewToken(Resource):
    token: str = Field(examples=["view.mE3..."])
    """Shown this once. It takes the place of the participant's token in requests that read."""
    expires_at: datetime


class NoticeRequest(ReasonRequest):
    text: StorableText = Field(min_length=1, max_length=2000, examples=["We start again in five minutes."])


class TransferRequest(ReasonRequest):
    cohort_id: UUID
    """The cohort that is offered, of the same experiment."""
    seconds: Number = Field(default=60, gt=0, le=86_400)
    """How long the participant has for an answer."""


class RemovalRequest(Request):
    reason: StorableText = Field(min_length=1, max_length=500, examples=["asked to be taken out"])
