"""The board of an experiment: rows without the names of their fields, since there may be thousands."""

from typing import Any, Final, Literal
from uuid import UUID

from pydantic import Field, JsonValue

from parley_lab.gateway.resources.base import Resource
from parley_lab.gateway.resources.experiments import ExperimentItem

COHORT_COLUMNS: Final = (
    "id", "path", "name", "treatment", "status", "locked", "join_code", "created_at", "ended_at", "stream_seq",
    "unlocked", "waits", "alone",
)  # fmt: skip
MEMBER_COLUMNS: Final = (
    "id", "path", "cohort", "kind", "player", "name", "avatar", "persona", "treatment", "status", "way", "position",
    "since", "gone_at", "paused_at", "ask", "draft",
)  # fmt: skip


class BoardStage(Resource):
    id: str = Field(examples=["talk"])
    kind: str = Field(examples=["group_chat"])
    title: str = Field(examples=["Talk"])
    wait_for_all: bool
    """Whether it opens when all of the group are there."""
    min_participants: int
    """How many must be there before it opens."""


class BoardProgress(Resource):
    messages: int
    model_calls: int
    unpriced_calls: int
    """Calls without a known price; they are not in `cost`."""
    cost: float | None
    """In US dollars."""
    max_calls: int | None
    """How many calls of real models may be made; null: no limit."""
    calls_taken: int | None
    """How many of them are used up."""


class BoardResource(Resource):
    """An experiment at one moment. Rows name stages, treatments, personas, cohorts and ways by their index."""

    cursor: str
    """The `after` of a stream that goes on from here. What it says of a cohort up to `stream_seq` is in its row."""
    experiment: ExperimentItem
    join_code: str
    stages: list[BoardStage]
    treatments: list[str]
    personas: list[str]
    """The ids of personas that agents play."""
    ways: list[list[int]]
    """The stages of members, in their order: `way` of a member is an index here, `position` an index there; a position
    after the last is the end."""
    progress: BoardProgress
    cohort_columns: list[str] = Field(examples=[list(COHORT_COLUMNS)])
    cohorts: list[list[JsonValue]]
    """`unlocked` has the stages that are open, `waits` `[stage, over_at, outcome]` of waits whose time was up.
    `alone`: one person on the way to a group that is made of those who are there."""
    columns: list[str] = Field(examples=[list(MEMBER_COLUMNS)])
    members: list[list[JsonValue]]
    """`since`: when the member came to this stage. `ask`: the key of an open ask, such as `round:7/move`. `draft`: the
    state of an open draft."""


class BoardEvent(Resource):
    """An event in the stream of a board: what moves rows, without any text of members."""

    type: str = Field(examples=["member.moved"])
    cohort_id: UUID
    stream_seq: int
    at: str
    subject: str = Field(examples=["c1/m2"])
    subject_id: UUID | None
    data: dict[str, JsonValue]


class BoardHint(Resource):
    """What is said beside events. It has no cursor: the next one says it again.

    `experiment.changed`: the fields of its state. `experiment.deleted`. `drafts.changed`: `members`, the state of the
    open draft by member, null without one. `progress.changed`: as `progress` of the board. `alert.raised`,
    `alert.resolved`: `alert`.
    """

    type: Literal[
        "experiment.changed",
        "experiment.deleted",
        "drafts.changed",
        "progress.changed",
        "alert.raised",
        "alert.resolved",
    ]
    data: dict[str, Any]
