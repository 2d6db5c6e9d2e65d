"""Takes a member's own name off what the member says, and stops where the words are another member's. Pure.

Models continue a transcript: they write their name before their words, and sometimes what others say next.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import groupby
from typing import Final

_CLOCK: Final = r"(?:[\[(]?\d{1,3}:\d{2}(?::\d{2})?(?:\s?[ap]m)?[\])]?[ \t]*[,|]?[ \t]*)?"
_AVATAR: Final = r"(?:[^\w\s*#>\"'\u201c\u2018\u00ab:.,;!?()\[\]\u2022\u2013\u2014-]{1,4}[ \t]*)?"
_BOLD: Final = r"(?:\*{1,3}|_{1,3}|`)?"
_ASIDE: Final = (
    r"(?:[ \t]*\((?:you|me|to [^()\n]{1,80})\))?(?:[ \t]*\[answering[^\]\n]*\])?"
    r"(?:[ \t]+(?:says|said|writes|wrote))?"
)
_YOU: Final = "you"
_COLON: Final = "[:\uff1a]"
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

    A name counts at the beginning of a line, before a colon: plain, bold, in brackets, or after a clock. In a list it
    does not: "- Ben: for it" is what the member says about Ben. Nor does it where successive lines give amounts to
    several members, or say something of each after a line that ends with a colon.
    """
    kinds = {name.casefold(): name for name in others if name.strip()}
    kinds.update(dict.fromkeys((name.casefold() for name in own if name.strip()), ""))
    if not kinds:
        return OwnWords(text)
    head, had_name = _head(frozenset(kinds)), False
    kept: list[str] = []
    lines = text.splitlines(keepends=True)
    listed = _lists_in(lines, head)
    for number, line in enumerate(lines):
        words = line
        while number not in listed and (found := head.match(words)):
            named = (found["name"] or found["from"]).casefold()
            other = kinds.get(named, "" if named == _YOU else named)
            if other:
                return OwnWords("".join(kept).strip(), had_name, other)
            words, had_name = words[found.end() :], True
        kept.append(words)
    return OwnWords("".join(kept).strip(), had_name=True) if had_name else OwnWords(text)


def _lists_in(lines: Sequence[str], head: re.Pattern[str]) -> frozenset[int]:
    """The lines that say something about members, one after another, in the words of the author."""
    found: set[int] = set()
    for is_head, numbers in groupby(range(len(lines)), lambda number: _is_entry(lines[number], head)):
        run = list(numbers)
        heads = [match for number in run if (match := head.match(lines[number])) is not None]
        if not is_head or len({(match["name"] or match["from"]).casefold() for match in heads}) < 2:
            continue
        before = next((one for one in reversed(lines[: run[0]]) if one.strip()), "")
        if before.rstrip().endswith((":", "\uff1a")) or all(
            _AMOUNT.fullmatch(one.string[one.end() :]) for one in heads
        ):
            found.update(run)
    return frozenset(found)


def _is_entry(line: str, head: re.Pattern[str]) -> bool:
    return head.match(line) is not None and not line.rstrip().endswith((":", "\uff1a"))


@lru_cache(maxsize=4096)
def _head(names: frozenset[str]) -> re.Pattern[str]:
    """The beginning of a line that says whose words follow, also in the form in which prompts show transcripts."""
    listed = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
    spoken = rf"{_BOLD}{_CLOCK}{_AVATAR}{_BOLD}[\[(]?(?P<name>{listed})[\])]?{_ASIDE}{_BOLD}[ \t]*{_COLON}{_BOLD}"
    shown = rf"\[(?:\d{{1,3}}:\d{{2}}, )?from (?P<from>{listed}|{_YOU}|the system)(?![\w-])[^\]\n]*\]{_COLON}?"
    return re.compile(rf"[ \t]*(?:{spoken}|{shown})[ \t]*", re.IGNORECASE)
