"""Reads an .xlsx file into sheets of cells, with bounded memory; it raises only InvalidInput and TooLarge."""

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from io import BytesIO
from typing import Any, Final
from zipfile import BadZipFile, ZipFile

import openpyxl
from openpyxl.utils import range_boundaries
from openpyxl.worksheet._read_only import ReadOnlyWorksheet

from parley_lab.base.errors import InvalidInput, TooLarge
from parley_lab.formats.workbook.cells import Cell, flaw_of
from parley_lab.formats.workbook.complaints import problem_at
from parley_lab.formats.workbook.filled_rows import FilledRows
from parley_lab.formats.workbook.sheets import LAST_ROW, MAX_COLUMNS, MAX_ROWS, Merged, Sheet, Sheets, sheet_of

MAX_BYTES: Final = 64 * 1024 * 1024
"""Most of a large workbook are formats of blank cells."""
MAX_UNPACKED_BYTES: Final = 64 * 1024 * 1024
"""A zip file declares the sizes of its parts, and Python's reader stops there. Sheets may have more in blank rows."""
MAX_SHEET_BYTES: Final = 1024 * 1024 * 1024
"""The limit of all sheets together: two dozen cells with a style in each row down to the last one have less."""
_ESCAPED: Final = re.compile(r"_x([0-9A-Fa-f]{4})_")
_SHEET_PARTS: Final = "xl/worksheets/"
MAX_SHEETS: Final = 50
MAX_CELLS: Final = 2_000_000
"""Cells that are read in one sheet, blank ones included: formatting may extend beyond the values."""
_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0"
_MACROS: Final = "vbaproject.bin"
_OPENPYXL_FORMULA: Final = "f"
_OPENPYXL_ERROR: Final = "e"
_OPENPYXL_EMPTY_RESULT: Final = "str"
"""The type of a formula that shows nothing; one with a text becomes `s`, one that was never calculated is `n`."""


def read_xlsx(content: bytes, name: str, *, most_rows: int = MAX_ROWS) -> Sheets:
    """The sheets of the file. A formula has the value that it showed when the file was saved.

    Raises:
        TooLarge: the file is larger than a workbook may be.
        InvalidInput: it is no workbook, or a damaged one.
    """
    _check_package(content, name)
    try:
        with warnings.catch_warnings():
            # openpyxl warns about what it ignores, such as styles.
            warnings.simplefilter("ignore")
            return _sheets(content, name, most_rows)
    except (InvalidInput, TooLarge):
        raise
    except Exception as error:
        # openpyxl raises errors of any type over a damaged file.
        raise _unreadable(name, f"a damaged file ({type(error).__name__})") from error


def _check_package(content: bytes, name: str) -> None:
    if len(content) > MAX_BYTES:
        raise TooLarge(f"{name} has {len(content)} bytes; a workbook may have {MAX_BYTES}.")
    if content.startswith(_OLD_OFFICE):
        raise _unreadable(name, "an old .xls file, or one with a password", "save it as .xlsx, without a password")
    try:
        with ZipFile(BytesIO(content)) as package:
            parts = package.infolist()
    except (BadZipFile, ValueError, OSError, NotImplementedError, EOFError) as error:
        raise _unreadable(name, "something that is not an .xlsx file") from error
    sheets = sum(part.file_size for part in parts if part.filename.startswith(_SHEET_PARTS))
    others = sum(part.file_size for part in parts) - sheets
    for unpacked, most in ((others, MAX_UNPACKED_BYTES), (sheets, MAX_SHEET_BYTES)):
        if unpacked > most:
            raise TooLarge(f"{name} unpacks to {unpacked} bytes; a workbook may have {most}.")
    if any(part.filename.lower().endswith(_MACROS) for part in parts):
        raise _unreadable(name, "a workbook with macros", "save it as .xlsx, which has none")


def _unreadable(name: str, found: str, do: str = "save it again as .xlsx") -> InvalidInput:
    problem = problem_at(name, "the file cannot be read", "an .xlsx workbook", found=found, do=do)
    return InvalidInput(f"{name} cannot be read.", [problem])


