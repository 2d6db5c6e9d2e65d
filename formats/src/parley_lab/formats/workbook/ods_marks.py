"""Reads errors, merged cells and hidden rows of an .ods file, which the reader of its values leaves out."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import IO, Final
from xml.etree.ElementTree import Element, iterparse

from parley_lab.formats.workbook.sheets import LAST_ROW, MAX_COLUMNS, Merged

_TABLE: Final = "{urn:oasis:names:tc:opendocument:xmlns:table:1.0}"
_PARAGRAPH: Final = "{urn:oasis:names:tc:opendocument:xmlns:text:1.0}p"
_VALUE_TYPE: Final = "{urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0}value-type"
_SHEET: Final = f"{_TABLE}table"
_ROW: Final = f"{_TABLE}table-row"
_CELLS: Final = (f"{_TABLE}table-cell", f"{_TABLE}covered-table-cell")
_HIDDEN: Final = ("collapse", "filter")
_MOST_ERRORS: Final = 1_000
"""The limit of rows with errors that are read; a sheet with one error is refused."""


@dataclass(frozen=True, slots=True)
class Marks:
    """Those of one sheet; all numbers count from 1. `errors`: the text that a cell shows, by row and column."""

    errors: dict[int, dict[int, str]] = field(default_factory=dict)
    merged: list[Merged] = field(default_factory=list)
    hidden_rows: list[int] = field(default_factory=list)


def read_marks(content: IO[bytes]) -> Mapping[str, Marks]:
    """Those of each sheet, by its name, from the part `content.xml`.

    Raises:
        xml.etree.ElementTree.ParseError: it is no XML.
        ValueError: a number is none.
    """
    sheets: dict[str, Marks] = {}
    number, depth = 1, 0
    marks = Marks()
    for event, element in iterparse(content, ("start", "end")):
        if element.tag == _SHEET:
            # A table inside of a cell belongs to that cell.
            depth += 1 if event == "start" else -1
            if event == "start" and depth == 1:
                number, marks = 1, Marks()
                sheets[element.get(f"{_TABLE}name", "")] = marks
        elif element.tag == _ROW and event == "end" and depth == 1:
            end = min(number + _times(element, "number-rows-repeated"), LAST_ROW + 1)
            _note(element, range(number, end), marks)
            number = end
            element.clear()
    return sheets


def _note(row: Element, numbers: range, marks: Marks) -> None:
    if row.get(f"{_TABLE}visibility") in _HIDDEN:
        marks.hidden_rows.extend(numbers)
    for column, times, cell in _cells(row):
        right = column + _times(cell, "number-columns-spanned") - 1
        below = _times(cell, "number-rows-spanned") - 1
        if numbers and (right > column or below):
            marks.merged.append(Merged(column, numbers[0], min(right, MAX_COLUMNS), min(numbers[0] + below, LAST_ROW)))
        if cell.get(_VALUE_TYPE) == "error":
            text = "".join("".join(part.itertext()) for part in cell.iter(_PARAGRAPH))
            for number in numbers[:_MOST_ERRORS]:
                if len(marks.errors) <= _MOST_ERRORS:
                    marks.errors.setdefault(number, {}).update(dict.fromkeys(range(column, column + times), text))


def _cells(row: Element) -> Iterator[tuple[int, int, Element]]:
    """The first column of each cell, in how many columns it is, and the cell."""
    column = 1
    for cell in row:
        if cell.tag in _CELLS:
            times = min(_times(cell, "number-columns-repeated"), MAX_COLUMNS)
            if column <= MAX_COLUMNS:
                yield column, times, cell
            column += times


def _times(element: Element, name: str) -> int:
    return int(element.get(f"{_TABLE}{name}", "1"))
