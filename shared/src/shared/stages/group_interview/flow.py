"""The course of an interview: who has which role, which task is on, whose reply is due. Pure.

Replies are kept by task and role. A key of an ask is `task:<id>`, one for each role that the task asks.
"""

import re
from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from random import Random
from typing import Final

from shared.stage import PAGE, Json, LabView, Member, OwnView, View, as_shown
from shared.stages.group_interview.config import GroupInterviewStage, InterviewQuestion, InterviewSession, InterviewTask
from shared.stages.group_interview.options import Options, drawn_order

_PREFIX: Final = "task:"
_SEAT: Final = re.compile(r"c(\d+)/m(\d+)")
_ORDERS: Final = "orders"
_SPEAKERS: Final = "speakers"
_TASKS: Final = "tasks"

ALL: Final = ""
"""No role: everybody who hears what is read out."""

Replies = Mapping[str, Mapping[str, Json]]
"""What was answered, by the id of the task and the role."""


@dataclass(frozen=True, slots=True)
class Turn:
    """A reply that somebody gives in a task; `waits_for` are the roles who must have answered before."""

    role: str
    waits_for: tuple[str, ...]


def key_of(task: InterviewTask) -> str:
    """The key under which replies to this task are stored."""
    return f"{_PREFIX}{task.id}"


def task_of(stage: GroupInterviewStage, key: str) -> InterviewTask | None:
    """The task that an ask with this key is about; None when it is about the page."""
    return next((task for task in stage.tasks if key_of(task) == key), None)


def drawn(
    stage: GroupInterviewStage, members: Sequence[Member], before: Mapping[str, Json], rng: Random
) -> dict[str, Json]:
    """The roles of `members` by the places of their seats, the order of tasks, and orders of options."""
    seated = {_role_key(member): _role_of_seat(stage, member) for member in members if member.kind == "participant"}
    roles = {key: role for key, role in seated.items() if role is not None}
    if _TASKS in before:
        return {**before, **roles}
    session = _session(stage, members[0].path if members else "")
    return {
        **roles,
        _SPEAKERS: list(session.roles),
        _TASKS: list(session.order),
        _ORDERS: _option_orders(stage, rng),
    }


def _role_key(member: Member) -> str:
    return f"role:{member.path}"


def _role_of_seat(stage: GroupInterviewStage, member: Member) -> str | None:
    """None when there are more seats than roles."""
    _, seat = _place(member.path)
    roles = _session(stage, member.path).roles
    return roles[seat - 1] if seat <= len(roles) else None


def _session(stage: GroupInterviewStage, path: str) -> InterviewSession:
    """The session of the cohort in which a member with this path is."""
    cohort, _ = _place(path)
    if cohort <= len(stage.sessions):
        return stage.sessions[cohort - 1]
    roles = tuple(role.label for role in stage.roles)
    return InterviewSession(roles=roles, order=tuple(task.id for task in stage.tasks))


def _place(path: str) -> tuple[int, int]:
    """The numbers of cohort and seat, from 1: a path is made of positions."""
    found = _SEAT.match(path)
    return (int(found[1]), int(found[2])) if found else (1, 1)


def _option_orders(stage: GroupInterviewStage, rng: Random) -> dict[str, dict[str, list[int]]]:
    orders: dict[str, dict[str, list[int]]] = {}
    for task in stage.tasks:
        if task.randomize_options:
            drawn_orders = {question.role: drawn_order(question.options, rng) for question in task.questions}
            if not task.questions:
                drawn_orders = {role: drawn_order(options, rng) for role, options in _talked_about(task).items()}
            orders[task.id] = {role: order for role, order in drawn_orders.items() if order is not None}
    return orders


def _talked_about(task: InterviewTask) -> dict[str, Options]:
    """The options of a discussion of all by role, with those that everybody hears."""
    of_all = {} if task.options is None else {ALL: task.options}
    return {**of_all, **{one.role: one.options for one in task.role_options}}


def options_of(task: InterviewTask, role: str) -> Options | None:
    """What the role, or ALL, may choose from in a discussion of all."""
    return _talked_about(task).get(role)


def role_of(stage: GroupInterviewStage, member: Member, draws: Mapping[str, Json]) -> str | None:
    """A participant's role is drawn; a mediator's is its name, also where that stands as prompts show names."""
    if member.kind == "mediator":
        labels = (stage.facilitator, *(role.label for role in stage.special_roles))
        name = member.profile.name
        return name if name in labels else next((label for label in labels if as_shown(label) == name), None)
    role = draws.get(_role_key(member))
    return role if isinstance(role, str) else None


