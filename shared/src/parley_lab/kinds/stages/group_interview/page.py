"""The page of an interview: what the reader may know of the transcript, and the reader's open question."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from parley_lab.kinds import OwnView, PageContent, heading
from parley_lab.kinds.sentences import LabWords
from parley_lab.kinds.stages.group_interview import answers, flow, transcript
from parley_lab.kinds.stages.group_interview.config import GroupInterviewStage, TaskType
from parley_lab.kinds.stages.group_interview.options import ListOptions, RangeOptions, TextOptions, option_text


class _Shown(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)


class ShownLine(_Shown):
    """A reply, or a text that was read out."""

    role: str
    role_words: LabWords | None
    """The facilitator as a code, where the file has no name for them."""
    text: str
    text_words: LabWords | None
    """The text as a code, where the lab says in it how to answer."""
    task: str
    read_out: bool
    to: str | None
    """The role to which it was read out; null: to all."""


class ShownQuestion(_Shown):
    key: str
    type: TaskType
    text: str
    options: list[str] | RangeOptions | TextOptions | None
    """A list is in the reader's order."""
    checked: bool
    """Whether an answer must be one of the options."""
    asks_reasoning: bool
    asks_speculation_score: bool


class InterviewPage(PageContent):
    kind: Literal["group_interview"] = "group_interview"
    context: str
    treatment: str
    role: str | None
    """The reader's role; null without one."""
    role_description: str
    transcript: list[ShownLine]
    questions: list[ShownQuestion] = Field(max_length=1)
    """The reader's open question of the current task."""
    over: bool


def page_of(stage: GroupInterviewStage, view: OwnView) -> InterviewPage:
    role = flow.role_of(stage, view.me, view.draws)
    said = transcript.lines(stage, view.draws, view.state, role) if role is not None else []
    return InterviewPage(
        **heading(stage),
        context=stage.context,
        treatment=stage.treatment,
        role=role,
        role_description=flow.description_of(stage, role),
        transcript=[_shown(line) for line in said],
        questions=_open_questions(stage, view, role),
        over=flow.is_over(stage, view),
    )


def _shown(line: transcript.Line) -> ShownLine:
    return ShownLine(
        role=line.role,
        role_words=LabWords.of(line.role),
        text=line.text,
        text_words=LabWords.of(line.text),
        task=line.task_id,
        read_out=line.is_read_out,
        to=line.to,
    )


def _open_questions(stage: GroupInterviewStage, view: OwnView, role: str | None) -> list[ShownQuestion]:
    task = flow.due(stage, view)
    if role is None or task is None:
        return []
    wanted = answers.wanted(stage, task, role)
    return [
        ShownQuestion(
            key=flow.key_of(task),
            type=task.type,
            text=transcript.asked(stage, task, role, view.draws),
            options=_options(wanted, flow.option_order(task, role, view.draws)),
            checked=wanted.check,
            asks_reasoning=task.ask_reasoning,
            asks_speculation_score=task.ask_score,
        )
    ]


def _options(wanted: answers.Wanted, order: list[int] | None) -> list[str] | RangeOptions | TextOptions | None:
    options = wanted.options
    if isinstance(options, ListOptions):
        return [option_text(options.values[at]) for at in order or range(len(options.values))]
    return options
