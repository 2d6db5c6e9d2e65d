"""One cell of a sheet, and the value that it shows."""

import unicodedata
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property
from typing import Final

from openpyxl.utils import get_column_letter

from parley_lab.base.storable import is_storable_number, is_storable_text
from parley_lab.formats.workbook.number_formats import is_power_of_ten, is_without_day, shown_number, shown_time

Value = None | bool | int | float | str | date | time | timedelta

LONGEST_TEXT: Final = 32_767
"""In characters, the limit of a cell in Excel. Tables in CSV have the same limit."""
_MOST_DIGITS: Final = 1e15
"""Whole numbers from here on have more digits than spreadsheets keep."""
_SELECTORS: Final = frozenset(map(chr, range(0xFE00, 0xFE10)))
"""They choose between forms of the character before them."""
_LONGEST_QUOTED: Final = 60


@dataclass(frozen=True)
class Cell:
    """`flaw` says why the cell has no usable value, such as a formula that was never calculated."""

    sheet: str
    column: int
    row: int
    value: Value = None
    number_format: str = "General"
    flaw: str = ""

    @property
    def where(self) -> str:
        return f"{self.sheet}!{get_column_letter(self.column)}{self.row}"

    @cached_property
    def text(self) -> str:
        """What the cell shows; empty when it is blank."""
        return "" if self.flaw else shown(self.value, self.number_format)

    @property
    def label(self) -> str:
        """The text as a name, without surrounding space."""
        return self.text.strip()

    @property
    def is_blank(self) -> bool:
        return not self.flaw and not self.label

    @property
    def found(self) -> str:
        """A short description of the content, for a complaint."""
        if self.flaw:
            return self.flaw
        if self.is_blank:
            return "a blank cell"
        return quoted(self.text) if isinstance(self.value, str) else self.text


def shown(value: Value, number_format: str = "General") -> str:
    """The value as the sheet shows it: numbers under their format, dates as year-month-day."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return shown_number(value, number_format)
    if isinstance(value, datetime):
        return shown_time(value.time(), number_format) if is_without_day(number_format) else _moment(value)
    if isinstance(value, date):
        return value.isoformat()
    return shown_time(value, number_format)


def visible(text: str) -> str:
    """What a reader sees of a name: two names that differ in space or in invisible characters have the same."""
    composed = unicodedata.normalize("NFC", text)
    spaced = "".join(
        " " if unicodedata.category(one)[0] == "Z" or one.isspace() else one
        for one in composed
        if unicodedata.category(one) != "Cf" and one not in _SELECTORS
    )
    return " ".join(spaced.split())


def changed_by_spreadsheet(cell: Cell) -> str:
    """Why a name in this cell is not what was typed, such as 1-2, which became a date; empty when it may be."""
    value = cell.value
    if isinstance(value, date):
        return f"a date ({cell.text}), which spreadsheets make of names such as 1-2"
    if isinstance(value, time | timedelta):
        return f"a time ({cell.text}), which spreadsheets make of names such as 1:2"
    if isinstance(value, int | float) and not isinstance(value, bool):
        if is_power_of_ten(cell.number_format):
            return f"the number {cell.text}, which spreadsheets make of names such as 1E5"
        if abs(value) >= _MOST_DIGITS:
            return f"the number {cell.text}, of which spreadsheets keep 15 digits"
    return ""


def flaw_of(value: Value) -> str:
    """Why the value cannot be used; empty when it can."""
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            return f"a text of {len(value)} characters, more than {LONGEST_TEXT}"
        if not is_storable_text(value):
            return "a text with NUL or broken characters"
    if isinstance(value, int | float) and not is_storable_number(value):
        return "a number that is too large"
    return ""


def quoted(text: str) -> str:
    """The text in quotes, shortened when it is long."""
    return repr(text if len(text) <= _LONGEST_QUOTED else f"{text[:_LONGEST_QUOTED]}...")


def _moment(value: datetime) -> str:
    if value.time() == time():
        return value.date().isoformat()
    return value.isoformat(" ", "seconds" if value.second else "minutes")
