"""A zip with a CSV file for each sheet, as operating systems make one of a folder."""

from io import BytesIO
from pathlib import PurePosixPath
from typing import Final
from zipfile import BadZipFile, ZipFile

from parley_lab.base.errors import InvalidInput, TooLarge
from parley_lab.formats.workbook.complaints import problem_at
from parley_lab.formats.workbook.csv_tables import MAX_BYTES

MAX_FILES: Final = 100
_SPREADSHEET: Final = "xl/workbook.xml"
_TABLES: Final = (".csv", ".tsv")
_HIDDEN: Final = ("__MACOSX", ".", "~$", "#")
"""The prefixes of parts that operating systems and office programs add, and of notes."""


def is_workbook(content: bytes) -> bool:
    """Whether the zip is a spreadsheet itself."""
    try:
        with ZipFile(BytesIO(content)) as archive:
            return _SPREADSHEET in archive.namelist()
    except (BadZipFile, ValueError, OSError, NotImplementedError, EOFError):
        return False


def tables_in(content: bytes) -> dict[str, bytes]:
    """The CSV files in the zip, by name without folder and `.csv`.

    Raises:
        TooLarge: the unpacked tables are larger than a workbook may be.
        InvalidInput: it is no zip, or a damaged one, or two of its files have the same name.
    """
    try:
        with ZipFile(BytesIO(content)) as archive:
            return _unpacked(archive)
    except (InvalidInput, TooLarge):
        raise
    except Exception as error:
        # zipfile raises errors of any type over a damaged archive.
        raise _unreadable(f"a damaged file ({type(error).__name__})") from error


def _unpacked(archive: ZipFile) -> dict[str, bytes]:
    parts = [part for part in archive.infolist() if _is_table(PurePosixPath(part.filename))]
    if len(parts) > MAX_FILES or sum(part.file_size for part in parts) > MAX_BYTES:
        raise TooLarge(f"The archive has more than {MAX_FILES} tables, or more than {MAX_BYTES} bytes in them.")
    tables: dict[str, bytes] = {}
    for part in parts:
        name = PurePosixPath(part.filename).stem
        if name in tables:
            raise _unreadable(f"two files called {name}.csv")
        with archive.open(part) as file:
            # The declared size of a part may be wrong.
            tables[name] = file.read(MAX_BYTES + 1)
        if sum(map(len, tables.values())) > MAX_BYTES:
            raise TooLarge(f"The tables of the archive have more than {MAX_BYTES} bytes.")
    return tables


def _is_table(path: PurePosixPath) -> bool:
    return path.suffix.lower() in _TABLES and not any(part.startswith(_HIDDEN) for part in path.parts)


def _unreadable(found: str) -> InvalidInput:
    expected = "a zip with a CSV file for each sheet"
    problem = problem_at("archive", "it cannot be read", expected, found=found, do=f"send {expected}")
    return InvalidInput("The archive cannot be read.", [problem])
