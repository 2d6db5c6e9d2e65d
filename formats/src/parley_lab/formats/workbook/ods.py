"""Reads an .ods file of LibreOffice into sheets of cells. Formats of numbers are not read: a number is its digits."""

from dataclasses import replace
from io import BytesIO
from typing import TYPE_CHECKING, Final
from xml.etree.ElementTree import ParseError
from zipfile import BadZipFile, ZipFile

from parley_lab.base.errors import InvalidInput, TooLarge
from parley_lab.formats.workbook.cells import Cell, Value, flaw_of
from parley_lab.formats.workbook.complaints import problem_at
from parley_lab.formats.workbook.ods_marks import Marks, read_marks
from parley_lab.formats.workbook.sheets import MAX_COLUMNS, MAX_ROWS, Sheet, Sheets, sheet_of

if TYPE_CHECKING:
    from python_calamine import CalamineWorkbook

MAX_BYTES: Final = 64 * 1024 * 1024
MAX_UNPACKED_BYTES: Final = 256 * 1024 * 1024
_MIME_TYPE: Final = b"application/vnd.oasis.opendocument.spreadsheet"


def is_ods(content: bytes) -> bool:
    """Whether the file says that it is a spreadsheet of OpenDocument."""
    try:
        with ZipFile(BytesIO(content)) as package:
            return "mimetype" in package.namelist() and package.read("mimetype").startswith(_MIME_TYPE)
    except (BadZipFile, ValueError, OSError, NotImplementedError, EOFError, KeyError):
        return False


def read_ods(content: bytes, name: str, *, most_rows: int = MAX_ROWS) -> Sheets:
    """The sheets of the file. A formula has the value that it showed when the file was saved.

    Raises:
        TooLarge: the file is larger than a workbook may be.
        InvalidInput: it is no spreadsheet, or a damaged one.
    """
    # Few files are of this kind, and every command would wait for the library.
    from python_calamine import CalamineError, CalamineWorkbook, SheetVisibleEnum

    try:
        with ZipFile(BytesIO(content)) as package:
            unpacked = sum(part.file_size for part in package.infolist())
        if len(content) > MAX_BYTES or unpacked > MAX_UNPACKED_BYTES:
            raise TooLarge(f"{name} unpacks to {unpacked} bytes; a spreadsheet may have {MAX_UNPACKED_BYTES}.")
        with ZipFile(BytesIO(content)) as package, package.open("content.xml") as part:
            marks = read_marks(part)
        workbook = CalamineWorkbook.from_filelike(BytesIO(content))
        hidden = {one.name for one in workbook.sheets_metadata if one.visible != SheetVisibleEnum.Visible}
        return {
            title: _sheet(workbook, title, most_rows, title in hidden, marks.get(title) or Marks())
            for title in workbook.sheet_names
        }
    except (
        ParseError,
        KeyError,
        BadZipFile,
        ValueError,
        OSError,
        NotImplementedError,
        EOFError,
        CalamineError,
    ) as error:
        found = f"a damaged file ({type(error).__name__})"
        problem = problem_at(name, "it cannot be read", "an .ods spreadsheet", found=found, do="save it again as .ods")
        raise InvalidInput(f"{name} cannot be read.", [problem]) from error


def _sheet(workbook: "CalamineWorkbook", title: str, most_rows: int, is_hidden: bool, marks: Marks) -> Sheet:
    rows: list[tuple[int, list[Cell]]] = []
    values = dict(enumerate(workbook.get_sheet_by_name(title).to_python(skip_empty_area=False), start=1))
    for number in sorted({*values, *marks.errors}):
        cells = {
            column: _cell(title, column, number, value)
            for column, value in enumerate(values.get(number, ()), start=1)
            if value not in ("", None)
        }
        # The reader has an error as a blank cell or as 0.
        for column, error in marks.errors.get(number, {}).items():
            cells[column] = Cell(title, column, number, flaw=f"the error {error}")
        if not cells:
            continue
        if len(rows) >= most_rows or max(cells) > MAX_COLUMNS:
            raise TooLarge(f"The sheet {title!r} has more than {most_rows} rows or {MAX_COLUMNS} columns.")
        rows.append((number, list(cells.values())))
    sheet = sheet_of(title, rows, merged=lambda: marks.merged, is_hidden=is_hidden)
    return replace(sheet, hidden_rows=marks.hidden_rows)


def _cell(title: str, column: int, row: int, value: Value) -> Cell:
    whole = int(value) if isinstance(value, float) and value.is_integer() and abs(value) < 1e15 else value
    return Cell(title, column, row, whole, flaw=flaw_of(whole))
