"""One table of the spellings in which a model's reply means one thing: yes and no, numbers, options, and marks. Pure.

Each reader returns what a text means, or None where it means nothing or could mean two things. It reads a text that
*is* an answer, never one that mentions it: "I choose 8." is none.
"""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from typing import Final

from parley_lab.base.replies.labels import answer_after_labels
from parley_lab.base.replies.thoughts import before_open_thought

_YES: Final = frozenset({"yes", "y", "true", "1", "ja", "oui", "sí", "si", "sì", "sim", "да", "是", "はい", "예"})
_NO: Final = frozenset({"no", "n", "false", "0", "nein", "nee", "non", "não", "нет", "否", "いいえ", "아니요"})

_CHECKED: Final = frozenset("\u2713\u2714\u2705\u2611")
_CROSSED: Final = frozenset("\u2717\u2718\u274c\u2610")
_WITH_REMARK: Final = re.compile(r"([^\W\d_]+)\s*[,;.!:\u2014\u3002\uff0c-]\s*(\S.*)", re.DOTALL)
"""A word and what follows it: "Yes, I am"."""

_QUOTES: Final = (
    "'\"`\u00b4\u2018\u2019\u201a\u201b\u201c\u201d\u201e\u201f\u00ab\u00bb\u2039\u203a\u300c\u300d\u300e\u300f"
)
_FENCE: Final = re.compile(r"\A(?:```|~~~)[\w-]*[ \t]*\n?(.*?)\n?[ \t]*(?:```|~~~)\Z", re.DOTALL)
_TAG: Final = re.compile(
    r"\A<(answer|final_answer|response|reply|output|result)>(.*)</\1>\Z", re.DOTALL | re.IGNORECASE
)
_MATH: Final = re.compile(
    r"\A(?:\\boxed|\\fbox|\\text|\\textbf|\\mathbf|\\mathrm|\\mathit)\s*\{(.*)\}\Z"
    r"|\A\$\$(.+)\$\$\Z|\A\$([^$]+)\$\Z|\A\\\((.+)\\\)\Z|\A\\\[(.+)\\\]\Z",
    re.DOTALL,
)
_PAIRS: Final = {"(": ")", "[": "]", "{": "}", "<": ">", "\u3010": "\u3011"}
_AROUND: Final = re.compile(r"\A(\*{1,3}|_{1,3}|~~)(?=\S)(.+?)(?<=\S)\1\Z", re.DOTALL)
_HEADING: Final = re.compile(r"\A#{1,6}[ \t]+")
_LABEL: Final = re.compile(
    r"\A(?:[*_#>\s]*)(?:(?:my|the|our|your|final|last|overall|so|therefore)[,\s]+){0,3}"
    r"(?:answer|response|reply|choice|option|decision|rating|score|number|value|result|estimate|guess|vote|"
    r"ranking|order|rangfolge|reihenfolge|"
    r"antwort|réponse|respuesta|risposta|resposta|odpowied\u017a|antwoord|svar|ответ|答案|回答|答え|답)"
    r"\s*(?:\*\*|__|\*|_)?\s*[:=\uff1a]\s*(?:\*\*|__|\*|_)?\s*",
    re.IGNORECASE,
)
_GROUPED: Final = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]+)?")
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,3})?")
_OUT_OF: Final = re.compile(r"(?P<number>.+?)\s*(?:/|\bout of\b|\bvon\b|\bsur\b)\s*(?P<all>[0-9.,]+)\Z", re.IGNORECASE)
_WITH_UNIT: Final = re.compile(
    r"(?P<sign>[+-]?)(?P<before>[^\W\d_]+\$?|[$€£¥₹%])?\s*(?P<number>[0-9][0-9.,]*)\s*(?P<after>[^\W\d_]+\.?|[$€£¥₹%])?\Z"
)
_IN_PLACE: Final = re.compile(
    r"\A(?:option|choice|answer|letter)\s+(.+)\Z|\A(\w{1,3})[):]\Z", re.IGNORECASE | re.DOTALL
)
"""How a list names an option: "Option y", "y)"."""
_IN_LIST: Final = re.compile(r"\A\s*(?:[-*+\u2022]|\d{1,2}[.)])\s+")
_REASON: Final = re.compile(
    r"(?P<said>.+?)[\s,;.\u2013\u2014-]+(?P<word>because|since|weil|porque|parce que|ya que)\b.*",
    re.DOTALL | re.IGNORECASE,
)
"""An answer and the reason for it: "8, because 7 is too few"."""
_SAID_AGAIN: Final = re.compile(
    r"(?P<number>[^\s(]+)\s*(?:\((?P<inside>[^()]*)\)|\s[-\u2013\u2014]\s*(?P<after>\D+))\Z"
)
"""A number and what it stands for: "7 (strongly agree)", "7 - strongly agree"."""
_VALUE_NAMES: Final = frozenset(
    {"value", "answer", "response", "reply", "id", "option", "choice", "selected", "selection", "number", "rating"}
    | {"score", "text", "label", "message", "content"}
)
"""Names under which models put the answer to one question beside remarks."""
_LONGEST: Final = 400
_NO_UNIT: Final = (
    *("or", "and", "to", "of", "than", "more", "less", "fewer", "over", "under", "about", "not", "no", "half"),
    *("dozen", "hundred", "thousand", "million", "billion", "k", "m", "bn"),
)
"""Words beside a number that make it another one."""
_SAME_UNIT: Final = (
    frozenset({"$", "us$", "usd", "dollar", "dollars", "buck", "bucks"}),
    frozenset({"€", "eur", "euro", "euros"}),
    frozenset({"£", "gbp", "pound", "pounds"}),
    frozenset({"¥", "jpy", "yen", "cny", "yuan", "rmb"}),
    frozenset({"chf", "fr", "franc", "francs", "franken"}),
    frozenset({"%", "percent", "percentage", "prozent", "pct"}),
    frozenset({"₹", "inr", "rupee", "rupees"}),
)
_CURRENCIES: Final = frozenset().union(*_SAME_UNIT)
_UNIT_IN_WORDS: Final = re.compile(r"[^\W\d_]+\$?|[$€£¥₹%]")
_DIGIT_MARKS: Final = str.maketrans({"\u2212": "-", "\ufe63": "-", "\u066b": ".", "\u066c": ","})
# Not the compatible forms of Unicode: they make 82 of 8².
_USUAL_WIDTH: Final = {code: code - 0xFEE0 for code in range(0xFF01, 0xFF5F)} | {
    0x3000: " ",
    0xFE0E: None,
    0xFE0F: None,
    0x20E3: None,
}
_BETWEEN: Final = " \t\n.:;,=()[]-\u2013\u2014"


