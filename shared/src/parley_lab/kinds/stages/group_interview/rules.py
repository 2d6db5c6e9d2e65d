"""The rules of an interview of a group."""

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random

from pydantic import BaseModel

from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.models import (
    HINT_IS_MEDIATOR,
    HINT_OTHER_NAMES,
    HINT_OWN_MESSAGE_COUNT,
    HINT_OWN_NAMES,
    HINT_QUESTION,
    Hint,
)
from parley_lab.kinds import (
    Ask,
    Block,
    Blocked,
    Column,
    Completion,
    Data,
    Done,
    Draws,
    Form,
    Json,
    Label,
    LabView,
    Member,
    OwnView,
    Parts,
    Question,
    Questions,
    Reason,
    StageKind,
    Substitute,
    UnusableReply,
)
from parley_lab.kinds.data import Answered
from parley_lab.kinds.parts import FilledIn, WithoutAnswer
from parley_lab.kinds.stages.group_interview import answers, checks, flow, outline, page, tables, transcript
from parley_lab.kinds.stages.group_interview.config import (
    GroupInterviewStage,
    InterviewQuestion,
    InterviewRole,
    InterviewTask,
)
from parley_lab.kinds.stages.group_interview.options import ListOptions, RangeOptions
from parley_lab.kinds.talk import Minutes


