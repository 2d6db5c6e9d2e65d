"""Finds the JSON object in the text of a model's reply; its schema decides whether the object is valid.

A repair may correct the syntax of an object, not its content: it adds nothing that the text does not have, and an
object that was cut off is not completed.
"""

import json
import math
import re
from collections.abc import Collection, Iterator
from itertools import chain
from typing import Any, Final

import json_repair
import orjson

_FENCED: Final = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)
_MARK: Final = re.compile(r'\\.|["{}]', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_TEXT_OR_WRITTEN_SPACE: Final = re.compile(r'("(?:\\.|[^"\\])*")|\\[nrt]', re.DOTALL)
_NUMBER: Final = re.compile(r"-?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?")
_CONSTANTS: Final = {True: re.compile(r"\btrue\b", re.I), False: re.compile(r"\bfalse\b", re.I)}
_NOTHING: Final = re.compile(r"\b(?:null|none)\b", re.I)
_QUOTES: Final = "[\"'\u201c\u201d]"


def parse_object(text: str, fields: Collection[str] = ()) -> dict[str, Any] | None:
    """The JSON object in `text`: the whole text, a code fence, or an object among words. None when there is none.

    Of several objects the first with all `fields`, else the first. An echoed schema of the reply is no reply.
    """
    first = None
    for found in _objects(text):
        if _is_schema(found, fields):
            continue
        if all(name in found for name in fields):
            return found
        first = first if first is not None else found
    return first


def _objects(text: str) -> Iterator[dict[str, Any]]:
    whole = _load(text)
    if whole is not None:
        yield whole
        return
    fenced = (inside.group(1) for inside in _FENCED.finditer(text))
    for written in chain.from_iterable(map(_written_objects, (*fenced, text))):
        found = _load(written)
        if found is None:
            found = _repaired(written)
        if found is not None:
            yield found


def _written_objects(text: str) -> Iterator[str]:
    """Yield every outermost `{...}`. One that is never closed ends the search: an object inside it is no reply."""
    depth = start = 0
    is_quoted = False
    for mark in _MARK.finditer(text):
        match mark.group():
            case '"' if depth:
                is_quoted = not is_quoted
            case "{" if not is_quoted:
                start = start if depth else mark.start()
                depth += 1
            case "}" if depth and not is_quoted:
                depth -= 1
                if not depth:
                    yield text[start : mark.end()]


def _load(text: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    return value if isinstance(value, dict) else None


def _repaired(written: str) -> dict[str, Any] | None:
    """The object with its syntax repaired; None when the repair would add to it, or cut a text short."""
    spaced = _TEXT_OR_WRITTEN_SPACE.sub(lambda match: match.group(1) or " ", written)
    try:
        value = json_repair.loads(spaced)
        if isinstance(value, dict) and value and _Source(written).holds(value):
            return value
    except (ValueError, RecursionError, AssertionError):
        # The library asserts what some texts break.
        return None
    return None


class _Source:
    """The text from which an object was read."""

    def __init__(self, written: str) -> None:
        self._written = written
        self._unescaped = _ESCAPE.sub(_unescape, written)
        self._numbers = {float(number) for number in _NUMBER.findall(written)}

    def holds(self, value: object) -> bool:
        """Whether the text holds every name and value of `value`, texts with their quotes."""
        match value:
            case dict():
                return all(name in self._unescaped and self.holds(part) for name, part in value.items())
            case list():
                return all(map(self.holds, value))
            case str():
                return self._quotes(value)
            case bool():
                return _CONSTANTS[value].search(self._written) is not None
            case int() | float():
                return math.isfinite(value) and float(value) in self._numbers
        return value is None and _NOTHING.search(self._written) is not None

    def _quotes(self, value: str) -> bool:
        quoted = re.compile(rf"{_QUOTES}{re.escape(value)}{_QUOTES}\s*(?:[,:}}\]/#]|{_QUOTES})")
        return any(quoted.search(text) for text in (self._written, self._unescaped))


def _unescape(escape: re.Match[str]) -> str:
    try:
        return str(json.loads(f'"{escape.group()}"'))
    except ValueError:
        return escape.group(1)


def _is_schema(found: dict[str, Any], fields: Collection[str]) -> bool:
    return "properties" not in fields and isinstance(found.get("properties"), dict) and found.get("type") == "object"
