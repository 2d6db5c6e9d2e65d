"""The guest list of an experiment."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from pydantic import ConfigDict, Field

from parley_lab.gateway.resources.base import Request, Resource, StorableText


class GuestsRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"guests": ["5f2b81c0", "60aa17d3"]}]})

    guests: list[Annotated[StorableText, Field(min_length=1, max_length=200)]] = Field(max_length=20_000)
    """The external ids that may join; with an empty list no one may."""


class GuestResource(Resource):
    external_id: str = Field(examples=["5f2b81c0"])
    """As the list has it, without spaces around it."""
    member_id: UUID | None
    """The member who came with this id; null: the guest has not come."""
    path: str | None = Field(examples=["c1/m2"])
    status: str | None = Field(examples=["in_progress"])
    """The state of the member."""
    joined_at: datetime | None


class GuestList(Resource):
    guests: list[GuestResource]
    """In the order of the list."""
    came: int = Field(examples=[12])
    """How many of them have joined."""
    forgotten: int = Field(examples=[0])
    """How many other guests joined and had everything about them deleted: their ids are unknown, and the list stays."""
    has_list: bool = Field(examples=[True])
    """Whether there is a list. Without one everybody may join, with an empty one no one may."""