def option_order(task: InterviewTask, role: str, draws: Mapping[str, Json]) -> list[int] | None:
    """In which order the role sees the options of its list; None: as they stand."""
    order = draws.get(_ORDERS, {}).get(task.id, {}).get(role)
    return order if isinstance(order, list) else None


def question_of(task: InterviewTask, role: str) -> InterviewQuestion | None:
    """What the role is asked in the task; None when it is not, or says what it likes."""
    return next((question for question in task.questions if question.role == role), None)


def tasks_in_order(stage: GroupInterviewStage, draws: Mapping[str, Json]) -> list[InterviewTask]:
    """The tasks as this session has them."""
    by_id = {task.id: task for task in stage.tasks}
    return [by_id[task_id] for task_id in draws.get(_TASKS, list(by_id))]


def special(stage: GroupInterviewStage) -> frozenset[str]:
    """The roles that mediators play."""
    return frozenset({stage.facilitator, *(role.label for role in stage.special_roles)})


def turns(stage: GroupInterviewStage, task: InterviewTask, draws: Mapping[str, Json]) -> list[Turn]:
    """Who replies in the task, in speaking order.

    In private nobody waits for anybody, but mediators, who see what was answered before them.
    """
    if task.type == "context":
        return []
    is_open = task.type == "discussion" and not task.questions
    roles = _speakers(stage, draws) if is_open else [question.role for question in task.questions]
    at_once = set(roles) - special(stage) if task.type == "private_question" else set()
    return [Turn(role, () if role in at_once else tuple(roles[:number])) for number, role in enumerate(roles)]


def _speakers(stage: GroupInterviewStage, draws: Mapping[str, Json]) -> list[str]:
    """The participants' roles in the order of their seats, then mediators; the facilitator does not reply to itself."""
    seated = draws.get(_SPEAKERS, [role.label for role in stage.roles])
    players = [role for role in seated if role not in special(stage)]
    return [*players, *(role.label for role in stage.special_roles if role.label != stage.facilitator)]


def replies(stage: GroupInterviewStage, view: LabView) -> dict[str, dict[str, Json]]:
    """Everybody's replies, from all answers."""
    keys = {key_of(task): task.id for task in stage.tasks}
    roles = {member.id: role for member in view.members if (role := role_of(stage, member, view.draws)) is not None}
    given = [
        (key, str(owner), roles[owner], reply)
        for owner, entries in view.answers.items()
        if owner in roles
        for key, reply in entries.items()
        if key in keys
    ]
    found: dict[str, dict[str, Json]] = {}
    for key, _, role, reply in sorted(given, key=itemgetter(0, 1)):
        found.setdefault(keys[key], {})[role] = reply
    return found


def position(stage: GroupInterviewStage, view: LabView, given: Replies) -> int:
    """The position of the task that is on; past the end when all is over."""
    tasks = tasks_in_order(stage, view.draws)
    if stage.max_replies is not None and sum(map(len, given.values())) >= stage.max_replies:
        return len(tasks)
    there = _there(stage, view) - {
        role_of(stage, member, view.draws) for member in view.members if PAGE in view.answers.get(member.id, {})
    }
    still_open = (place for place, task in enumerate(tasks) if _open_roles(stage, task, view, there, given))
    return next(still_open, len(tasks))


def due(stage: GroupInterviewStage, view: OwnView) -> InterviewTask | None:
    """What the reader is to reply to now."""
    task, role = task_on(stage, view), role_of(stage, view.me, view.draws)
    if task is None or role is None or not view.me.present or key_of(task) in view.own:
        return None
    still_open = _open_roles(stage, task, view, _there(stage, view), view.state["replies"])
    turn = next((turn for turn in turns(stage, task, view.draws) if turn.role == role), None)
    return None if turn is None or any(other in still_open for other in turn.waits_for) else task


def task_on(stage: GroupInterviewStage, view: View) -> InterviewTask | None:
    """The task that is on; None when all is over, or nothing has begun."""
    tasks, now = tasks_in_order(stage, view.draws), view.state.get("position")
    return tasks[now] if isinstance(now, int) and now < len(tasks) else None


def _there(stage: GroupInterviewStage, view: View) -> set[str | None]:
    """The roles of those who are there or may still come."""
    return {role_of(stage, one, view.draws) for one in view.members if one.present or one.awaited}


def _open_roles(
    stage: GroupInterviewStage, task: InterviewTask, view: View, there: Container[str | None], given: Replies
) -> set[str]:
    """Who of those who are there is still to reply in the task."""
    answered = given.get(task.id, {})
    roles = (turn.role for turn in turns(stage, task, view.draws))
    return {role for role in roles if role in there and role not in answered}
