"""Finds the JSON object in the text of a model's reply; its schema decides whether the object is valid.

Thoughts come off first. The last of several different objects counts: models write drafts before their answer.
A repair may correct the syntax of an object, not its content: it adds nothing that the text does not have, and an
object that was cut off is not completed.
"""

import json
import math
import re
from collections import Counter
from collections.abc import Collection, Iterator
from typing import Any, Final

import json_repair
import orjson

from parley_lab.base.replies import ANSWER_NAMES, after_thoughts, in_letters, without_lines_of_thoughts

_FENCED: Final = re.compile(r"```[a-zA-Z]*\s*\n(.*?)```", re.DOTALL)
_MARK: Final = re.compile(r'\\.|["{}]', re.DOTALL)
_ESCAPE: Final = re.compile(r"\\(u[0-9a-fA-F]{4}|.)", re.DOTALL)
_TEXT_OR_WRITTEN_SPACE: Final = re.compile(r'("(?:\\.|[^"\\])*")|\\[nrt]', re.DOTALL)
_ALONE: Final = r"(?=\s*(?:[,}\]/#\\\"'\u201c]|$))"
# A number among other signs, such as `5 million`, is another one.
_NUMBER: Final = re.compile(
    rf"(?<![\w.<>~\u2248\u2212\u2013-])(?<![\d\u2212\u2013-]\s)(-?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?+){_ALONE}"
)
_CONSTANTS: Final = {
    True: re.compile(rf"\btrue\b{_ALONE}", re.I),
    False: re.compile(rf"\bfalse\b{_ALONE}", re.I),
}
_NOTHING: Final = re.compile(rf"\b(?:null|none)\b{_ALONE}", re.I)
_QUOTES: Final = "[\"'\u201c\u201d]"
_NAME: Final = rf"(?:{_QUOTES}[^\"\n]{{1,80}}{_QUOTES}|[\w.-]+)\s*[:=]"
# A value without quotes, such as `5 tokens`: what is before it, the value, or a text to pass over.
_BARE_VALUE: Final = re.compile(
    r"""("(?:\\.|[^"\\])*"|(?<=[:\[,{\s])'(?:\\.|[^'\\])*')"""
    r"""|(:\s*+|[\[,]\s*+(?![^,\[\]}\n]{0,200}:))"""
    r"""([^\s"'\u201c\u201d\[\]{},:/#][^\s"\[\]{},]*(?:[ \t]+[^\s"\[\]{},/#][^\s"\[\]{},]*)*)(?=\s*(?:[,}\]\n/#]|$))"""
)
_PLAIN: Final = re.compile(r"[+-]?(?:\d++(?:\.\d*+)?|\.\d++)(?:[eE][+-]?\d++)?")
_HAS_NUMBER_OR_CONSTANT: Final = re.compile(r"\d|^(?:true|false|null|none)\W", re.I)
_BEGINNING: Final = re.compile(rf"\{{\s*{_QUOTES}[^\"'\n]{{1,80}}{_QUOTES}\s*:")
_MOST_REPAIRED: Final = 100_000
"""Characters. To look for each name and value in a longer object would take seconds."""
_ANY_QUOTE: Final = re.compile(_QUOTES)
_OPENS: Final = re.compile(rf"(?<!\\){_QUOTES}")
_ENDS_NAME: Final = re.compile(rf"{_QUOTES}\s*:")
_ENDS_ANY_NAME: Final = re.compile(rf"(?:{_QUOTES}|\\)*\s*[:=]")
# After a text that is no part of a list come a name or the end: what else is quoted belongs to the text.
_ENDS_VALUE: Final = re.compile(rf"{_QUOTES}\s*(?:,?\s*(?:[}}\]/#]|{_NAME}))")
_ENDS_LISTED: Final = re.compile(rf"{_QUOTES}\s*(?:[,}}\]/#]|{_QUOTES})")
_CLOSING: Final = " \t\r\n}]`"
"""Characters that may be between an object and a brace too many."""
_ALTERNATIVE: Final = re.compile(r"\}\s*,?\s*(?:or|oder|ou|o|/)\s*\{", re.I)
_DEFINITIONS: Final = ("type", "$ref", "enum", "anyOf", "const", "description")


