"""Tables of personas from any file that people keep tables in: CSV, .xlsx or .ods, all by one reader each."""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Final

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.meant_names import one_of
from parley_lab.contracts.personas_from import PersonasFrom
from parley_lab.design.persona_table import MAX_ROWS, csv_table
from parley_lab.design.tables import Row, Table, Value
from parley_lab.formats.workbook.cells import Cell, changed_by_spreadsheet
from parley_lab.formats.workbook.complaints import Complaints, problem_at
from parley_lab.formats.workbook.merged import with_merged
from parley_lab.formats.workbook.ods import is_ods, read_ods
from parley_lab.formats.workbook.sheets import Sheet, check_flaws, warn_of_files
from parley_lab.formats.workbook.xlsx import read_xlsx

_ZIP: Final = b"PK\x03\x04"
_OLD_OFFICE: Final = b"\xd0\xcf\x11\xe0"


def read_table(source: PersonasFrom, content: bytes) -> Table:
    """The table in a file, by its content: endings may be wrong.

    Raises:
        TooLarge: it is too large.
        InvalidInput: it cannot be read.
    """
    if not content.startswith((_ZIP, _OLD_OFFICE)):
        return csv_table(source, content)
    if is_ods(content):
        sheets = read_ods(content, source.file, most_rows=MAX_ROWS)
    else:
        sheets = read_xlsx(content, source.file, most_rows=MAX_ROWS)
    complaints = Complaints()
    sheet = with_merged({"": _chosen(source, sheets)}, complaints)[""]
    check_flaws({sheet.name: sheet}, complaints)
    warn_of_files({sheet.name: sheet}, complaints)
    if complaints.problems:
        raise InvalidInput(f"{source.file} cannot be read.", _in_file(source.file, complaints.problems))
    return replace(_table(source.file, sheet), warnings=_in_file(source.file, complaints.warnings))


def _in_file(file: str, problems: Iterable[Problem]) -> list[Problem]:
    return [replace(one, where=f"{file} {one.where}") for one in problems]


def _chosen(source: PersonasFrom, sheets: Mapping[str, Sheet]) -> Sheet:
    if source.sheet is not None:
        if source.sheet not in sheets:
            expected = one_of(source.sheet, sheets, "sheet")
            problem = problem_at("personas_from.sheet", "there is no such sheet", expected, found=repr(source.sheet))
            raise InvalidInput(f"{source.file} has no such sheet.", [problem])
        return sheets[source.sheet]
    filled = [sheet for sheet in sheets.values() if sheet.rows]
    shown = [sheet for sheet in filled if not sheet.is_hidden]
    found = next(iter(shown or filled), None)
    if found is None:
        expected = "a header, and a row for each persona"
        problem = problem_at(source.file, "no sheet has cells", expected, found="nothing")
        raise InvalidInput(f"{source.file} is empty.", [problem])
    return found


def _table(name: str, sheet: Sheet) -> Table:
    header, *rows = sheet.rows
    width = max(header.cells)
    cells = [header.cell(column).label for column in range(1, width + 1)]
    return Table(
        f"{name} {sheet.name}!A{header.number}",
        cells,
        [_row(name, sheet, row.number, row.cells, width) for row in rows],
    )


def _row(name: str, sheet: Sheet, number: int, cells: Mapping[int, Cell], width: int) -> Row:
    blank = Cell(sheet.name, 1, number)
    columns = range(1, max(width, *cells) + 1)
    values: dict[int, Value] = {}
    flaws: dict[int, str] = {}
    for column, cell in cells.items():
        if isinstance(cell.value, int | float):
            values[column - 1] = cell.value
        if changed := changed_by_spreadsheet(cell):
            flaws[column - 1] = changed
    return Row(f"{name} {sheet.name}!A{number}", [cells.get(column, blank).text for column in columns], values, flaws)
