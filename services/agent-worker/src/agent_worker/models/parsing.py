"""The text of a model's reply as an object; whether the object is a valid reply is for its schema to say.

A repair may mend how an object is written, never what it says: whatever is not in the text is not in the object, and
an object that was cut off is none.
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
    """The JSON object in `text`: all of it, in a code fence, or with words around it. None when there is none.

    Of several objects the first with all `fields`, else the first; the schema of a reply is not a reply.
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
    """Every outermost `{...}`. One that is never closed ends the search: what is inside it is not a reply."""
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
    """The object without its mistakes of writing; None when the repair would add to it, or cut a text short."""
    spaced = _TEXT_OR_WRITTEN_SPACE.sub(lambda match: match.group(1) or " ", written)
    try:
        value = json_repair.loads(spaced)
        if isinstance(value, dict) and value and _Source(written).holds(value):
            return value
    except (ValueError, RecursionError):
        return None
    return None


class _Source:
    """What an object was read from."""

    def __init__(self, written: str) -> None:
        self._written = written
        self._unescaped = _ESCAPE.sub(_unescape, written)
        self._numbers = {float(number) for number in _NUMBER.findall(written)}

    def holds(self, value: object) -> bool:
        """Whether every name and value in `value` is in the text, texts from quote to quote."""
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
