"""The wide table: a row for each agent, a column for each variable."""

from collections.abc import Iterator
from typing import Any

from parley_lab.formats.workbook.data.sessions import Agent, SessionData
from parley_lab.formats.workbook.data.study import Study, called_in
from parley_lab.formats.workbook.prompts import CONSTANT_PREFIX, RESERVED_COLUMNS
from parley_lab.kinds.stages.group_interview.config import InterviewTask

Json = Any


def columns(study: Study) -> list[str]:
    """Ids and roles, the constants, then the variables in the order of the first session."""
    return [
        *RESERVED_COLUMNS,
        *(f"{CONSTANT_PREFIX}{name}" for name in study.constants),
        *(column for task in study.tasks if task.type != "context" for column in _columns(task)),
    ]


def rows(session: SessionData) -> Iterator[dict[str, Json]]:
    """One for every agent but the facilitator, with or without answers."""
    for agent in session.agents:
        if agent.role != session.stage.facilitator:
            yield {**_who(session, agent), **_what(session, agent)}


def _columns(task: InterviewTask) -> Iterator[str]:
    yield task.variable
    yield f"{task.variable}.response"
    yield f"{task.variable}.valid"
    if task.ask_reasoning:
        yield f"{task.variable}.reasoning"
    if task.ask_score:
        yield f"{task.variable}.speculation_score"


def _who(session: SessionData, agent: Agent) -> dict[str, Json]:
    study = session.study
    return {
        "ID": agent.id,
        "experiment_id": study.name,
        "session_id": session.id,
        "model_info": agent.model_info,
        "temperature": agent.model.get("temperature"),
        "role": agent.role,
        "treatment": session.stage.treatment,
        "treatment_label": session.treatment_label,
        "experiment_context": session.stage.context,
        "system_message": session.system_message(agent),
        "model_mode": study.experiment["model_mode"],
        **called_in(call for reply in session.replies_of(agent) for call in reply.calls),
        "played_by": agent.played_by,
        **{f"{CONSTANT_PREFIX}{name}": value for name, value in study.constants.items()},
    }


def _what(session: SessionData, agent: Agent) -> dict[str, Json]:
    cells: dict[str, Json] = {}
    for reply in session.replies_of(agent):
        name = reply.task.variable
        cells[name] = reply.shown_value
        for part in ("response", "valid", "reasoning", "speculation_score"):
            cells[f"{name}.{part}"] = reply.part(part)
    return cells
