"""Files that are sent beside the text of an experiment, tables, pictures and words, by the names in the text. Pure."""

from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import Final

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.meant_names import one_of
from parley_lab.base.storable import is_storable_text

MOST_BESIDE: Final = 100
"""How many files an experiment may have beside its text."""
LONGEST_NAME: Final = 200
_NAME: Final = (
    f"a name such as people.csv or pictures/map.png, at most {LONGEST_NAME} characters, without `..` and `\\`"
)


def require_name(name: str) -> None:
    """Raises: InvalidInput: this is no path below the folder of the experiment file."""
    parts = name.split("/")
    is_path = all(parts) and not any(part in (".", "..") for part in parts) and "\\" not in name and ":" not in name
    if not (is_path and len(name) <= LONGEST_NAME and name.isprintable() and is_storable_text(name)):
        raise InvalidInput("A file cannot have this name.", [Problem("file", repr(name[:80]), _NAME)])


def content_beside(files: Mapping[str, bytes], name: str) -> bytes:
    """The content of the file that the text calls `name`; a file that was sent without its folder fits, too.

    Raises:
        InvalidInput: there is none; its one problem is at `personas_from.file`.
    """
    found = files.get(str(PurePosixPath(name)), files.get(PurePosixPath(name).name))
    if found is None:
        known = one_of(name, files, "file") if files else "a file beside the text"
        expected = f"{known}; add it to the files of the draft, or send it in the same form"
        raise InvalidInput(f"There is no file {name}.", [Problem("personas_from.file", repr(name), expected)])
    return found
