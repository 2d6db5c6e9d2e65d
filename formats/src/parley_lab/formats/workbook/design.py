"""A valid workbook under one permutation of its constants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from parley_lab.base.errors import Problem
from parley_lab.formats.workbook.cells import Cell
from parley_lab.formats.workbook.templates import Constant
from parley_lab.kinds.stages.group_interview.options import Options
from parley_lab.kinds.stages.group_interview.replies import VariableType

FACILITATOR: Final = "Facilitator"
SUMMARIZER: Final = "Summarizer"
SPECIAL_ROLES: Final = (FACILITATOR, SUMMARIZER)
"""Roles without a row in agent_profiles; their agents take part in every session."""

TaskType = Literal["context", "discussion", "public_question", "private_question"]
TreatmentStrategy = Literal["simple_random", "complete_random", "manual"]
Strategy = Literal["random", "manual"]


@dataclass(frozen=True, slots=True)
class Settings:
    """The sheet experimental_setting; a column is the number of a column of agent_profiles, from 1."""

    experiment_id: str
    model_info: str
    api_endpoint: str | None
    temperature: float
    num_agents_per_session: int
    num_sessions: int
    max_conversation_length: int
    treatment_strategy: TreatmentStrategy
    treatment_column: int | None
    session_strategy: Strategy
    session_column: int | None
    role_strategy: Strategy
    role_column: int | None
    random_seed: int

    @property
    def assignment_columns(self) -> frozenset[int]:
        """The columns that assign agents; a profile leaves them out."""
        named = (self.treatment_column, self.session_column, self.role_column)
        return frozenset(column for column in named if column is not None)


@dataclass(frozen=True, slots=True)
class Arm:
    label: str
    description: str


@dataclass(frozen=True, slots=True)
class Role:
    label: str
    description: str

    @property
    def is_special(self) -> bool:
        return self.label in SPECIAL_ROLES


@dataclass(frozen=True, slots=True)
class Question:
    """The question that a task asks one role; `options` is None where there are none."""

    role: str
    text: str
    options: Options | None


@dataclass(frozen=True, slots=True)
class WorkbookTask:
    """A row of interview_prompts. `questions` are in speaking order. A context, or a discussion of all, has none: its
    `text` is said to all, with `options` in a drawn order, while `role_options` are each role's own."""

    task_id: str
    type: TaskType
    order: int
    text: str
    questions: tuple[Question, ...]
    var_name: str
    var_type: VariableType | None
    randomize_options: bool
    validate: bool
    wants_score: bool
    as_json: bool
    is_adapted: bool
    human_text: str
    options: Options | None = None
    role_options: Mapping[str, Options] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Column:
    """A column of agent_profiles: its short name and the question it answers."""

    number: int
    name: str
    question: str


@dataclass(frozen=True, slots=True)
class WorkbookProfile:
    """A row of agent_profiles; `cells` holds the cells that are not blank, by column number."""

    id: str
    row: int
    cells: Mapping[int, Cell]


@dataclass(frozen=True, slots=True)
class Design:
    """The workbook under one permutation of its constants; permutations count from 1."""

    permutation: int
    constants: Mapping[str, Constant]
    settings: Settings
    arms: tuple[Arm, ...]
    roles: tuple[Role, ...]
    context: WorkbookTask
    tasks: tuple[WorkbookTask, ...]
    columns: tuple[Column, ...]
    profiles: tuple[WorkbookProfile, ...]

    @property
    def user_roles(self) -> tuple[Role, ...]:
        """The roles of agents with a profile, or of people; each occurs once in every session."""
        return tuple(role for role in self.roles if not role.is_special)

    def role(self, label: str) -> Role:
        return next(role for role in self.roles if role.label == label)

    def arm(self, label: str) -> Arm:
        return next(arm for arm in self.arms if arm.label == label)

    def answers(self, profile: WorkbookProfile) -> list[tuple[Column, str]]:
        """The agent's answers, in the order of the sheet; without the ID, assignments and blank cells."""
        left_out = self.settings.assignment_columns
        return [
            (column, profile.cells[column.number].text)
            for column in self.columns
            if column.number in profile.cells and column.number not in left_out and not is_id(column)
        ]


@dataclass(frozen=True, slots=True)
class Workbook:
    """The content of a file: a design for every permutation of its constants, and warnings."""

    designs: tuple[Design, ...]
    warnings: tuple[Problem, ...] = field(default=())

    @property
    def experiment_id(self) -> str:
        return self.designs[0].settings.experiment_id

    def names(self) -> Sequence[str]:
        """The file name of each design: the experiment's id, numbered when there are several."""
        if len(self.designs) == 1:
            return [self.experiment_id]
        return [f"{self.experiment_id}_{design.permutation}" for design in self.designs]


ID: Final = "ID"


def is_id(column: Column) -> bool:
    return ID in (column.name, column.question)