def visible(text: str) -> str:
    """The text in plain forms: no invisible characters, and every digit and letter in its usual width."""
    if text.isascii():
        return text
    composed = unicodedata.normalize("NFC", text).translate(_USUAL_WIDTH)
    return "".join(one for one in composed if unicodedata.category(one) not in ("Cf", "Cs"))


def bare(text: str) -> str:
    """The text without what models put around an answer: quotes, fences, bold, headings, a label, a final full stop."""
    before, plain = None, answer_after_labels(before_open_thought(visible(text))).strip()
    while before != plain:
        before = plain
        plain = _unwrap(plain).strip()
        plain = _HEADING.sub("", plain)
        plain = _LABEL.sub("", plain).strip(_QUOTES).strip()
        plain = plain[:-1].rstrip() if plain.endswith((".", "\u3002")) and not plain.endswith("..") else plain
    return plain


def _unwrap(text: str) -> str:
    if found := _FENCE.match(text) or _MATH.match(text):
        return next(part for part in found.groups() if part is not None)
    if found := _AROUND.match(text) or _TAG.match(text):
        return found[2]
    return text[1:-1] if _is_one_pair(text) else text


def _is_one_pair(text: str) -> bool:
    """Whether the bracket with which the text begins closes at its end."""
    closing = _PAIRS.get(text[:1])
    if closing is None or not text.endswith(closing):
        return False
    depth = 0
    for place, one in enumerate(text, 1):
        depth += (one == text[0]) - (one == closing)
        if depth == 0:
            return place == len(text)
    return False


