"""Messages and live events."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import ConfigDict, Field, JsonValue

from parley_lab.gateway.resources.base import MessageText, Request, Resource, StorableText, TrueOrFalse
from parley_lab.gateway.resources.members import ProfileResource


class MessageRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Hello all!", "client_message_id": "m-1"}]})

    text: MessageText
    client_message_id: StorableText = Field(min_length=1, max_length=100)
    """Chosen by the client; the same one again returns the stored message, and posts nothing."""
    reply_to: UUID | None = None
    """The message in the same thread that this one answers."""


class Author(Resource):
    id: UUID
    profile: ProfileResource


class QuoteResource(Resource):
    """The message that another one answers, as far as it is shown there."""

    id: UUID
    author: Author | None
    """Null for what the lab says."""
    text: str = Field(examples=["Hello all!"])
    """At most 280 characters; what is longer ends with an ellipsis."""


Reaction = Literal["heart", "thumbs_up"]


class ReactionResource(Resource):
    """One reaction to a message, and who has it."""

    reaction: Reaction
    count: int = Field(examples=[2])
    member_ids: list[UUID]
    """Those who react so, the first one first."""


class LineResource(Resource):
    """A sentence of the lab as a code with its parameters."""

    code: str = Field(examples=["has_left"])
    """Does not change."""
    params: dict[str, JsonValue] = Field(examples=[{"name": "Ada"}])
    """The values that words for it need."""


class MessageResource(Resource):
    id: UUID
    thread_id: UUID
    stage_id: str = Field(examples=["talk"])
    seq: int = Field(examples=[3])
    """1, 2, 3, ... in the thread."""
    author: Author | None
    """Null for what the lab says."""
    text: str = Field(examples=["Hello all!"])
    line: LineResource | None = None
    """What the lab says here of itself, for pages with words of their own; null for all else."""
    topic: str | None = None
    """The topic that it was said about; null in a conversation without topics."""
    reply_to: UUID | None
    """The message that this one answers."""
    quote: QuoteResource | None
    """What it answers; null, like `reply_to`, where not everybody who reads this may read that."""
    reactions: list[ReactionResource] = Field(examples=[[]])
    """Those that at least one member has given."""
    elapsed_ms: int = Field(examples=[4200])
    """Time since the stage opened."""
    created_at: datetime


class StaffMessageRequest(Request):
    text: MessageText
    client_message_id: StorableText = Field(min_length=1, max_length=100)
    """Chosen by the client; the same one again returns the stored message, and posts nothing."""


class ThreadResource(Resource):
    """A conversation as the experimenter sees it."""

    id: UUID
    stage_id: str = Field(examples=["talk"])
    scope: str = Field(examples=["group"])
    """`group`, or `private:` and the path of the participant with whom mediators talk."""
    member_id: UUID | None
    """The participant of a private conversation."""
    messages: int = Field(examples=[12])
    """How many there are, those of the lab included."""
    opened_at: datetime
    ended_at: datetime | None


class ThreadList(Resource):
    threads: list[ThreadResource]


class MessageList(Resource):
    messages: list[MessageResource]
    read_to: int = Field(examples=[3])
    """Give this as `after_seq` to read on."""
    has_ended: bool
    """Nothing more can be said in this thread."""


class TypingRequest(Request):
    is_typing: TrueOrFalse = Field(examples=[True])
    """Whether the member is typing; said again every few seconds while they are."""
