"""What is written in a cell as Python would write it: a list, a range, a text for each role. Nothing is executed."""

import ast
import re
from typing import Any, Final

Literal = Any
"""A value that consists of numbers, texts, lists, tuples, dicts and the like."""

_DICT_LIKE: Final = re.compile(r"^\{\s*(['\"]|\w+\s*:)")
_RANGE_LIKE: Final = re.compile(r"^\([\s\d.,;:+\-]*\)$")
_STUMBLES: Final = (SyntaxError, ValueError, TypeError, MemoryError, RecursionError)


class NotLiteral(Exception):
    """The text looks like a literal and is none; it says why."""


def read_literal(text: str) -> Literal:
    """The list, tuple or dict that the text writes, or the text itself when it does not look like one.

    A text in braces such as `{response_options}` or one in brackets such as `(as you like)` is a text.

    Raises:
        NotLiteral: it begins like one and cannot be read.
    """
    stripped = text.strip()
    looks = _looks_like(stripped)
    if not looks:
        return text
    try:
        value = ast.literal_eval(stripped)
    except _STUMBLES as error:
        said = error.msg if isinstance(error, SyntaxError) else "something in it is neither a text nor a number"
        raise NotLiteral(f"it looks like {looks} and cannot be read as one: {said}") from error
    return value


def _looks_like(text: str) -> str:
    if text.startswith("[") and text.endswith("]"):
        return "a list"
    if _DICT_LIKE.match(text) and text.endswith("}"):
        return "a text for each role"
    if _RANGE_LIKE.match(text) and any(character.isdigit() for character in text):
        return "a range"
    return ""