def alone(value: object) -> object:
    """The one value in a list or in an object with remarks, such as `{"value": 8, "reason": "..."}`; else `value`."""
    if isinstance(value, list) and len(value) == 1:
        return value[0]
    if not isinstance(value, Mapping):
        return value
    said = [part for part in _said_in(value) if not isinstance(part, Mapping | list)]
    return said[0] if said and all(type(part) is type(said[0]) and part == said[0] for part in said) else value


def _said_in(value: Mapping[str, object]) -> list[object]:
    return [part for name, part in value.items() if name.casefold() in _VALUE_NAMES]


def truth(value: object) -> bool | None:
    """Whether this says yes or no, also with a remark: "Yes, I am"."""
    value = alone(value)
    if isinstance(value, bool):
        return value
    if isinstance(value, int | float):
        return bool(value) if value in (0, 1) else None
    if not isinstance(value, str):
        return None
    text = bare(value).rstrip("!").casefold()
    said = _yes_or_no(text)
    remark = _WITH_REMARK.fullmatch(text) if said is None else None
    return said if remark is None or _speaks_against(remark[2]) else _yes_or_no(remark[1])


def _yes_or_no(word: str) -> bool | None:
    if word in _YES or word in _CHECKED:
        return True
    return False if word in _NO or word in _CROSSED else None


def _speaks_against(remark: str) -> bool:
    """Whether a remark has a yes or a no of its own, or takes back what it follows."""
    words = re.findall(r"\w+", remark)
    return any(_yes_or_no(word) is not None or word in ("but", "not", "or", "maybe", "unless") for word in words)


def number(written: str, *, about: str = "", highest: object = None) -> Decimal | None:
    """The number that this is, in any spelling: `8`, `+8.0`, `1,000`, `**8**`.

    about: the words of the question; a unit that they name may come with the number (`$5`, `8 tokens`). highest: the
    largest number allowed; `8/10` is 8 where it is 10.
    """
    if len(written) > _LONGEST:
        return None
    text = _in_digits(bare(written))
    found = written_number(text)
    if found is None and (part := _OUT_OF.match(text)):
        whole = written_number(part["all"])
        is_highest = isinstance(highest, int | float) and whole == Decimal(str(highest))
        found = written_number(bare(part["number"])) if is_highest else None
    if found is None and (part := _REASON.fullmatch(text)):
        return number(part["said"], about=about, highest=highest)
    found = _said_again(text) if found is None else found
    return found if found is not None or not about else _with_unit(text, about)


def written_number(text: str) -> Decimal | None:
    """The number in digits, with nothing around it: `2`, `2.0`, `+2`, `2e0`, `1,000`."""
    plain = _in_digits(text).strip()
    if len(plain) > _LONGEST:
        return None
    if _GROUPED.fullmatch(plain):
        plain = plain.replace(",", "")
    try:
        return Decimal(plain) if _NUMBER.fullmatch(plain) else None
    except InvalidOperation:
        return None


def _said_again(text: str) -> Decimal | None:
    """The number that words without a number explain."""
    found = _SAID_AGAIN.match(text)
    words = (found["inside"] or found["after"] or "") if found else ""
    is_plain = bool(words.strip()) and not any(one.isnumeric() for one in words)
    is_plain = is_plain and not {*re.findall(r"\w+", words.casefold())} & {*_NO_UNIT}
    return written_number(bare(found["number"])) if found and is_plain else None


def _in_digits(text: str) -> str:
    """The same number in ASCII digits, whatever the script."""
    if text.isascii():
        return text
    plain = text.translate(_DIGIT_MARKS)
    return "".join(str(unicodedata.decimal(one)) if one.isdecimal() else one for one in plain)


def _with_unit(text: str, about: str) -> Decimal | None:
    """The number with a unit that the question names: a currency before it, or any unit after it."""
    found = _WITH_UNIT.match(text)
    if found is None:
        return None
    before, after = (found["before"] or "").casefold(), (found["after"] or "").casefold().rstrip(".")
    if (before and before not in _CURRENCIES) or after in _NO_UNIT or not (before or after):
        return None
    asked = _units_of(about)
    is_asked = all(_unit_names(unit) & asked for unit in (before, after) if unit)
    return written_number(f"{found['sign']}{found['number']}") if is_asked else None


