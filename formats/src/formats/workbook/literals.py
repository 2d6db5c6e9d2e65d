"""Reads Python literals in cells: a list, a range, a text for each role. Nothing is executed."""

import ast
import re
from typing import Any, Final

Literal = Any
"""A value that consists of numbers, texts, lists, tuples, dicts and the like."""

_DICT_LIKE: Final = re.compile(r"^\{\s*(['\"\u201c\u201d\u2018\u2019\u201e]|\w+\s*:)")
"""Also with typographic quotes: such a text cannot be read, and the complaint says why."""
_RANGE_LIKE: Final = re.compile(r"^\([\s\d.,;:+\-]*\)?$")
_STUMBLES: Final = (SyntaxError, ValueError, TypeError, MemoryError, RecursionError)


class NotLiteral(Exception):
    """The text looks like a literal but is not valid; the message says why."""


def read_literal(text: str) -> Literal:
    """The list, tuple or dict in the text, or the text itself when it does not look like one.

    A text in braces such as `{response_options}`, or in brackets such as `(as you like)`, is a text.

    Raises:
        NotLiteral: it begins like a literal and cannot be read.
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
    if text.startswith("[") and _is_meant(text, "]"):
        return "a list"
    if _DICT_LIKE.match(text) and _is_meant(text, "}"):
        return "a text for each role"
    if _RANGE_LIKE.match(text) and any(character.isdigit() for character in text):
        return "a range"
    return ""


def _is_meant(text: str, closing: str) -> bool:
    """Whether a text that begins like a literal is one; its closing bracket may be missing."""
    return text.endswith(closing) or closing not in text
