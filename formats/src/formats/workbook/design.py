"""A workbook that was read and found right: what runs under one permutation of its constants."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from formats.workbook.cells import Cell
from formats.workbook.templates import Constant
from shared.errors import Problem
from shared.stages.group_interview.options import Options
from shared.stages.group_interview.replies import VariableType

FACILITATOR: Final = "Facilitator"
SUMMARIZER: Final = "Summarizer"
SPECIAL_ROLES: Final = (FACILITATOR, SUMMARIZER)
"""Their agents have no row in agent_profiles, and are there in every session."""

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
        """The columns that say who goes where; they are no part of who somebody is."""
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
    """What one role is asked in a task; `options` is None where there are none."""

    role: str
    text: str
    options: Options | None


@dataclass(frozen=True, slots=True)
class Task:
    """A row of interview_prompts. `questions` are in speaking order; of a context, and of a discussion of all, there
    are none, and `text` is said to all: with `options` in a drawn order, while `role_options` are each role's own."""

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
class Profile:
    """A row of agent_profiles; `cells` holds what is not blank, by the number of the column."""

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
    context: Task
    tasks: tuple[Task, ...]
    columns: tuple[Column, ...]
    profiles: tuple[Profile, ...]

    @property
    def user_roles(self) -> tuple[Role, ...]:
        """The roles that agents with a profile, or people, play; each is played once in every session."""
        return tuple(role for role in self.roles if not role.is_special)

    def role(self, label: str) -> Role:
        return next(role for role in self.roles if role.label == label)

    def arm(self, label: str) -> Arm:
        return next(arm for arm in self.arms if arm.label == label)

    def answers(self, profile: Profile) -> list[tuple[Column, str]]:
        """What somebody answered, in the order of the sheet; without the ID, assignments and what was left blank."""
        left_out = self.settings.assignment_columns
        return [
            (column, profile.cells[column.number].text)
            for column in self.columns
            if column.number in profile.cells and column.number not in left_out and not is_id(column)
        ]


@dataclass(frozen=True, slots=True)
class Workbook:
    """What a file says: a design for every permutation of its constants, and what was forgiven in it."""

    designs: tuple[Design, ...]
    warnings: tuple[Problem, ...] = field(default=())

    @property
    def experiment_id(self) -> str:
        return self.designs[0].settings.experiment_id

    def names(self) -> Sequence[str]:
        """What the files of each design are called: by the experiment's id, numbered when there are several."""
        if len(self.designs) == 1:
            return [self.experiment_id]
        return [f"{self.experiment_id}_{design.permutation}" for design in self.designs]


ID: Final = "ID"


def is_id(column: Column) -> bool:
    return ID in (column.name, column.question)
