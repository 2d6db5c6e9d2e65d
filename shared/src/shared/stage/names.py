"""Names as prompts show them: those who bear them choose them, and they are data."""

from functools import lru_cache
from typing import Final

_LONGEST: Final = 80
# A colon ends the author's name in a transcript, a bracket starts the name of the lab.
_NO_MARKS: Final = str.maketrans({":": " ", "[": "(", "]": ")"})


@lru_cache(maxsize=4096)
def as_shown(name: str) -> str:
    """The name in one short line, and nothing but a name; shown twice it is the same."""
    if name.isalnum():
        return name[:_LONGEST]
    printable = "".join(character if character.isprintable() else " " for character in name)
    return " ".join(printable.translate(_NO_MARKS).split())[:_LONGEST].strip()
