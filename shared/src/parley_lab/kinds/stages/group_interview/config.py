"""The configuration of a group interview."""

from typing import Annotated, ClassVar, Final, Literal, Self

from pydantic import Field, PrivateAttr

from parley_lab.base.rules import Rule, is_none
from parley_lab.contracts.experiment import Document, Slug, Together
from parley_lab.kinds.questions.asked_of_rows import AskedOfRows
from parley_lab.kinds.questions.rows import AskedRow, named
from parley_lab.kinds.stages.group_interview.options import Options
from parley_lab.kinds.stages.group_interview.replies import VariableType

TaskType = Literal["context", "discussion", "public_question", "private_question"]
Label = Annotated[str, Field(min_length=1, max_length=100)]
USUAL_FACILITATOR: Final = "Facilitator"
"""Pages say it in their language."""


class InterviewRole(Document):
    """A role in the interview."""

    label: Label
    """The role's name for the others."""
    description: str = ""
    """Told to the member with the role only."""


class InterviewQuestion(Document):
    """The question of a task to one role."""

    role: Label
    text: str = Field(min_length=1)
    """`{response_options}` shows the options; without it they follow the text."""
    options: Options | None = None
    """A list, a range with both ends, or a text; left out: none are shown."""


class RoleOptions(Document):
    """The options of one role."""

    role: Label
    options: Options
    """A list, a range with both ends, or a text."""


class InterviewTask(Document):
    """One step of the interview."""

    id: Slug
    type: TaskType
    """`context`: shown to all, asks no question. `discussion`: members speak in turn. `public_question`: one after
    another, and all hear the answers. `private_question`: all at once; others hear the answers when all have answered.
    """
    text: str = ""
    """Read out to all in a context, and at the beginning of a discussion."""
    questions: tuple[InterviewQuestion, ...] = ()
    """The questions and their roles, in speaking order. Mediators who are asked see the answers of those before them.
    In a discussion: who takes part, in which order, each with a prompt that all hear; left out: all members.
    """
    options: Options | None = None
    """In a discussion of all: its options, told to all with `text`, in the place of `{response_options}` or after the
    text.
    """
    role_options: tuple[RoleOptions, ...] = ()
    """In a discussion of all: the options of each role, told to that role alone in its turn."""
    variable: Annotated[str, Field(min_length=1, max_length=200)]
    """The name of the column with the answers."""
    variable_type: VariableType | None = None
    """`integer` and `float` allow numbers of that type only."""
    randomize_options: bool = False
    """Whether the options of a list are shown in a drawn order."""
    check: bool = False
    """Whether an answer that is no option is asked again, as often as the model's settings allow, and then stored."""
    ask_score: bool = False
    """Whether agents say how speculative their answer is, from 0 to 100."""
    ask_reasoning: bool = False
    """Whether agents give reasons with their answer."""
    plain_text: bool = False
    """Whether models reply in plain text and not with a JSON object; then `ask_reasoning` is not allowed."""
    show_if: Rule | None = Field(default=None, exclude_if=is_none)
    """The task is there where this is true, for all of a cohort: a rule over its arm or over the row; left out: always.
    """
    _row: AskedRow | None = PrivateAttr(default=None)

    @property
    def row(self) -> AskedRow | None:
        """The row that it is about; None: the stage has none."""
        return self._row

    @property
    def variable_in_file(self) -> str:
        """The variable without the row."""
        return self.variable if self._row is None else self.variable.removeprefix(named(self._row.id, ""))

    def of_row(self, row: AskedRow, show_if: Rule | None) -> Self:
        """The same task about this row, with an id and a column of its own."""
        names = {name: named(row.id, getattr(self, name)) for name in ("id", "variable")}
        found = self.model_copy(update={**names, "show_if": show_if})
        found._row = row
        return found


class SessionDraws(Document):
    """Values for one cohort, under `draws` and the id of the stage; left out: those of the stage."""

    speakers: tuple[Label, ...] | None = None
    """The roles of the seats, in order, which is the order of speaking; a special role among them belongs to a
    participant and not to a mediator.
    """
    tasks: tuple[str, ...] | None = None
    """The ids of all tasks in the order of this cohort; with rows `everest.guess`, the row before the task."""


class GroupInterviewStage(AskedOfRows):
    """An interview of a group by a facilitator, who reads out the texts of the stage and needs no model for that."""

    asked: ClassVar[str] = "tasks"

    kind: Literal["group_interview"] = "group_interview"
    progress: Together = Together()
    context: str = ""
    """Told to all before the first task."""
    treatment: str = ""
    """Told to all under this treatment, after the context."""
    facilitator: Label = USUAL_FACILITATOR
    """The name of the member who reads out the questions. A mediator with this name can be asked questions, too."""
    roles: tuple[InterviewRole, ...] = Field(min_length=1)
    """The roles of participants; seats take them in order, unless the `draws` of their cohort say otherwise."""
    special_roles: tuple[InterviewRole, ...] = ()
    """Roles of mediators with the label as their name. In discussions they speak last."""
    tasks: tuple[InterviewTask, ...] = Field(min_length=1)
    max_replies: int | None = Field(default=None, ge=1)
    """After so many replies of a session its interview is over, whatever tasks are left."""
