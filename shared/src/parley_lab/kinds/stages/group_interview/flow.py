"""The course of an interview: roles, the current task, and due replies. Pure.

Replies are stored by task and role. The key of an ask is `task:<id>`, one for each role that the task asks.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter
from random import Random
from typing import Final

from parley_lab.base.looks import is_told_apart_from
from parley_lab.base.rules import applies
from parley_lab.kinds import Json, LabView, Member, OwnView
from parley_lab.kinds.names import as_shown
from parley_lab.kinds.questions.drawn_rows import drawn_rows
from parley_lab.kinds.stages.group_interview.config import GroupInterviewStage, InterviewQuestion, InterviewTask
from parley_lab.kinds.stages.group_interview.options import Options, drawn_order
from parley_lab.kinds.view import View

_PREFIX: Final = "task:"
_ORDERS: Final = "orders"
_SPEAKERS: Final = "speakers"
_TASKS: Final = "tasks"

LEFT: Final = "left"
"""Marks the lab's answer for a member who has left."""

ALL: Final = ""
"""No role: what is read out to all."""

Replies = Mapping[str, Mapping[str, Json]]
"""Answers by the id of the task and the role."""


@dataclass(frozen=True, slots=True)
class ReplyTurn:
    """One role's reply in a task; `waits_for`: the roles that must have answered before."""

    role: str
    waits_for: tuple[str, ...]


def key_of(task: InterviewTask) -> str:
    """The key of replies to this task."""
    return f"{_PREFIX}{task.id}"


def task_of(stage: GroupInterviewStage, key: str) -> InterviewTask | None:
    """The task of an ask with this key; None for the page."""
    return next((task for task in stage.tasks if key_of(task) == key), None)


def drawn(
    stage: GroupInterviewStage, members: Sequence[Member], before: Mapping[str, Json], rng: Random
) -> dict[str, Json]:
    """The roles of `members` by their seats, the order of tasks, and orders of options.

    A file can set the roles and the order of tasks of a cohort.
    """
    facts = {
        _SPEAKERS: [role.label for role in stage.roles],
        _TASKS: before[_TASKS] if _TASKS in before else _drawn_tasks(stage, rng),
        **before,
    }
    if _ORDERS not in facts:
        facts[_ORDERS] = _option_orders(stage, rng)
    roles = facts[_SPEAKERS]
    seated = {_role_key(one): one.seat for one in members if one.kind == "participant" and one.seat is not None}
    # Where there are more seats than roles, the last ones have none.
    return {**facts, **{key: roles[seat - 1] for key, seat in seated.items() if seat <= len(roles)}}


def _drawn_tasks(stage: GroupInterviewStage, rng: Random) -> list[str]:
    """The ids of the tasks of a cohort: those of each row together."""
    if stage.rows is None or not stage.is_drawn_of_rows:
        return [task.id for task in stage.tasks]
    rows = drawn_rows(stage.rows, lambda _: rng)
    return [task.id for row_id in rows for task in stage.tasks if task.row is not None and task.row.id == row_id]


def _role_key(member: Member) -> str:
    return f"role:{member.path}"


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
    """The options of a discussion of all, by role, with those that all hear."""
    of_all = {} if task.options is None else {ALL: task.options}
    return {**of_all, **{one.role: one.options for one in task.role_options}}


def options_of(task: InterviewTask, role: str) -> Options | None:
    """The options of the role, or of ALL, in a discussion of all."""
    return _talked_about(task).get(role)


def role_of(stage: GroupInterviewStage, member: Member, draws: Mapping[str, Json]) -> str | None:
    """A participant's role is drawn; a mediator's is its name, in the form that prompts show, without its number."""
    if member.kind == "mediator":
        labels = (stage.facilitator, *(role.label for role in stage.special_roles))
        name = member.profile.name
        shown = {**{as_shown(label): label for label in reversed(labels)}, **{label: label for label in labels}}
        # A mediator who takes over from one of the same name is numbered in the group.
        return shown.get(name) or next((role for one, role in shown.items() if is_told_apart_from(name, one)), None)
    role = draws.get(_role_key(member))
    return role if isinstance(role, str) else None


def option_order(task: InterviewTask, role: str, draws: Mapping[str, Json]) -> list[int] | None:
    """The order in which the role sees its list of options; None: unchanged."""
    order = draws.get(_ORDERS, {}).get(task.id, {}).get(role)
    return order if isinstance(order, list) else None


def question_of(task: InterviewTask, role: str) -> InterviewQuestion | None:
    """The role's question in the task; None when it has none, or may say what it likes."""
    return next((question for question in task.questions if question.role == role), None)


def tasks_in_order(stage: GroupInterviewStage, draws: Mapping[str, Json]) -> list[InterviewTask]:
    """The tasks in the order of this cohort, without those that its arm does not have."""
    by_id = {task.id: task for task in stage.tasks}
    ordered = [by_id[task_id] for task_id in draws.get(_TASKS, list(by_id))]
    return [task for task in ordered if applies(task.show_if)]


def special(stage: GroupInterviewStage) -> frozenset[str]:
    """The roles of mediators."""
    return frozenset({stage.facilitator, *(role.label for role in stage.special_roles)})


