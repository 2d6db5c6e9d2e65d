"""The rules of an interview of a group."""

from collections import Counter
from collections.abc import Mapping, Sequence
from random import Random
from uuid import UUID

from pydantic import BaseModel

from shared.contracts.experiment import StageConfig
from shared.contracts.models import HINT_IS_MEDIATOR, HINT_QUESTION, Hint
from shared.errors import Problem
from shared.stage import (
    PAGE,
    Answered,
    Ask,
    Block,
    Column,
    Json,
    LabView,
    Member,
    Minutes,
    OwnView,
    StageKind,
    Thread,
    Unanswered,
    View,
    heading,
)
from shared.stages.group_interview import answers, checks, flow, tables, transcript
from shared.stages.group_interview.config import (
    GroupInterviewStage,
    InterviewQuestion,
    InterviewRole,
    InterviewTask,
)
from shared.stages.group_interview.options import ListOptions, RangeOptions, option_text, with_options

_SPEAK = "It is your turn in the discussion. Say what you want to say to the others."
_INVALID = "invalid"


class GroupInterview(StageKind[GroupInterviewStage]):
    config_model = GroupInterviewStage
    thread = "minutes"
    has_shared_asks = True
    reads_texts = True

    def problems(self, stage: GroupInterviewStage, earlier: Sequence[StageConfig]) -> list[Problem]:
        return list(checks.problems(stage))

    def draw(
        self, stage: GroupInterviewStage, members: Sequence[Member], drawn: Mapping[str, Json], rng: Random
    ) -> dict[str, Json]:
        return flow.drawn(stage, members, drawn, rng)

    def public_state(self, stage: GroupInterviewStage, view: LabView) -> dict[str, Json]:
        """Replies of all, those of a private round that is still open too: the transcript keeps them from others."""
        given = flow.replies(stage, view)
        return {"replies": given, "position": flow.position(stage, view, given)}

    def next_asks(self, stage: GroupInterviewStage, view: OwnView) -> list[Ask]:
        task = flow.due(stage, view) if view.me.player != "script" else None
        return [] if task is None else [Ask(view.me.id, flow.key_of(task), task.type)]

    def public_view(self, stage: GroupInterviewStage, view: OwnView) -> dict[str, Json]:
        """What was said so far as the reader may know it, and what the reader is asked now."""
        role = _role(stage, view)
        said = transcript.lines(stage, view.draws, view.state, role) if role is not None else []
        return {
            **heading(stage),
            "context": stage.context,
            "treatment": stage.treatment,
            "role": role,
            "role_description": _description(stage, role),
            "transcript": [
                {
                    "role": line.role,
                    "text": line.text,
                    "task": line.task_id,
                    "read_out": line.is_read_out,
                    "to": line.to,
                }
                for line in said
            ],
            "questions": self._open_questions(stage, view, role),
            "over": _is_over(stage, view),
        }

    def _open_questions(self, stage: GroupInterviewStage, view: OwnView, role: str | None) -> list[dict[str, Json]]:
        """One at most: what the reader has not answered of the task that is on."""
        task = flow.task_on(stage, view)
        if role is None or task is None or flow.key_of(task) in view.own:
            return []
        turn = next((turn for turn in flow.turns(stage, task, view.draws) if turn.role == role), None)
        if turn is None:
            return []
        want = answers.wanted(stage, task, role)
        return [
            {
                "key": flow.key_of(task),
                "type": task.type,
                "text": _asked(stage, task, role, view),
                "options": _public_options(want, flow.option_order(task, role, view.draws)),
                "checked": want.check,
                "asks_reasoning": task.ask_reasoning,
                "asks_speculation_score": task.ask_score,
            }
        ]

    def texts(self, stage: GroupInterviewStage, view: OwnView) -> list[str]:
        """What everybody is told, then what the reader alone is told about the own role."""
        role = _role(stage, view)
        own = "" if role is None else f"Your role here is {role}, and so the others call you."
        return [stage.description, stage.context, stage.treatment, f"{own} {_description(stage, role)}"]

    def describe(
        self, stage: GroupInterviewStage, view: OwnView, *, with_answers: bool, ask: Ask | None = None
    ) -> list[Block]:
        """The transcript; what is asked now stands in the task. Whoever has no role has heard nothing of it."""
        role = _role(stage, view)
        if role is None:
            return [Block("You have no role here, and hear nothing of what is said.")]
        speakers = {flow.role_of(stage, member, view.draws): member.id for member in view.members}
        return [
            Block(transcript.in_words(line), speaker=None if line.is_read_out else speakers.get(line.role))
            for line in transcript.lines(stage, view.draws, view.state, role)
        ]

    def to_read(self, stage: GroupInterviewStage, view: OwnView, ask: Ask | None = None) -> str:
        """What was said since the reader last replied, and what is asked; before the first reply the texts, too."""
        role = _role(stage, view)
        said = transcript.lines(stage, view.draws, view.state, role)
        own = [number for number, line in enumerate(said, start=1) if line.role == role and not line.is_read_out]
        texts = [] if own else self.texts(stage, view)
        asked = [] if ask is None else [self.task(stage, ask, view)]
        return "\n".join([*texts, *(line.text for line in said[own[-1] if own else 0 :]), *asked])

    def to_write(self, stage: GroupInterviewStage, ask: Ask, answer: Json) -> str:
        """Words and reasons; an option is chosen."""
        task = flow.task_of(stage, ask.key)
        if task is None or not isinstance(answer, Mapping):
            return ""
        has_options = any(isinstance(question.options, ListOptions | RangeOptions) for question in task.questions)
        parts = ("reasoning",) if has_options else ("response", "reasoning")
        return "\n".join(str(answer.get(part) or "") for part in parts)

    def task(self, stage: GroupInterviewStage, ask: Ask, view: OwnView) -> str:
        task, role = flow.task_of(stage, ask.key), _role(stage, view)
        if task is None:
            return "Take part in the interview."
        return _asked(stage, task, role or "", view)

    def check_answer(self, stage: GroupInterviewStage, ask: Ask, answer: Json, view: OwnView) -> Json:
        """A page is made of the replies and not given."""
        task = flow.task_of(stage, ask.key)
        if task is None:
            return answers.page(stage, view)
        return answers.stored(answers.wanted(stage, task, _role(stage, view)), answer)

    def page_answer(self, stage: GroupInterviewStage, view: OwnView) -> Json | None:
        return answers.page(stage, view) if _is_over(stage, view) else None

    def blocked_by(self, stage: GroupInterviewStage, view: OwnView) -> list[str]:
        if PAGE in view.own or _is_over(stage, view):
            return []
        return ["The interview is not over yet."]

    def reply_model(self, stage: GroupInterviewStage, ask: Ask, view: OwnView) -> type[BaseModel] | None:
        task, role = flow.task_of(stage, ask.key), _role(stage, view)
        if task is None:
            return None
        order = flow.option_order(task, role, view.draws) if role is not None else None
        return answers.shape(answers.wanted(stage, task, role), order)

    def mock_hints(self, stage: GroupInterviewStage, ask: Ask, view: OwnView) -> dict[str, Hint]:
        """Participants answer by their traits and speak freely in a discussion; special roles sum up."""
        task, role = flow.task_of(stage, ask.key), _role(stage, view)
        if role in flow.special(stage):
            return {HINT_IS_MEDIATOR: True}
        if task is None or task.type == "discussion":
            return {}
        is_numeric = task.variable_type in ("integer", "float")
        return {f"{HINT_QUESTION}response": f"attitude/{task.variable}" if is_numeric else task.variable}

    def answer_from_reply(self, stage: GroupInterviewStage, ask: Ask, reply: BaseModel) -> Json:
        return reply.model_dump()

    def reply_from_text(self, stage: GroupInterviewStage, ask: Ask, view: OwnView, text: str) -> dict[str, Json]:
        task = flow.task_of(stage, ask.key)
        return {} if task is None else answers.fields_of_text(task, text)

    def text_form(self, stage: GroupInterviewStage, ask: Ask) -> str | None:
        task = flow.task_of(stage, ask.key)
        return None if task is None else answers.text_form(task)

    def most_replies(self, stage: GroupInterviewStage) -> int:
        """As many as the role has that is asked most."""
        return sum(_most_replies(task) for task in stage.tasks)

    def on_unanswered(self, stage: GroupInterviewStage, ask: Ask, reason: str) -> Unanswered:
        """A model that never answers as it should is taken at its last word; one that fails leaves the session."""
        return "default" if reason == _INVALID else "drop"

    def default_answer(self, stage: GroupInterviewStage, ask: Ask, view: OwnView, last_reply: str) -> Json:
        task = flow.task_of(stage, ask.key)
        return {} if task is None else answers.kept(answers.wanted(stage, task, _role(stage, view)), last_reply)

    def minutes(self, stage: GroupInterviewStage, view: LabView) -> Minutes:
        return Minutes(tuple(transcript.minutes(stage, view)), are_closed=_is_over(stage, view))

    def may_not_speak(self, stage: GroupInterviewStage, thread: Thread, member_id: UUID) -> str:
        return "Nothing is posted in an interview: answer the question that is put to you."

    def columns(self, stage: GroupInterviewStage) -> list[Column]:
        return [column for task in stage.tasks if task.type != "context" for column in tables.columns(task)]

    def cells(self, stage: GroupInterviewStage, answer: Json) -> dict[str, Json]:
        given = answer if isinstance(answer, Mapping) else {}
        return {
            name: cell
            for task in stage.tasks
            if isinstance(given.get(task.variable), Mapping)
            for name, cell in tables.cells(task, given[task.variable]).items()
        }

    def answered(self, stage: GroupInterviewStage, key: str, answer: Json) -> list[Answered]:
        """A line for each task that was answered, made of the page as of the entries."""
        alone = flow.task_of(stage, key)
        page = answer if isinstance(answer, Mapping) else {}
        given = page if alone is None else {alone.variable: answer}
        return [
            tables.answered(task, given[task.variable])
            for task in stage.tasks
            if isinstance(given.get(task.variable), Mapping)
        ]

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


def _role(stage: GroupInterviewStage, view: OwnView) -> str | None:
    return flow.role_of(stage, view.me, view.draws)


def _description(stage: GroupInterviewStage, role: str | None) -> str:
    return next((one.description for one in (*stage.roles, *stage.special_roles) if one.label == role), "")


def _is_over(stage: GroupInterviewStage, view: View) -> bool:
    return "position" in view.state and flow.task_on(stage, view) is None


def _asked(stage: GroupInterviewStage, task: InterviewTask, role: str, view: View) -> str:
    question = flow.question_of(task, role)
    if question is None:
        return with_options(_SPEAK, flow.options_of(task, role), flow.option_order(task, role, view.draws))
    return f"{stage.facilitator} asks you: {transcript.question_text(task, question, view.draws)}"


def _public_options(want: answers.Wanted, order: list[int] | None) -> Json:
    if isinstance(want.options, ListOptions):
        return [option_text(want.options.values[at]) for at in order or range(len(want.options.values))]
    return None if want.options is None else want.options.model_dump(mode="json")


KIND = GroupInterview()


def _most_replies(task: InterviewTask) -> int:
    if task.type == "discussion" and not task.questions:
        return 1
    return max(Counter(question.role for question in task.questions).values(), default=0)
