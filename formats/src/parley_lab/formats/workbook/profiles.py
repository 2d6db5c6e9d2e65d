"""The sheet agent_profiles: two header rows, short names and questions, and a row for every agent."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from parley_lab.formats.workbook.cells import quoted
from parley_lab.formats.workbook.complaints import Complaints
from parley_lab.formats.workbook.design import ID, Column, WorkbookProfile, is_id
from parley_lab.formats.workbook.names import check_alike, check_typed
from parley_lab.formats.workbook.sheets import Row, Sheet

_NAMES: Final = 1
_QUESTIONS: Final = 2


@dataclass(frozen=True, slots=True)
class Profiles:
    """`columns` can be found by short name or by question."""

    columns: tuple[Column, ...]
    people: tuple[WorkbookProfile, ...]

    def named(self, name: str) -> list[Column]:
        """The columns with this short name or question; one in a valid sheet."""
        return [column for column in self.columns if name in (column.name, column.question)]


def read_profiles(sheet: Sheet | None, complaints: Complaints) -> Profiles:
    """The profiles; invalid ones are complained about and left out."""
    if sheet is None:
        return Profiles((), ())
    columns = _columns(sheet, complaints)
    _check_outside(sheet, columns, complaints)
    if not sheet.after(_QUESTIONS):
        at = sheet.row(_QUESTIONS + 1).cell(1)
        complaints.cell(
            at,
            "there is no profile",
            "a row for every agent",
            do="add a row for every agent, below the two header rows",
        )
    return Profiles(columns, _people(sheet, columns, complaints))


def _columns(sheet: Sheet, complaints: Complaints) -> tuple[Column, ...]:
    names, questions = sheet.row(_NAMES), sheet.row(_QUESTIONS)
    columns: list[Column] = []
    for number in sorted({*names.cells, *questions.cells}):
        name, question = names.cell(number), questions.cell(number)
        if name.is_blank:
            complaints.cell(name, "the short name is blank", "a short name of its own for every column")
        if question.is_blank:
            complaints.cell(question, "the question is blank", "the question that the column answers")
        columns.append(Column(number, name.label, question.label))
    _check_names(names, questions, columns, complaints)
    return tuple(columns)


def _check_names(names: Row, questions: Row, columns: Sequence[Column], complaints: Complaints) -> None:
    seen: dict[str, Column] = {}
    for column in columns:
        if column.name and column.name in seen:
            first = names.cell(seen[column.name].number)
            complaints.cell(
                names.cell(column.number), f"the short name is repeated from {first.where}", "a name of its own"
            )
        seen.setdefault(column.name, column)
    check_alike([names.cell(column.number) for column in columns], "short name", complaints)
    ids = [column for column in columns if is_id(column)]
    if not ids:
        found = ", ".join(quoted(column.name) for column in columns) or "no columns"
        at = questions.cell(1).where
        complaints.at(
            at,
            f"there is no column named {ID}",
            f"a column named {ID}, in row 1 or 2",
            found=found,
            do=f"name a column {ID}, in row 1 or 2",
        )
    for column in ids[1:]:
        complaints.cell(
            names.cell(column.number),
            f"a second column is named {ID}",
            "one column with this name",
            do="give one column this name",
        )


def _check_outside(sheet: Sheet, columns: Sequence[Column], complaints: Complaints) -> None:
    known = {column.number for column in columns}
    for row in sheet.after(_QUESTIONS):
        for number, cell in row.cells.items():
            if number not in known:
                complaints.cell(
                    cell,
                    "the cell is in a column without a name",
                    "nothing in this column",
                    do="name the column in the header, or empty it",
                )


def _people(sheet: Sheet, columns: Sequence[Column], complaints: Complaints) -> tuple[WorkbookProfile, ...]:
    id_column = next((column.number for column in columns if is_id(column)), None)
    if id_column is None:
        return ()
    ids = [row.cell(id_column) for row in sheet.after(_QUESTIONS)]
    check_typed(ids, "ID", complaints)
    check_alike(ids, "ID", complaints)
    people: list[WorkbookProfile] = []
    seen: dict[str, str] = {}
    for row in sheet.after(_QUESTIONS):
        cell = row.cell(id_column)
        if cell.is_blank:
            complaints.cell(cell, "the ID is missing", "an ID of its own for every profile")
        elif cell.label in seen:
            complaints.cell(cell, f"the ID is repeated from {seen[cell.label]}", "an ID of its own for every profile")
        seen.setdefault(cell.label, cell.where)
        people.append(WorkbookProfile(cell.label, row.number, row.cells))
    return tuple(people)
