"""Takes a member's own name off what the member says, and stops where the words are another member's. Pure.

Models continue a transcript: they write their name before their words, and sometimes what others say next.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final

_TIME: Final = r"\d{1,3}:\d{2}(?::\d{2})?(?:\s?[ap]m)?"
_CLOCK: Final = rf"(?:[\[(]?{_TIME}[\])]?[ \t]*[,|\u2013-]?[ \t]*)?"
_AVATAR: Final = r"(?:[^\w\s*#@<>\"'\u201c\u2018\u00ab:.,;!?()\[\]\u2022\u2013\u2014-]{1,4}[ \t]*)?"
_MARK: Final = r"\*{1,3}|_{1,3}|`|</?(?:b|strong|em|i|u)>"
_UNSEEN: Final = "[\u200b-\u200f\u2060\ufeff]*"
_ASIDE: Final = (
    rf"(?:[ \t]*(?:\([^()\n]{{1,80}}\)|\[[^\[\]\n]{{1,80}}\]|\*[^*\n]{{1,40}}\*|(?:,|@|[ \t]at)[ \t]*{_TIME})){{0,2}}"
    r"(?:[ \t]+(?:says|writes|replies|responds|answers|asks|adds|(?P<past>said|wrote)))?"
)
_OPENED: Final = "[\"'\u201c\u201e\u00ab]"
_CLOSED: Final = "[\"'\u201d\u201c\u00bb]"
_ROLES: Final[Mapping[str, str]] = {"assistant": "", "user": "User", "human": "Human", "system": "System"}
"""Names that chat templates give speakers; the assistant is the member."""
_BEGINS: Final = re.compile(
    r"\A\s*(?:<\|im_start\|>assistant|<\|start_header_id\|>assistant<\|end_header_id\|>|<start_of_turn>model)\s*"
)
_ENDS: Final = re.compile(
    r"<\|(?:im_end|im_start|eot_id|eom_id|end_of_text|endoftext|start_header_id)\|>|<(?:start|end)_of_turn>|</s>|\[/?INST\]"
)
"""Marks of chat templates: a turn begins or ends there."""
_TRAILING: Final = re.compile(r"(?:\s|<br ?/?>|\\n)+\Z")
_BREAK: Final = re.compile(r"(?<=<br>)|(?<=<br/>)|(?<=<br />)|(?<=\\n)")
_YOU: Final = "you"
_COLON: Final = "[:\uff1a]"
_SPEAKERS: Final = frozenset({"speaker", "name", "author", "from", "sender", "character", "participant"})
_NAMES: Final = ("name", "quoted", "angle", "bracket", "bar", "bold", "title", "owner", "object", "from")
"""The groups of the pattern that hold a name."""
_AMOUNT: Final = re.compile(r"[^\w\n]{0,3}\d[\d.,]*[^\w\n]{0,3}(?:\w+[^\w\n]{0,3})?\s*")


@dataclass(frozen=True, slots=True)
class OwnWords:
    """The words that are the member's own; empty when none are.

    `had_name`: the member's own name was before words. `of_another`: the member in whose name the rest was.
    """

    text: str
    had_name: bool = False
    of_another: str | None = None


def own_words(text: str, own: Collection[str], others: Collection[str]) -> OwnWords:
    """The words of a text that are the member's, who is known by the names `own`; `others`: the other members' names.

    A name counts at the beginning of a line, before a colon: plain, bold, in brackets or quotes, beside a clock, or in
    a quotation. It also counts as `<Ben>`, as a heading, and in bold before a dash. In a list it does not: "- Ben: for
    it" is what the member says about Ben, as is "Ben said: for it". Nor does it where successive lines give amounts to
    several members, or say something of each after a line that ends with a colon.
    """
    kinds = {name.casefold(): name for name in others if name.strip()}
    kinds.update(dict.fromkeys((name.casefold() for name in own if name.strip()), ""))
    if not kinds:
        return OwnWords(text)
    kinds = {**_ROLES, **kinds}
    turn = _own_turn(text)
    if not turn and text.strip():
        return OwnWords("", of_another="the user")
    text = turn
    head, had_name = _head(frozenset(kinds)), False
    kept: list[str] = []
    lines = text.splitlines(keepends=True)
    if "<br" in text or "\\n" in text:
        lines = [part for line in lines for part in _BREAK.split(line)]
    listed = _lists_in(lines, head)
    for number, line in enumerate(lines):
        words = line
        while number not in listed and (found := head.match(words)):
            named = _name_in(found)
            other = kinds.get(named, "" if named == _YOU else named)
            if other and found["past"]:
                break
            if other:
                return OwnWords(_TRAILING.sub("", "".join(kept)).strip(), had_name, other)
            words, had_name = _without_closing_tag(words[found.end() :], found["angle"]), True
        kept.append(words)
    return OwnWords("".join(kept).strip(), had_name=True) if had_name else OwnWords(text)


def other_speaker(written: Mapping[str, object], own: Collection[str], others: Collection[str]) -> str | None:
    """The other member whom an object names as its speaker, as in `{"speaker": "Ben", "message": "hi"}`."""
    mine = {name.casefold() for name in own}
    known = {name.casefold(): name for name in others if name.strip() and name.casefold() not in mine}
    for name, part in written.items():
        if name.casefold() in _SPEAKERS and isinstance(part, str) and part.strip().casefold() in known:
            return known[part.strip().casefold()]
    return None


def _own_turn(text: str) -> str:
    """The text up to where a chat template would give the turn to another."""
    return text if _ENDS.search(text) is None else _ENDS.split(_BEGINS.sub("", text), maxsplit=1)[0].strip()


def _without_closing_tag(words: str, tag: str | None) -> str:
    return words if tag is None else re.sub(rf"</{re.escape(tag)}>\s*\Z", "", words)


def _lists_in(lines: Sequence[str], head: re.Pattern[str]) -> frozenset[int]:
    """The lines that say something about members, one after another, in the words of the author."""
    found: set[int] = set()
    for is_head, numbers in groupby(range(len(lines)), lambda number: _is_entry(lines[number], head)):
        run = list(numbers)
        heads = [match for number in run if (match := head.match(lines[number])) is not None]
        if not is_head or len({_name_in(match) for match in heads}) < 2:
            continue
        before = next((one for one in reversed(lines[: run[0]]) if one.strip()), "")
        if before.rstrip().endswith((":", "\uff1a")) or all(
            _AMOUNT.fullmatch(one.string[one.end() :]) for one in heads
        ):
            found.update(run)
    return frozenset(found)


def _name_in(found: re.Match[str]) -> str:
    name = next(name for group in _NAMES if (name := found[group]))
    return re.sub(_UNSEEN, "", name).casefold()


def _is_entry(line: str, head: re.Pattern[str]) -> bool:
    return head.match(line) is not None and not line.rstrip().endswith((":", "\uff1a"))


@lru_cache(maxsize=4096)
def _head(names: frozenset[str]) -> re.Pattern[str]:
    """The beginning of a line that says whose words follow, also in the form in which prompts show transcripts."""
    listed = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    whom = rf"(?:[ \t]*(?:->|\u2192|[ \t]to[ \t])[ \t]*(?:{listed}|all|everyone|you))?"
    listed = rf"{_UNSEEN}(?:{listed}){_UNSEEN}"
    spoken = (
        rf"(?:(?:#{{1,6}}|[=\u2013\u2014-]{{2,6}}|\|)[ \t]*)?(?P<outer>{_MARK})?{_CLOCK}{_AVATAR}(?P<inner>{_MARK})?"
        rf"[\[(]?(?P<name>{listed})[\])]?(?:{_MARK})?{whom}{_ASIDE}(?:{_MARK})?[ \t]*{_COLON}"
        rf"(?(outer)(?:{_MARK})?|(?(inner)(?:{_MARK})?))"
        rf"|{_OPENED}(?P<quoted>{listed}){_CLOSED}[ \t]*{_COLON}"
        rf"|{_CLOCK}(?:<|&lt;)(?P<angle>{listed})(?:>|&gt;){_COLON}?"
        rf"|\[(?P<bracket>{listed})(?:,[ \t]*{_TIME})?\](?=[ \t]+\S)"
        rf"|(?:\|[ \t]*)?(?P<bar>{listed})[ \t]?[>|\u00bb](?=[ \t])"
        rf"|(?P<mark>\*\*|__){_AVATAR}(?P<bold>{listed})(?P=mark)[ \t]*(?:[\u2013\u2014-]+(?=[ \t])|$)"
        rf"|(?:#{{1,6}}|={{2,}}|-{{2,}})[ \t]+[*_]*{_AVATAR}(?P<title>{listed})[*_]*[ \t]*{_COLON}?[*_]*[ \t]*"
        rf"[=-]*[ \t]*$"
        rf"|[#*_\[ \t]*(?P<owner>{listed})['\u2019]s[ \t]+(?:turn|reply|response|message)[*_\]]*[ \t]*"
        rf"(?:{_COLON}[*_]*|$)"
        rf"|\{{[ \t]*(?:[\"'](?:speaker|name|from|author)[\"'][ \t]*:[ \t]*)?[\"'](?P<object>{listed})[\"'][ \t]*[:,]"
    )
    shown = rf"\[(?:\d{{1,3}}:\d{{2}}, )?from (?P<from>{listed}|{_YOU}|the system)(?![\w-])[^\]\n]*\]{_COLON}?"
    return re.compile(rf"(?:[ \t]*>){{0,3}}[ \t]*(?:{spoken}|{shown})[ \t]*", re.IGNORECASE | re.MULTILINE)
