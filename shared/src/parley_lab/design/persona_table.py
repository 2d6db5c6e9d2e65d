"""Adds personas from a table to the experiment, one for each row, before it is checked.

A stored experiment contains all its personas; the table is read once.
"""

import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from parley_lab.base import variables as texts
from parley_lab.base.errors import InvalidInput, Problem, TooLarge
from parley_lab.base.meant_names import one_of, unknown
from parley_lab.contracts.experiment import Persona, PersonaId
from parley_lab.contracts.personas_from import PersonasFrom
from parley_lab.design import assigning
from parley_lab.design.complaints import translate, with_a_point
from parley_lab.design.tables import Row, Table, Value, read_csv
from parley_lab.design.treatments import merged

Json = Any
ReadTable = Callable[[PersonasFrom], Table]
"""Reads the table that the experiment file names."""

MAX_ROWS: Final = 100_000
_MOST_TOLD: Final = 20
"""The limit of rows whose problems are reported."""
_ID: Final = "id"
_PROFILE: Final = ("name", "avatar", "pronouns")
_PERSONA_ID: Final[TypeAdapter[str]] = TypeAdapter(PersonaId)


@dataclass(frozen=True, slots=True)
class _Record:
    """A row by the names of its columns: short names where the file gives some. `texts` are as the cells show them."""

    where: str
    texts: Mapping[str, str]
    values: Mapping[str, Value]

    @property
    def id(self) -> str:
        return self.texts[_ID]


def csv_table(source: PersonasFrom, content: bytes) -> Table:
    """The table in a CSV file.

    Raises:
        TooLarge: it has too many bytes.
        InvalidInput: it cannot be read.
    """
    expected = {_ID, *source.columns.values()}
    return read_csv(content, source.file, encoding=source.encoding, expected=expected)


def with_table(value: Json, read_table: ReadTable) -> tuple[Json, list[Problem]]:
    """The values of an experiment file with the personas and seats of its table, if it names one, and the problems of
    the table. An unusable table is left out.

    Raises:
        TooLarge: the table has too many rows or bytes.
    """
    if not isinstance(value, Mapping) or value.get("personas_from") is None:
        return value, []
    try:
        source = _source(value["personas_from"])
        rows = _records(source, read_table(source))
    except InvalidInput as error:
        return value, list(error.problems) or [Problem("personas_from.file", error.message, "a table that can be read")]
    first = rows[0].texts
    problems = [*_bad_each(source.each, rows[0].id), *_unknown_columns(source.each, first, value)]
    # A problem of all rows is reported once.
    wrong = {problem.where.partition(".each.")[2].partition(".")[0].partition("[")[0] for problem in problems}
    each = {field: part for field, part in source.each.items() if field not in wrong}
    personas = [*_list(value.get("personas")), *(_persona(row, each, source) for row in rows)]
    arms = _arms(source, rows, value)
    problems += arms.problems
    seats = [
        {"persona": row.id, **({"treatment": arm} if arm else {})} for row, arm in zip(rows, arms.ids, strict=True)
    ]
    cohorts = [_seated(plan, seats) for plan in _list(value.get("cohorts"))]
    others = {key: part for key, part in value.items() if key not in ("personas_from", "personas", "cohorts")}
    if read := _read_by_stages(value, rows):
        others["assigned"] = [*_list(value.get("assigned")), *read]
    return {**others, "personas": personas, **({"cohorts": cohorts} if "cohorts" in value else {})}, problems


def _read_by_stages(value: Mapping[str, Json], rows: Sequence[_Record]) -> list[Json]:
    """The columns that texts of stages name, as values of the agents of the table. Variables of the file go first."""
    arms = [arm for arm in _list(value.get("treatments")) if isinstance(arm, Mapping)]
    layers = [
        one for one in (value.get("variables"), *(arm.get("variables") for arm in arms)) if isinstance(one, Mapping)
    ]
    taken = {*texts.merged(*layers), *assigning.names(value)}
    parts = [value.get("stages"), [arm.get("stages") for arm in arms]]
    named = dict.fromkeys(name for part in parts for _, name in texts.places(part))
    columns = [name for name in named if name in rows[0].texts and name not in taken]
    return [
        {"id": name, "kind": "by_persona", "personas": {row.id: row.values.get(name, row.texts[name]) for row in rows}}
        for name in columns
    ]


