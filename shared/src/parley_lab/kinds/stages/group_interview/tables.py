"""The data of an interview: columns of the wide table, lines of the long one."""

from collections.abc import Mapping
from typing import Final, Literal

from parley_lab.kinds import Column, Json
from parley_lab.kinds.data import Answered, RowAsked
from parley_lab.kinds.questions.rows import named
from parley_lab.kinds.stages.group_interview import answers, flow
from parley_lab.kinds.stages.group_interview.config import GroupInterviewStage, InterviewTask

_Type = Literal["integer", "number", "text"]
_TYPES: Final[Mapping[str, _Type]] = {"integer": "integer", "float": "number"}


def columns(task: InterviewTask) -> list[Column]:
    """The columns of one task."""
    label, name = _label(task), task.variable
    found = [
        Column(name, label, _type(task)),
        Column(f"{name}.response", f"{label} (as it was given)", "text"),
        Column(f"{name}.valid", f"{label} (whether the answer is valid)", "boolean"),
    ]
    if task.ask_reasoning:
        found.append(Column(f"{name}.reasoning", f"{label} (reasoning)", "text"))
    if task.ask_score:
        found.append(Column(f"{name}.speculation_score", f"{label} (speculation score)", "number"))
    return found


def places(stage: GroupInterviewStage) -> list[Column]:
    """A column for each row that may be drawn: its place among those that the cohort was asked about."""
    ids = stage.rows.ids if stage.rows is not None and stage.is_drawn_of_rows else ()
    names = {one: named(one, answers.PLACE) for one in ids}
    return [Column(name, f"The place of the row {one}", "integer", derived=True) for one, name in names.items()]


def cells(task: InterviewTask, entry: Mapping[str, Json]) -> dict[str, Json]:
    """The values of `columns` for one stored reply."""
    parts = {
        "": _value(task, entry),
        ".response": entry.get("response"),
        ".valid": entry.get("valid"),
        ".reasoning": entry.get("reasoning") if task.ask_reasoning else None,
        ".speculation_score": entry.get("speculation_score") if task.ask_score else None,
    }
    place = {} if task.row is None else {named(task.row.id, answers.PLACE): entry.get(answers.PLACE)}
    found = {f"{task.variable}{part}": cell for part, cell in parts.items()} | place
    return {name: cell for name, cell in found.items() if cell is not None}


def answered(task: InterviewTask, entry: Mapping[str, Json]) -> Answered:
    """The line of the long table for one reply: its value, and the response as its text."""
    return Answered(
        field=task.variable,
        label=_label(task),
        type=_type(task),
        value=_value(task, entry),
        text=entry.get("response"),
        is_valid=entry.get("valid") is not False,
        asked_as=flow.key_of(task),
        row=_row(task, entry),
    )


def _row(task: InterviewTask, entry: Mapping[str, Json]) -> RowAsked | None:
    """The row of the task, with its place among those of the cohort, or in the file where all are asked."""
    if task.row is None:
        return None
    return RowAsked(task.row.id, task.variable_in_file, entry.get(answers.PLACE, task.row.number))


def _value(task: InterviewTask, entry: Mapping[str, Json]) -> Json:
    value = entry.get("value")
    return value if task.variable_type in _TYPES or value is None else str(value)


def _label(task: InterviewTask) -> str:
    return task.questions[0].text if task.questions else task.text


def _type(task: InterviewTask) -> _Type:
    return _TYPES.get(task.variable_type or "", "text")
