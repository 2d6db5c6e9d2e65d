"""Acts on members and groups, and their outcomes."""

from typing import Literal
from uuid import UUID

from pydantic import Field

from parley_lab.gateway.resources.base import Request, Resource, StorableText

Act = Literal["pause", "resume", "check", "message", "remove", "advance"]


class ReasonRequest(Request):
    reason: StorableText = Field(default="", max_length=500, examples=["fire alarm"])
    """Why; the lab keeps it with the deed (`GET /v1/deeds`)."""


class ContinueRequest(Request):
    reason: StorableText = Field(min_length=1, max_length=500, examples=["their browser hangs"])


class ActRequest(Request):
    member_ids: list[UUID] | None = Field(default=None, min_length=1, max_length=500)
    """Whom it is done to; left out only in `message`: all people who take part."""
    reason: StorableText = Field(default="", max_length=500, examples=["asked to be taken out"])
    """Why; `remove` and `advance` need it."""
    text: StorableText = Field(default="", max_length=2000, examples=["We start again in five minutes."])
    """What is said in `message`, and asked in `check`."""


class ActOutcome(Resource):
    member_id: UUID
    outcome: Literal["done", "refused", "not_found", "failed"]
    """`failed`: the lab could not do it with this member. Try again with the `Idempotency-Key` of the first request."""
    status: str | None = Field(examples=["paused"])
    """The state of the member after it; null for one that is not there, or whose state cannot be read now."""
    reason: str | None = Field(default=None, examples=["not_joined"])
    """Of a refusal or a failure: a stable word."""
    detail: str | None = Field(default=None, examples=["Nobody has taken this seat yet."])


class ActOutcomes(Resource):
    outcomes: list[ActOutcome]


class CohortName(Request):
    name: StorableText = Field(min_length=1, max_length=200, examples=["morning"])


class SeatsRequest(ReasonRequest):
    count: int = Field(default=1, ge=1, le=100)
    """How many seats."""


class CohortsRequest(ReasonRequest):
    count: int = Field(default=1, ge=1, le=100)
    """How many groups."""
    treatment: StorableText | None = Field(default=None, max_length=100, examples=["control"])
    """Their arm; left out: for each the arm that has the fewest groups."""
