"""What those who run the lab read about it."""

from datetime import datetime
from typing import Literal
from uuid import UUID

from pydantic import Field

from parley_lab.gateway.resources.base import Resource


class Health(Resource):
    status: Literal["ok"] = "ok"


class ProviderResource(Resource):
    provider: str = Field(examples=["openai"])
    workers: int = Field(examples=[2])
    """How many workers call its models now; with none, experiments that need it are not started."""


class WorkerResource(Resource):
    name: str = Field(examples=["process 7 on agent-worker-2"])
    providers: list[str] = Field(examples=[["mock", "openai"]])
    started_at: datetime
    seen_at: datetime
    """When the worker last said that it is there."""


class ProvidersResource(Resource):
    providers: list[ProviderResource]
    workers: list[WorkerResource]


class Readiness(Resource):
    status: Literal["ready"] = "ready"
    database: bool = True
    bus: bool = Field(examples=[True])
    """Whether the bus answers; without it the gateway stays ready, and what it accepts is published later."""


class AlertResource(Resource):
    """Something that a researcher should look at."""

    id: UUID
    type: str = Field(examples=["model_failed"])
    text: str
    cohort: str | None = Field(examples=["c1"])
    """The path of the cohort that it is about; null when it is about the experiment."""
    cohort_id: UUID | None
    member: str | None = Field(examples=["c1/m2"])
    """The path of the member that it is about."""
    member_id: UUID | None
    stage_id: str | None = Field(examples=["talk"])
    """Where that member is now."""
    created_at: datetime
    resolved_at: datetime | None
    """Since when what it tells of is over."""
    resolved_by: str | None = None
    """The experimenter who has seen to it; null where the lab found that it was over."""


class AlertList(Resource):
    alerts: list[AlertResource]
    next_after: str | None
    """Give this as `after` to read on; null at the end."""


class StreamTicket(Resource):
    ticket: str = Field(examples=["pR5n3k..."])
    """Opens one live stream of the bearer (`?ticket=`), once; shown this once."""
    expires_at: datetime
