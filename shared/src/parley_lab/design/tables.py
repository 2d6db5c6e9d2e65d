"""A table with a header: what a file of comma-separated values holds, or a sheet of a spreadsheet. Pure.

This is the only reader of CSV, for tables of personas and for the sheets of workbooks; spreadsheets become the same.
"""

import csv
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from typing import Final

from parley_lab.base.errors import InvalidInput, Problem, TooLarge
from parley_lab.design.encoding import NotUtf8, decoded_in, decoded_table

Value = str | int | float | bool

MAX_TABLE_BYTES: Final = 64 * 1024 * 1024
_SEPARATORS: Final = (",", ";", "\t", "|")
_SAID: Final = re.compile(r"\ufeff?\"?sep=(.)\"?\r?\n", re.IGNORECASE)
"""The first line with which Excel says the separator."""


@dataclass(frozen=True, slots=True)
class Row:
    """The cells as they are shown. `values`: those that are numbers or flags, by position. `flaws`: why a cell is not
    what was typed, by position."""

    where: str
    cells: Sequence[str]
    values: Mapping[int, Value] = field(default_factory=dict)
    flaws: Mapping[int, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """A header and the rows below it that are not blank; `where` is the place of the header."""

    where: str
    header: Sequence[str]
    rows: Sequence[Row]


def read_csv(content: bytes, name: str, *, encoding: str | None = None, expected: Collection[str] = ()) -> Table:
    """The table in a file of values with any separator.

    encoding: that of the file; None: UTF-8, UTF-16, or Windows-1252 where the text makes sense in it. expected: names
    of columns, by which the separator is found.

    Raises:
        TooLarge: the file is too large.
        InvalidInput: it cannot be read.
    """
    if len(content) > MAX_TABLE_BYTES:
        raise TooLarge(f"{name} has {len(content)} bytes; a table of personas may have {MAX_TABLE_BYTES}.")
    records = csv_records(content, name, encoding=encoding, expected=expected)
    line, header = next(records, (1, []))
    rows = [Row(f"{name} line {line}", cells) for line, cells in records if any(cells)]
    return Table(f"{name} line {1 if line <= 1 else line}", header, rows)


def csv_records(
    content: bytes, name: str, *, encoding: str | None = None, expected: Collection[str] = ()
) -> Iterator[tuple[int, list[str]]]:
    """Each record with its last line; see `read_csv`.

    Raises:
        InvalidInput: at a record that cannot be read.
    """
    text = _text(content, name, encoding)
    said = _SAID.match(text)
    text = text[said.end() :] if said else text
    # A cell may hold a whole interview. csv's limit is one of the process; the text is in memory anyway.
    csv.field_size_limit(MAX_TABLE_BYTES)
    delimiter = said[1] if said else _separator(text, expected)
    reader = csv.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    before = 1 if said else 0
    try:
        for cells in reader:
            # A record may span several lines; the reader knows the last one.
            yield reader.line_num + before, cells
    except csv.Error as error:
        where = f"{name} line {reader.line_num + before}"
        expected_text = "comma-separated values; a quote inside a text in quotes is written twice"
        raise InvalidInput(f"{name} cannot be read.", [Problem(where, str(error), expected_text)]) from error


def _text(content: bytes, name: str, encoding: str | None) -> str:
    try:
        return decoded_table(content) if encoding is None else decoded_in(content, encoding)
    except NotUtf8 as error:
        cure = "save it in Excel as `CSV UTF-8`, or say in which it is: `encoding: windows-1251`"
        problem = Problem(f"{name} line {error.line}", error.found, f"a table in UTF-8; {cure}")
        raise InvalidInput(f"{name} cannot be read.", [problem]) from error


def _separator(text: str, expected: Collection[str]) -> str:
    """The one by which the header has the most columns, those that are expected among them."""
    headers = {separator: _header(text, separator) for separator in _SEPARATORS}
    return max(_SEPARATORS, key=lambda separator: (len({*headers[separator]} & {*expected}), len(headers[separator])))


def _header(text: str, separator: str) -> list[str]:
    # A header may span several lines, where its texts have line ends in quotes.
    try:
        return next(csv.reader(StringIO(text, newline=""), delimiter=separator), [])
    except csv.Error:
        return []


def number_in(cell: str) -> int | float | None:
    """The number in a cell; None: it is none."""
    try:
        number = float(cell.strip().replace("\u2212", "-"))
    except ValueError:
        return None
    if number != number or number in (float("inf"), float("-inf")):
        return None
    return int(number) if number.is_integer() and "." not in cell and "e" not in cell.lower() else number
