"""Sign-ins of experimenters, and who asks."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from parley_lab.gateway.resources.base import Request, Resource, StorableText

ScopeName = Literal["read", "write", "admin"]


class SignInRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"code": "f0qZ7c0pYkq1n3w0F2r9Zg"}, {}]})

    code: StorableText | None = Field(default=None, min_length=1, max_length=200)
    """The code of an address that `parley up` or `parley console` has printed; left out with an API key."""


class SignInResource(Resource):
    id: UUID
    begun_at: datetime
    used_at: datetime
    """The last request, to the minute."""
    expires_at: datetime
    """When it ends at the latest."""
    idle_seconds: int = Field(examples=[28800])
    """It ends so long after the last request."""
    key_prefix: str = Field(examples=["parley_Xb3k"])
    """How the key begins with which it was made, and ends."""
    key_label: str = Field(examples=["for the console"])
    is_current: bool
    """Whether this request came with it."""


class NewSignInResource(SignInResource):
    token: str = Field(examples=["signin.pR5n3k..."])
    """Send it as `Authorization: Bearer <token>`, as a key; it is shown only once."""
    experimenter: str = Field(examples=["ana"])
    scopes: list[ScopeName]


class SignInList(Resource):
    sign_ins: list[SignInResource]


class RequestLimits(Resource):
    requests: int | None = Field(examples=[20])
    """How many requests may be made in `seconds`; null: no limit."""
    seconds: int | None = Field(examples=[1])
    body_bytes: int = Field(examples=[1048576])
    """How long the body of a request may be."""
    file_bytes: int = Field(examples=[20971520])
    """How long a file may be that a stage shows, or that comes beside the text of an experiment."""
    files_bytes: int = Field(examples=[104857600])
    """How long all files of an experiment may be together."""


class WhoamiResource(Resource):
    experimenter: str = Field(examples=["ana"])
    scopes: list[ScopeName]
    key_id: UUID
    sign_in: SignInResource | None
    """Null for a request with a key."""
    version: str = Field(examples=["1.0.0"])
    """Of the lab."""
    is_embedded: bool
    """Whether the lab is one process on one machine, as `parley up` starts it."""
    now: datetime
    """The clock of the lab."""
    limits: RequestLimits
