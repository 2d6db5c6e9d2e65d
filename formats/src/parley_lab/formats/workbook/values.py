"""Typed values of single cells: numbers, flags, one of several words; an invalid cell gets a complaint."""

from decimal import Decimal
from typing import Final, TypeVar

from parley_lab.base.meant_names import one_of
from parley_lab.base.numbers import write_number
from parley_lab.base.replies.spellings import written_number
from parley_lab.formats.workbook.cells import Cell
from parley_lab.formats.workbook.complaints import Complaints
from parley_lab.formats.workbook.literals import plain
from parley_lab.formats.workbook.number_formats import digits

T = TypeVar("T", bound=str)

_TRUE: Final = ("1", "true")
_FALSE: Final = ("0", "false")
_LARGEST: Final = 2**63 - 1


def whole_number(
    cell: Cell, name: str, complaints: Complaints, *, least: int | None = None, most: int = _LARGEST
) -> int | None:
    """The whole number in the cell, in any spelling (`3`, `3.0`, a text); None after a complaint."""
    expected = "a whole number" if least is None else f"a whole number, at least {least}"
    number = _number_in(cell, complaints)
    if number is None or abs(number) > _LARGEST or number != int(number):
        complaints.cell(cell, _wrong(cell, name, "is no whole number"), expected)
        return None
    if least is not None and number < least:
        complaints.cell(cell, f"{name} is too small", expected)
        return None
    if number > most:
        complaints.cell(cell, f"{name} is too large", f"at most {most}")
        return None
    return int(number)


def _number_in(cell: Cell, complaints: Complaints) -> Decimal | None:
    """The number in the cell, as a number under any format or as a text; a format that hides a part of it is told."""
    if isinstance(cell.value, bool):
        return None
    if not isinstance(cell.value, int | float) or cell.flaw:
        return written_number(plain(cell.label))
    held = written_number(digits(cell.value))
    shown = written_number(cell.label)
    if held is not None and shown is not None and held != shown:
        wrong = f"the cell shows {shown} and holds {held}"
        complaints.cell(cell, wrong, f"{held} or {shown}, and format the cell as General")
    return held


def number_between(cell: Cell, name: str, complaints: Complaints, *, least: float, most: float) -> float | None:
    """The number in the cell, both limits included; None after a complaint."""
    expected = f"a number from {write_number(least)} to {write_number(most)}"
    number = _number_in(cell, complaints)
    if number is None:
        complaints.cell(cell, _wrong(cell, name, "is no number"), expected)
        return None
    if not least <= number <= most:
        complaints.cell(cell, f"{name} is out of its limits", expected)
        return None
    return float(number)


def flag(cell: Cell, name: str, complaints: Complaints) -> bool:
    """0 or 1, also as TRUE or FALSE; False after a complaint."""
    text = cell.label.casefold()
    number = _number_in(cell, complaints)
    if text in _TRUE or number == 1:
        return True
    if text not in _FALSE and number != 0:
        complaints.cell(cell, _wrong(cell, name, "is neither yes nor no"), "0 or 1")
    return False


def word(cell: Cell, name: str, words: tuple[T, ...], complaints: Complaints) -> T | None:
    """The word in the cell, when it is one of `words`; None after a complaint."""
    for one in words:
        if one == cell.label:
            return one
    expected = one_of(cell.label, words, "word") if cell.label else f"one of {', '.join(words)}"
    complaints.cell(cell, _wrong(cell, name, "is not known"), expected)
    return None


def _wrong(cell: Cell, name: str, otherwise: str) -> str:
    return f"{name} is missing" if cell.is_blank else f"{name} {otherwise}"