class Unreadable(ValueError):
    """The text has an object, and it is not plain what it says; the message says why."""


def parse_object(text: str, fields: Collection[str] = ()) -> dict[str, Any] | None:
    """The JSON object in `text`: the whole text, or the last object among words. None when there is none.

    Objects without any of the `fields`, or names that mean one, do not count where another one has some. An echoed
    schema of the reply is no reply.

    Raises:
        OpenThought: a thought never ends.
        Unreadable: an object gives a name twice with different values, or another one follows that was cut off.
    """
    whole = _load(text)
    if whole is not None:
        return None if _is_schema(whole, fields) else whole
    said = without_lines_of_thoughts(after_thoughts(text))
    listed = _list_of_objects(said)
    if listed is not None:
        return listed[0] if len(listed) == 1 else {"answers": listed}
    found = [one for one in _objects(said) if not _is_schema(one, fields)]
    replies = [one for one in found if _has_any(one, ANSWER_NAMES.union(map(in_letters, fields)))]
    if len(replies) > 1 and replies[-1] != replies[-2] and _ALTERNATIVE.search(said):
        raise Unreadable("it gives two objects to choose from")
    return next(reversed(replies or found), None)


def _list_of_objects(text: str) -> list[dict[str, Any]] | None:
    """The objects of which the text is a list."""
    fenced = _FENCED.fullmatch(text.strip())
    written = (fenced[1] if fenced else text).strip()
    if not written.startswith("["):
        return None
    try:
        value = orjson.loads(written)
    except orjson.JSONDecodeError:
        return None
    is_listed = isinstance(value, list) and bool(value) and all(isinstance(one, dict) for one in value)
    return value if is_listed else None


def _has_any(found: dict[str, Any], fields: Collection[str]) -> bool:
    return any(
        in_letters(name) in fields or (isinstance(part, dict) and _has_any(part, fields))
        for name, part in found.items()
    )


def _objects(text: str) -> list[dict[str, Any]]:
    whole = _load(text)
    if whole is not None:
        return [whole]
    # Words before a fence may have a brace that never closes.
    return list(_read(text)) or [one for inside in _FENCED.finditer(text) for one in _read(inside.group(1))]


def _read(text: str) -> Iterator[dict[str, Any]]:
    for written in _written_objects(text):
        found = _load(written)
        if found is None:
            found = _repair(written)
        if found is not None:
            yield found


def _written_objects(text: str) -> Iterator[str]:
    """Yield every outermost `{...}`. One that is never closed ends the search: an object inside it is no reply.

    Raises:
        Unreadable: the one that is never closed, or the end of one, comes after others, which may be drafts of it.
    """
    depth = start = count = end = 0
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
                    count, end = count + 1, mark.end()
                    yield text[start:end]
            case "}" if count and not depth and text[end : mark.start()].strip(_CLOSING):
                raise Unreadable("a part of an object is left over")
    if depth and count and _BEGINNING.match(text, start):
        raise Unreadable("its last object was cut off")


def _load(text: str) -> dict[str, Any] | None:
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        return None
    if not isinstance(value, dict):
        return None
    json.loads(text, object_pairs_hook=_without_doubles)
    return value


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        for name, value in pairs:
            if found[name] != value:
                raise Unreadable(f"it gives {name[:60]!r} twice, with different values")
    return found


def _repair(written: str) -> dict[str, Any] | None:
    """The object with its syntax repaired; None when the repair would add to it, leave out, or cut a text short."""
    if len(written) > _MOST_REPAIRED:
        return None
    spaced = _TEXT_OR_WRITTEN_SPACE.sub(lambda match: match.group(1) or " ", written)
    quoted, bare = _with_quotes(spaced)
    found = _read_repaired(quoted, quoted) if bare else None
    if found is not None and Counter(bare) <= Counter(_texts_in(found)) and not _leaves_out(found, written):
        return found
    found = _read_repaired(spaced, written)
    return None if found is None or _leaves_out(found, written) else found


