"""Makes text of models and people safe for a terminal: it cannot move the cursor, ring, colour or reorder."""

import unicodedata

_INVISIBLE_BUT_NEEDED = "\u200c\u200d"  # joiners: emoji and scripts that are written with them
_UNSAFE = frozenset({"Cc", "Cf", "Cs", "Co", "Zl", "Zp"})


def one_line(text: str) -> str:
    """The text on one line, with white space collapsed and control characters replaced."""
    return "".join(char if _is_safe(char) else "\N{REPLACEMENT CHARACTER}" for char in " ".join(text.split()))


def _is_safe(char: str) -> bool:
    return char in _INVISIBLE_BUT_NEEDED or unicodedata.category(char) not in _UNSAFE
