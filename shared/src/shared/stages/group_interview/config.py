"""What an experiment file says about an interview of a group."""

from typing import Annotated, Literal

from pydantic import Field

from shared.chat.config import TalkProgress
from shared.contracts.experiment import Document, Slug, StageConfig
from shared.stages.group_interview.options import Options
from shared.stages.group_interview.replies import VariableType

TaskType = Literal["context", "discussion", "public_question", "private_question"]
Label = Annotated[str, Field(min_length=1, max_length=100)]


class InterviewRole(Document):
    """A part in the interview."""

    label: Label
    """What the others call whoever plays it."""
    description: str = ""
    """What whoever plays it is told about it; others are not."""


class InterviewQuestion(Document):
    """What one role is asked in a task."""

    role: Label
    text: str = Field(min_length=1)
    """`{response_options}` shows the options; without it they stand below the text."""
    options: Options | None = None
    """A list, a range with both ends, or a text; left out: none are shown."""


class RoleOptions(Document):
    """What one role may choose from."""

    role: Label
    options: Options
    """A list, a range with both ends, or a text."""


class InterviewTask(Document):
    """One step of the interview."""

    id: Slug
    type: TaskType
    """`context`: shown to all, asks nobody. `discussion`: members speak in turn. `public_question`: one after
    another, and all hear the answers. `private_question`: all at once; others hear the answers when all have answered.
    """
    text: str = ""
    """What is said to all in a context, and at the beginning of a discussion."""
    questions: tuple[InterviewQuestion, ...] = ()
    """Who is asked what in a question, in this order. Mediators who are asked see the answers of those before them.
    In a discussion: who takes part, in which order, each with what is put to them aloud; left out: everybody does.
    """
    options: Options | None = None
    """Of a discussion of all: what is talked about is told to all with `text`, where `{response_options}` stands or
    below it.
    """
    role_options: tuple[RoleOptions, ...] = ()
    """Of a discussion of all: the options of each role, told to nobody else, when it is its turn."""
    variable: Annotated[str, Field(min_length=1, max_length=200)]
    """The name of the column with the answers."""
    variable_type: VariableType | None = None
    """`integer` and `float` allow nothing else."""
    randomize_options: bool = False
    """Whether the options of a list are shown in a drawn order."""
    check: bool = False
    """Whether an answer that is no option is asked again, as often as the model's settings allow, and then kept."""
    ask_score: bool = False
    """Whether agents say how speculative their answer is, from 0 to 100."""
    ask_reasoning: bool = False
    """Whether agents give their reasoning beside their answer."""
    plain_text: bool = False
    """Whether models reply in plain text and not with a JSON object; then no reasoning can be asked for."""


class InterviewSession(Document):
    """How one cohort differs from the others."""

    name: str = ""
    """What the session is called in the data."""
    roles: tuple[Label, ...]
    """The roles of the cohort's seats, in their order; a special role among them is a participant's and not a
    mediator's.
    """
    order: tuple[Slug, ...]
    """The ids of the tasks in the order in which this session has them."""


class GroupInterviewStage(StageConfig):
    """An interview of a group by a facilitator, who reads out what stands here and needs no model for it."""

    kind: Literal["group_interview"] = "group_interview"
    progress: TalkProgress = TalkProgress()
    context: str = ""
    """What everybody is told before anything is asked."""
    treatment: str = ""
    """What everybody under this treatment is told besides."""
    facilitator: Label = "Facilitator"
    """Who reads out the questions. A mediator of this name can be asked questions, too."""
    roles: tuple[InterviewRole, ...] = Field(min_length=1)
    """The roles of participants; seats take them in their order, unless the session says otherwise."""
    special_roles: tuple[InterviewRole, ...] = ()
    """Roles of mediators, who bear the label as their name. In discussions they speak last."""
    tasks: tuple[InterviewTask, ...] = Field(min_length=1)
    sessions: tuple[InterviewSession, ...] = ()
    """One for each cohort, in the order of cohorts; left out: all have the roles and tasks as they stand."""
    max_replies: int | None = Field(default=None, ge=1)
    """After so many replies of a session its interview is over, whatever is still to be asked."""