def _read_repaired(text: str, source: str) -> dict[str, Any] | None:
    try:
        value = json_repair.loads(text)
        return value if isinstance(value, dict) and value and _Source(source).holds(value) else None
    except (ValueError, RecursionError, AssertionError):
        # The library asserts what some texts break.
        return None


def _with_quotes(text: str) -> tuple[str, list[str]]:
    """The text with quotes around values that have a number among other signs, and these values.

    The library would keep the number alone.
    """
    bare: list[str] = []

    def quote(match: re.Match[str]) -> str:
        passed, before, value = match.groups()
        if passed is not None or _PLAIN.fullmatch(value) or not _HAS_NUMBER_OR_CONSTANT.search(value):
            return match.group()
        bare.append(value)
        return before + json.dumps(value, ensure_ascii=False)

    return _BARE_VALUE.sub(quote, text), bare


def _texts_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts_in(part)


def _leaves_out(value: dict[str, Any], written: str) -> bool:
    """Whether a name is written more often than the object has it: the library keeps the last of several."""
    return any(
        sum(1 for _ in _find(name, written, _ENDS_NAME, opens=_OPENS)) > count
        for name, count in Counter(_names_in(value)).items()
    )


def _find(part: str, text: str, ends: re.Pattern[str], *, opens: re.Pattern[str] | None = None) -> Iterator[int]:
    """Yield where `part` is in the text, `ends` follows, and, if given, the one sign of `opens` is before it.

    A regular expression of each part would take a hundred times as long.
    """
    start = text.find(part)
    while start >= 0:
        is_open = opens is None or (start > 0 and opens.match(text, start - 1) is not None)
        if is_open and ends.match(text, start + len(part)):
            yield start
        start = text.find(part, start + 1)


def _names_in(value: object) -> Iterator[str]:
    if isinstance(value, dict):
        yield from value
    if isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _names_in(part)


class _Source:
    """The text from which an object was read."""

    def __init__(self, written: str) -> None:
        self._written = written
        self._unescaped = _ESCAPE.sub(_unescape, written)
        self._numbers = {float(number) for number in _NUMBER.findall(written)}

    def holds(self, value: object, *, is_listed: bool = False) -> bool:
        """Whether the text holds every name and value of `value`, texts with their quotes."""
        match value:
            case dict():
                return all(self._names(name) and self.holds(part) for name, part in value.items())
            case list():
                return all(self.holds(part, is_listed=True) for part in value)
            case str():
                return self._quotes(value, is_listed=is_listed)
            case bool():
                return _CONSTANTS[value].search(self._written) is not None
            case int() | float():
                return math.isfinite(value) and float(value) in self._numbers
        return value is None and _NOTHING.search(self._written) is not None

    def _names(self, name: str) -> bool:
        return any(True for _ in _find(name, self._unescaped, _ENDS_ANY_NAME))

    def _quotes(self, value: str, *, is_listed: bool) -> bool:
        ends = _ENDS_LISTED if is_listed else _ENDS_VALUE
        texts = (self._written, self._unescaped)
        return any(True for text in texts for _ in _find(value, text, ends, opens=_ANY_QUOTE))


def _unescape(escape: re.Match[str]) -> str:
    try:
        return str(json.loads(f'"{escape.group()}"'))
    except ValueError:
        return escape.group(1)


def _is_schema(found: dict[str, Any], fields: Collection[str]) -> bool:
    """Whether the object defines fields and gives them no values."""
    defined = found.get("properties")
    if "properties" in fields or found.get("type") != "object" or not isinstance(defined, dict):
        return False
    return all(isinstance(one, dict) and any(key in one for key in _DEFINITIONS) for one in defined.values())
