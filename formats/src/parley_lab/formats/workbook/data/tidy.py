"""Tables with one observation a row: answers, sessions, assignments, profiles, and the codebook."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from parley_lab.formats.workbook.data.sessions import Agent, ReplyData, SessionData, last
from parley_lab.formats.workbook.data.study import CALLED, Study, called_in
from parley_lab.formats.workbook.facts import TaskFacts
from parley_lab.kinds.stages.group_interview.config import InterviewQuestion, InterviewTask
from parley_lab.kinds.stages.group_interview.options import ListOptions, RangeOptions, TextOptions

Json = Any

_WHERE: Final = ("experiment_id", "model_mode", *CALLED, "session_id", "treatment_label")
_WHO: Final = ("ID", "role", "played_by", "member_path")

ANSWER_COLUMNS: Final = (
    *_WHERE,
    *_WHO,
    "task_id",
    "task_type",
    "task_position",
    "var_name",
    "var_type",
    "status",
    "reason",
    "value",
    "response",
    "raw",
    "valid",
    "reasoning",
    "speculation_score",
    "attempts",
    "provider",
    "prompt_hash",
    "tokens_in",
    "tokens_out",
    "cost",
    "latency_ms",
    "answered_at",
)
SESSION_COLUMNS: Final = (
    *_WHERE,
    "treatment",
    "cohort_path",
    "status",
    "is_over",
    "agents",
    "people",
    "not_finished",
    "replies_wanted",
    "replies",
    "replies_invalid",
    "calls",
    "tokens_in",
    "tokens_out",
    "cost",
    "started_at",
    "ended_at",
)
ASSIGNMENT_COLUMNS: Final = (
    *_WHERE,
    *_WHO,
    "status",
    "status_reason",
    "task_order",
    "draws",
    *(f"{what}_{part}" for what in ("agents", "treatment", "roles", "tasks") for part in ("strategy", "seed")),
)
CODEBOOK_COLUMNS: Final = (
    "experiment_id",
    "sheet",
    "variable",
    "task_id",
    "task_type",
    "task_order",
    "role",
    "text",
    "options",
    "var_type",
    "randomize_response_order",
    "validate_response",
    "generate_speculation_score",
    "format_response",
    "is_adapted",
    "human_text",
)


def constant_columns(study: Study) -> list[str]:
    return [f"constant.{name}" for name in study.constants]


def profile_columns(study: Study) -> list[str]:
    return [*_WHERE, *_WHO, *(f"profile.{column.name}" for column in study.facts.columns if not column.is_id)]


def answers(session: SessionData) -> Iterator[dict[str, Json]]:
    """One for each agent and each task that asks it."""
    positions = {task.id: number for number, task in enumerate(session.tasks, start=1)}
    for reply in session.replies:
        yield {
            **_where(session),
            **_who(reply.agent),
            "task_id": session.study.task_id(reply.task),
            "task_type": reply.task.type,
            "task_position": positions[reply.task.id],
            "var_name": reply.task.variable,
            "var_type": reply.task.variable_type,
            **_reply(reply),
        }


def _reply(reply: ReplyData) -> dict[str, Json]:
    final = last(reply.calls)
    return {
        "status": reply.status,
        "reason": reply.reason,
        **{part: reply.part(part) for part in ("value", "response", "valid", "reasoning", "speculation_score")},
        "raw": final.get("raw") if reply.calls else reply.part("response"),
        "attempts": len(reply.calls) if reply.agent.played_by == "agent" else None,
        **called_in(reply.calls),
        "provider": final.get("provider"),
        "prompt_hash": final.get("prompt_hash"),
        "tokens_in": reply.total("tokens_in"),
        "tokens_out": reply.total("tokens_out"),
        "cost": reply.total("cost"),
        "latency_ms": reply.latency_ms,
        "answered_at": reply.answered_at,
    }


def session_row(session: SessionData) -> dict[str, Json]:
    """The state of the session, with its totals."""
    seated = [agent for agent in session.agents if agent.row["kind"] == "participant"]
    given = [reply for reply in session.replies if reply.entry is not None]
    return {
        **_where(session),
        "treatment": session.stage.treatment,
        "cohort_path": session.cohort["cohort_path"],
        "status": session.cohort["status"],
        "is_over": session.is_over,
        "agents": sum(agent.played_by != "person" for agent in seated),
        "people": sum(agent.played_by == "person" for agent in seated),
        "not_finished": {agent.role: _why(agent) for agent in session.agents if agent.row["status"] != "completed"},
        "replies_wanted": len(session.replies),
        "replies": len(given),
        "replies_invalid": sum(reply.part("valid") is False for reply in given),
        "calls": sum(len(reply.calls) for reply in session.replies),
        **{name: _sum(session, name) for name in ("tokens_in", "tokens_out", "cost")},
        "started_at": session.unlocked_at,
        "ended_at": session.cohort["ended_at"],
    }


def _why(agent: Agent) -> str:
    return str(agent.row["status_reason"] or agent.row["status"])


def _sum(session: SessionData, name: str) -> Json:
    known = [total for reply in session.replies if (total := reply.total(name)) is not None]
    return sum(known) if known else None


def assignments(session: SessionData) -> Iterator[dict[str, Json]]:
    """One for each seat: the assignment of its agent, of the treatment and of the order of tasks."""
    draws = {one.what: one for one in session.study.facts.assignments if one.session == session.id}
    how = {
        f"{what}_{part}": value
        for what, one in draws.items()
        for part, value in (("strategy", one.strategy), ("seed", one.seed))
    }
    for agent in session.agents:
        if not agent.is_special:
            yield {
                **_where(session),
                **_who(agent),
                "status": agent.row["status"],
                "status_reason": agent.row["status_reason"],
                "task_order": [session.study.task_id(task) for task in session.tasks],
                "draws": session.study.facts.draws,
                **how,
            }


def profiles(session: SessionData) -> Iterator[dict[str, Json]]:
    """One for each agent with a profile; blank cells stay blank."""
    for agent in session.agents:
        if agent.has_profile:
            named = {f"profile.{name}": value for name, value in agent.attributes.items()}
            yield {**_where(session), **_who(agent), **named}


def codebook(study: Study) -> Iterator[dict[str, Json]]:
    """One for each variable and role that it asks, in the order of the sheets; then one for each profile column."""
    stage = study.stage(next(iter(study.arms)))
    tasks = {task.id: task for task in stage.tasks}
    for facts in study.facts.tasks:
        task = tasks.get(facts.id)
        if task is None:
            yield {**_task(study, facts), "task_type": "context", "text": stage.context}
        else:
            for asked in _asked(task):
                yield {**_task(study, facts), **_checks(task), **asked}
    for column in study.facts.columns:
        yield {
            "experiment_id": study.name,
            "sheet": "agent_profiles",
            "variable": column.name,
            "text": column.question,
        }


def _task(study: Study, facts: TaskFacts) -> dict[str, Json]:
    return {
        "experiment_id": study.name,
        "sheet": "interview_prompts",
        "variable": facts.var_name,
        "task_id": facts.task_id,
        "task_order": facts.order,
        "var_type": facts.var_type,
        "format_response": facts.as_json,
        "is_adapted": facts.is_adapted,
        "human_text": facts.human_text,
    }


def _checks(task: InterviewTask) -> dict[str, Json]:
    return {
        "task_type": task.type,
        "randomize_response_order": task.randomize_options,
        "validate_response": task.check,
        "generate_speculation_score": task.ask_score,
    }


def _asked(task: InterviewTask) -> Iterator[dict[str, Json]]:
    if not task.questions:
        yield {"text": task.text}
    for question in task.questions:
        yield {"role": question.role, "text": question.text, "options": _options(question)}


def _options(question: InterviewQuestion) -> Json:
    match question.options:
        case ListOptions(values=values):
            return list(values)
        case RangeOptions(low=low, high=high):
            return {"low": low, "high": high}
        case TextOptions(text=text):
            return text
        case _:
            return None


def _where(session: SessionData) -> Mapping[str, Json]:
    study = session.study
    return {
        "experiment_id": study.name,
        "model_mode": study.experiment["model_mode"],
        **study.called,
        "session_id": session.id,
        "treatment_label": session.treatment_label,
        **{f"constant.{name}": value for name, value in study.constants.items()},
    }


def _who(agent: Agent) -> Mapping[str, Json]:
    return {"ID": agent.id, "role": agent.role, "played_by": agent.played_by, "member_path": agent.path}
