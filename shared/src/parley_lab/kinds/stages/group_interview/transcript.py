"""The transcript of an interview, as far as a member may know it. Pure.

A member who is asked in private hears others' answers when the round is over; mediators hear them at once.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Final

from parley_lab.kinds import Json, Label, LabView
from parley_lab.kinds.sentences import Said
from parley_lab.kinds.stages.group_interview import answers, flow
from parley_lab.kinds.stages.group_interview.config import (
    USUAL_FACILITATOR,
    GroupInterviewStage,
    InterviewQuestion,
    InterviewTask,
)
from parley_lab.kinds.stages.group_interview.options import shown, with_options
from parley_lab.kinds.talk import MinutesLine

_SPEAK: Final = "It is your turn in the discussion. Say what you want to say to the others."

EVERYBODY: Final = ""
"""All members together: of a private round they hear nothing before it is over."""


@dataclass(frozen=True, slots=True)
class Line:
    """A reply, or a text that the facilitator read out to one role or (None) to all."""

    role: str
    text: str
    task_id: str
    is_read_out: bool = False
    to: str | None = None


def question_text(task: InterviewTask, question: InterviewQuestion, draws: Mapping[str, Json]) -> str:
    """The question with its options; a `Label` where the lab says how to answer."""
    return _stripped(
        with_options(question.text.strip(), question.options, flow.option_order(task, question.role, draws))
    )


def asked(stage: GroupInterviewStage, task: InterviewTask, role: str, draws: Mapping[str, Json]) -> str:
    """The text that the role gets in its turn."""
    question = flow.question_of(task, role)
    if question is None:
        return with_options(_SPEAK, flow.options_of(task, role), flow.option_order(task, role, draws))
    return f"{stage.facilitator} asks you: {question_text(task, question, draws)}"


def label(stage: GroupInterviewStage, task: InterviewTask, role: str, draws: Mapping[str, Json]) -> str:
    """`asked` as the title of a form: what the lab says of it can be said in other words."""
    text = asked(stage, task, role, draws)
    question = flow.question_of(task, role)
    if question is not None:
        told = question_text(task, question, draws)
        return Label(text, "asks_you", name=_spoken(facilitator(stage)), question=_spoken(told))
    if text == _SPEAK:
        return Label(text, "your_turn_to_speak")
    how = shown(flow.options_of(task, role), flow.option_order(task, role, draws))
    return Label(text, "your_turn_with_options", how=_spoken(how))


def facilitator(stage: GroupInterviewStage) -> str:
    """Who reads out; a `Label` where the file does not say."""
    usual = stage.facilitator == USUAL_FACILITATOR
    return Label(USUAL_FACILITATOR, "facilitator") if usual else stage.facilitator


def _spoken(text: str) -> Said:
    return text.spoken if isinstance(text, Label) else text


def text_for_all(task: InterviewTask, draws: Mapping[str, Json]) -> str:
    """The text read out to all at the beginning of a context or a discussion."""
    order = flow.option_order(task, flow.ALL, draws)
    return _stripped(with_options(task.text.strip(), task.options, order))


def _stripped(text: str) -> str:
    """Without spaces at its ends; a `Label` has none."""
    return text if isinstance(text, Label) else text.strip()


def lines(
    stage: GroupInterviewStage, draws: Mapping[str, Json], state: Mapping[str, Json], reader: str | None
) -> list[Line]:
    """All that `reader`, a role or EVERYBODY, may know of the transcript so far; None is the lab, which knows all."""
    given: flow.Replies = state.get("replies", {})
    position = int(state.get("position", 0))
    reached = int(state.get("reached", position))
    said: list[Line] = []
    for number, task in enumerate(flow.tasks_in_order(stage, draws)[: reached + 1]):
        replies = given.get(task.id, {})
        if number == position and task.type == "private_question" and reader is not None:
            replies = _heard_in_private(stage, task, draws, replies, reader)
        said += _task_lines(stage, task, draws, replies)
    return said


def _heard_in_private(
    stage: GroupInterviewStage,
    task: InterviewTask,
    draws: Mapping[str, Json],
    given: Mapping[str, Json],
    reader: str,
) -> dict[str, Json]:
    """In an open round: the reader's own reply, and those that the reader's turn waits for, as mediators' turns do.

    Which other replies are in by now depends on chance, and no prompt may depend on it.
    """
    turn = next((turn for turn in flow.turns(stage, task, draws) if turn.role == reader), None)
    heard = (reader, *turn.waits_for) if turn is not None else (reader,)
    return {role: reply for role, reply in given.items() if role in heard}


def _task_lines(
    stage: GroupInterviewStage,
    task: InterviewTask,
    draws: Mapping[str, Json],
    given: Mapping[str, Json],
) -> Iterator[Line]:
    if task.type in ("context", "discussion") and task.text.strip():
        yield Line(facilitator(stage), text_for_all(task, draws), task.id, is_read_out=True)
    before: str | None = None
    for turn in flow.turns(stage, task, draws):
        if turn.role not in given or flow.is_passed(given[turn.role]):
            continue
        question = flow.question_of(task, turn.role)
        if question is not None:
            asked = question_text(task, answers.heard(question, given[turn.role]), draws)
            # A private question in the same words to several roles is read out once; a public one to each.
            if asked != before or task.type != "private_question":
                yield Line(facilitator(stage), asked, task.id, is_read_out=True, to=turn.role)
            before = asked
        yield Line(turn.role, reply_text(given[turn.role]), task.id)


def minutes(stage: GroupInterviewStage, view: LabView) -> Iterator[MinutesLine]:
    """What all members have heard; the lab writes what was read out, in the words of a transcript."""
    speakers = {flow.role_of(stage, member, view.draws): member.id for member in view.members}
    for line in lines(stage, view.draws, view.state, EVERYBODY):
        if line.is_read_out:
            yield MinutesLine(f"put/{line.task_id}/{line.to or ''}", in_words(line), topic=line.task_id)
        else:
            key = f"said/{line.task_id}/{line.role}"
            yield MinutesLine(key, line.text, speakers[line.role], author_name=line.role, topic=line.task_id)


def reply_text(reply: Json) -> str:
    """The part of a reply that others hear: the response, without reasoning and score."""
    return str(reply.get("response", "")) if isinstance(reply, Mapping) else ""


ABOUT_LINES: Final = (
    "What you have heard so far. Each piece starts with brackets: who it is from, and to whom; its further lines are "
    "indented. The brackets are not part of what is said: do not write them, nor any name before your words."
)
"""Before the lines of a prompt. None is `Role: words`: models would write their own words so."""


def in_prompt(line: Line) -> str:
    """The line in the form in which prompts show it; none of its lines looks like that of another role."""
    whom = f", to {line.to}" if line.to else ""
    text = "\n    ".join(line.text.splitlines())
    return f"[from {line.role}{whom}] {text}"


def in_words(line: Line) -> str:
    """The line in the form of a transcript."""
    whom = f" (to {line.to})" if line.to else ""
    return f"{line.role}{whom}: {line.text}"