def _source(value: Json) -> PersonasFrom:
    try:
        return PersonasFrom.model_validate(value)
    except ValidationError as error:
        problems = translate(error, value, PersonasFrom.model_json_schema())
        placed = [replace(one, where=f"personas_from.{one.where}".rstrip(".")) for one in problems]
        raise InvalidInput("The table of personas is not described as it should be.", placed) from error


def _bad_each(each: Mapping[str, Json], persona_id: str) -> Iterator[Problem]:
    """Fields that no row can have, reported once at their place."""
    fields = {"id": persona_id, **each}
    try:
        Persona.model_validate(fields)
    except ValidationError as error:
        for problem in translate(error, fields, Persona.model_json_schema()):
            yield replace(problem, where=f"personas_from.each.{problem.where}")


def _unknown_columns(each: Mapping[str, Json], row: Mapping[str, str], value: Mapping[str, Json]) -> Iterator[Problem]:
    """Placeholders that neither a column nor a variable fills."""
    arms = [arm.get("variables") for arm in _list(value.get("treatments")) if isinstance(arm, Mapping)]
    layers = [one for one in (value.get("variables"), *arms) if isinstance(one, Mapping)]
    for problem in texts.problems(each, {**texts.merged(*layers), **row}, "personas_from.each"):
        also = f", or one of the variables {', '.join(sorted(texts.merged(*layers)))}" if layers else ""
        yield replace(problem, expected=f"one of the columns {', '.join(row)}{also}")


def _records(source: PersonasFrom, table: Table) -> list[_Record]:
    """The rows of the table.

    Raises:
        TooLarge: it has too many.
        InvalidInput: with its problems.
    """
    name = source.file
    if len(table.rows) > MAX_ROWS:
        raise TooLarge(f"{name} has {len(table.rows)} rows; a table of personas may have {MAX_ROWS}.")
    names = _names(source, table)
    problems = [*_bad_columns(source, table, names)] or [*_bad_rows(source, names, table)]
    if len(problems) > _MOST_TOLD:
        rest = Problem(name, f"{len(problems) - _MOST_TOLD} further rows with problems", "none")
        problems = [*problems[:_MOST_TOLD], rest]
    if problems:
        raise InvalidInput(f"{name} is not a table of personas.", problems)
    return [_record(source, names, row) for row in table.rows]


def _record(source: PersonasFrom, names: Sequence[str], row: Row) -> _Record:
    shown = dict(zip(names, row.cells, strict=True))
    values = {names[index]: value for index, value in row.values.items()}
    numbers = {name: row.number(names.index(name)) for name in source.numbers}
    values |= {name: number for name, number in numbers.items() if number is not None}
    return _Record(row.where, shown, values)


def _names(source: PersonasFrom, table: Table) -> list[str]:
    """The name of each column: the short one, or its header."""
    short = {_plain(header): name for name, header in source.columns.items()}
    return [short.get(_plain(header), header.strip()) for header in table.header]


def _plain(header: str) -> str:
    return " ".join(header.replace("\ufeff", "").split()).casefold()


def _bad_columns(source: PersonasFrom, table: Table, names: Sequence[str]) -> Iterator[Problem]:
    headers = [header.strip() for header in table.header]
    known = {_plain(header) for header in headers}
    for name, header in source.columns.items():
        if _plain(header) not in known:
            near = difflib.get_close_matches(header, headers, n=1) or headers
            expected = (
                f"{near[0]!r} (did you mean that?)" if len(near) == 1 else f"one of the columns {', '.join(near)}"
            )
            yield Problem(f"personas_from.columns.{name}", repr(header), expected)
    if _ID not in names:
        cure = 'the names of columns, `id` among them; or `columns: {id: "..."}` with the name of the column of ids'
        yield Problem(table.where, ", ".join(headers) or "nothing", cure)
    for number, column in enumerate(names, start=1):
        if not column or column in names[: number - 1]:
            yield Problem(f"{table.where}, column {number}", repr(column), "a name of its own for every column")
    named = [*((f"numbers[{index}]", one) for index, one in enumerate(source.numbers))]
    named += [(f"templates[{index}]", one) for index, one in enumerate(source.templates)]
    named += [("arm", source.arm)] if source.arm is not None else []
    for where, column in named:
        if column not in names:
            yield unknown(f"personas_from.{where}", column, names, "column")


