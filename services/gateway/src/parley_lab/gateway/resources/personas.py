"""Personas of the library, and test chats with them."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from parley_lab.contracts.experiment import ModelMode, Persona
from parley_lab.gateway.resources.base import MessageText, Request, Resource, StorableText


class PersonaResource(Resource):
    """A persona of the library."""

    id: str = Field(examples=["ana"])
    version: int = Field(examples=[1])
    """Counts the changes, from 1."""
    created_at: datetime
    updated_at: datetime
    persona: Persona
    """The persona as experiment files have it, defaults included."""


class PersonaList(Resource):
    personas: list[PersonaResource]
    next_after: str | None
    """Give this as `after` to read on; null at the end."""


class PersonaImport(Resource):
    """What became of the personas of a file, by id."""

    created: list[str] = Field(examples=[["ana"]])
    replaced: list[str] = Field(examples=[[]])
    unchanged: list[str] = Field(examples=[["ben"]])
    """They were in the library as they are in the file."""


class PersonaMessageRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"text": "Who are you?", "client_message_id": "m-1"}]})

    text: MessageText
    client_message_id: StorableText = Field(min_length=1, max_length=100)
    """Chosen by the client; the same one again returns the stored message, and posts nothing."""
    model_mode: ModelMode = "mock"
    """`real` calls and pays the persona's model for the reply to this message."""


class ReplyFailure(Resource):
    """Why a message has no reply."""

    code: str = Field(examples=["auth_error"])
    detail: str = Field(examples=["The provider of the model does not accept its key."])


class PersonaMessage(Resource):
    """One message of a test chat with a persona."""

    id: UUID
    seq: int = Field(examples=[1])
    author: Literal["you", "persona"]
    text: str = Field(examples=["Who are you?"])
    created_at: datetime
    reply: Literal["awaited", "given", "failed"] | None
    """What became of the reply to a message of yours; null for those of the persona."""
    failure: ReplyFailure | None = None


class PersonaChat(Resource):
    """The test chat with a persona, as far as it was asked for."""

    persona_id: str = Field(examples=["ana"])
    experiment_id: UUID | None
    """Its events are streamed at `/v1/experiments/{experiment_id}/stream`; null before the first message."""
    model_mode: ModelMode | None
    """Of the last message."""
    is_awaiting_reply: bool
    messages: list[PersonaMessage]
    next_after_seq: int | None
    """Give this as `after_seq` to read on; null at the end."""
