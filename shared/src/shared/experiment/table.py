"""Adds personas from a table to the experiment, one for each row, before it is checked.

A stored experiment contains all its personas; the table is read once.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from io import StringIO
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from shared import variables as texts
from shared.contracts.experiment import Persona, PersonasFrom, Slug
from shared.errors import InvalidInput, Problem, TooLarge
from shared.experiment.complaints import translate
from shared.experiment.encoding import NotUtf8, decoded_utf_8
from shared.experiment.treatments import merged

Json = Any
Row = Mapping[str, str]
ReadTable = Callable[[str], bytes]
"""Reads the content of the table with the name that the experiment file gives."""

MAX_TABLE_BYTES: Final = 64 * 1024 * 1024
MAX_ROWS: Final = 100_000
_MOST_TOLD: Final = 20
"""The limit of rows whose problems are reported."""
_PROFILE: Final = ("name", "avatar", "pronouns")
_SEPARATORS: Final = (",", ";", "\t")
_SLUG: Final[TypeAdapter[str]] = TypeAdapter(Slug)


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
        rows = _rows(_decoded(read_table(source.file), source.file), source.file)
    except InvalidInput as error:
        return value, list(error.problems) or [Problem("personas_from.file", error.message, "a table that can be read")]
    problems = [*_bad_each(source.each, rows[0]), *_unknown_columns(source.each, rows[0], value)]
    # A problem of all rows is reported once.
    wrong = {problem.where.partition(".each.")[2].partition(".")[0].partition("[")[0] for problem in problems}
    each = {field: part for field, part in source.each.items() if field not in wrong}
    personas = [*_list(value.get("personas")), *(_persona(row, each) for row in rows)]
    cohorts = [_seated(plan, [row["id"] for row in rows]) for plan in _list(value.get("cohorts"))]
    others = {key: part for key, part in value.items() if key not in ("personas_from", "personas", "cohorts")}
    return {**others, "personas": personas, **({"cohorts": cohorts} if "cohorts" in value else {})}, problems


def _source(value: Json) -> PersonasFrom:
    try:
        return PersonasFrom.model_validate(value)
    except ValidationError as error:
        problems = translate(error, value, PersonasFrom.model_json_schema())
        placed = [Problem(f"personas_from.{one.where}".rstrip("."), one.found, one.expected) for one in problems]
        raise InvalidInput("The table of personas is not described as it should be.", placed) from error


def _bad_each(each: Mapping[str, Json], row: Row) -> Iterator[Problem]:
    """Fields that no row can have, reported once at their place."""
    fields = {"id": row["id"], **each}
    try:
        Persona.model_validate(fields)
    except ValidationError as error:
        for problem in translate(error, fields, Persona.model_json_schema()):
            yield replace(problem, where=f"personas_from.each.{problem.where}")


def _unknown_columns(each: Mapping[str, Json], row: Row, value: Mapping[str, Json]) -> Iterator[Problem]:
    """Placeholders that neither a column nor a variable fills."""
    arms = [arm.get("variables") for arm in _list(value.get("treatments")) if isinstance(arm, Mapping)]
    layers = [one for one in (value.get("variables"), *arms) if isinstance(one, Mapping)]
    for problem in texts.problems(each, {**texts.merged(*layers), **row}, "personas_from.each"):
        also = f", or one of the variables {', '.join(sorted(texts.merged(*layers)))}" if layers else ""
        yield replace(problem, expected=f"one of the columns {', '.join(row)}{also}")


def _decoded(content: bytes, name: str) -> str:
    if len(content) > MAX_TABLE_BYTES:
        raise TooLarge(f"{name} has {len(content)} bytes; a table of personas may have {MAX_TABLE_BYTES}.")
    try:
        return decoded_utf_8(content)
    except NotUtf8 as error:
        raise _not_utf_8(f"{name} line {error.line}", error.found, name, error.encoding) from error


def _not_utf_8(where: str, found: str, name: str, encoding: str) -> InvalidInput:
    cure = f"save it in Excel as `CSV UTF-8`, or type: iconv -f {encoding} -t UTF-8 {name} > utf8.csv"
    return InvalidInput(f"{name} cannot be read.", [Problem(where, found, f"a table in UTF-8; {cure}")])


def _rows(text: str, name: str) -> list[Row]:
    reader = csv.reader(StringIO(text, newline=""), delimiter=_separator(text), strict=True)
    # A cell may hold a whole interview. csv's limit is one of the process; the text is in memory anyway.
    csv.field_size_limit(MAX_TABLE_BYTES)
    try:
        header = next(reader, [])
        # A row may span several lines; the reader knows the last one.
        lines = [(reader.line_num, cells) for cells in reader if any(cells)]
    except csv.Error as error:
        problem = Problem(f"{name} line {reader.line_num}", str(error), "comma-separated values")
        raise InvalidInput(f"{name} cannot be read.", [problem]) from error
    if len(lines) > MAX_ROWS:
        raise TooLarge(f"{name} has {len(lines)} rows; a table of personas may have {MAX_ROWS}.")
    problems = [*_bad_header(header, name)] or [*_bad_rows(header, lines, name)]
    if len(problems) > _MOST_TOLD:
        rest = Problem(name, f"{len(problems) - _MOST_TOLD} further rows with problems", "none")
        problems = [*problems[:_MOST_TOLD], rest]
    if problems:
        raise InvalidInput(f"{name} is not a table of personas.", problems)
    return [dict(zip(header, cells, strict=True)) for _, cells in lines]


def _separator(text: str) -> str:
    """The delimiter: the one by which the header has the most columns, `id` among them."""
    first = text.partition("\n")[0].rstrip("\r")
    headers = {separator: next(csv.reader([first], delimiter=separator), []) for separator in _SEPARATORS}
    return max(_SEPARATORS, key=lambda separator: ("id" in headers[separator], len(headers[separator])))


def _bad_header(header: Sequence[str], name: str) -> Iterator[Problem]:
    if "id" not in header:
        yield Problem(f"{name} line 1", ", ".join(header) or "nothing", "the names of columns, `id` among them")
    for number, column in enumerate(header, start=1):
        if not column.strip() or column in header[: number - 1]:
            yield Problem(f"{name} line 1, column {number}", repr(column), "a name of its own for every column")


def _bad_rows(header: Sequence[str], lines: Sequence[tuple[int, Sequence[str]]], name: str) -> Iterator[Problem]:
    if not lines:
        yield Problem(name, "no rows", "one row for each persona")
    seen: dict[str, int] = {}
    for line, cells in lines:
        where = f"{name} line {line}"
        if len(cells) != len(header):
            yield Problem(where, f"{len(cells)} cells", f"{len(header)}, as many as there are columns")
            continue
        persona_id = cells[header.index("id")]
        if persona_id in seen:
            yield Problem(f"{where}, id", f"{persona_id!r}, as in line {seen[persona_id]}", "an id of its own")
        elif not _is_id(persona_id):
            yield Problem(f"{where}, id", repr(persona_id), "an id of small letters, digits, `-` and `_`, at most 64")
        seen.setdefault(persona_id, line)


def _is_id(value: str) -> bool:
    try:
        return bool(_SLUG.validate_python(value))
    except ValidationError:
        return False


def _persona(row: Row, each: Mapping[str, Json]) -> dict[str, Json]:
    """The fields of the row, overridden by the fields of all rows with the row's values filled in."""
    known = {"id", "text", *_PROFILE}
    from_row = {
        "id": row["id"],
        "profile": {column: row[column] for column in _PROFILE if row.get(column)},
        "text": row.get("text", ""),
        "attributes": {column: cell or None for column, cell in row.items() if column not in known},
    }
    return merged(from_row, texts.fill(each, row))


def _seated(plan: Json, ids: Sequence[str]) -> Json:
    """The plan with a seat for every row in place of a seat with `each_row`."""
    if not isinstance(plan, Mapping) or not isinstance(plan.get("seats"), list):
        return plan
    seats: list[Json] = []
    for seat in plan["seats"]:
        if isinstance(seat, Mapping) and seat.get("each_row") is True and "persona" not in seat:
            others = {key: part for key, part in seat.items() if key != "each_row"}
            seats += [{**others, "persona": persona_id} for persona_id in ids]
        else:
            seats.append(seat)
    return {**plan, "seats": seats}


def _list(value: Json) -> list[Json]:
    return value if isinstance(value, list) else []
