"""Files that are sent beside the text of an experiment, tables, pictures and words, by the names in the text. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from hashlib import sha256
from pathlib import PurePosixPath
from typing import Final

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.base.meant_names import one_of
from parley_lab.base.storable import is_storable_text
from parley_lab.contracts.media import ending_in, ending_of

MOST_BESIDE: Final = 100
"""How many files an experiment may have beside its text."""
LONGEST_NAME: Final = 200
_NAME: Final = (
    f"a name such as people.csv or pictures/map.png, at most {LONGEST_NAME} characters, without `..` and `\\`"
)


@dataclass(frozen=True, slots=True)
class FileBeside:
    """A file beside a text. `ending`: that of its type, if stages can show it. `content`: None where the lab has stored
    it, and nothing reads it."""

    digest: str
    size: int
    ending: str | None
    content: bytes | None

    def stored_as(self, name: str) -> str | None:
        """The name under which the lab stores the file called `name`, which a stage can show and nothing else reads;
        None: it is no such file."""
        return None if self.ending is None or ending_of(name) is None else f"{self.digest}.{self.ending}"


def file_beside(content: bytes) -> FileBeside:
    """The file with this content. It takes the time of a digest."""
    return FileBeside(sha256(content).hexdigest(), len(content), ending_in(content), content)


def require_name(name: str) -> None:
    """Raises: InvalidInput: this is no path below the folder of the experiment file."""
    parts = name.split("/")
    is_path = all(parts) and not any(part in (".", "..") for part in parts) and "\\" not in name and ":" not in name
    if not (is_path and len(name) <= LONGEST_NAME and name.isprintable() and is_storable_text(name)):
        raise InvalidInput("A file cannot have this name.", [Problem("file", repr(name[:80]), _NAME)])


def content_beside(files: Mapping[str, bytes | str], name: str) -> bytes:
    """The content of the table or the words that the text calls `name`.

    Raises:
        InvalidInput: there is no such file, or it is a picture; its one problem is at `personas_from.file`.
    """
    found = shown_beside(files, name)
    if isinstance(found, str):
        problem = Problem("personas_from.file", repr(name), "a table or words: this is a picture, a sound or a film")
        raise InvalidInput(f"{name} is no text.", [problem])
    return found


def shown_beside(files: Mapping[str, bytes | str], name: str) -> bytes | str:
    """The content of the file that the text calls `name`, or the name under which it is stored; a file that was sent
    without its folder fits, too.

    Raises:
        InvalidInput: there is none; its one problem is at `personas_from.file`.
    """
    found = files.get(str(PurePosixPath(name)), files.get(PurePosixPath(name).name))
    if found is None:
        known = one_of(name, files, "file") if files else "a file beside the text"
        expected = f"{known}; add it to the files of the draft, or send it in the same form"
        raise InvalidInput(f"There is no file {name}.", [Problem("personas_from.file", repr(name), expected)])
    return found