@lru_cache(maxsize=1024)
def _units_of(about: str) -> frozenset[str]:
    return frozenset(name for word in _UNIT_IN_WORDS.findall(about) for name in _unit_names(word))


@lru_cache(maxsize=1024)
def _unit_names(unit: str) -> frozenset[str]:
    """The same unit in other words: singular and plural, symbol and name."""
    word = unit.casefold()
    stem = word.removesuffix("s") if len(word) > 3 else word
    return frozenset({stem}).union(*(names for names in _SAME_UNIT if word in names or stem in names))


def option(value: object, words: Mapping[str, str]) -> str | None:
    """The id of the option that this names: by its id, its words, or both.

    words: what each option says, by its id; empty where it says nothing else.
    """
    if isinstance(value, Mapping):
        return _only(_marked_options(value, words) or [option(part, words) for part in _said_in(value)])
    value = alone(value)
    if isinstance(value, bool):
        return _only(one for one, said in words.items() if value in (_truth_in(one), _truth_in(said)))
    if isinstance(value, int | float):
        value = str(int(value)) if float(value).is_integer() else str(value)
    if not isinstance(value, str):
        return None
    if value in words:
        return value
    given = _fold(value)
    if not given:
        return None
    named = {one for one, said in words.items() if given in (_fold(one), _fold(said))}
    named = named or {one for one, said in words.items() if said and _names_both(given, _fold(one), _fold(said))}
    if named:
        return _only(named)
    if (reason := _REASON.fullmatch(given)) and not any(reason["word"] in _fold(said) for said in words.values()):
        return option(reason["said"], words)
    if place := _IN_PLACE.match(given):
        return option(place[1] or place[2], words)
    is_yes = _truth_in(given)
    return None if is_yes is None or given in ("0", "1") else option(is_yes, words)


def _marked_options(value: Mapping[str, object], words: Mapping[str, str]) -> list[str]:
    """The options that an object marks: `{"a": true, "b": false}`."""
    if not all(name in words and isinstance(part, bool) for name, part in value.items()):
        return []
    return [name for name, part in value.items() if part]


def _truth_in(text: str) -> bool | None:
    word = bare(text).rstrip("!").casefold()
    return None if word in ("0", "1") else _yes_or_no(word)


def _fold(text: str) -> str:
    return " ".join(bare(text).casefold().split())


def _names_both(given: str, option_id: str, words: str) -> bool:
    """Whether these are the id and the words of one option, in either order, and nothing else."""
    for first, second in ((option_id, words), (words, option_id)):
        rest = given.removeprefix(first)
        if rest != given and rest[:1] in _BETWEEN and rest.strip(_BETWEEN) == second.strip(_BETWEEN):
            return True
    rest = given.removeprefix(f"({option_id})").removeprefix(f"[{option_id}]")
    return rest != given and rest.strip(_BETWEEN) == words.strip(_BETWEEN)


def options(value: object, words: Mapping[str, str]) -> list[str] | None:
    """The ids of the options that this names: a list of them, or a text with one or several."""
    if isinstance(value, str):
        whole = option(value, words)
        parts = [part for part in re.split(r"[,;\n]|\s>\s", bare(value)) if part.strip()]
        listed = None if len(parts) < 2 else _each_listed(parts, words)
        if whole is not None and listed is not None:
            return None
        return [whole] if whole is not None else listed
    if isinstance(value, Mapping):
        return _marked_options(value, words) or None
    return _each_listed(value, words) if isinstance(value, list) else None


def _each_listed(values: Sequence[object], words: Mapping[str, str]) -> list[str] | None:
    """The options of these parts, which may be numbered, or have a bullet each."""
    found = _each(values, words)
    if found is not None or not all(isinstance(one, str) and _IN_LIST.match(one) for one in values):
        return found
    return _each([_IN_LIST.sub("", str(one)) for one in values], words)


def _each(values: Iterable[object], words: Mapping[str, str]) -> list[str] | None:
    found = [option(one, words) for one in values]
    return None if None in found else [one for one in found if one is not None]


def _only(found: Iterable[str | None]) -> str | None:
    ids = set(found)
    return ids.pop() if len(ids) == 1 else None