def place_of(stage: GroupInterviewStage, task: InterviewTask, draws: Mapping[str, Json]) -> int | None:
    """The place of the task's row among those that the cohort is asked about, from 1; None: the stage draws none."""
    if task.row is None or not stage.is_drawn_of_rows:
        return None
    asked = dict.fromkeys(one.row.id for one in tasks_in_order(stage, draws) if one.row is not None)
    return [*asked].index(task.row.id) + 1


def turns(stage: GroupInterviewStage, task: InterviewTask, draws: Mapping[str, Json]) -> list[ReplyTurn]:
    """The replies of the task, in speaking order.

    In private no participant waits for others; mediators do, because they see the answers before them.
    """
    if task.type == "context":
        return []
    is_open = task.type == "discussion" and not task.questions
    roles = _speakers(stage, draws) if is_open else [question.role for question in task.questions]
    at_once = set(roles) - special(stage) if task.type == "private_question" else set()
    return [ReplyTurn(role, () if role in at_once else tuple(roles[:number])) for number, role in enumerate(roles)]


def _speakers(stage: GroupInterviewStage, draws: Mapping[str, Json]) -> list[str]:
    """The participants' roles in the order of their seats, then mediators; the facilitator does not reply to itself."""
    seated = draws.get(_SPEAKERS, [role.label for role in stage.roles])
    players = [role for role in seated if role not in special(stage)]
    return [*players, *(role.label for role in stage.special_roles if role.label != stage.facilitator)]


def replies(stage: GroupInterviewStage, view: LabView) -> dict[str, dict[str, Json]]:
    """All replies, made of all answers."""
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


def is_passed(reply: Json) -> bool:
    """Whether it is the lab's answer for a member who has left, which no member has said or heard."""
    return isinstance(reply, Mapping) and LEFT in reply


def position(stage: GroupInterviewStage, view: LabView, given: Replies) -> int:
    """The position of the current task; past the end when the interview is over."""
    tasks = tasks_in_order(stage, view.draws)
    return len(tasks) if _is_cut(stage, given) else _first_open(stage, tasks, view, given)


def furthest(stage: GroupInterviewStage, view: LabView, given: Replies) -> int:
    """The position of the last task that has begun; past the end when all are over.

    After `max_replies` the last one is that of the last reply: later tasks have not begun.
    """
    tasks = tasks_in_order(stage, view.draws)
    first_open = _first_open(stage, tasks, view, given)
    return last_said(tasks, given) if _is_cut(stage, given) and first_open < len(tasks) else first_open


def last_said(tasks: Sequence[InterviewTask], given: Replies) -> int:
    """The position of the last of the tasks with the reply of a member; -1 without any."""
    said = (place for place, task in enumerate(tasks) if not all(map(is_passed, given.get(task.id, {}).values())))
    return max(said, default=-1)


def _is_cut(stage: GroupInterviewStage, given: Replies) -> bool:
    said = sum(not is_passed(reply) for by_role in given.values() for reply in by_role.values())
    return stage.max_replies is not None and said >= stage.max_replies


def _first_open(stage: GroupInterviewStage, tasks: Sequence[InterviewTask], view: LabView, given: Replies) -> int:
    still_open = (place for place, task in enumerate(tasks) if _open_roles(stage, task, view, given))
    return next(still_open, len(tasks))


def due(stage: GroupInterviewStage, view: OwnView) -> InterviewTask | None:
    """The task that waits for the reader's reply."""
    task, role = task_on(stage, view), role_of(stage, view.me, view.draws)
    if task is None or role is None or key_of(task) in view.own or _is_taken_over(stage, view, role):
        return None
    still_open = _open_roles(stage, task, view, view.state["replies"])
    turn = next((turn for turn in turns(stage, task, view.draws) if turn.role == role), None)
    return None if turn is None or any(other in still_open for other in turn.waits_for) else task


def _is_taken_over(stage: GroupInterviewStage, view: OwnView, role: str) -> bool:
    """Whether the reader has gone, and a member who is there has the same role: a mediator in place of another."""
    return not (view.me.present or view.me.awaited) and any(
        one.present and one.id != view.me.id and role_of(stage, one, view.draws) == role for one in view.members
    )


def task_on(stage: GroupInterviewStage, view: View) -> InterviewTask | None:
    """The current task; None when all are over, or none has begun."""
    tasks, now = tasks_in_order(stage, view.draws), view.state.get("position")
    return tasks[now] if isinstance(now, int) and now < len(tasks) else None


def is_over(stage: GroupInterviewStage, view: View) -> bool:
    return "position" in view.state and task_on(stage, view) is None


def description_of(stage: GroupInterviewStage, role: str | None) -> str:
    """The description of the role, for the role itself."""
    return next((one.description for one in (*stage.roles, *stage.special_roles) if one.label == role), "")


def _open_roles(stage: GroupInterviewStage, task: InterviewTask, view: View, given: Replies) -> set[str]:
    """The roles of members whose replies to the task are missing."""
    answered, held = given.get(task.id, {}), {role_of(stage, one, view.draws) for one in view.members}
    roles = (turn.role for turn in turns(stage, task, view.draws))
    return {role for role in roles if role in held and role not in answered}
