"""What live streams say: the `data` of each server-sent event, by its type."""

from datetime import datetime
from typing import Annotated, Literal
from uuid import UUID

from pydantic import Field, JsonValue, TypeAdapter

from parley_lab.gateway.resources.base import Resource
from parley_lab.gateway.resources.experiments import ExperimentItem
from parley_lab.gateway.resources.lab import AlertResource
from parley_lab.gateway.resources.members import ProfileResource
from parley_lab.gateway.resources.threads import MessageResource, Reaction, ReactionResource


class Nothing(Resource):
    """The type says it all."""


class OfMember(Resource):
    member_id: UUID


class MemberMove(OfMember):
    from_stage_id: str = Field(examples=["welcome"])
    to_stage_id: str | None = Field(examples=["talk"])
    """Null after the last stage."""


class ProfileChange(OfMember):
    profile: ProfileResource


class SentCheck(OfMember):
    text: str = Field(examples=["Are you still there?"])
    due_at: datetime | None
    """Until when; null: the time begins when the member's page fetches `GET /v1/me`."""


class OfferedMove(OfMember):
    to_cohort_id: UUID


class SentNotice(OfMember):
    notice_id: UUID
    text: str = Field(examples=["We start again in five minutes."])


class OfStage(Resource):
    stage_id: str = Field(examples=["talk"])


class OfAsk(OfStage):
    key: str = Field(examples=["round:7/move"])


class OpenedAsk(OfAsk):
    ask_id: UUID
    purpose: str = Field(examples=["move"])


class OfThread(OfStage):
    thread_id: UUID


class ThreadUpdate(OfThread):
    whose_turn: UUID | None
    topic: str | None


class ThreadEnd(OfThread):
    reason: str = Field(examples=["time limit"])


class ReactionChange(OfThread):
    message_id: UUID
    seq: int
    member_id: UUID
    reaction: Reaction
    reactions: list[ReactionResource]
    """All that the message has now."""


class Typing(OfThread):
    member_id: UUID
    is_typing: bool


class MemberTypes(Resource):
    """A member has begun to type, or has stopped. A hint, and no event: it has no cursor, and may be missed. A message
    of the member ends it, too."""

    type: Literal["thread.typing"]
    data: Typing


class _Event(Resource):
    """The head of every event; the `id` of the server-sent event is the cursor to resume from, its `event` the type."""

    cohort_id: UUID
    stream_seq: int = Field(examples=[17])
    """1, 2, 3, ... in the cohort; a participant sees only some of them."""
    at: datetime


class MemberMoved(_Event):
    type: Literal["member.moved"]
    data: MemberMove


class MemberLeft(_Event):
    """A member is out; the reason is not told."""

    type: Literal["member.left"]
    data: OfMember


class ProfileChanged(_Event):
    """The others know the member by this profile from now on."""

    type: Literal["member.profile_changed"]
    data: ProfileChange


class MemberHeld(_Event):
    """Told to the one who is paused, goes on, has passed a check, or stays because a move is not possible any more."""

    type: Literal["member.paused", "member.resumed", "member.check_passed", "member.transfer_withdrawn"]
    data: OfMember


class MemberChecked(_Event):
    """Told to the one who is asked whether they are still there."""

    type: Literal["member.checked"]
    data: SentCheck


class MemberOffered(_Event):
    """Told to the one who is offered a move to another group."""

    type: Literal["member.transfer_offered"]
    data: OfferedMove


class MemberMessaged(_Event):
    """Told to the one to whom the lab has said something."""

    type: Literal["member.messaged"]
    data: SentNotice


class StageChanged(_Event):
    """A stage is open, or its page has something new to show."""

    type: Literal["stage.unlocked", "stage.updated"]
    data: OfStage


class AskOpened(_Event):
    """Told to the one who is asked."""

    type: Literal["ask.opened"]
    data: OpenedAsk


class AskAnswered(_Event):
    """Told to the one who has answered."""

    type: Literal["ask.answered"]
    data: OfAsk


class MessageCreated(_Event):
    type: Literal["message.created"]
    data: MessageResource


class MessageReaction(_Event):
    type: Literal["message.reacted", "message.unreacted"]
    data: ReactionChange


class ThreadOpened(_Event):
    """A conversation has begun: what is said there can be read, and pages of its stage have it as their `thread`."""

    type: Literal["thread.opened"]
    data: OfThread


class ThreadUpdated(_Event):
    """Whose turn it is, or what is talked about, has changed."""

    type: Literal["thread.updated"]
    data: ThreadUpdate


class ThreadEnded(_Event):
    type: Literal["thread.ended"]
    data: ThreadEnd


class Happened(_Event):
    """Something that concerns the whole cohort."""

    type: Literal["cohort.started", "cohort.ended", "experiment.paused", "experiment.resumed"]
    data: Nothing


StreamEvent = Annotated[
    MemberMoved
    | MemberLeft
    | ProfileChanged
    | MemberHeld
    | MemberChecked
    | MemberOffered
    | MemberMessaged
    | StageChanged
    | AskOpened
    | AskAnswered
    | MessageCreated
    | MessageReaction
    | ThreadOpened
    | ThreadUpdated
    | ThreadEnded
    | MemberTypes
    | Happened,
    Field(discriminator="type"),
]
"""The `data` of one server-sent event in the stream of a participant."""

STREAM_EVENT: TypeAdapter[StreamEvent] = TypeAdapter(StreamEvent)


class ExperimenterEvent(_Event):
    """The `data` of one server-sent event in the stream of an experimenter: a row of `events` in the data."""

    type: str = Field(examples=["message.created"])
    actor: str = Field(examples=["c1/m2"])
    """The path of the member who did it, `lab`, or who asked for it over REST."""
    cause: str = Field(examples=["agent-worker"])
    """By way of which process it came about."""
    subject: str = Field(examples=["c1/talk/group/3"])
    subject_id: UUID | None
    data: dict[str, JsonValue]
    """What participants are told of it, and what only the experimenter may know."""


class ExperimentChanged(Resource):
    type: Literal["experiment.changed"]
    data: ExperimentItem


class DeletedExperiment(Resource):
    id: UUID


class ExperimentDeleted(Resource):
    type: Literal["experiment.deleted"]
    data: DeletedExperiment


class AlertOfExperiment(Resource):
    experiment_id: UUID
    alert: AlertResource


class AlertChanged(Resource):
    type: Literal["alert.raised", "alert.resolved"]
    data: AlertOfExperiment


HomeEvent = Annotated[ExperimentChanged | ExperimentDeleted | AlertChanged, Field(discriminator="type")]
"""The `data` of one server-sent event in the stream of all experiments of an experimenter."""

HOME_EVENT: TypeAdapter[HomeEvent] = TypeAdapter(HomeEvent)
