"""Workbooks on the command line: an .xlsx file, or a folder with a CSV file for each sheet."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Final

from parley_lab.base.errors import InvalidInput, Problem, TooLarge
from parley_lab.formats.workbook import (
    Draws,
    Workbook,
    read,
    read_csv_tables,
    read_ods,
    read_xlsx,
    template,
    warn_of_strays,
)
from parley_lab.formats.workbook.data import write_data
from parley_lab.formats.workbook.xlsx import MAX_BYTES

_TABLES: Final = (".csv", ".tsv")
_OF_OFFICE: Final = ("~$", ".", "#")
"""How the names of lock files and of hidden files begin, and those of notes."""


def read_workbook(path: Path, draws: Draws = "reference") -> Workbook:
    """The workbook in this file or folder, read for this way of drawing.

    Raises:
        InvalidInput: it cannot be read, or with all its problems.
        TooLarge: the file is too large.
    """
    if path.suffix.lower() == ".ods":
        return read(read_ods(_content(path), path.name), str(path), draws=draws)
    if not path.is_dir():
        return read(read_xlsx(_content(path), path.name), str(path), draws=draws)
    files = [one for one in sorted(path.iterdir()) if one.is_file() and not one.name.startswith(_OF_OFFICE)]
    found = [one for one in files if one.suffix.lower() in _TABLES]
    _refuse_two_of_one_name(found, path)
    tables = {one.stem: _content(one) for one in found}
    workbook = read(read_csv_tables(tables, path.name), str(path), draws=draws)
    ignored = [one.name for one in path.iterdir() if one.is_file() and one.stem not in tables and one.name[0] != "."]
    return replace(workbook, warnings=(*workbook.warnings, *warn_of_strays(str(path), ignored)))


def _refuse_two_of_one_name(files: Sequence[Path], path: Path) -> None:
    names = [one.stem for one in files]
    problems = [
        Problem(
            f"{path}/{name}", " and ".join(one.name for one in files if one.stem == name), "one file for each sheet"
        )
        for name in dict.fromkeys(names)
        if names.count(name) > 1
    ]
    if problems:
        raise InvalidInput(f"{path} cannot be read.", problems)


def write_template(path: Path) -> None:
    """Write the documented template; never over an existing file.

    Raises:
        InvalidInput: the file exists, or cannot be written.
    """
    if path.suffix.lower() != ".xlsx":
        raise InvalidInput(f"{path} does not end in .xlsx.")
    try:
        with path.open("xb") as file:
            file.write(template())
    except FileExistsError as error:
        raise InvalidInput(f"{path} is there already. Take another name, or move it away.") from error
    except OSError as error:
        raise InvalidInput(f"{path} cannot be written: {error.strerror or error}.") from error


def write_files(data: Path, folder: Path) -> dict[str, int]:
    """Write the data files of a workbook's experiment from its data.json; returns the number of rows by file.

    Raises:
        InvalidInput: `data` is not of a workbook's experiment, or a file cannot be read or written.
    """
    try:
        return write_data(data, folder, ("json", "csv"))
    except OSError as error:
        raise InvalidInput(f"{error.filename or data}: {error.strerror or error}.") from error


def _content(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            content = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise InvalidInput(f"{path} cannot be read: {error.strerror or error}.") from error
    if len(content) > MAX_BYTES:
        raise TooLarge(f"{path} has more than {MAX_BYTES} bytes.")
    return content
