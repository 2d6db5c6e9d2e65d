"""Which values Postgres can store as JSON and return unchanged: one rule for files, requests and answers."""

from collections.abc import Iterator
from math import isfinite
from typing import Any, Final

from parley_lab.base.errors import Problem

LARGEST_INTEGER: Final = 2**63 - 1
"""In either direction: databases, CSV readers and JSON readers of other languages hold such integers without
rounding."""

DEEPEST: Final = 32
"""The most levels of objects and lists in an answer or a model's reply."""


def is_storable_text(text: str) -> bool:
    """Whether Postgres can store the text: no NUL, no half of a surrogate pair."""
    if "\x00" in text:
        return False
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def is_storable_number(number: int | float) -> bool:
    """Whether the number is finite and, when it is an integer, has at most 63 bits."""
    return isfinite(number) if isinstance(number, float) else abs(number) <= LARGEST_INTEGER


def unstorable(value: Any, *, deepest: int) -> Iterator[Problem]:
    """Everything in a JSON value that cannot be stored, with its path.

    deepest: the most levels of objects and lists; deeper values are not checked.
    """
    if not _is_storable(value, deepest):
        yield from _unstorable(value, deepest=deepest, where="", depth=0)


def storable_json(value: Any) -> Any:
    """The value itself, when Postgres can store and return it unchanged.

    Raises:
        ValueError: it holds NUL or broken characters, a number that JSON does not know, or too many levels.
    """
    for problem in unstorable(value, deepest=DEEPEST):
        place = f" at {problem.where}" if problem.where else ""
        raise ValueError(f"{problem.expected} is expected{place}")
    return value


def _is_storable(value: Any, deepest: int) -> bool:
    """Whether the whole value is storable; the usual case, decided without a path for each part."""
    level, depth = [value], 0
    while level:
        parts: list[Any] = []
        for one in level:
            if isinstance(one, str):
                if not is_storable_text(one):
                    return False
            elif isinstance(one, int | float):
                if not is_storable_number(one):
                    return False
            elif isinstance(one, dict):
                parts += one.values()
                if not all(map(_is_storable_key, one)):
                    return False
            elif isinstance(one, list | tuple):
                parts += one
        level, depth = parts, depth + 1
        if level and depth > deepest:
            return False
    return True


def _is_storable_key(key: Any) -> bool:
    return not isinstance(key, str) or is_storable_text(key)


def _unstorable(value: Any, *, deepest: int, where: str, depth: int) -> Iterator[Problem]:
    if depth > deepest:
        yield Problem(
            _printable(where[:60]), "values nested too deeply", f"at most {deepest} levels of objects and lists"
        )
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from _unstorable(key, deepest=deepest, where=where, depth=depth)
            place = f"{where}.{key}" if where else str(key)
            yield from _unstorable(part, deepest=deepest, where=place, depth=depth + 1)
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from _unstorable(part, deepest=deepest, where=f"{where}[{index}]", depth=depth + 1)
    elif isinstance(value, str) and not is_storable_text(value):
        yield Problem(_printable(where), "a text with NUL or broken characters", "text that can be stored")
    elif isinstance(value, float) and not is_storable_number(value):
        yield Problem(_printable(where), "a number without an end", "a finite number, below 1.8e308")
    elif isinstance(value, int) and not is_storable_number(value):
        found = f"an integer of {value.bit_length()} bits"
        yield Problem(_printable(where), found, f"an integer from -{LARGEST_INTEGER} to {LARGEST_INTEGER}")


def _printable(where: str) -> str:
    """A path whose keys may be invalid texts themselves."""
    return where.replace("\x00", "?").encode("utf-8", "replace").decode()
