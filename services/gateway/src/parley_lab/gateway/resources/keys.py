"""API keys as they are made, listed and revoked, and what was done with them."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from parley_lab.gateway.resources.base import Request, Resource, StorableText, Time
from parley_lab.store.keys import ALL_SCOPES, Scope


class NewKey(Request):
    experimenter: StorableText | None = Field(default=None, min_length=1, max_length=200, examples=["ana"])
    """Whose key it is; yours when left out."""
    label: StorableText = Field(default="", max_length=200, examples=["for the script of the pilot"])
    scopes: tuple[Scope, ...] = Field(default=ALL_SCOPES, min_length=1, max_length=3, examples=[["read"]])
    expires_at: Time | None = None
    """Until when it is valid; without a time until it is revoked."""


class NewKeyResource(Resource):
    key: str = Field(examples=["parley_..."])
    """The key itself, which is shown only once."""
    experimenter: str
    expires_at: datetime | None = None


class KeyResource(Resource):
    id: UUID
    prefix: str = Field(examples=["parley_Xb3k"])
    """How the key begins."""
    experimenter: str
    label: str
    scopes: list[Literal["read", "write", "admin"]]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    """To the minute."""
    revoked_at: datetime | None


class KeyList(Resource):
    keys: list[KeyResource]


class DeedResource(Resource):
    at: datetime
    experimenter: str
    key_id: UUID | None
    """None for a command of the command line."""
    deed: str = Field(examples=["POST /v1/experiments"])
    """The method and the path of the request, or the command."""
    correlation: str
    """The id by which the logs name the request."""
    experiment_id: UUID | None = None
    """The experiment that it changed, where one is known; it may be deleted."""
    reason: str = ""
    """Why, as the one who did it has said."""


class DeedList(Resource):
    deeds: list[DeedResource]