class GroupInterview(StageKind[GroupInterviewStage]):
    config_model = GroupInterviewStage

    def problems(self, stage: GroupInterviewStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return list(checks.problems(stage))

    def page(self, stage: GroupInterviewStage, view: OwnView) -> page.InterviewPage:
        return page.page_of(stage, view)

    def texts(self, stage: GroupInterviewStage, view: OwnView) -> list[str]:
        """The texts for all, then the description of the reader's own role."""
        role = flow.role_of(stage, view.me, view.draws)
        own = "" if role is None else f"Your role here is {role}, and so the others call you."
        return [stage.description, stage.context, stage.treatment, f"{own} {flow.description_of(stage, role)}"]

    def prompt(self, stage: GroupInterviewStage, view: OwnView, ask: Ask | None = None) -> list[Block]:
        """The transcript; the task holds the current question. A member without a role has heard nothing."""
        role = flow.role_of(stage, view.me, view.draws)
        if role is None:
            return [Block("You have no role here, and hear nothing of what is said.")]
        speakers = {flow.role_of(stage, member, view.draws): member.id for member in view.members}
        heard = [
            Block(transcript.in_prompt(line), speaker=None if line.is_read_out else speakers.get(line.role))
            for line in transcript.lines(stage, view.draws, view.state, role)
        ]
        return [Block(transcript.ABOUT_LINES), *heard] if heard else []

    def completion(self, stage: GroupInterviewStage, view: OwnView) -> Completion:
        if flow.is_over(stage, view):
            return Done(answers.page(stage, view))
        return Blocked((Reason("The interview is not over yet.", "goes_on"),))

    def parts(self, stage: GroupInterviewStage) -> Parts:
        return Parts(
            questions=InterviewQuestions(stage),
            draws=InterviewDraws(stage),
            state=lambda view: _state(stage, view),
            minutes=lambda view: _minutes(stage, view),
            data=InterviewData(stage),
        )

    def example(self) -> GroupInterviewStage:
        roles = ("Ana", "Ben", "Cleo")
        share = RangeOptions(low=0, high=10)
        fair = ListOptions(values=("yes", "no"))
        return GroupInterviewStage(
            id="interview",
            context="Three people decide how much of 10 tokens each of them puts into a common pot.",
            roles=tuple(InterviewRole(label=label, description="You are one of the three.") for label in roles),
            special_roles=(InterviewRole(label="Accountant", description="You keep the accounts."),),
            tasks=(
                InterviewTask(id="talk", type="discussion", text="How should we play?", variable="talk"),
                InterviewTask(
                    id="share",
                    type="private_question",
                    questions=(
                        *(InterviewQuestion(role=role, text="How much do you give?", options=share) for role in roles),
                        InterviewQuestion(role="Accountant", text="What is in the pot?"),
                    ),
                    variable="share",
                    variable_type="integer",
                    check=True,
                    ask_score=True,
                    ask_reasoning=True,
                ),
                InterviewTask(id="news", type="context", text="The pot is full.", variable="news"),
                InterviewTask(
                    id="fair",
                    type="public_question",
                    questions=tuple(InterviewQuestion(role=role, text="Was it fair?", options=fair) for role in roles),
                    variable="fair",
                    variable_type="category",
                    randomize_options=True,
                    check=True,
                ),
            ),
        )


def _state(stage: GroupInterviewStage, view: LabView) -> dict[str, Json]:
    """All replies, those of an open private round included: the transcript hides them from others."""
    given = flow.replies(stage, view)
    return {
        "replies": given,
        "position": flow.position(stage, view, given),
        "reached": flow.furthest(stage, view, given),
    }


def _minutes(stage: GroupInterviewStage, view: LabView) -> Minutes:
    return Minutes(tuple(transcript.minutes(stage, view)), are_closed=flow.is_over(stage, view))


class InterviewDraws(Draws):
    def __init__(self, stage: GroupInterviewStage) -> None:
        self._stage = stage

    def draw(self, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random) -> dict[str, Json]:
        return flow.drawn(self._stage, members, drawn, rng)

    def problems(self, given: Mapping[str, Json]) -> list[Problem]:
        return [*checks.draw_problems(self._stage, given)]


class InterviewQuestions(Questions):
    """One question for each task and role; mediators with a role are asked, too."""

    def __init__(self, stage: GroupInterviewStage) -> None:
        self._stage = stage

    def due(self, view: OwnView) -> list[Ask]:
        task = flow.due(self._stage, view)
        return [] if task is None else [Ask(view.me.id, flow.key_of(task), task.type)]

    def question(self, view: OwnView, ask: Ask) -> Question | None:
        task = flow.task_of(self._stage, ask.key)
        return None if task is None else _Asked(self._stage, task, view)

    def outline(self, draws: Mapping[str, Json]) -> list[tuple[str, list[str]]]:
        tasks = flow.tasks_in_order(self._stage, draws)
        told = [(task.row.id if task.row else "", outline.of_task(self._stage, task, draws)) for task in tasks]
        return [("", outline.before_tasks(self._stage)), *told]

    def most_replies(self) -> int:
        """The number of questions of the role that has the most."""
        return sum(map(_most_replies, self._stage.tasks))


def _most_replies(task: InterviewTask) -> int:
    if task.type == "discussion" and not task.questions:
        return 1
    return max(Counter(question.role for question in task.questions).values(), default=0)


class _Asked(Question):
    """One task, for the reader's role."""

    counts_unsent = True

    def __init__(self, stage: GroupInterviewStage, task: InterviewTask, view: OwnView) -> None:
        self._stage, self._task, self._view = stage, task, view
        self._role = flow.role_of(stage, view.me, view.draws)
        self._wanted = answers.wanted(stage, task, self._role)

    def _option_order(self) -> list[int] | None:
        return None if self._role is None else flow.option_order(self._task, self._role, self._view.draws)

    def form(self) -> Form:
        title = transcript.label(self._stage, self._task, self._role or "", self._view.draws)
        return answers.form_of(self._wanted, self._option_order(), title)

    def task(self) -> str:
        return transcript.asked(self._stage, self._task, self._role or "", self._view.draws)

    def reply_model(self) -> type[BaseModel]:
        return answers.shape(self._wanted, self._option_order())

    def answer_from_reply(self, reply: BaseModel) -> Json:
        return reply.model_dump()

    def check(self, answer: Json) -> Json:
        return {**answers.stored(self._wanted, answer), **self._as_asked()}

    def filled_in(self, begun: Json, default: Mapping[str, Json]) -> FilledIn | None:
        """An answer to a question; what is half written in a discussion was not said."""
        return None if self._task.type == "discussion" else super().filled_in(begun, default)

    def without_answer(self, replies: Sequence[UnusableReply]) -> WithoutAnswer:
        """Keep the last reply of a model that never gave a valid one; a model that failed leaves the session.

        Others hear it, so it ends where the model continues in the name of another role.
        """
        if not replies:
            return "drop"
        kept = answers.kept(self._wanted, replies[-1].raw, *self._names())
        return Substitute({**kept, **self._as_asked()})

    def _as_asked(self) -> dict[str, Json]:
        place = flow.place_of(self._stage, self._task, self._view.draws)
        of_row = {} if place is None else {answers.PLACE: place}
        if not self._stage.is_of_reader:
            return of_row
        return {**of_row, **answers.as_asked(flow.question_of(self._task, self._role or ""))}

    def passed(self) -> Substitute:
        return Substitute(answers.passed())

    def text_form(self) -> str | None:
        return answers.text_form(self._task)

    def read_text(self, text: str) -> Mapping[str, Json]:
        return answers.fields_of_text(self._task, text)

    def news(self) -> str:
        """The replies since the reader's last one, and the question; before the first reply also the texts for all."""
        said = transcript.lines(self._stage, self._view.draws, self._view.state, self._role)
        own = [number for number, line in enumerate(said, 1) if line.role == self._role and not line.is_read_out]
        texts = [] if own else KIND.texts(self._stage, self._view)
        return "\n".join([*texts, *(line.text for line in said[own[-1] if own else 0 :]), self.task()])

    def written(self, answer: Json) -> str:
        """Texts and reasons are typed; an option is chosen."""
        if not isinstance(answer, Mapping):
            return ""
        has_options = any(isinstance(one.options, ListOptions | RangeOptions) for one in self._task.questions)
        parts = ("reasoning",) if has_options else ("response", "reasoning")
        return "\n".join(str(answer.get(part) or "") for part in parts)

    def hints(self) -> Mapping[str, Hint]:
        """Participants answer by their traits and talk freely in a discussion; special roles sum up."""
        _, others = self._names()
        names = {HINT_OWN_NAMES: self._role, HINT_OTHER_NAMES: "\n".join(others)}
        return {**names, HINT_OWN_MESSAGE_COUNT: self._count_of_lines(), **self._for_the_mock()}

    def _count_of_lines(self) -> int:
        """How many lines of its script the mock has said: participants say none in answer to questions."""
        given = self._view.state.get("replies", {})
        is_special = self._role in flow.special(self._stage)
        speaks_in = [task.id for task in self._stage.tasks if is_special or task.type == "discussion"]
        own = [given[task_id][self._role] for task_id in speaks_in if self._role in given.get(task_id, {})]
        return sum(not flow.is_passed(reply) for reply in own)

    def _names(self) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The labels of the role that is asked and of all others, the facilitator included."""
        labels = (self._stage.facilitator, *(one.label for one in (*self._stage.roles, *self._stage.special_roles)))
        own = () if self._role is None else (self._role,)
        return own, tuple(label for label in labels if label != self._role)

    def _for_the_mock(self) -> Mapping[str, Hint]:
        task = self._task
        if self._role in flow.special(self._stage):
            return {HINT_IS_MEDIATOR: True}
        if task.type == "discussion":
            return {}
        is_numeric = task.variable_type in ("integer", "float")
        return {f"{HINT_QUESTION}response": f"attitude/{task.variable}" if is_numeric else task.variable}


class InterviewData(Data):
    """A column or more for each task; a line for each answer, from the page or from the entries."""

    def __init__(self, stage: GroupInterviewStage) -> None:
        self._stage = stage

    def roles(self) -> list[str]:
        given = (*self._stage.roles, *self._stage.special_roles) if answers.gives_roles(self._stage) else ()
        return [role.label for role in given]

    def columns(self) -> list[Column]:
        own = [Column(answers.ROLE, Label("Role", "role"), "text")] if answers.gives_roles(self._stage) else []
        asked = (task for task in self._stage.tasks if task.type != "context")
        places = tables.places(self._stage)
        return [*own, *(column for task in asked for column in tables.columns(task)), *places]

    def cells(self, page: Json) -> dict[str, Json]:
        given = page if isinstance(page, Mapping) else {}
        role = given.get(answers.ROLE)
        said = {
            name: cell
            for task in self._stage.tasks
            if isinstance(given.get(task.variable), Mapping)
            for name, cell in tables.cells(task, given[task.variable]).items()
        }
        return {**({answers.ROLE: role} if isinstance(role, str) else {}), **said}

    def answered(self, key: str, answer: Json) -> list[Answered]:
        alone = flow.task_of(self._stage, key)
        page = answer if isinstance(answer, Mapping) else {}
        given = page if alone is None else {} if flow.is_passed(answer) else {alone.variable: answer}
        return [
            tables.answered(task, given[task.variable])
            for task in self._stage.tasks
            if isinstance(given.get(task.variable), Mapping)
        ]


KIND = GroupInterview()
