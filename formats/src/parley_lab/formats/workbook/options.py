"""The cell response_options: a text, a list or a range, or one of these for each role."""

import math
import re
from collections.abc import Mapping, Sequence
from typing import Any, Final

from parley_lab.base.storable import LARGEST_INTEGER
from parley_lab.formats.workbook.cells import Cell, visible
from parley_lab.formats.workbook.complaints import Complaints
from parley_lab.formats.workbook.literals import Literal, MissingComma, NotLiteral, plain, read_options_literal
from parley_lab.kinds.stages.group_interview.options import ListOptions, Options, RangeOptions, TextOptions

MAX_OPTIONS: Final = 1_000
_EXPECTED: Final = (
    "a list such as [1, 2, 3], a range such as (0, 5), or a text; or a dict with one of them for each role"
)
_HINT: Final = "format the cell as Text before you type, or spreadsheets turn (5) into -5 and 1-2 into a date"


def read_options(
    cell: Cell, text: str, roles: Sequence[str], user_roles: Sequence[str], complaints: Complaints
) -> tuple[Mapping[str, Options], bool]:
    """The options of each role, and whether they were given by role.

    text: the cell, with constants filled in. roles: all roles. user_roles: the roles that get options without a role.
    """
    if cell.is_blank or cell.flaw or not text.strip():
        return {}, False
    if not isinstance(cell.value, str):
        complaints.cell(cell, "this is no list of options", _EXPECTED, hint=_HINT)
        return {}, False
    try:
        value = read_options_literal(text)
    except NotLiteral as error:
        complaints.cell(cell, str(error), _EXPECTED, hint="" if isinstance(error, MissingComma) else _hint(text))
        return {}, False
    if not isinstance(value, dict):
        options = _one(cell, value, complaints)
        return (dict.fromkeys(user_roles, options) if options else {}), False
    return _by_role(cell, value, roles, complaints), True


def _hint(text: str) -> str:
    has_range = re.search(r"\d\s*-\s*\d", plain(text)) is not None
    return "a range is written (0, 10)" if has_range else "texts in a list need quotes"


def _by_role(cell: Cell, value: dict[Any, Any], roles: Sequence[str], complaints: Complaints) -> dict[str, Options]:
    found: dict[str, Options] = {}
    for role, part in value.items():
        if role not in roles:
            complaints.cell(cell, f"there is no role {role!r}", f"one of {', '.join(roles)}")
            continue
        try:
            read = read_options_literal(part) if isinstance(part, str) else part
            options = _one(cell, read, complaints, f" of {role}")
        except NotLiteral as error:
            complaints.cell(cell, f"the options of {role}: {error}", _EXPECTED)
            continue
        if options:
            found[role] = options
    return found


def _one(cell: Cell, value: Literal, complaints: Complaints, whose: str = "") -> Options | None:
    if isinstance(value, str) and value.strip():
        return TextOptions(text=value.strip())
    if isinstance(value, list):
        return _list(cell, value, complaints, whose)
    if isinstance(value, tuple):
        return _range(cell, value, complaints, whose)
    complaints.cell(cell, f"{str(value)[:60]!r} are no options{whose}", _EXPECTED)
    return None


def _list(cell: Cell, values: list[Any], complaints: Complaints, whose: str) -> ListOptions | None:
    if not 1 <= len(values) <= MAX_OPTIONS:
        wrong = f"the list of options{whose} has {len(values)} values"
        complaints.cell(cell, wrong, f"1 to {MAX_OPTIONS} options", hint="leave the cell blank when there are none")
        return None
    for value in values:
        if not _is_option(value):
            complaints.cell(cell, f"the option {str(value)[:60]!r}{whose} is neither a text nor a number", _EXPECTED)
            return None
    shown = [visible(str(value)).casefold() for value in values]
    for number, value in enumerate(shown):
        if value in shown[:number]:
            complaints.cell(
                cell, f"the option {values[number]!r}{whose} is repeated", "every option once", do="keep one of them"
            )
            return None
    return ListOptions(values=tuple(values))


def _is_option(value: object) -> bool:
    if isinstance(value, str):
        return bool(value.strip())
    if isinstance(value, float):
        return math.isfinite(value)
    return isinstance(value, int) and abs(value) <= LARGEST_INTEGER


def _range(cell: Cell, value: tuple[Any, ...], complaints: Complaints, whose: str) -> RangeOptions | None:
    expected = "two numbers, the smaller one first, both included: (0, 5)"
    if len(value) != 2 or not all(_is_number(bound) for bound in value):
        complaints.cell(cell, f"the range{whose} is not made of two numbers", expected)
        return None
    if value[0] > value[1]:
        complaints.cell(cell, f"the range{whose} begins above its end", expected)
        return None
    return RangeOptions(low=value[0], high=value[1])


def _is_number(bound: object) -> bool:
    return isinstance(bound, int | float) and not isinstance(bound, bool) and _is_option(bound)
