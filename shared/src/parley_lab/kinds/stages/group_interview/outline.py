"""The texts that people read in an interview, task by task, as lines for a terminal. Pure."""

from collections.abc import Iterator, Mapping, Sequence

from parley_lab.kinds import Json
from parley_lab.kinds.stages.group_interview import flow, transcript
from parley_lab.kinds.stages.group_interview.config import GroupInterviewStage, InterviewTask


def before_tasks(stage: GroupInterviewStage) -> list[str]:
    of_all = [line for text in (stage.context, stage.treatment) for line in _read([], text)]
    return of_all + [line for role in stage.roles for line in _read([role.label], role.description)]


def of_task(stage: GroupInterviewStage, task: InterviewTask, draws: Mapping[str, Json]) -> list[str]:
    """The texts for all, and for each role of people in its turn; roles with the same words come together."""
    lines = [f"{task.id}  [{task.type.replace('_', ' ')}]"]
    if task.type in ("context", "discussion"):
        lines += _inside(_read([], transcript.text_for_all(task, draws)))
    asked: dict[str, list[str]] = {}
    for turn in flow.turns(stage, task, draws):
        if turn.role not in flow.special(stage):
            asked.setdefault(transcript.asked(stage, task, turn.role, draws), []).append(turn.role)
    return lines + [line for text, roles in asked.items() for line in _inside(_read(roles, text))]


def _read(roles: Sequence[str], text: str) -> Iterator[str]:
    """A text and its readers; no roles: all."""
    first, *further = text.strip().splitlines() or [""]
    if first:
        yield f"{', '.join(roles) or 'All'} {'reads' if len(roles) == 1 else 'read'}: {first}"
        yield from _inside(further)


def _inside(lines: Sequence[str] | Iterator[str]) -> Iterator[str]:
    return (f"  {line}" for line in lines)
