"""Alerts: what a researcher should look at."""

from datetime import datetime
from uuid import UUID

from pydantic import Field

from gateway.resources.base import Resource


class AlertResource(Resource):
    """Something that a researcher should look at."""

    id: UUID
    type: str = Field(examples=["model_failed"])
    text: str
    cohort: str | None = Field(examples=["c1"])
    """The path of the cohort that it is about; null when it is about the experiment."""
    member: str | None = Field(examples=["c1/m2"])
    """The path of the member that it is about."""
    created_at: datetime
    resolved_at: datetime | None
    """Since when what it tells of is over."""


class AlertList(Resource):
    alerts: list[AlertResource]
    next_after: str | None
    """Give this as `after` to read on; null at the end."""
