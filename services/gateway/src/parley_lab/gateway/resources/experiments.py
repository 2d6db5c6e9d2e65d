"""Experiments: what they are, how far they are, what their data come to."""

from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from pydantic import ConfigDict, Field

from parley_lab.contracts.experiment import ModelMode, Pace, PauseReason
from parley_lab.gateway.resources.acts import ReasonRequest
from parley_lab.gateway.resources.base import Request, Resource, Seed, StorableText, TrueOrFalse, WholeNumber


class ExperimentProgress(Resource):
    members_by_status: dict[str, int] = Field(examples=[{"in_progress": 3, "completed": 1}])
    """Participants, by status."""
    messages: int = Field(examples=[12])
    model_calls: int = Field(examples=[20])
    cohorts: int = Field(examples=[2])
    cohorts_running: int = Field(examples=[1])


ExperimentStatus = Literal["draft", "running", "paused", "ended"]


class ExperimentSummary(Resource):
    id: UUID
    name: str = Field(examples=["Free night buses"])
    study: str = Field(examples=["Night buses"])
    status: ExperimentStatus
    pace: Pace
    model_mode: ModelMode
    seed: int = Field(examples=[7])
    created_at: datetime
    started_at: datetime | None
    ended_at: datetime | None
    paused_at: datetime | None = None
    """Since when nothing happens in it; null while it goes on."""
    pause_reason: PauseReason | None = None
    """Why it is paused: on request, the process that ran it was stopped, it may make no more calls of
    models, or a key was refused and its run stopped."""


class ExperimentCounts(Resource):
    """Participants, without mediators."""

    people: int = Field(examples=[4])
    """People who have joined and have not come to an end."""
    agents: int = Field(examples=[8])
    """Agents and scripts who have not come to an end."""
    waiting: int = Field(examples=[2])
    """Those of both for whom the stage where they are is not open yet."""
    gone: int = Field(examples=[1])
    """People who take part without an open page."""
    through: int = Field(examples=[0])
    """Who have come to the end."""
    out: int = Field(examples=[0])
    """Whose part ended another way."""
    open_seats: int = Field(examples=[3])
    """Places that no one has taken, with those of groups that are made on arrival."""


class ExperimentItem(ExperimentSummary):
    """An experiment in a list, with how far it is."""

    is_test: bool = Field(examples=[False])
    is_archived: bool = Field(examples=[False])
    counts: ExperimentCounts
    messages: int = Field(examples=[12])
    model_calls: int = Field(examples=[20])
    cost: float | None = Field(examples=[0.0125])
    """In US dollars, of the calls with a known price; null when there is none."""
    alerts_open: int = Field(examples=[0])


class PausedKey(Resource):
    """A key that its provider refuses, or does not answer to; answers wait for it and no member fails."""

    key: str = Field(examples=["openai"])
    """Whose key it is, and at which address if not the usual one."""
    paused_at: datetime
    reason: str = Field(examples=["HTTP 401: Incorrect API key provided."])
    """What came back."""
    asked: str = Field(examples=["c1/m2"])
    """The path of the member who was asked then."""
    answers: int = Field(examples=[12])
    """How many answers of this experiment wait for it."""


class ExperimentResource(ExperimentSummary):
    is_test: bool = Field(examples=[False])
    is_archived: bool = Field(default=False, examples=[False])
    document_hash: str = Field(examples=["9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"])
    """The same for two files that say the same."""
    join_code: str = Field(examples=["wN3cXW8Yw9yQ4mXb"])
    """People take part at `/join/{join_code}`; the link gives the right to join."""
    progress: ExperimentProgress
    paused_keys: list[PausedKey]
    """The keys that its answers wait for, the longest pause first."""


class MeasureTable(Resource):
    """A table that a kind of stage makes of its data."""

    name: str = Field(examples=["pairs"])
    columns: list[str]
    rows: list[dict[str, Any]]


class ExperimentMeasures(Resource):
    """What the data come to, as far as they are there."""

    experiment_id: UUID
    status: str = Field(examples=["ended"])
    model_mode: ModelMode
    tables: list[MeasureTable]


class ExperimentList(Resource):
    experiments: list[ExperimentItem]
    next_after: str | None
    """Give this as `after` to read on; null at the end."""


class ExperimentCheck(Resource):
    """What a valid experiment file comes to."""

    name: str = Field(examples=["Free night buses"])
    document_hash: str
    stages: list[str] = Field(examples=[["welcome", "before", "talk", "after"]])
    treatments: list[str] = Field(examples=[["control", "warm"]])
    cohorts: int = Field(examples=[2])
    members: int = Field(examples=[10])
    """Seats and mediators of all cohorts."""
    warnings: list[str] = Field(
        examples=[["line 9, stages[0] (a).lines[0]: `{x}` stays as it is. Write `{{x}}` if the variable is meant."]]
    )
    """Parts that are valid and likely not meant, in the words of `parley validate`. An imported workbook has its
    warnings beside the experiments."""


class ImportedExperiments(Resource):
    """What was stored of a file with several experiments."""

    experiments: list[ExperimentResource]
    warnings: list[str] = Field(examples=[["experimental_setting!B3: this model is not in the list of known ones"]])
    """What was forgiven in the file."""


class ImportCheck(Resource):
    """What the valid experiments in a file come to."""

    experiments: list[ExperimentCheck]
    warnings: list[str] = Field(examples=[[]])
    """What was forgiven in the file."""


class ExperimentChange(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"model_mode": "mock"}]})

    model_mode: ModelMode | None = None
    """`mock` or `real`; can be changed while the experiment is a draft."""
    name: StorableText | None = Field(default=None, min_length=1, max_length=200, examples=["Pilot in Graz"])
    """The name under which it is listed; its file keeps its own."""
    study: StorableText | None = Field(default=None, min_length=1, max_length=200, examples=["Night buses"])
    """The study under which it is listed."""
    is_archived: TrueOrFalse | None = None
    """Whether it is put away; that changes nothing else."""


class TryRequest(Request):
    treatment: StorableText | None = Field(default=None, max_length=100, examples=["control"])
    """The arm; left out: as the file says."""


class TrialResource(Resource):
    experiment_id: UUID
    """The test copy, which runs by the mock."""
    join_url: str = Field(examples=["/join/aBcD"])
    """Where the person takes their seat, below the address of the lab."""


class ForkRequest(Request):
    model_config = ConfigDict(json_schema_extra={"examples": [{"name": "Free night buses, second wave"}]})

    name: StorableText | None = Field(default=None, min_length=1, max_length=200)
    """The name of the copy; left out: `Copy of` the name."""
    seed: Seed | None = None
    """The seed of the copy, up to 2^53 - 1; left out: a new one."""


class RetryOfFailed(Resource):
    """What is tried again."""

    members: int
    """How many members who had failed go on."""
    asks: int
    """How many questions, pages and moves are asked again."""


class CallLimitRequest(ReasonRequest):
    """How many calls of real models an experiment may make in all, failed ones included."""

    calls: WholeNumber = Field(ge=1, le=2**31 - 1)


class LimitResource(Resource):
    most: int | None = Field(examples=[1000])
    """Null: no limit."""
    made: int = Field(examples=[120])


class LimitsResource(Resource):
    calls: LimitResource
    """Calls of real models."""


class CallLimitResource(Resource):
    """How many calls of real models an experiment may make, and has made."""

    calls: int
    made: int
