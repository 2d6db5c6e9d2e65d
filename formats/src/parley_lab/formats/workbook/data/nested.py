"""The nested form of a session: its agents and all that was said, in one object."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from parley_lab.formats.workbook.data.sessions import Agent, ReplyData, SessionData, last
from parley_lab.formats.workbook.data.study import Study
from parley_lab.formats.workbook.design import ID

Json = Any


def head(study: Study) -> dict[str, Json]:
    """The fields before the sessions."""
    return {
        "experiment_id": study.name,
        "model_mode": study.experiment["model_mode"],
        **study.called,
        "random_seed": study.seed,
        "constants": study.constants,
    }


def session_object(session: SessionData) -> dict[str, Json]:
    """One session, as the value of its id in `sessions`."""
    study = session.study
    return {
        "session_id": session.id,
        "random_seed": study.seed,
        "treatment": session.stage.treatment,
        "treatment_label": session.treatment_label,
        "constants": study.constants,
        "session_system_message": _opening(session),
        "experiment_context": session.stage.context,
        "status": session.cohort["status"],
        "agent_profiles": [_profile(session, agent) for agent in session.agents if agent.has_profile],
        "roles": {agent.id: agent.role for agent in session.agents if not agent.is_special},
        "agents": {agent.role: _agent(session, agent) for agent in session.agents},
        "message_history": list(_messages(session)),
    }


def _opening(session: SessionData) -> str:
    parts = (session.stage.context, session.stage.treatment)
    return "\n\n".join(part.strip() for part in parts if part.strip())


def _profile(session: SessionData, agent: Agent) -> dict[str, Json]:
    """The answers by question, in the order of the sheet; null for a blank cell.

    A question that several columns share, such as "Why?", is followed by the short name.
    """
    columns = [column for column in session.study.facts.columns if not column.is_id]
    asked = Counter(column.question for column in columns)
    names = [
        column.question if asked[column.question] == 1 else f"{column.question} ({column.name})" for column in columns
    ]
    answers = [agent.attributes.get(column.name) for column in columns]
    return {ID: agent.id, **dict(zip(names, answers, strict=True))}


def _agent(session: SessionData, agent: Agent) -> dict[str, Json]:
    return {
        "experiment_id": session.study.experiment_id,
        "experiment_context": session.stage.context,
        "session_id": session.id,
        "ID": agent.id,
        "played_by": agent.played_by,
        "status": agent.row["status"],
        "profile_info": _profile(session, agent) if agent.has_profile else {},
        "profile_prompt": agent.profile_text,
        "model_info": agent.model_info,
        "temperature": agent.model.get("temperature"),
        "api_endpoint": agent.model.get("base_url"),
        "role": agent.role,
        "role_description": agent.description,
        "treatment": session.stage.treatment,
        "system_message": session.system_message(agent),
        "message_history": _last_prompt(session, agent),
    }


def _last_prompt(session: SessionData, agent: Agent) -> Json:
    """The messages of the last call of the agent's model."""
    calls = [call for reply in session.replies_of(agent) for call in reply.calls]
    return last(calls).get("prompt") or []


def _messages(session: SessionData) -> Iterator[dict[str, Json]]:
    """All that was said, in order: the speaker's role is the key of the text, and the value of `speaker`."""
    replies = {(reply.task.id, reply.agent.role): reply for reply in session.replies}
    tasks = {task.id: task for task in session.tasks}
    yield {"speaker": "system", "system": _opening(session)}
    for line in session.lines:
        task = tasks[line.task_id]
        about = {"speaker": line.role, "task_id": session.study.task_id(task), "var_name": task.variable}
        if line.is_read_out:
            yield {**about, "to": line.to, line.role: line.text}
        else:
            reply = replies[line.task_id, line.role]
            yield {**about, "agent_id": reply.agent.id, **_parts(reply), line.role: line.text}
    if session.is_over:
        yield {"speaker": "system", "system": "End"}


def _parts(reply: ReplyData) -> dict[str, Json]:
    names = ("value", "valid", "reasoning", "speculation_score")
    return {**{name: reply.part(name) for name in names}, "attempts": len(reply.calls)}
