"""Reads tables into the values of an experiment, before it is checked: those that stages name as their rows, and the
one with texts for single arms.

A stored experiment contains the rows; each table is read once.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from parley_lab.base import variables as texts
from parley_lab.base.errors import MOST_PROBLEMS, InvalidInput, Problem
from parley_lab.base.meant_names import unknown
from parley_lab.contracts.personas_from import PersonasFrom
from parley_lab.design.complaints import with_a_point
from parley_lab.design.persona_table import ReadTable
from parley_lab.design.tables import Row, Table

Json = Any
_WITH_STAGES: Final = ("stages", "treatments", "factors")
_OF_TABLE: Final = ("file", "sheet", "encoding")
_ROWS: Final = "rows"
_UNREAD: Final = (".rows.file", "texts.file")


def with_row_tables(value: Json, read_table: ReadTable) -> tuple[Json, list[Problem]]:
    """The values of an experiment file with the rows of the tables that stages name, and the problems of tables, which
    are left out.

    Raises:
        TooLarge: a table has too many bytes.
    """
    if not isinstance(value, Mapping):
        return value, []
    problems: list[Problem] = []
    parts = {name: _read(value[name], name, read_table, problems) for name in _WITH_STAGES if name in value}
    if isinstance(cells := value.get("texts"), Mapping) and isinstance(cells.get("file"), str):
        parts["texts"] = _texts(cells, read_table, problems)
    return {**value, **parts}, problems


def _texts(cells: Mapping[str, Json], read_table: ReadTable, problems: list[Problem]) -> Json:
    """The rows of a table of cells. Texts are values of variables, in which braces stay as they are."""
    table = _find_table(cells, "texts", read_table, problems)
    if table is None:
        return cells
    names = [header.strip() for header in table.header]
    if slips := [*_bad(table, cells["file"], "texts", [])]:
        problems += slips[:MOST_PROBLEMS]
        return cells
    rows = (zip(names, row.cells, strict=True) for row in table.rows)
    return [{name: cell.strip() for name, cell in row if cell.strip()} for row in rows]


def _find_table(source: Mapping[str, Json], where: str, read_table: ReadTable, problems: list[Problem]) -> Table | None:
    """The table that this names; None: it cannot be read, and the problems say why."""
    try:
        options = {key: source[key] for key in _OF_TABLE[1:] if isinstance(source.get(key), str)}
        return read_table(PersonasFrom(file=source["file"], **options))
    except InvalidInput as error:
        told = error.problems or [Problem("personas_from.file", error.message, "a table that can be read")]
        problems += [replace(one, where=one.where.replace("personas_from", where, 1)) for one in told]
        return None


def _read(value: Json, where: str, read_table: ReadTable, problems: list[Problem]) -> Json:
    if isinstance(value, list):
        return [_read(part, f"{where}[{index}]", read_table, problems) for index, part in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    return {
        key: _rows(part, f"{where}.{key}", read_table, problems)
        if key == _ROWS and isinstance(part, Mapping) and isinstance(part.get("file"), str) and part["file"]
        else _read(part, f"{where}.{key}", read_table, problems)
        for key, part in value.items()
    }


def _rows(rows: Mapping[str, Json], where: str, read_table: ReadTable, problems: list[Problem]) -> Json:
    name = rows["file"]
    if slips := [*_find_slips(rows, where)]:
        problems += slips
        return rows
    table = _find_table(rows, where, read_table, problems)
    if table is None:
        return rows
    numbers = rows.get("numbers") or []
    found = [*_bad(table, name, where, numbers)]
    if found:
        problems += found[:MOST_PROBLEMS]
        return rows
    names = [header.strip() for header in table.header]
    items = [_item(names, row, numbers) for row in table.rows]
    return {"items": items, **{key: part for key, part in rows.items() if key not in (*_OF_TABLE, "numbers")}}


def _find_slips(rows: Mapping[str, Json], where: str) -> Iterator[Problem]:
    """A table takes the place of `items`, and `numbers` lists columns of it."""
    if "items" in rows:
        yield Problem(f"{where}.items", "rows beside `file`", "`file` or `items`")
    numbers = rows.get("numbers")
    if numbers is not None and not isinstance(numbers, list):
        expected = f"a list: [{numbers}]" if isinstance(numbers, str) else "a list of columns"
        yield Problem(f"{where}.numbers", repr(numbers)[:80], expected)


def without_unread_tables(problems: Sequence[Problem], *, is_told: bool) -> list[Problem]:
    """Without those that are there only because a table was not read, and, where it `is_told` why, without that
    itself."""
    unread = [one for one in problems if one.where.endswith(_UNREAD)]
    if not unread:
        return list(problems)
    others = [one for one in problems if one not in unread and "{{row." not in one.found]
    return others if is_told else [*unread, *others]


def _item(names: list[str], row: Row, numbers: Json) -> dict[str, Json]:
    """Braces in a cell are escaped: nothing is filled into what a table holds. An empty cell is no value."""
    return {
        name: row.number(place) if name in numbers else texts.escaped(cell)
        for place, (name, cell) in enumerate(zip(names, row.cells, strict=True))
        if cell.strip()
    }


def _bad(table: Table, file: str, where: str, numbers: list[Json]) -> Iterator[Problem]:
    names = [header.strip() for header in table.header]
    for number, name in enumerate(names, start=1):
        if not name or name in names[: number - 1]:
            yield Problem(f"{table.where}, column {number}", repr(name), "a name of its own for every column")
    for index, name in enumerate(numbers):
        if name not in names:
            yield unknown(f"{where}.numbers[{index}]", name, names, "column")
    if not table.rows:
        yield Problem(file, "no rows", "a row for each thing that the questions are about")
    for row in table.rows:
        yield from _bad_cells(row, names, numbers)


def _bad_cells(row: Row, names: list[str], numbers: list[Json]) -> Iterator[Problem]:
    if len(row.cells) != len(names):
        yield Problem(row.where, f"{len(row.cells)} cells", f"{len(names)}, as many as there are columns")
        return
    for place, (name, cell) in enumerate(zip(names, row.cells, strict=True)):
        if place in row.flaws:
            yield Problem(
                f"{row.where}, {name}", row.flaws[place], "a text: format the column as Text, and type it again"
            )
        elif name in numbers and cell.strip() and row.number(place) is None:
            yield Problem(f"{row.where}, {name}", repr(cell), with_a_point(cell.strip()) or "a number")