def _bad_rows(source: PersonasFrom, names: Sequence[str], table: Table) -> Iterator[Problem]:
    if not table.rows:
        yield Problem(source.file, "no rows", "one row for each persona")
    seen: dict[str, str] = {}
    at = names.index(_ID)
    for row in table.rows:
        if len(row.cells) != len(names):
            yield Problem(row.where, f"{len(row.cells)} cells", f"{len(names)}, as many as there are columns")
            continue
        persona_id = row.cells[at]
        where = f"{row.where}, id"
        if persona_id in seen:
            yield Problem(where, f"{persona_id!r}, as in {seen[persona_id]}", "an id of its own")
        elif at in row.flaws:
            yield Problem(where, row.flaws[at], "an id as a text: format the column as Text, and type the ids again")
        elif not _is_id(persona_id):
            expected = "an id of letters, digits, `-` and `_`, at most 64, starting with a letter or digit"
            yield Problem(where, repr(persona_id), expected)
        seen.setdefault(persona_id, row.where.removeprefix(f"{source.file} "))
        for name in source.numbers:
            place = names.index(name)
            cell = row.cells[place]
            if cell.strip() and row.number(place) is None:
                yield Problem(f"{row.where}, {name}", repr(cell), with_a_point(cell.strip()) or "a number")


@dataclass(frozen=True, slots=True)
class _Arms:
    """The treatment of each row, and what is wrong with them."""

    ids: Sequence[str | None]
    problems: Sequence[Problem]


def _arms(source: PersonasFrom, rows: Sequence[_Record], value: Mapping[str, Json]) -> _Arms:
    """The treatments that a column names, by id or by name, in capitals or not."""
    if source.arm is None:
        return _Arms([None] * len(rows), ())
    known: dict[str, str] = {}
    for one in _list(value.get("treatments")):
        if isinstance(one, Mapping) and isinstance(one.get("id"), str):
            known |= {str(name).casefold(): one["id"] for name in (one.get("name"), one["id"]) if name}
    ids: list[str | None] = []
    problems: list[Problem] = []
    for row in rows:
        cell = row.texts[source.arm].strip()
        ids.append(known.get(cell.casefold()))
        if cell and ids[-1] is None and len(problems) < _MOST_TOLD:
            expected = one_of(cell, dict.fromkeys(known.values()), "treatment")
            problems.append(Problem(f"{row.where}, {source.arm}", repr(cell), expected))
    return _Arms(ids, problems)


def _is_id(value: str) -> bool:
    try:
        return bool(_PERSONA_ID.validate_python(value))
    except ValidationError:
        return False


def _persona(row: _Record, each: Mapping[str, Json], source: PersonasFrom) -> dict[str, Json]:
    """The fields of the row, overridden by the fields of all rows with the row's values filled in.

    Braces in a cell are escaped, unless its column has templates: nothing is filled into what people wrote.
    """
    cells = {name: cell if name in source.templates else texts.escaped(cell) for name, cell in row.texts.items()}
    known = {_ID, "text", *_PROFILE}
    from_row = {
        "id": row.id,
        "profile": {column: cells[column] for column in _PROFILE if cells.get(column)},
        "text": cells.get("text", ""),
        "attributes": {
            column: row.values.get(column, cell or None)
            for column, cell in cells.items()
            if column not in known and column != source.arm
        },
    }
    return merged(from_row, texts.fill_in_part(each, cells))


def _seated(plan: Json, rows: Sequence[Mapping[str, Json]]) -> Json:
    """The plan with a seat for every row in place of a seat with `each_row`."""
    if not isinstance(plan, Mapping) or not isinstance(plan.get("seats"), list):
        return plan
    seats: list[Json] = []
    for seat in plan["seats"]:
        if isinstance(seat, Mapping) and seat.get("each_row") is True and "persona" not in seat:
            others = {key: part for key, part in seat.items() if key != "each_row"}
            seats += [{**others, **row} for row in rows]
        else:
            seats.append(seat)
    return {**plan, "seats": seats}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
