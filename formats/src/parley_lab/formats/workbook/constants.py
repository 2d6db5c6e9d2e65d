"""The sheet constants: values for placeholders, and the permutations of constants with several values."""

import keyword
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import Final

from parley_lab.base.replies.spellings import written_number
from parley_lab.formats.workbook.cells import Cell, shown
from parley_lab.formats.workbook.complaints import Complaints
from parley_lab.formats.workbook.literals import NotLiteral, read_literal
from parley_lab.formats.workbook.number_formats import as_sheets_round
from parley_lab.formats.workbook.sheets import Sheet, records
from parley_lab.formats.workbook.templates import FLAGS, Constant, Flag, as_shown, placeholders

HEADER: Final = ("name", "value")
MAX_PERMUTATIONS: Final = 1_000
_UNKNOWN: Final = "?"
"""Replaces an invalid value, so that texts with its name cause no second complaint."""
_JINJA_WORDS: Final = frozenset({"true", "false", "none", "if", "else", "and", "or", "not", "in", "is", "loop", "self"})


@dataclass(frozen=True, slots=True)
class NamedConstant:
    name: str
    values: tuple[Constant, ...]


def read_constants(sheet: Sheet | None, complaints: Complaints) -> tuple[NamedConstant, ...]:
    """The constants in the order of the sheet, invalid ones included, because texts may name them."""
    seen: dict[str, Cell] = {}
    values: list[Cell] = []
    constants: list[NamedConstant] = []
    for record in records(sheet, HEADER, complaints):
        name, value = record.cell("name"), record.cell("value")
        if name.label in seen and name.label:
            complaints.cell(
                name,
                f"the constant is repeated from {seen[name.label].where}",
                "every name once",
                do="keep one of them",
            )
            continue
        seen.setdefault(name.label, name)
        _check_name(name, complaints)
        values.append(value)
        constants.append(NamedConstant(name.label, _values(value, complaints)))
    for cell in values:
        if named := [one for one in placeholders(cell.text) if one in seen]:
            complaints.cell(
                cell,
                "constants are not filled into each other",
                f"the value itself, without {{{{{named[0]}}}}}",
                hint="put both placeholders into the text that needs them",
            )
    count = math.prod(len(constant.values) for constant in constants)
    if sheet is not None and count > MAX_PERMUTATIONS:
        at = sheet.row(1).cell(2).where
        complaints.at(
            at,
            "there are too many permutations",
            f"at most {MAX_PERMUTATIONS}",
            found=str(count),
            do=f"shorten the lists until there are {MAX_PERMUTATIONS} at most",
        )
        return tuple(NamedConstant(constant.name, constant.values[:1]) for constant in constants)
    return tuple(constants)


def permutations(constants: Sequence[NamedConstant]) -> Iterator[Mapping[str, Constant]]:
    """Every combination of values, in the order of the sheet; the last constant changes fastest."""
    names = [constant.name for constant in constants]
    for values in product(*(constant.values for constant in constants)):
        yield dict(zip(names, values, strict=True))


def _check_name(cell: Cell, complaints: Complaints) -> None:
    name = cell.label
    if cell.is_blank:
        complaints.cell(cell, "the constant has no name", "a name for {{name}}")
    elif not name.isidentifier() or not name.isascii() or keyword.iskeyword(name) or name in _JINJA_WORDS:
        complaints.cell(
            cell,
            "this cannot be the name of a placeholder",
            "letters, digits and `_`, not a digit first, and no word of Jinja",
        )


def _values(cell: Cell, complaints: Complaints) -> tuple[Constant, ...]:
    if cell.is_blank:
        complaints.cell(cell, "the constant has no value", "a value, or a list of values such as ['low', 'high']")
    elif isinstance(cell.value, int | float) and not isinstance(cell.value, bool):
        number = _number(cell.value)
        return (number if cell.text == str(number) else as_shown(number, cell.text),)
    elif cell.label.startswith("[") and (cell.label.endswith("]") or "]" not in cell.label):
        return _listed(cell, complaints)
    return (_typed(cell.text) if cell.text else _UNKNOWN,)


def _typed(text: str) -> Constant:
    """A text as a flag or a number, as in tables of CSV; it keeps its spelling where it is filled in."""
    label = text.strip()
    if label.casefold() in FLAGS:
        return Flag(label)
    parsed = written_number(label)
    number = None if parsed is None else _number(float(parsed))
    return number if number is not None and shown(number) == label else text


def _number(value: int | float) -> int | float:
    if isinstance(value, int):
        return value
    rounded = as_sheets_round(value)
    return int(rounded) if rounded.is_integer() else rounded


def _listed(cell: Cell, complaints: Complaints) -> tuple[Constant, ...]:
    """The items of a list, always as texts."""
    expected = "a list such as ['low', 'high'] or [1, 2, 3]"
    try:
        items = read_literal(cell.label)
    except NotLiteral as error:
        complaints.cell(cell, str(error), expected, hint="texts in a list need quotes")
        return (_UNKNOWN,)
    if not items:
        complaints.cell(cell, "the list is empty, and there would be no experiment", expected)
        return (_UNKNOWN,)
    for item in items:
        if not isinstance(item, str | int | float) or (isinstance(item, float) and not math.isfinite(item)):
            complaints.cell(cell, f"the item {str(item)[:60]} is neither a text nor a number", expected)
    return tuple(Flag(item) if str(item).casefold() in FLAGS else str(item) for item in items)