def _sheets(content: bytes, name: str, most_rows: int) -> Sheets:
    values = openpyxl.load_workbook(BytesIO(content), read_only=True, data_only=True, keep_links=False)
    formulas = openpyxl.load_workbook(BytesIO(content), read_only=True, data_only=False, keep_links=False)
    # From here on openpyxl reads the parts of the sheets through it.
    archive = FilledRows(vars(values)["_archive"], MAX_UNPACKED_BYTES)
    vars(values)["_archive"] = vars(formulas)["_archive"] = archive
    if len(values.sheetnames) > MAX_SHEETS:
        raise TooLarge(f"{name} has {len(values.sheetnames)} sheets; a workbook has 6.")
    return {title: _sheet(title, values[title], formulas[title], archive, most_rows) for title in values.sheetnames}


def _sheet(title: str, values: Any, formulas: Any, archive: FilledRows, most_rows: int) -> Sheet:
    def merged() -> list[Merged]:
        return [_merged(one) for one in archive.merged(values._worksheet_path)]

    if not isinstance(values, ReadOnlyWorksheet):
        # A chart sheet has no cells.
        return Sheet(title, ())
    rows = _rows(title, values, _formulas(title, formulas, most_rows), most_rows)
    sheet = sheet_of(title, rows, merged=merged, is_hidden=values.sheet_state != "visible")
    return replace(sheet, hidden_rows=archive.hidden_rows(vars(values)["_worksheet_path"]))


def _merged(ref: str) -> Merged:
    left, top, right, bottom = (int(bound or 0) for bound in range_boundaries(ref))
    return Merged(left, top, right, bottom)


def _formulas(title: str, sheet: Any, most_rows: int) -> dict[int, list[int]]:
    """The columns of formulas, by row: read as values, a formula that was never calculated looks like a blank cell."""
    return {
        number: [cell.column for cell in cells if cell.data_type == _OPENPYXL_FORMULA]
        for number, cells in _bounded(title, sheet, most_rows)
    }


def _rows(
    title: str, sheet: Any, formulas: Mapping[int, Sequence[int]], most_rows: int
) -> Iterator[tuple[int, list[Cell]]]:
    values = {number: [_cell(title, cell) for cell in cells] for number, cells in _bounded(title, sheet, most_rows)}
    for number in sorted({*values, *formulas}):
        cells = {cell.column: cell for cell in values.get(number, ())}
        for column in formulas.get(number, ()):
            if column not in cells:
                cells[column] = Cell(title, column, number, flaw="a formula whose value was never calculated")
        yield number, list(cells.values())


def _cell(title: str, cell: Any) -> Cell:
    value = _without_escapes(cell.value) if isinstance(cell.value, str) else cell.value
    flaw = f"the error {value}" if cell.data_type == _OPENPYXL_ERROR else flaw_of(value)
    return Cell(title, cell.column, cell.row, value, cell.number_format or "General", flaw)


def _without_escapes(text: str) -> str:
    """The text with the characters that the format cannot hold and writes as `_x000B_`."""
    return _ESCAPED.sub(lambda found: chr(int(found[1], 16)), text)


def _bounded(title: str, sheet: Any, most_rows: int) -> Iterator[tuple[int, list[Any]]]:
    """The rows that are not blank; openpyxl's placeholders for missing cells have no column."""
    # The declared size of a sheet may be wrong.
    sheet.reset_dimensions()
    rows: Iterator[tuple[Any, ...]] = sheet.rows
    looked_at = 0
    for number, cells in enumerate(rows, start=1):
        looked_at += len(cells)
        if looked_at > MAX_CELLS or number > LAST_ROW:
            raise TooLarge(f"The sheet {title!r} has more than {MAX_CELLS} cells, or goes on below row {LAST_ROW}.")
        filled = [cell for cell in cells if cell.value is not None or cell.data_type == _OPENPYXL_EMPTY_RESULT]
        if not filled:
            continue
        if number > most_rows:
            raise TooLarge(f"The sheet {title!r} has more than {most_rows} rows.")
        if filled[-1].column > MAX_COLUMNS:
            raise TooLarge(f"The sheet {title!r} has more than {MAX_COLUMNS} columns, in row {number}.")
        yield number, filled
