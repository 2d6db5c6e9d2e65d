"""Names in prompts: members choose them, so they are untrusted data."""

from functools import lru_cache
from typing import Final

_LONGEST: Final = 80
# A colon ends the author's name in a transcript, a bracket begins a system message.
_NO_MARKS: Final = str.maketrans({":": " ", "[": "(", "]": ")"})


@lru_cache(maxsize=4096)
def as_shown(name: str) -> str:
    """The name as one short line without markup; idempotent."""
    if name.isalnum():
        return name[:_LONGEST]
    printable = "".join(character if character.isprintable() else " " for character in name)
    return " ".join(printable.translate(_NO_MARKS).split())[:_LONGEST].strip()
