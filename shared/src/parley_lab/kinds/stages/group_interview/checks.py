"""Checks that types cannot express: unknown names, and names used twice."""

from collections.abc import Iterator, Mapping, Sequence

from pydantic import ValidationError

from parley_lab.base.errors import Problem
from parley_lab.kinds import Json, form
from parley_lab.kinds.questions.asked_of_rows import columns_compared, in_file, rows_problems
from parley_lab.kinds.stages.group_interview import flow
from parley_lab.kinds.stages.group_interview.answers import PLACE
from parley_lab.kinds.stages.group_interview.config import GroupInterviewStage, InterviewTask, SessionDraws

_SUFFIXES = (".response", ".reasoning", ".speculation_score", ".valid")


def problems(stage: GroupInterviewStage) -> Iterator[Problem]:
    """All problems at once; places are relative to the stage."""
    of_rows = [*rows_problems(stage), *_bad_rows(stage)]
    yield from of_rows or in_file(stage, _of_stage(stage))


def _bad_rows(stage: GroupInterviewStage) -> Iterator[Problem]:
    """Draws by member, since all of a group hear the same, and a column that has two meanings."""
    rows = stage.rows
    for name in ("attributes", "levels") if rows is not None else ():
        if getattr(rows, name):
            yield Problem(f"rows.{name}", name, "rows with a value for all: a group hears the same")
    if rows is not None and rows.order == "latin":
        yield Problem("rows.order", "'latin'", "`shuffle: true` alone, which draws an order for each cohort")
    if rows is not None and rows.is_drawn and any(task.variable_in_file == PLACE for task in stage.tasks):
        yield Problem("tasks", f"a variable {PLACE!r}", f"another name: `{PLACE}` says at which place a row was")


def _of_stage(stage: GroupInterviewStage) -> Iterator[Problem]:
    labels = [role.label for role in stage.roles]
    mediators = [role.label for role in stage.special_roles]
    yield from _repeated("roles[{}].label", labels)
    yield from _repeated("special_roles[{}].label", [*mediators])
    for index, label in enumerate(mediators):
        if label in labels:
            yield Problem(f"special_roles[{index}].label", repr(label), "a label that no participant's role has")
    yield from _repeated("tasks[{}].id", [task.id for task in stage.tasks])
    yield from _repeated("tasks[{}].variable", [task.variable for task in stage.tasks])
    yield from _columns(stage)
    known = [*labels, *flow.special(stage)]
    for index, task in enumerate(stage.tasks):
        yield from _task(f"tasks[{index}]", task, known)


def _repeated(template: str, names: Sequence[str]) -> Iterator[Problem]:
    for index, name in enumerate(names):
        if name in names[:index]:
            yield Problem(template.format(index), repr(name), "a name of its own")


def _columns(stage: GroupInterviewStage) -> Iterator[Problem]:
    taken = {task.variable + suffix for task in stage.tasks for suffix in _SUFFIXES}
    for index, task in enumerate(stage.tasks):
        if task.variable in taken:
            yield Problem(f"tasks[{index}].variable", repr(task.variable), "a name that is no part of another variable")


def _task(where: str, task: InterviewTask, known: Sequence[str]) -> Iterator[Problem]:
    asks = task.type in ("public_question", "private_question")
    if asks and not task.questions:
        yield Problem(f"{where}.questions", "nothing", "a question for at least one role")
    if task.type == "context" and task.questions:
        yield Problem(f"{where}.questions", "questions in a context", "`text`, which is said to all")
    if not task.text.strip() and (task.type == "context" or not (asks or task.questions)):
        yield Problem(f"{where}.text", "nothing", "what is said to all")
    if (task.options or task.role_options) and (task.type != "discussion" or task.questions):
        expected = "options in `questions`; these are of a discussion of all"
        yield Problem(f"{where}.{'options' if task.options else 'role_options'}", "options of a task", expected)
    for index, one in enumerate(task.role_options):
        if one.role not in known:
            yield Problem(f"{where}.role_options[{index}].role", repr(one.role), f"one of {', '.join(known)}")
    yield from _repeated(f"{where}.role_options[{{}}].role", [one.role for one in task.role_options])
    yield from columns_compared(task.show_if, task.row, f"{where}.show_if")
    if task.plain_text and task.ask_reasoning:
        yield Problem(f"{where}.ask_reasoning", "reasoning beside a plain text", "`plain_text: false`, or no reasoning")
    yield from _repeated(f"{where}.questions[{{}}].role", [question.role for question in task.questions])
    for index, question in enumerate(task.questions):
        if question.role not in known:
            yield Problem(f"{where}.questions[{index}].role", repr(question.role), f"one of {', '.join(known)}")


def draw_problems(stage: GroupInterviewStage, given: Mapping[str, Json]) -> Iterator[Problem]:
    """The problems of a file's roles and order for one cohort."""
    try:
        settled = SessionDraws.model_validate(given)
    except ValidationError as error:
        yield from form.problems_of(error)
        return
    labels, others = [role.label for role in stage.roles], flow.special(stage)
    if settled.speakers is not None:
        players = [role for role in settled.speakers if role not in others or settled.speakers.count(role) > 1]
        if sorted(players) != sorted(labels):
            found = ", ".join(settled.speakers) or "nothing"
            yield Problem("speakers", found, f"each of {', '.join(labels)} once")
    if settled.tasks is not None and sorted(settled.tasks) != sorted(task.id for task in stage.tasks):
        yield Problem("tasks", ", ".join(settled.tasks) or "nothing", "the id of every task once")
