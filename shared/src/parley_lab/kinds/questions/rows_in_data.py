"""Drawn rows in a stored page, a line and a cell: which they were, in which order, with which levels. Pure."""

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any, Final, TypeVar

from parley_lab.base.errors import Problem
from parley_lab.kinds import Column, Json
from parley_lab.kinds.data import Answered, RowAsked
from parley_lab.kinds.questions.asked_of_rows import AskedOfRows
from parley_lab.kinds.questions.drawn_rows import CHANCE, Drawn, asked_of, row_id_of, with_profiles, with_rows
from parley_lab.kinds.questions.own_order import ORDER

StageT = TypeVar("StageT", bound=AskedOfRows)
_PLACE: Final = "place"
"""The name of the column with the place of a row."""


def drawn_fields(asked: AskedOfRows) -> dict[str, Any]:
    """Give the fields that a page keeps of its rows, in their order: their ids, and the levels of each."""
    questions = getattr(asked, asked.asked)
    return {
        "rows": list(dict.fromkeys(map(row_id_of, questions))),
        "levels": {one.row.id: dict(one.row.levels) for one in questions if one.row and one.row.levels},
    }


def with_drawn(stage: AskedOfRows, view: Drawn, page: Mapping[str, Json]) -> dict[str, Json]:
    """The page with the rows that its reader was asked about, on a stage that draws nothing else."""
    if not stage.is_drawn_of_rows or CHANCE not in view.draws:
        return dict(page)
    return {**page, ORDER: drawn_fields(asked_of(stage, view))}


def as_answered(stage: StageT, page: Json) -> StageT:
    """The stage with the rows that the stored page is about, as they were asked; without drawn rows as it is."""
    order = page.get(ORDER) if isinstance(page, Mapping) else None
    if stage.is_drawn_of_rows and isinstance(order, Mapping) and "profiles" in order:
        # Keys of stored objects keep no order.
        tasks = [[{name: one[name] for name in order["attributes"]} for one in task] for task in order["profiles"]]
        return with_profiles(stage, tasks)
    if not stage.is_drawn_of_rows or not isinstance(order, Mapping) or "rows" not in order:
        return stage
    return with_rows(stage, {row_id: order["levels"].get(row_id, {}) for row_id in order["rows"]})


def columns(stage: AskedOfRows) -> list[Column]:
    """The place of each row among those that were asked, and its levels; none where rows are not drawn."""
    rows = stage.rows
    if rows is None or not stage.is_drawn_of_rows or rows.attributes:
        return []
    said = {_PLACE: "The place", **{name: f"The level of {name}" for name in rows.levels}}
    return [
        Column(
            f"{row_id}.{name}", f"{words} of the row {row_id}", "integer" if name == _PLACE else "text", derived=True
        )
        for row_id in rows.ids
        for name, words in said.items()
    ]


def cells(page: Mapping[str, Json]) -> dict[str, Json]:
    """The values of `columns` for a stored page."""
    order = page.get(ORDER, {})
    return {
        f"{row_id}.{name}": cell
        for place, row_id in enumerate(order.get("rows", ()), start=1)
        for name, cell in {_PLACE: place, **order["levels"].get(row_id, {})}.items()
    }


def places_of(page: Json) -> dict[str, int]:
    """The place of each row that a stored page is about, from 1; empty where rows are not drawn."""
    rows = page.get(ORDER, {}).get("rows", ()) if isinstance(page, Mapping) else ()
    return {row_id: place for place, row_id in enumerate(rows, start=1)}


def with_place(line: Answered, places: Mapping[str, int]) -> Answered:
    """The line with the place that its row had for the member."""
    if line.row is None or line.row.id not in places:
        return line
    return replace(line, row=replace(line.row, place=places[line.row.id]))


def without_draws(stage: AskedOfRows, line: Answered) -> Answered:
    """The line of an answer that was given alone, before there is a page: of a row that was drawn the page alone knows
    the place and, of levels and profiles, the words."""
    if line.row is None or not stage.is_drawn_of_rows:
        return line
    row = RowAsked(line.row.id, line.row.question, None)
    if not line.row.levels and not (stage.rows and stage.rows.attributes):
        return replace(line, row=row)
    return replace(line, label=line.field, text=None, is_correct=None, row=row)


def names_taken(stage: AskedOfRows) -> Iterator[Problem]:
    """Questions of rows with the name of a column that says of the row what was drawn."""
    if stage.rows is None or not stage.is_drawn_of_rows:
        return
    taken = {_PLACE: "at which place the row was", **dict.fromkeys(stage.rows.levels, "which level was drawn")}
    written = dict.fromkeys(one.row.asks for one in getattr(stage, stage.asked) if one.row is not None)
    for index, name in enumerate(written):
        if name in taken:
            yield Problem(f"questions[{index}].id", repr(name), f"another id: the column `{name}` says {taken[name]}")
    if _PLACE in stage.rows.levels:
        yield Problem("rows.levels.place", "'place'", f"another name: the column `place` says {taken[_PLACE]}")
