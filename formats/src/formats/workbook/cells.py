"""One cell of a sheet, and the value that it shows."""

import re
from dataclasses import dataclass
from datetime import date, datetime, time, timedelta
from functools import cached_property
from typing import Final

from openpyxl.utils import get_column_letter

from shared.storable import is_storable_number, is_storable_text

Value = None | bool | int | float | str | date | time | timedelta

LONGEST_TEXT: Final = 32_767
"""In characters, the limit of a cell in Excel. Tables in CSV have the same limit."""
_SIGNIFICANT_DIGITS: Final = 15
"""As many as spreadsheets show: 0.1 + 0.2 is shown as 0.3."""
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
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
    """The value as the sheet shows it: whole numbers without a point, dates as year-month-day."""
    if value is None:
        return ""
    if isinstance(value, str):
        return _ESCAPED.sub(lambda match: chr(int(match[1], 16)), value)
    if isinstance(value, bool):
        return "TRUE" if value else "FALSE"
    if isinstance(value, int | float):
        return _number(value, number_format)
    if isinstance(value, datetime):
        return _moment(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, time):
        return value.isoformat("seconds" if value.second else "minutes")
    return str(value)


def flaw_of(value: Value) -> str:
    """Why the value cannot be used; empty when it can."""
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            return f"a text of {len(value)} characters, more than {LONGEST_TEXT}"
        if not is_storable_text(shown(value)):
            return "a text with NUL or broken characters"
    if isinstance(value, int | float) and not is_storable_number(value):
        return "a number that is too large"
    return ""


def quoted(text: str) -> str:
    """The text in quotes, shortened when it is long."""
    return repr(text if len(text) <= _LONGEST_QUOTED else f"{text[:_LONGEST_QUOTED]}...")


def _number(value: int | float, number_format: str) -> str:
    if number_format.endswith("%"):
        return f"{_digits(value * 100)}%"
    if number_format and set(number_format) == {"0"} and value == int(value):
        return f"{int(value):0{len(number_format)}d}"
    return _digits(value)


def _digits(value: int | float) -> str:
    if isinstance(value, int):
        return str(value)
    rounded = as_sheets_round(value)
    return str(int(rounded)) if rounded.is_integer() and abs(rounded) < 1e15 else repr(rounded)


def as_sheets_round(value: float) -> float:
    """The number rounded as spreadsheets show it: 0.1 + 0.2 is 0.3."""
    return float(f"{value:.{_SIGNIFICANT_DIGITS}g}")


def _moment(value: datetime) -> str:
    if value.time() == time():
        return value.date().isoformat()
    return value.isoformat(" ", "seconds" if value.second else "minutes")
