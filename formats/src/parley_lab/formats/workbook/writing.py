"""Writes workbooks, with explanations of headers and drop-down lists for cells with few valid words."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from io import BytesIO
from typing import Any, Final

from openpyxl import Workbook
from openpyxl.comments import Comment
from openpyxl.styles import Alignment, Font
from openpyxl.utils import get_column_letter
from openpyxl.worksheet.datavalidation import DataValidation
from openpyxl.worksheet.worksheet import Worksheet

Rows = Sequence[Sequence[Any]]

_AS_TYPED: Final = "@"
"""The number format of text: nothing typed there becomes a date or a negative number."""
_WIDEST: Final = 60
_NARROWEST: Final = 12
_ROWS_TO_FILL: Final = 1_000
_WRITTEN_AT: Final = datetime(2025, 1, 1, tzinfo=UTC).replace(tzinfo=None)
"""A fixed time, so that equal values make equal workbooks."""


def write_xlsx(
    sheets: Mapping[str, Rows],
    *,
    notes: Mapping[tuple[str, str], str] | None = None,
    choices: Mapping[tuple[str, str], Sequence[str]] | None = None,
) -> bytes:
    """An .xlsx file of these sheets, with their header in the first row.

    notes, choices: by sheet and by the text of a cell in the first row or column. A note explains the cell; choices are
    offered below a header or beside a key.
    """
    workbook = Workbook()
    workbook.remove(workbook.worksheets[0])
    workbook.properties.created = workbook.properties.modified = _WRITTEN_AT
    for name, rows in sheets.items():
        sheet: Worksheet = workbook.create_sheet(name)
        for number, row in enumerate(rows, start=1):
            for column, value in enumerate(row, start=1):
                _fill(sheet, number, column, value)
        _explain(sheet, {text: note for (of, text), note in (notes or {}).items() if of == name})
        _offer(sheet, {text: words for (of, text), words in (choices or {}).items() if of == name})
        _shape(sheet)
    content = BytesIO()
    workbook.save(content)
    return content.getvalue()


def _fill(sheet: Worksheet, row: int, column: int, value: Any) -> None:
    cell = sheet.cell(row, column, value)
    cell.alignment = Alignment(wrap_text=True, vertical="top")
    if isinstance(value, str):
        # A text that begins with `=` stays a text, too.
        cell.data_type = "s"
        cell.number_format = _AS_TYPED
    if row == 1:
        cell.font = Font(bold=True)


def _explain(sheet: Worksheet, notes: Mapping[str, str]) -> None:
    for cell in [*next(sheet.iter_rows(max_row=1)), *next(sheet.iter_cols(max_col=1))]:
        if str(cell.value) in notes:
            cell.comment = Comment(notes[str(cell.value)], "Parley", width=320, height=160)


def _offer(sheet: Worksheet, choices: Mapping[str, Sequence[str]]) -> None:
    header = enumerate(next(sheet.iter_rows(max_row=1, values_only=True)), start=1)
    below = {str(text): get_column_letter(column) for column, text in header}
    beside = {str(cell.value): cell.row for cell in next(sheet.iter_cols(max_col=1))}
    for text, words in choices.items():
        cells = f"B{beside[text]}" if text in beside else f"{below[text]}2:{below[text]}{_ROWS_TO_FILL}"
        validation = DataValidation(type="list", formula1=f'"{",".join(words)}"', allow_blank=True)
        # `parley validate` reports invalid values in more words than a dialog has.
        validation.showErrorMessage = False
        validation.add(cells)
        sheet.add_data_validation(validation)


def _shape(sheet: Worksheet) -> None:
    sheet.freeze_panes = "A2"
    for number, column in enumerate(sheet.iter_cols(), start=1):
        longest = max(len(str(cell.value or "")) for cell in column)
        dimension = sheet.column_dimensions[get_column_letter(number)]
        dimension.width = min(max(longest + 2, _NARROWEST), _WIDEST)
