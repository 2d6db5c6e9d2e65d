"""A zip with a CSV file for each sheet, as operating systems make one of a folder."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
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
_HIDDEN: Final = ("__MACOSX", ".")
"""The prefixes of parts that operating systems add."""
_NO_TABLES: Final = ("~$", "#")
"""The prefixes of files that office programs lock others with, and of notes."""


@dataclass(frozen=True, slots=True)
class Unpacked:
    """The CSV files in a zip, by name without folder and `.csv`, and the names of the files that are no tables."""

    tables: Mapping[str, bytes]
    strays: Sequence[str]


def is_workbook(content: bytes) -> bool:
    """Whether the zip is a spreadsheet itself."""
    try:
        with ZipFile(BytesIO(content)) as archive:
            return _SPREADSHEET in archive.namelist()
    except (BadZipFile, ValueError, OSError, NotImplementedError, EOFError):
        return False


def unpack(content: bytes) -> Unpacked:
    """The tables in the zip.

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


def _unpacked(archive: ZipFile) -> Unpacked:
    files = [part for part in archive.infolist() if not part.is_dir() and not _is_hidden(part.filename)]
    parts = [part for part in files if _is_table(PurePosixPath(part.filename))]
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
    return Unpacked(tables, [part.filename for part in files if part not in parts])


def _is_hidden(name: str) -> bool:
    return any(part.startswith(_HIDDEN) for part in PurePosixPath(name).parts)


def _is_table(path: PurePosixPath) -> bool:
    return path.suffix.lower() in _TABLES and not any(part.startswith(_NO_TABLES) for part in path.parts)


def _unreadable(found: str) -> InvalidInput:
    expected = "a zip with a CSV file for each sheet"
    problem = problem_at("archive", "it cannot be read", expected, found=found, do=f"send {expected}")
    return InvalidInput("The archive cannot be read.", [problem])
