"""Writes data files: JSON, cells of tables, and files that appear whole or not at all."""

import csv
import io
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from decimal import Decimal
from pathlib import Path
from types import NoneType
from typing import IO, Any, Final
from uuid import UUID

import orjson

_JSON_OPTIONS: Final = orjson.OPT_PASSTHROUGH_DATETIME | orjson.OPT_NON_STR_KEYS


def as_json(value: Any) -> bytes:
    """The value on one line."""
    return orjson.dumps(value, option=_JSON_OPTIONS, default=_plain)


def as_indented_json(value: Any) -> bytes:
    """The value as indented JSON, with a line end."""
    return orjson.dumps(value, option=_JSON_OPTIONS | orjson.OPT_INDENT_2, default=_plain) + b"\n"


def _plain(value: Any) -> Any:
    """Converts the types that orjson does not know."""
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, Decimal):
        return float(value)
    raise TypeError(f"{type(value).__name__} is not written to JSON")


def _moment(value: datetime) -> str:
    """Always with six decimals, so that a column of times has one format."""
    return value.astimezone(UTC).isoformat(timespec="microseconds")[:-6] + "Z"


def cell(value: Any) -> str:
    """A value as a CSV cell: empty for null, `true` and `false`, JSON for lists and objects.

    Text is written unchanged, even where a spreadsheet would take it for a formula.
    """
    kind = type(value)
    return value if kind is str else _CELLS.get(kind, _other_cell)(value)


def _json_cell(value: Any) -> str:
    return as_json(value).decode()


def _other_cell(value: Any) -> str:
    """The cell of a value whose type is none of `_CELLS` itself: these checks take longer than all the rest."""
    for kind in (str, int, float, datetime):
        if isinstance(value, kind):
            return _CELLS[kind](value)
    return _json_cell(value) if isinstance(value, Mapping | list | tuple) else str(value)


_CELLS: Final[Mapping[type, Callable[[Any], str]]] = {
    NoneType: lambda _: "",
    str: str,
    bool: lambda value: "true" if value else "false",
    int: str,
    float: str,
    datetime: _moment,
    dict: _json_cell,
    list: _json_cell,
    Decimal: lambda value: format(value.normalize(), "f"),
    UUID: str,
}
_AS_THEY_ARE: Final = frozenset((NoneType, str, int, float))
"""The types whose values the writer writes as their cells."""


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write; it gets its name when it is complete, and is removed after an error."""
    part = path.with_name(f".{path.name}.part")
    try:
        with part.open("wb") as target:
            yield target
        part.replace(path)
    finally:
        part.unlink(missing_ok=True)


@contextmanager
def csv_file(path: Path, columns: Sequence[str]) -> Iterator[Callable[[Mapping[str, Any]], None]]:
    """Writes the header and yields a function that writes a row; values without a column are left out."""
    with whole_file(path) as binary:
        target = io.TextIOWrapper(binary, encoding="utf-8", newline="", write_through=False)
        writer = csv.writer(target)
        writer.writerow(columns)

        def write(row: Mapping[str, Any]) -> None:
            values = map(row.get, columns)
            writer.writerow([one if type(one) in _AS_THEY_ARE else cell(one) for one in values])

        yield write
        target.flush()
        target.detach()
