"""Reads Python literals in cells: a list, a range, a text for each role. Nothing is executed."""

import ast
import re
import unicodedata
from typing import Any, Final

Literal = Any
"""A value that consists of numbers, texts, lists, tuples, dicts and the like."""

_DICT_LIKE: Final = re.compile(r"^\{\s*(['\"\u201c\u201d\u2018\u2019\u201e]|\w+\s*:)")
"""Also with typographic quotes, and with a closing quote where the opening one is missing."""
_RANGE_LIKE: Final = re.compile(r"^\([\s\d.,;:+~\u301c\u2026\-]*\)?$")
_NUMBER: Final = r"[+-]?(?:\d+(?:\.\d+)?|\.\d+)"
_BARE_RANGE: Final = re.compile(rf"({_NUMBER})\s*(?:-|~|\u301c|\u2026|\.\.\.?)\s*({_NUMBER})")
_DASHED_RANGE: Final = re.compile(rf"\(\s*{_BARE_RANGE.pattern}\s*\)")
_TYPOGRAPHIC: Final = re.compile(
    r"[\u201c\u201d\u201e]([^\u201c\u201d\u201e\"\\\n]*)[\u201c\u201d]|[\u2018\u2019]([^\"\\\n]*?)\u2019(?=\s*[,:\]}])"
)
"""A text in the quotes that word processors put in place of straight ones."""
_IN_QUOTES: Final = re.compile(r"""('(?:\\.|[^'\\])*'|"(?:\\.|[^"\\])*")""", re.DOTALL)
_DASHES: Final = "\u2010\u2011\u2012\u2013\u2014\u2015\u2212\ufe58\ufe63\uff0d"
"""Hyphens, dashes and minus signs that word processors and spreadsheets put in place of `-`."""
_PLAIN: Final = {ord(dash): "-" for dash in _DASHES} | {ord("\u3001"): ",", ord("\u066b"): ".", ord("\u060c"): ","}
_STUMBLES: Final = (SyntaxError, ValueError, TypeError, MemoryError, RecursionError)


class NotLiteral(Exception):
    """The text looks like a literal but is not valid; the message says why."""


class MissingComma(NotLiteral):
    """No comma is between two texts, and Python would read them as one."""

    def __init__(self, first: str, second: str) -> None:
        super().__init__(f"a comma is missing between {first} and {second}")


def read_literal(text: str) -> Literal:
    """The list, tuple or dict in the text, or the text itself when it does not look like one.

    A text in braces such as `{response_options}`, or in brackets such as `(as you like)`, is a text. `(0\u201310)` is a
    range, with whichever dash; full-width signs, typographic quotes and invisible characters outside of quotes make no
    difference.

    Raises:
        NotLiteral: it begins like a literal and cannot be read.
    """
    looks = _looks_like(plain(text)) or _looks_like(plain(_with_straight_quotes(text)))
    if not looks:
        return text
    try:
        # What is valid as it was typed is read as it was typed.
        return _evaluated(text.strip())
    except _STUMBLES:
        pass
    try:
        return _evaluated(_with_ranges(plain(_with_straight_quotes(text))))
    except _STUMBLES as error:
        said = error.msg if isinstance(error, SyntaxError) else "something in it is neither a text nor a number"
        raise NotLiteral(f"it looks like {looks} and cannot be read as one: {said}") from error


def _evaluated(text: str) -> Literal:
    """The value of a literal, without Python's rule that texts side by side are one.

    Raises:
        MissingComma: one is missing between two texts.
        SyntaxError, ValueError, TypeError, MemoryError, RecursionError: it is no literal.
    """
    value = ast.literal_eval(text)
    parts = _IN_QUOTES.split(text)
    for place in range(2, len(parts) - 2, 2):
        if not parts[place].strip():
            raise MissingComma(parts[place - 1], parts[place + 1])
    return value


def _with_straight_quotes(text: str) -> str:
    parts = _IN_QUOTES.split(text)
    return "".join(
        part if index % 2 else _TYPOGRAPHIC.sub(_in_straight_quotes, part) for index, part in enumerate(parts)
    )


def _in_straight_quotes(found: re.Match[str]) -> str:
    return f'"{found[1] if found[1] is not None else found[2]}"'


def read_options_literal(text: str) -> Literal:
    """Like `read_literal`, of a cell with options: `0-10` without brackets is a range, too."""
    bare = _BARE_RANGE.fullmatch(plain(text))
    return read_literal(f"({bare[1]}, {bare[2]})" if bare else text)


def plain(text: str) -> str:
    """The text with common signs in place of dashes, full-width and invisible characters, but for what is in quotes."""
    parts = _IN_QUOTES.split(text)
    return "".join(part if index % 2 else _in_common_signs(part) for index, part in enumerate(parts)).strip()


def _in_common_signs(part: str) -> str:
    return "".join(_narrow(one) for one in part.translate(_PLAIN) if unicodedata.category(one) != "Cf")


def _narrow(one: str) -> str:
    if one.isspace():
        return " " if one != "\n" else one
    if one.isdecimal():
        return str(unicodedata.decimal(one))
    narrow = unicodedata.normalize("NFKC", one)
    return narrow if unicodedata.east_asian_width(one) == "F" and len(narrow) == 1 else one


def _with_ranges(written: str) -> str:
    parts = _IN_QUOTES.split(written)
    return "".join(part if index % 2 else _DASHED_RANGE.sub(r"(\1, \2)", part) for index, part in enumerate(parts))


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
