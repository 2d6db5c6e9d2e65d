"""Reads a folder of CSV files, one for each sheet, into the sheets of cells that a workbook has."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Final

from parley_lab.base.errors import InvalidInput, Problem, TooLarge
from parley_lab.design.tables import csv_records, warnings_of_csv
from parley_lab.formats.workbook.cells import Cell, flaw_of
from parley_lab.formats.workbook.complaints import problem_at
from parley_lab.formats.workbook.sheets import MAX_COLUMNS, MAX_ROWS, Sheet, Sheets, sheet_of

MAX_BYTES: Final = 10 * 1024 * 1024
"""The limit for all tables together."""

_CURE: Final = "save it in Excel as `CSV UTF-8`"


def read_csv_tables(tables: Mapping[str, bytes], name: str) -> Sheets:
    """The sheets in `tables`, by the names of their files without `.csv`.

    Raises:
        TooLarge: the tables together are too large.
        InvalidInput: with every table that cannot be read.
    """
    size = sum(len(content) for content in tables.values())
    if size > MAX_BYTES:
        raise TooLarge(f"{name} has {size} bytes; a workbook may have {MAX_BYTES}.")
    sheets: dict[str, Sheet] = {}
    problems: list[Problem] = []
    for title, content in tables.items():
        try:
            warnings = [*warnings_of_csv(content, f"{title}.csv", _CURE)]
            sheets[title] = replace(sheet_of(title, _rows(title, content)), warnings=warnings)
        except InvalidInput as error:
            problems += error.problems
    if problems:
        raise InvalidInput(f"{name} cannot be read.", problems)
    return sheets


def warn_of_strays(where: str, names: Iterable[str]) -> Iterator[Problem]:
    """The warning that these files, beside the tables of a workbook, are not read; none without a name."""
    if listed := ", ".join(sorted(names)):
        wrong = "files that are no tables are left out"
        yield problem_at(where, wrong, "a CSV file for each sheet", found=listed, do="save each sheet as a CSV file")


def _rows(title: str, content: bytes) -> Iterator[tuple[int, list[Cell]]]:
    for number, (_, values) in enumerate(csv_records(content, f"{title}.csv"), start=1):
        if not any(value.strip() for value in values):
            continue
        if number > MAX_ROWS or len(values) > MAX_COLUMNS:
            raise TooLarge(f"The table {title!r} has more than {MAX_ROWS} rows or {MAX_COLUMNS} columns.")
        yield number, [_cell(title, column, number, value) for column, value in enumerate(values, start=1)]


def _cell(title: str, column: int, row: int, value: str) -> Cell:
    return Cell(title, column, row, value, flaw=flaw_of(value))
