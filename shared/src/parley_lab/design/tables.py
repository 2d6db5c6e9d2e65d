"""A table with a header: what a file of comma-separated values holds, or a sheet of a spreadsheet. Pure.

This is the only reader of CSV, for tables of personas and for the sheets of workbooks; spreadsheets become the same.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from io import StringIO
from math import isfinite
from typing import Final

from parley_lab.base import csv_reading
from parley_lab.base.errors import IN_WORDS, InvalidInput, Problem, TooLarge
from parley_lab.design.encoding import NotUtf8, decoded_in, decoded_table, guessed_words

Value = str | int | float | bool

MAX_TABLE_BYTES: Final = 64 * 1024 * 1024
_SEPARATORS: Final = (",", ";", "\t", "|")
_COMPARED_ROWS: Final = 20
"""By so many rows a separator is chosen."""
_WHOLE: Final = re.compile(r"[+-]?\d+")
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

    def number(self, position: int) -> int | float | None:
        """The number in this cell, whatever the format in which it is shown; None: it is none, or a flag."""
        value = self.values.get(position)
        return number_in(self.cells[position]) if value is None or isinstance(value, bool | str) else value


@dataclass(frozen=True, slots=True)
class Table:
    """A header and the rows below it that are not blank; `where` is the place of the header."""

    where: str
    header: Sequence[str]
    rows: Sequence[Row]
    warnings: Sequence[Problem] = ()


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
    warnings = [*warnings_of_csv(content, name, "give `encoding:`")] if encoding is None else []
    return Table(f"{name} line {1 if line <= 1 else line}", header, rows, warnings)


def warnings_of_csv(content: bytes, name: str, cure: str) -> Iterator[Problem]:
    """A warning where the encoding is a guess; `cure`: what to do where the guess is wrong."""
    line, words = guessed_words(content)
    if words:
        found = ", ".join(f"`{word}`" for word in words)
        wrong, hint = (
            f"the table is read as Windows-1252: {found}",
            f"Save it as UTF-8; if these words are wrong, {cure}.",
        )
        yield Problem(f"{name} line {line}", found, "a table in UTF-8", wrong, hint, code=IN_WORDS)


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
    delimiter = said[1] if said else _separator(text, expected)
    reader = csv_reading.reader(StringIO(text, newline=""), delimiter=delimiter, strict=True)
    before = 1 if said else 0
    try:
        for cells in reader:
            # A record may span several lines; the reader knows the last one.
            yield reader.line_num + before, cells
    except csv_reading.Error as error:
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
    """The one by which the header has the most columns: expected ones first, and ones that the first rows have, too."""
    return max(_SEPARATORS, key=lambda separator: _fit(_first_records(text, separator), expected))


def _fit(records: Sequence[Sequence[str]], expected: Collection[str]) -> tuple[int, bool, int, bool]:
    """How well a separator fits, by what it makes of the first records."""
    header, *rows = records or [[]]
    is_even = all(len(row) == len(header) for row in rows)
    return len({*header} & {*expected}), is_even and len(header) > 1, len(header), is_even


def _first_records(text: str, separator: str) -> list[list[str]]:
    # A record may span several lines, where its texts have line ends in quotes.
    records: list[list[str]] = []
    try:
        for cells in csv_reading.reader(StringIO(text, newline=""), delimiter=separator):
            if any(cells):
                records.append(cells)
            if len(records) > _COMPARED_ROWS:
                break
    except csv_reading.Error:
        pass
    return records


def number_in(cell: str) -> int | float | None:
    """The number in a cell; a whole one has all of its digits. None: it is none."""
    text = cell.strip().replace("\u2212", "-")
    if "_" in text:
        # Python's way to group digits, which no table has.
        return None
    try:
        if _WHOLE.fullmatch(text):
            return int(text)
        number = float(text)
    except ValueError:
        # Python reads no integer of thousands of digits.
        return None
    return number if isfinite(number) else None
