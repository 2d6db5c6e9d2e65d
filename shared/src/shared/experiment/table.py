"""Personas from a table: one for each row, put into the experiment before it is checked.

What runs and is stored is an experiment with all its personas in it; the table is read once and not needed again.
"""

import csv
from collections.abc import Callable, Iterator, Mapping, Sequence
from io import StringIO
from typing import Any, Final

from pydantic import TypeAdapter, ValidationError

from shared import variables as texts
from shared.contracts.experiment import PersonasFrom, Slug
from shared.errors import InvalidInput, Problem, TooLarge
from shared.experiment.complaints import translate
from shared.experiment.treatments import merged

Json = Any
Row = Mapping[str, str]
ReadTable = Callable[[str], bytes]
"""The content of the table of this name, as the experiment file says it."""

MAX_TABLE_BYTES: Final = 1024 * 1024
MAX_ROWS: Final = 2_000
_PROFILE: Final = ("name", "avatar", "pronouns")
_SLUG: Final[TypeAdapter[str]] = TypeAdapter(Slug)


def with_table(value: Json, read_table: ReadTable) -> Json:
    """The values of an experiment file with the personas and seats of its table, if it names one.

    Raises:
        TooLarge: more rows or bytes than a table may have.
        InvalidInput: with all problems of the table.
    """
    if not isinstance(value, Mapping) or value.get("personas_from") is None:
        return value
    source = _source(value["personas_from"])
    rows = _rows(_decoded(read_table(source.file), source.file), source.file)
    personas = [*_list(value.get("personas")), *(_persona(row, source.each) for row in rows)]
    cohorts = [_seated(plan, [row["id"] for row in rows]) for plan in _list(value.get("cohorts"))]
    others = {key: part for key, part in value.items() if key not in ("personas_from", "personas", "cohorts")}
    return {**others, "personas": personas, **({"cohorts": cohorts} if "cohorts" in value else {})}


def _source(value: Json) -> PersonasFrom:
    try:
        return PersonasFrom.model_validate(value)
    except ValidationError as error:
        problems = translate(error, value, PersonasFrom.model_json_schema())
        placed = [Problem(f"personas_from.{one.where}".rstrip("."), one.found, one.expected) for one in problems]
        raise InvalidInput("The table of personas is not described as it should be.", placed) from error


def _decoded(content: bytes, name: str) -> str:
    if len(content) > MAX_TABLE_BYTES:
        raise TooLarge(f"{name} has {len(content)} bytes; a table of personas may have {MAX_TABLE_BYTES}.")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        problem = Problem(f"{name} byte {error.start}", "something that is not UTF-8", "a table in UTF-8")
        raise InvalidInput(f"{name} cannot be read.", [problem]) from error


def _rows(text: str, name: str) -> list[Row]:
    reader = csv.reader(StringIO(text, newline=""), strict=True)
    try:
        header = next(reader, [])
        # A row may go over several lines; the reader knows the last one.
        lines = [(reader.line_num, cells) for cells in reader if cells]
    except csv.Error as error:
        problem = Problem(f"{name} line {reader.line_num}", str(error), "comma-separated values")
        raise InvalidInput(f"{name} cannot be read.", [problem]) from error
    if len(lines) > MAX_ROWS:
        raise TooLarge(f"{name} has {len(lines)} rows; a table of personas may have {MAX_ROWS}.")
    problems = [*_bad_header(header, name)] or [*_bad_rows(header, lines, name)]
    if problems:
        raise InvalidInput(f"{name} is not a table of personas.", problems)
    return [dict(zip(header, cells, strict=True)) for _, cells in lines]


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
    """What the row says, and on top of it what is said of all, with the row's values in its texts."""
    known = {"id", "text", *_PROFILE}
    from_row = {
        "id": row["id"],
        "profile": {column: row[column] for column in _PROFILE if row.get(column)},
        "text": row.get("text", ""),
        "attributes": {column: cell or None for column, cell in row.items() if column not in known},
    }
    return merged(from_row, texts.fill(each, row))


def _seated(plan: Json, ids: Sequence[str]) -> Json:
    """The plan with a seat for every row in the place of a seat that wants them."""
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
