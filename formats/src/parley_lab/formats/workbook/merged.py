"""Cells that are merged: a sheet shows one value over several cells, and its file holds it in the first only."""

from collections.abc import Iterator
from dataclasses import replace

from openpyxl.utils import get_column_letter

from parley_lab.formats.workbook.cells import Cell
from parley_lab.formats.workbook.complaints import Complaints
from parley_lab.formats.workbook.sheets import Merged, Row, Sheet, Sheets


def with_merged(sheets: Sheets, complaints: Complaints) -> Sheets:
    """The sheets with the value of merged cells in each row that they cover, where they cover one column; a warning
    names them. Cells that are merged over several named columns are a problem: which one is meant cannot be seen."""
    return {name: _filled(sheet, complaints) for name, sheet in sheets.items()}


def _filled(sheet: Sheet, complaints: Complaints) -> Sheet:
    added: dict[tuple[int, int], Cell] = {}
    for one in sheet.merged:
        first = sheet.row(one.top).cell(one.left)
        if first.is_blank or first.flaw:
            continue
        if _covers_columns(sheet, one):
            complaints.cell(
                first,
                f"{one.name} are merged, over columns of their own",
                "a value in each cell",
                do="unmerge them, and type a value in each cell",
            )
            continue
        rows = [*_rows(sheet, one)]
        added |= {(number, one.left): replace(first, row=number) for number in rows}
        if rows:
            cells = ", ".join(f"{get_column_letter(one.left)}{number}" for number in rows)
            complaints.warn(
                first,
                f"{one.name} are merged: {cells} count as the same",
                "the text in each cell",
                do="unmerge them, and type the text in each cell",
            )
    if not added:
        return sheet
    return replace(sheet, rows=[_row(row, added) for row in sheet.rows])


def _covers_columns(sheet: Sheet, merged: Merged) -> bool:
    others = range(merged.left + 1, merged.right + 1)
    return bool(others) and (merged.top == 1 or any(column in sheet.row(1).cells for column in others))


def _rows(sheet: Sheet, merged: Merged) -> Iterator[int]:
    """The rows below the first that have other values: rows may also be merged to make one cell taller."""
    for row in sheet.rows:
        if merged.top < row.number <= merged.bottom and merged.left not in row.cells:
            yield row.number


def _row(row: Row, added: dict[tuple[int, int], Cell]) -> Row:
    own = {column: cell for (number, column), cell in added.items() if number == row.number}
    return replace(row, cells=dict(sorted({**row.cells, **own}.items()))) if own else row
