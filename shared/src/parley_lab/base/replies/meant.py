"""Finds the answer of a reply that has one, under another name than the one that was asked for. Pure.

An answer counts only where no other one is left: two values that differ are two readings.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

Json = Any
Read = Callable[[Json], Json]
"""Reads a value of the field; raises ValueError where it is none."""
Other = tuple[str, Json]
"""A name in plain letters that was not asked for, and its value."""

_WORDS: Final = "text reply response content message answer output say said words utterance speech"
_CHOICES: Final = """
choice decision selected selection selectedoption selectedaction chosen chosenoption move action answer answers
finalanswer value option result ranking order ordering pick finalchoice finaldecision myanswer mychoice
antwort entscheidung auswahl respuesta
"""
_ALSO: Final = """
ranks rank list letter number guess estimate rating score vote play output text reply response content message final
"""
_ASIDE: Final = """
reason reasons reasoning explanation rationale why thought thoughts thinking analysis confidence note notes comment
justification type kind
"""
WORDS: Final = frozenset(_WORDS.split())
"""Names under which models put their words."""
CHOICES: Final = frozenset(_CHOICES.split())
"""Names under which models put an answer; beside the field that was asked for, each must say the same."""
_MORE: Final = CHOICES.union(_ALSO.split())
"""All names that count where the field itself is missing."""
ANSWER_NAMES: Final = WORDS | _MORE
_REMARKS: Final = frozenset(_ASIDE.split())
_LINE: Final = re.compile(r"\s*(?:[-*\u2022+]\s+|\d{1,2}[.)]\s+)?(?P<name>[^:=\n]{1,80})\s*[:=]\s*(?P<said>.*)")
_NUMBERED: Final = re.compile(r"\s*[*_]*(?P<number>\d{1,2})[.)][*_]*\s+(?P<said>\S.*)")
_MARKS: Final = re.compile(r"\A[\s*_`]+|[\s*_`]+\Z")


def answer_under_other_names(given: Json, others: Sequence[Other], read: Read, *, is_words: bool) -> Json:
    """The value of the one field that answers, from what it has itself and from other names; None without any.

    Raises:
        ValueError: there are two readings.
    """
    names = WORDS if is_words else CHOICES if given is not None else _MORE
    found = [part for name, part in others if name in names and part is not None and part != ""]
    readings = [(part, value) for part in found if (value := _read_or_none(part, read)) is not None]
    if given is not None:
        own = _read_or_none(given, read) if readings else None
        # A text beside a list may say which way round it is, such as "the worst first".
        is_turned = isinstance(own if readings else given, list) and len(readings) < len(found)
        if is_turned or (own is not None and any(value != own for _, value in readings)):
            raise ValueError("it gives two different answers")
        return given
    if any(value != readings[0][1] for _, value in readings):
        raise ValueError("it gives two different answers")
    return readings[0][0] if readings else found[0] if len(found) == 1 else None


def without_remarks(value: Mapping[str, Json], letters: Callable[[str], str]) -> dict[str, Json]:
    """An object that may be the answer itself, such as the ranks of items."""
    return {name: part for name, part in value.items() if letters(name) not in _REMARKS}


def _read_or_none(part: Json, read: Read) -> Json:
    try:
        return read(part)
    except ValueError:
        return None


def read_lines(text: str, names: Mapping[str, str], letters: Callable[[str], str]) -> dict[str, str] | None:
    """The answers in a list of lines that each name a field, or count them; None where the text has anything else.

    names: the fields in their order, by every way in which they may be written. A line that ends with a colon may come
    before the list.
    """
    lines = [line for line in text.splitlines() if line.strip() and not line.strip().startswith("```")]
    fields = list(dict.fromkeys(names.values()))
    if lines and len(lines) == len(fields) + 1 and lines[0].rstrip(" *_").endswith((":", "\uff1a")):
        lines = lines[1:]
    if len(lines) != len(fields) or not fields:
        return None
    return _read_named(lines, names, letters) or (_read_counted(lines, fields) if len(fields) > 1 else None)


def _read_named(lines: Iterable[str], names: Mapping[str, str], letters: Callable[[str], str]) -> dict[str, str] | None:
    found: dict[str, str] = {}
    for line in lines:
        match = _LINE.fullmatch(line)
        name = names.get(letters(match["name"])) if match else None
        if match is None or name is None or name in found:
            return None
        found[name] = _MARKS.sub("", match["said"])
    return found


def _read_counted(lines: Sequence[str], fields: Sequence[str]) -> dict[str, str] | None:
    found = [_NUMBERED.fullmatch(line) for line in lines]
    if any(one is None or int(one["number"]) != place for place, one in enumerate(found, 1)):
        return None
    return {name: _MARKS.sub("", one["said"]) for name, one in zip(fields, found, strict=True) if one is not None}
