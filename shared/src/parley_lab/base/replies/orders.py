"""Reads an order of options, by the ranks that a reply gives them, or by the place in which it writes them. Pure.

An order that may be read in two ways is none: ranks count wherever they are written, and each rank is given once.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from parley_lab.base.replies import spellings

_RANK_NAMES: Final = frozenset(
    {"rank", "ranking", "place", "position", "order", "number", "no", "nr", "rang", "platz", "puesto"}
)
_ORDINALS: Final = {
    word: number
    for words in (
        "first second third fourth fifth sixth seventh eighth ninth tenth",
        "erster zweiter dritter vierter fünfter sechster siebter achter neunter zehnter",
        "primero segundo tercero cuarto quinto sexto séptimo octavo noveno décimo",
    )
    for number, word in enumerate(words.split(), 1)
}
_BEFORE_RANK: Final = r"(?:(?:rank|place|position|rang|platz|puesto|number|no\.?|nr\.?)[\s_]*)?#?[\s_]*"
_RANK: Final = re.compile(rf"{_BEFORE_RANK}(?P<rank>\d{{1,3}})(?:st|nd|rd|th|[.º°ª):])?", re.IGNORECASE)
_SIGNS: Final = r"[*_~`]*"
_NUMBERED: Final = re.compile(
    rf"(?:(?<=[\s,;])|\A)[-*\u2022(]?[ \t]*{_SIGNS}{_BEFORE_RANK}(?P<rank>\d{{1,3}})"
    rf"(?:(?:st|nd|rd|th)?[.):=\u2013\u2014-]|(?:st|nd|rd|th)(?=\s)|(?<=#\d)(?=\s)){_SIGNS}[ \t]*",
    re.IGNORECASE,
)
"""A rank before what has it: "2. pears", "(2) pears", "#2: pears"."""
_RANK_AFTER: Final = re.compile(
    rf"(?P<item>.+?)\s*(?:[:=]|\(|\s[-\u2013\u2014]+\s)\s*{_BEFORE_RANK}(?P<rank>\d{{1,3}})(?:st|nd|rd|th|[.º°ª])?\)?",
    re.IGNORECASE,
)
"""A rank after what has it: "pears: 2", "pears (2nd)"."""
_BETWEEN: Final = re.compile(r"[,;\n]|\s?(?:>|\u227b|\u2192|->)\s?")
_BULLET: Final = re.compile(r"\A\s*(?:[-*\u2022\u2013]\s+)?")
_REMARK: Final = re.compile(r"\s[-\u2013\u2014]+\s|[:(,]")
_AROUND: Final = " \t\n,;."


def order(value: object, words: Mapping[str, str]) -> list[str] | None:
    """The ids of these options in the order that a value gives them, the best first; None without a plain one.

    words: what each option says, by its id.
    """
    found = [one for one in _orders(value, words) if one is not None]
    return found[0] if found and all(one == found[0] for one in found) else None


def _orders(value: object, words: Mapping[str, str]) -> Iterator[list[str] | None]:
    """Yield the order in each way in which it may be written."""
    if isinstance(value, str):
        text = spellings.bare(value)
        yield _by_rank(_numbered_in(text, words))
        parts = [_BULLET.sub("", part) for part in _BETWEEN.split(text) if part.strip()]
        yield _by_rank([_with_rank_after(part, words) for part in parts])
        yield _by_place(parts, words)
    elif isinstance(value, Mapping):
        yield _by_rank([(_rank(name), spellings.option(part, words)) for name, part in value.items()])
        yield _by_rank([(_rank(part), spellings.option(name, words)) for name, part in value.items()])
    elif isinstance(value, list):
        ranked = [_read_entry(one, words) for one in value]
        yield _by_rank(ranked)
        if all(rank is None for rank, _ in ranked):
            yield _by_place(value, words)


def _by_rank(ranked: Sequence[tuple[int | None, str | None]]) -> list[str] | None:
    """The options by their ranks; None unless these are 1, 2, 3 and so on, each once."""
    by_rank = {rank: item for rank, item in ranked if rank is not None and item is not None}
    if not ranked or len(by_rank) < len(ranked) or set(by_rank) != set(range(1, len(by_rank) + 1)):
        return None
    return [by_rank[rank] for rank in sorted(by_rank)]


def _by_place(parts: Sequence[object], words: Mapping[str, str]) -> list[str] | None:
    found = [spellings.option(part, words) for part in parts]
    items = [one for one in found if one is not None]
    return items if len(items) == len(found) else None


def _read_entry(value: object, words: Mapping[str, str]) -> tuple[int | None, str | None]:
    """The rank and the option in one entry of a list."""
    if isinstance(value, str):
        if spellings.option(value, words) is not None:
            return None, None
        text = spellings.bare(value)
        numbered = _numbered_in(text, words)
        return numbered[0] if len(numbered) == 1 else _with_rank_after(text, words)
    if isinstance(value, list):
        ranks, items = [_rank(one) for one in value], [spellings.option(one, words) for one in value]
        return (ranks[0], items[1]) if len(value) == 2 and items[0] is None else (None, None)
    if not isinstance(value, Mapping):
        return None, None
    if len(value) == 1:
        ((name, part),) = value.items()
        return next(
            (
                (_rank(rank), item)
                for rank, one in ((name, part), (part, name))
                if (item := spellings.option(one, words))
            ),
            (None, None),
        )
    places = {_rank(part) for name, part in value.items() if str(name).casefold() in _RANK_NAMES}
    named = {spellings.option(part, words) for name, part in value.items() if str(name).casefold() not in _RANK_NAMES}
    named.discard(None)
    return (places.pop() if len(places) == 1 else 0 if places else None), (named.pop() if len(named) == 1 else None)


def _numbered_in(text: str, words: Mapping[str, str]) -> list[tuple[int | None, str | None]]:
    """The ranks before options in a text, such as "2. pears 1. plums"."""
    marks = [*_NUMBERED.finditer(text)]
    if not marks or text[: marks[0].start()].strip(_AROUND):
        return []
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return [(int(mark["rank"]), _item(text[mark.end() : end], words)) for mark, end in zip(marks, ends, strict=True)]


def _with_rank_after(part: str, words: Mapping[str, str]) -> tuple[int | None, str | None]:
    found = _RANK_AFTER.fullmatch(part.strip(_AROUND))
    return (None, None) if found is None else (int(found["rank"]), spellings.option(found["item"], words))


def _item(part: str, words: Mapping[str, str]) -> str | None:
    """The option of this part, also before a remark: "pears - they are sweet"."""
    text = part.strip(_AROUND)
    found = spellings.option(text, words)
    return found if found is not None else spellings.option(_REMARK.split(text, maxsplit=1)[0], words)


def _rank(value: object) -> int | None:
    if isinstance(value, bool):
        return None
    if isinstance(value, int | float):
        return int(value) if float(value).is_integer() else None
    if not isinstance(value, str):
        return None
    text = spellings.bare(value).casefold()
    found = _RANK.fullmatch(text)
    return int(found["rank"]) if found else _ORDINALS.get(text)
