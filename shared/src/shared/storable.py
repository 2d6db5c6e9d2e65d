"""What Postgres can hold as JSON and give back unchanged: one rule for files, requests and answers."""

from collections.abc import Iterator
from math import isfinite
from typing import Any, Final

from shared.errors import Problem

LARGEST_INTEGER: Final = 2**63 - 1
"""In either direction: what databases, CSV readers and JSON readers of other languages hold without rounding."""


def is_storable_text(text: str) -> bool:
    """Whether Postgres can hold the text: no NUL, no half of a surrogate pair."""
    return "\x00" not in text and not any("\ud800" <= character <= "\udfff" for character in text)


def is_storable_number(number: int | float) -> bool:
    """Whether the number is finite and, when it is an integer, has at most 63 bits."""
    return isfinite(number) if isinstance(number, float) else abs(number) <= LARGEST_INTEGER


def unstorable(value: Any, *, deepest: int, where: str = "", depth: int = 0) -> Iterator[Problem]:
    """Everything in a JSON value that cannot be stored; `where` is the path to it.

    deepest: how many levels of objects and lists may stand in each other; what is deeper is not looked at.
    """
    if depth > deepest:
        yield Problem(
            _printable(where[:60]), "values nested too deeply", f"at most {deepest} levels of objects and lists"
        )
    elif isinstance(value, dict):
        for key, part in value.items():
            yield from unstorable(key, deepest=deepest, where=where, depth=depth)
            place = f"{where}.{key}" if where else str(key)
            yield from unstorable(part, deepest=deepest, where=place, depth=depth + 1)
    elif isinstance(value, list | tuple):
        for index, part in enumerate(value):
            yield from unstorable(part, deepest=deepest, where=f"{where}[{index}]", depth=depth + 1)
    elif isinstance(value, str) and not is_storable_text(value):
        yield Problem(_printable(where), "a text with NUL or broken characters", "text that can be stored")
    elif isinstance(value, float) and not is_storable_number(value):
        yield Problem(_printable(where), "a number without an end", "a finite number, below 1.8e308")
    elif isinstance(value, int) and not is_storable_number(value):
        found = f"an integer of {value.bit_length()} bits"
        yield Problem(_printable(where), found, f"an integer from -{LARGEST_INTEGER} to {LARGEST_INTEGER}")


def _printable(where: str) -> str:
    """A path through keys that are broken themselves."""
    return where.replace("\x00", "?").encode("utf-8", "replace").decode()
