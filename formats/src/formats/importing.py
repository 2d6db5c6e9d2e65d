"""Files of other formats as experiments, by their media type: who receives a file knows no format.

A format is one line in `IMPORTERS`. An importer is pure: from bytes to experiments, or to all problems at once.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final

from formats.workbook import Draws, Workbook, compile_workbook, read, read_csv_tables, read_xlsx
from formats.workbook.zipped import is_workbook, tables_in
from shared.errors import InvalidInput, Problem
from shared.experiment import Experiment

XLSX: Final = "application/vnd.openxmlformats-officedocument.spreadsheetml.sheet"
ZIP: Final = "application/zip"


@dataclass(frozen=True, slots=True)
class Choice:
    """What a researcher says beside the file.

    people: the seats that people take. sessions: only so many, the first ones; None: all. draws: how they are made.
    """

    people: tuple[str, ...] = ()
    sessions: int | None = None
    draws: Draws = "reference"


@dataclass(frozen=True, slots=True)
class Imported:
    """The experiments in a file, and what was forgiven in it."""

    experiments: tuple[Experiment, ...]
    warnings: tuple[str, ...]


Importer = Callable[[bytes, Choice], Imported]


def import_file(content: bytes, media_type: str, choice: Choice) -> Imported:
    """The experiments in a file of this type.

    Raises:
        InvalidInput: with everything that is wrong in it, or no format has this type.
        TooLarge: nobody makes such a file by hand.
    """
    importer = IMPORTERS.get(media_type)
    if importer is None:
        raise InvalidInput(
            "Such files cannot be read.", [Problem("media type", repr(media_type), " or ".join(IMPORTERS))]
        )
    return importer(content, choice)


def _spreadsheet(content: bytes, choice: Choice) -> Imported:
    return _workbook(read(read_xlsx(content, "the workbook"), "the workbook", draws=choice.draws), choice)


def _archive(content: bytes, choice: Choice) -> Imported:
    """A zip with a CSV file for each sheet. A spreadsheet is a zip, too, and may come under its name."""
    if is_workbook(content):
        return _spreadsheet(content, choice)
    sheets = read_csv_tables(tables_in(content), "the archive")
    return _workbook(read(sheets, "the archive", draws=choice.draws), choice)


def _workbook(workbook: Workbook, choice: Choice) -> Imported:
    compiled = compile_workbook(workbook, draws=choice.draws, people=choice.people, sessions=choice.sessions)
    return Imported(tuple(compiled), tuple(map(str, workbook.warnings)))


IMPORTERS: Final[Mapping[str, Importer]] = {XLSX: _spreadsheet, ZIP: _archive}
