"""How a name looks: whether it can be seen, and whether a reader can tell it from another one. Pure.

Two names are alike without regard to capitals, width, spaces, characters that show nothing, and letters of Greek and
Cyrillic that look like Latin ones. The pairs of letters are those of Unicode's table of confusables (UTS 39) that
people can type; a name that is taken for another one without need costs a number behind it, and no more.
"""

import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from itertools import chain, count
from typing import Final

# Fillers and selectors that count as letters, marks or symbols, and show nothing (Default_Ignorable_Code_Point).
_SHOW_NOTHING: Final = frozenset(
    (
        *"\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180e\u180f\u2800\u3164\uffa0",
        *map(chr, range(0xFE00, 0xFE10)),
        *map(chr, range(0xE0100, 0xE01F0)),
    )
)
# Cyrillic, Greek, Armenian, and what looks alike in Latin itself.
_SMALL: Final = str.maketrans(
    "\u0430\u0441\u0435\u043e\u0440\u0455\u0456\u0457\u0458\u0443\u0445\u04bb\u04cf\u0501\u051b\u051d\u0475"
    "\u043a\u043c\u043d\u0442\u0432"
    "\u03b1\u03b2\u03b5\u03b9\u03ba\u03bd\u03bf\u03c1\u03c4\u03c5\u03c7\u03b3\u03b7\u03c9"
    "\u0575\u0585\u057d\u0578"
    "0l1|",
    "aceopsiijyxhidqwvkmhtbabeikvoptuxynwjounoiii",
)
_CAPITAL: Final = str.maketrans(
    "\u0410\u0412\u0421\u0415\u041d\u0406\u0407\u0408\u041a\u041c\u041e\u0420\u0405\u0422\u0423\u0425\u04ae"
    "\u0474\u051c\u051a"
    "\u0391\u0392\u0395\u0396\u0397\u0399\u039a\u039c\u039d\u039f\u03a1\u03a4\u03a5\u03a7"
    "\u0555\u054d"
    "0",
    "ABCEHIIJKMOPSTYXYVWQABEZHIKMNOPTYXOUO",
)


def is_seen(name: str) -> bool:
    """Whether anything of the name can be seen."""
    return any(unicodedata.category(one)[0] in "LNPS" for one in _visible_part(name))


@lru_cache(maxsize=4096)
def looks_of(name: str) -> frozenset[str]:
    """How the name looks, in small letters and in capitals; two names are alike if they have a look in common."""
    shown = _visible_part(name)
    return frozenset({shown.casefold().translate(_SMALL), shown.upper().translate(_CAPITAL)})


def told_apart(name: str, others: Iterable[str]) -> str:
    """The name, with the first number from 2 behind it that tells it from those of all others."""
    taken = {look for other in others for look in looks_of(other)}
    numbered = (_with_number(name, number) for number in count(2))
    return next(one for one in chain([name], numbered) if looks_of(one).isdisjoint(taken))


def is_told_apart_from(name: str, own: str) -> bool:
    """Whether the name is this other one with a number behind it, as `told_apart` puts it there."""
    number = name.removeprefix(own).strip(" ()")
    return number.isdecimal() and int(number) > 1 and name == _with_number(own, int(number))


def _with_number(name: str, number: int) -> str:
    return f"{name} ({number})" if name[-1:].isdigit() else f"{name} {number}"


def _visible_part(name: str) -> str:
    """The characters that show something, each in its usual width, and single spaces between words."""
    usual = unicodedata.normalize("NFKC", "".join(one for one in name if one not in _SHOW_NOTHING))
    visible = (one for one in usual if one.isspace() or unicodedata.category(one)[0] != "C")
    return " ".join("".join(visible).split())
