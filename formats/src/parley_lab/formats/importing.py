"""Converts files of other formats to experiments, by media type; the caller needs to know no format.

A format is one line in `IMPORTERS`. An importer is pure: it returns experiments, or raises with all problems at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from parley_lab.base.errors import InvalidInput
from parley_lab.design import Experiment
from parley_lab.formats.workbook import (
    Draws,
    Workbook,
    compile_workbook,
    read,
    read_csv_tables,
    read_xlsx,
    warn_of_strays,
)
from parley_lab.formats.workbook.complaints import problem_at
from parley_lab.formats.workbook.zipped import is_workbook, unpack

XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ZIP: Final = "application/zip"


@dataclass(frozen=True, slots=True)
class Choice:
    """Options beside the file.

    people: the seats for people. sessions: how many of them, from the first; None: all. draws: the way of drawing.
    """

    people: tuple[str, ...] = ()
    sessions: int | None = None
    draws: Draws = "reference"


@dataclass(frozen=True, slots=True)
class Imported:
    """The experiments in a file, and warnings about it."""

    experiments: tuple[Experiment, ...]
    warnings: tuple[str, ...]


Importer = Callable[[bytes, Choice], Imported]


def import_file(content: bytes, media_type: str, choice: Choice) -> Imported:
    """The experiments in a file of this type.

    Raises:
        InvalidInput: with all problems of the file, or no format has this type.
        TooLarge: the file is too large.
    """
    importer = IMPORTERS.get(media_type)
    if importer is None:
        known = " or ".join(IMPORTERS)
        problem = problem_at("media type", "no format has this type", known, found=repr(media_type), do=f"send {known}")
        raise InvalidInput("Such files cannot be read.", [problem])
    return importer(content, choice)


def _spreadsheet(content: bytes, choice: Choice) -> Imported:
    return _workbook(read(read_xlsx(content, "the workbook"), "the workbook", draws=choice.draws), choice)


def _archive(content: bytes, choice: Choice) -> Imported:
    """A zip with a CSV file for each sheet. A spreadsheet is also a zip and may be sent with this type."""
    if is_workbook(content):
        return _spreadsheet(content, choice)
    unpacked = unpack(content)
    workbook = read(read_csv_tables(unpacked.tables, "the archive"), "the archive", draws=choice.draws)
    warnings = (*workbook.warnings, *warn_of_strays("the archive", unpacked.strays))
    return _workbook(replace(workbook, warnings=warnings), choice)


def _workbook(workbook: Workbook, choice: Choice) -> Imported:
    compiled = compile_workbook(workbook, draws=choice.draws, people=choice.people, sessions=choice.sessions)
    return Imported(tuple(compiled), tuple(map(str, workbook.warnings)))


IMPORTERS: Final[Mapping[str, Importer]] = {XLSX: _spreadsheet, ZIP: _archive}
