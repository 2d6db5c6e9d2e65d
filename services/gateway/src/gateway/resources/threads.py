"""Messages and live events."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from gateway.resources.base import MessageText, Request, Resource, StorableText
from gateway.resources.members import ProfileResource


class MessageRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Hello all!", "client_message_id": "m-1"}]})

    text: MessageText
    client_message_id: StorableText = Field(min_length=1, max_length=100)
    """Chosen by the client; the same one again gives the message that stands, and posts nothing."""
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


class MessageResource(Resource):
    id: UUID
    thread_id: UUID
    stage_id: str = Field(examples=["talk"])
    seq: int = Field(examples=[3])
    """1, 2, 3, ... in the thread."""
    author: Author | None
    """Null for what the lab says."""
    text: str = Field(examples=["Hello all!"])
    topic: str | None = None
    """The topic that it was said about; null in a conversation without topics."""
    reply_to: UUID | None
    """The message that this one answers."""
    quote: QuoteResource | None
    """What it answers; null, like `reply_to`, where not everybody who reads this may read that."""
    reactions: list[ReactionResource] = Field(examples=[[]])
    """Those that somebody has."""
    elapsed_ms: int = Field(examples=[4200])
    """Time since the stage opened."""
    created_at: datetime


class MessageList(Resource):
    messages: list[MessageResource]
    read_to: int = Field(examples=[3])
    """Give this as `after_seq` to read on."""
    has_ended: bool
    """Nothing more can be said in this thread."""


class StreamEvent(Resource):
    """The `data` of one server-sent event; its `id` is the cursor to resume from, its `event` the type."""

    type: str = Field(examples=["message.created"])
    cohort_id: UUID
    stream_seq: int = Field(examples=[17])
    """1, 2, 3, ... in the cohort; a participant sees only some of them."""
    at: datetime
    data: Any
    """What the event is about, as the reader may see it."""
