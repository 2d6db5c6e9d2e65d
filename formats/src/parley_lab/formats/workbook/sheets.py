"""The six sheets of a workbook as rows of cells, from any kind of file, and the rows below a fixed header."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Final

from openpyxl.utils import get_column_letter

from parley_lab.base.errors import Problem
from parley_lab.base.meant_names import one_of
from parley_lab.formats.workbook.cells import Cell, quoted, visible
from parley_lab.formats.workbook.complaints import Complaints

SETTINGS: Final = "experimental_setting"
TREATMENTS: Final = "treatments"
ROLES: Final = "agent_roles"
PROMPTS: Final = "interview_prompts"
PROFILES: Final = "agent_profiles"
CONSTANTS: Final = "constants"
SHEETS: Final = (SETTINGS, TREATMENTS, ROLES, PROMPTS, PROFILES, CONSTANTS)

_NOTE: Final = "#"
_MOST_NAMED: Final = 20

MAX_ROWS: Final = 20_000
MAX_COLUMNS: Final = 500
LAST_ROW: Final = 1_048_576
"""The limit of any sheet; a damaged file may declare more."""


@dataclass(frozen=True, slots=True)
class Row:
    """The cells of one row that are not blank, by column; both count from 1."""

    sheet: str
    number: int
    cells: Mapping[int, Cell]

    def cell(self, column: int) -> Cell:
        return self.cells.get(column) or Cell(self.sheet, column, self.number)


@dataclass(frozen=True, slots=True)
class Merged:
    """A range of merged cells; all four count from 1 and are included."""

    left: int
    top: int
    right: int
    bottom: int

    @property
    def name(self) -> str:
        return f"{get_column_letter(self.left)}{self.top}:{get_column_letter(self.right)}{self.bottom}"


@dataclass(frozen=True, slots=True)
class Sheet:
    """`rows` holds the rows that are not blank, in order, with the numbers that spreadsheets show."""

    name: str
    rows: Sequence[Row]
    merged: Sequence[Merged] = ()
    is_hidden: bool = False
    hidden_rows: Sequence[int] = ()
    warnings: Sequence[Problem] = ()
    """Those of its file."""

    def row(self, number: int) -> Row:
        return next((row for row in self.rows if row.number == number), Row(self.name, number, {}))

    def after(self, number: int) -> list[Row]:
        """The rows below this one."""
        return [row for row in self.rows if row.number > number]

    @property
    def next_free(self) -> Cell:
        """The first cell below the last row."""
        return Cell(self.name, 1, self.rows[-1].number + 1 if self.rows else 1)


@dataclass(frozen=True, slots=True)
class Record:
    """A row below a known header; its cells by the names of their columns."""

    row: Row
    columns: Mapping[str, int]

    def cell(self, column: str) -> Cell:
        return self.row.cell(self.columns[column])


Sheets = Mapping[str, Sheet]


def sheet_of(
    name: str,
    rows: Iterable[tuple[int, Iterable[Cell]]],
    *,
    merged: Callable[[], Sequence[Merged]] = tuple,
    is_hidden: bool = False,
) -> Sheet:
    """A sheet of numbered rows, without blank ones; `merged` is asked once all rows are read."""
    kept: list[Row] = []
    for number, cells in rows:
        filled = {cell.column: cell for cell in cells if not cell.is_blank}
        if filled:
            kept.append(Row(name, number, filled))
    return Sheet(name, kept, merged(), is_hidden)


def those_that_belong(sheets: Sheets, complaints: Complaints) -> Sheets:
    """The sheets without those that are left out: empty and hidden ones, and notes, whose names begin with `#`.

    A warning names each. A sheet whose name is nearly that of one of the six is none of them.
    """
    return {name: sheet for name, sheet in sheets.items() if not _is_left_out(sheet, complaints)}


def _is_left_out(sheet: Sheet, complaints: Complaints) -> bool:
    if sheet.name in SHEETS or _is_nearly(sheet.name):
        return False
    why = "is a note" if sheet.name.startswith(_NOTE) else "is hidden" if sheet.is_hidden else ""
    why = why or ("" if sheet.rows else "is empty")
    if why:
        complaints.warn(
            Cell(sheet.name, 1, 1),
            f"the sheet {quoted(sheet.name)} {why} and is left out",
            "a workbook of six sheets",
            found=f"a sheet that {why}",
            do="see that nothing on it belongs to the experiment",
        )
    return bool(why)


def _is_nearly(name: str) -> bool:
    plain = visible(name).casefold().replace(" ", "_").replace("-", "_")
    return bool(get_close_matches(plain, SHEETS, n=1, cutoff=0.8))


def warn_of_files(sheets: Sheets, complaints: Complaints) -> None:
    """Warns of what reading the files has noted, and of hidden rows, as a filter makes them: they count."""
    for sheet in sheets.values():
        complaints.warnings.update(dict.fromkeys(sheet.warnings))
        hidden_rows = frozenset(sheet.hidden_rows)
        hidden = [row.number for row in sheet.rows if row.number in hidden_rows]
        if hidden:
            named = ", ".join(map(str, hidden[:_MOST_NAMED])) + (" and more" if len(hidden) > _MOST_NAMED else "")
            complaints.warn(
                Cell(sheet.name, 1, hidden[0]),
                f"hidden rows count like the others: {named}",
                "rows that can be seen",
                found=f"{len(hidden)} hidden rows" if len(hidden) > 1 else "a hidden row",
                do="show them, or delete those that do not belong",
            )


def check_names(names: Sequence[str], complaints: Complaints) -> None:
    """Complains about missing and unknown sheets; names are case-sensitive."""
    for name in SHEETS:
        if name not in names:
            found = f"the sheets {', '.join(quoted(one) for one in names)}" if names else "no sheets"
            complaints.at(
                f"{name}!A1",
                f"the sheet {name} is missing",
                f"a sheet named {name}",
                found=found,
                do=f"add a sheet named {name}",
            )
    for name in names:
        if name not in SHEETS:
            complaints.at(
                f"{name}!A1",
                f"the sheet {name} does not belong in a workbook",
                one_of(name, SHEETS, "sheet"),
                found=f"a sheet named {quoted(name)}",
                do=f"rename it ({one_of(name, SHEETS, 'sheet')}), or take it out",
                hint="names are case-sensitive, and a sheet of notes begins with #",
            )


def check_flaws(sheets: Sheets, complaints: Complaints) -> None:
    """Complains about every cell that has no usable value."""
    for sheet in sheets.values():
        for row in sheet.rows:
            for cell in row.cells.values():
                if cell.flaw:
                    complaints.at(
                        cell.where,
                        "the cell has no value that can be used",
                        "a text, a number, a date, or TRUE or FALSE",
                        found=cell.flaw,
                        hint="copy the cell and paste it back as a value",
                    )


def records(sheet: Sheet | None, header: Sequence[str], complaints: Complaints) -> list[Record]:
    """The rows below the header, which must have these columns, in any order; none when columns are missing."""
    if sheet is None:
        return []
    columns = _columns(sheet, header, complaints)
    if len(columns) < len(header):
        return []
    found = [Record(row, columns) for row in sheet.after(1)]
    _check_outside(sheet, complaints)
    return found


def _columns(sheet: Sheet, header: Sequence[str], complaints: Complaints) -> dict[str, int]:
    top = sheet.row(1)
    width = max(top.cells, default=0)
    found = [top.cell(column).label for column in range(1, width + 1)]
    if sorted(found) != sorted(header):
        complaints.at(
            _first_difference(sheet, header, found).where,
            "the header is not as it must be",
            f"[{', '.join(header)}]",
            found=f"[{', '.join(found)}]" if found else "no header in row 1",
            do=f"write row 1 as [{', '.join(header)}]",
            hint="these columns, in any order, each once, and no others",
        )
    return {name: found.index(name) + 1 for name in header if name in found}


def _first_difference(sheet: Sheet, header: Sequence[str], found: Sequence[str]) -> Cell:
    """The first column that is unknown or repeated; else the one after the last."""
    wrong = (index for index, name in enumerate(found) if name not in header or name in found[:index])
    return sheet.row(1).cell(next(wrong, len(found)) + 1)


def _check_outside(sheet: Sheet, complaints: Complaints) -> None:
    named = set(sheet.row(1).cells)
    for row in sheet.after(1):
        for column, cell in row.cells.items():
            if column not in named:
                complaints.cell(
                    cell,
                    "the cell is in a column without a name",
                    "nothing in this column",
                    do="name the column in the header, or empty it",
                )
