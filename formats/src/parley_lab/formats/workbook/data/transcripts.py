"""A readable transcript of a session, in Markdown."""

from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Final

from parley_lab.formats.workbook.data.sessions import ANSWERED, Agent, ReplyData, SessionData
from parley_lab.formats.workbook.data.study import Study
from parley_lab.kinds.stages.group_interview.transcript import Line

_MARKS: Final = str.maketrans({mark: f"\\{mark}" for mark in "\\`*_[]<>#|"})


def transcript(session: SessionData) -> str:
    """The agents, then all that was said in each task, with the reasoning that others did not read."""
    return "\n".join([*_heading(session), *_tasks(session), *_missing(session)]) + "\n"


def _heading(session: SessionData) -> Iterator[str]:
    study = session.study
    yield f"# {_plain(study.name)}, session {_plain(session.id)}"
    yield ""
    constants = ", ".join(f"{name} = {value}" for name, value in study.constants.items())
    yield f"- Treatment: {_plain(session.treatment_label)}"
    if constants:
        yield f"- Constants: {_plain(constants)}"
    yield f"- Models: {study.experiment['model_mode']}{_plain(_called(study))}"
    yield f"- Status: {session.cohort['status']}"
    for agent in session.agents:
        yield f"- {_plain(_who(session, agent))}"
    yield ""
    yield from _quoted(session.stage.context)
    yield from _quoted(session.stage.treatment)


def _called(study: Study) -> str:
    called = study.called
    where = f" at {called['endpoint']}" if called["endpoint"] else ""
    return f": {called['model']}{where}" if called["model"] else where


def _who(session: SessionData, agent: Agent) -> str:
    if agent.role == session.stage.facilitator and not session.replies_of(agent):
        return f"{agent.role}: {agent.id}, reads out the sheets"
    player = "a person" if agent.played_by == "person" else agent.model_info or agent.played_by
    return f"{agent.role}: {agent.id}, played by {player}"


def _tasks(session: SessionData) -> Iterator[str]:
    replies = {(reply.task.id, reply.agent.role): reply for reply in session.replies}
    tasks = {task.id: task for task in session.tasks}
    for task_id, lines in groupby(session.lines, key=lambda line: line.task_id):
        task = tasks[task_id]
        yield f"## {_plain(session.study.task_id(task))} ({task.type.replace('_', ' ')})"
        yield ""
        for line in lines:
            yield f"**{_plain(line.role)}**{_besides(line, replies.get((task_id, line.role)))}"
            yield ""
            yield from _quoted(line.text)
            yield from _reasoning(line, replies.get((task_id, line.role)))


def _besides(line: Line, reply: ReplyData | None) -> str:
    if line.is_read_out:
        return f" to {_plain(line.to)}" if line.to else ""
    if reply is None:
        return ""
    score = reply.part("speculation_score")
    notes = [
        *(["no valid answer"] if reply.part("valid") is False else []),
        *([f"{len(reply.calls)} attempts"] if len(reply.calls) > 1 else []),
        *([f"speculation score {score}"] if score is not None else []),
    ]
    return f" ({', '.join(notes)})" if notes else ""


def _reasoning(line: Line, reply: ReplyData | None) -> Sequence[str]:
    reasoning = reply.part("reasoning") if reply is not None and not line.is_read_out else None
    return ["Reasoning:", "", *_quoted(str(reasoning))] if reasoning else []


def _missing(session: SessionData) -> Iterator[str]:
    """The replies that are missing."""
    missing = [reply for reply in session.replies if reply.status != ANSWERED]
    if missing:
        yield "## Without a reply"
        yield ""
    for reply in missing:
        reason = f": {_plain(reply.reason)}" if reply.reason else ""
        status = reply.status.replace("_", " ")
        yield f"- {_plain(session.study.task_id(reply.task))}, {_plain(reply.agent.role)}: {status}{reason}"


def _quoted(text: str) -> Iterator[str]:
    """The text as a quoted block, with its markup escaped."""
    if text.strip():
        # Two spaces at the end of a line keep the line break.
        yield from (f"> {_plain(line)}  " if line.strip() else ">" for line in text.splitlines())
        yield ""


def _plain(text: str) -> str:
    return text.translate(_MARKS)
