"""Cells that name something: an id, a label, a variable. Complains about names that are not what they look like."""

from collections.abc import Sequence

from parley_lab.formats.workbook.cells import Cell, changed_by_spreadsheet, quoted, visible
from parley_lab.formats.workbook.complaints import Complaints

_HINT = "format the cells as Text, and type the names again"


def check_typed(cells: Sequence[Cell], what: str, complaints: Complaints) -> None:
    """Complains about names that a spreadsheet has turned into something else, such as 1-2 into a date."""
    for cell in cells:
        if changed := changed_by_spreadsheet(cell):
            complaints.cell(cell, f"the {what} is {changed}", f"the {what} as a text", hint=_HINT)


def check_alike(cells: Sequence[Cell], what: str, complaints: Complaints, *, may_repeat: bool = False) -> None:
    """Complains about a name that differs from another one only by what cannot be seen.

    may_repeat: the same name may be there several times; otherwise that is reported elsewhere.
    """
    seen: dict[str, Cell] = {}
    for cell in cells:
        first = seen.setdefault(visible(cell.label), cell)
        if first.label != cell.label and not cell.is_blank:
            complaints.cell(
                cell,
                f"the {what} looks like that in {first.where}, and differs in invisible characters",
                f"{quoted(visible(first.label))}" if may_repeat else f"another {what}, or delete one row",
                found=f"{cell.label!a} and {first.label!a}",
                hint="delete the text of both cells and type it again",
            )
