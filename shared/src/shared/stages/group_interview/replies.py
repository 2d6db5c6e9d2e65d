"""Interprets replies to interview questions: their parts, the option, and the typed value. Pure."""

import json
import re
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, Literal

from shared.stages.group_interview.options import ListOptions, Option, Options, RangeOptions, option_text
from shared.storable import LARGEST_INTEGER

Json = Any
VariableType = Literal["category", "integer", "float"]
Value = bool | int | float | str

_QUOTES: Final = "'\"`\u201c\u201d\u2018\u2019\u201e\u201a\u00ab\u00bb"
_FENCE: Final = re.compile(r"^```[\w-]*[ \t]*\n?(.*?)\n?[ \t]*```$", re.DOTALL)
_GROUPED: Final = re.compile(r"^[+-]?[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?$")
_NUMBER: Final = re.compile(r"^[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?$")
_LONGEST_NUMBER: Final = 400
_MINUS: Final = "\u2212"
_SCORE_LINE: Final = re.compile(
    r"(?:^|\n)[ \t*_]*speculation[ _]score[ \t*_]*[:=][ \t*_]*([0-9]{1,3}(?:\.[0-9]+)?)[ \t*_%.]*(?:/[ \t]*100)?\s*$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ParsedReply:
    """The parts of a reply; `raw` is the whole text."""

    raw: str
    response: str
    reasoning: str | None = None
    speculation_score: float | None = None


@dataclass(frozen=True, slots=True)
class Match:
    """The interpretation of a response: a value, or what was expected."""

    value: Value | None
    expected: str = ""

    @property
    def is_valid(self) -> bool:
        return not self.expected


def read_reply(raw: str) -> ParsedReply:
    """The parts of a reply, given as JSON (fenced or not), or as text with the score in its last line."""
    fields = _object(_unfenced(raw))
    if fields is not None and "response" in fields:
        return ParsedReply(
            raw,
            _said(fields["response"]),
            _said(fields["reasoning"]) if fields.get("reasoning") is not None else None,
            _score(fields.get("speculation_score")),
        )
    found = _SCORE_LINE.search(raw)
    if found is None:
        return ParsedReply(raw, raw.strip())
    return ParsedReply(raw, raw[: found.start()].strip(), speculation_score=_score(found[1]))


def match(response: str, options: Options | None, variable_type: VariableType | None) -> Match:
    """The value of a response, which must *be* an option, not mention one."""
    text = bare(response)
    if not text:
        return Match(None, "an answer")
    if isinstance(options, ListOptions):
        return _match_list(text, options, variable_type)
    if isinstance(options, RangeOptions):
        return _match_range(text, options, variable_type)
    if variable_type in ("integer", "float"):
        number = parse_number(text)
        return _typed(number, variable_type) if number is not None else Match(None, _not_a_number(variable_type))
    return Match(response.strip())


def bare(response: str) -> str:
    """The response without what models add: space, quotes, fences and a final full stop."""
    before, text = None, response
    while before != text:
        before = text
        text = _unfenced(text).strip().strip(_QUOTES).strip()
        text = text.removesuffix(".") if not text.endswith("..") else text
    return text


def parse_number(text: str) -> Decimal | None:
    """The number in a text, in any spelling: `2`, `2.0`, `+2`, `2e0`, `1,000`."""
    plain = text.replace(_MINUS, "-").strip()
    if len(plain) > _LONGEST_NUMBER:
        return None
    if _GROUPED.match(plain):
        plain = plain.replace(",", "")
    if not _NUMBER.match(plain):
        return None
    try:
        return Decimal(plain)
    except InvalidOperation:
        return None


def _match_list(text: str, options: ListOptions, variable_type: VariableType | None) -> Match:
    number = parse_number(text)
    for option in options.values:
        if _is_option(text, number, option):
            if variable_type not in ("integer", "float"):
                return Match(option)
            value = _number_of(option)
            return Match(None, _not_a_number(variable_type)) if value is None else _typed(value, variable_type)
    return Match(None, f"one of: {', '.join(option_text(option) for option in options.values)}")


def _is_option(text: str, number: Decimal | None, option: Option) -> bool:
    if text.casefold() == bare(option_text(option)).casefold():
        return True
    return number is not None and number == _number_of(option)


def _number_of(option: Option) -> Decimal | None:
    return None if isinstance(option, bool) else parse_number(bare(option_text(option)))


def _match_range(text: str, options: RangeOptions, variable_type: VariableType | None) -> Match:
    number = parse_number(text)
    if number is None or not Decimal(str(options.low)) <= number <= Decimal(str(options.high)):
        return Match(None, f"a number from {options.low} to {options.high} and nothing else")
    return _typed(number, variable_type)


def _typed(number: Decimal, variable_type: VariableType | None) -> Match:
    is_whole = number == number.to_integral_value() if abs(number) <= LARGEST_INTEGER else False
    if variable_type == "integer":
        return Match(int(number)) if is_whole else Match(None, _not_a_number(variable_type))
    if variable_type == "float" or not is_whole:
        value = float(number)
        return Match(value) if abs(value) != float("inf") else Match(None, "a smaller number")
    return Match(int(number))


def _not_a_number(variable_type: VariableType) -> str:
    return "a whole number and nothing else" if variable_type == "integer" else "a number and nothing else"


def _unfenced(text: str) -> str:
    found = _FENCE.match(text.strip())
    return found[1] if found else text


def _object(text: str) -> dict[str, Json] | None:
    """The fields of a JSON object, with names in lower case."""
    try:
        value = json.loads(text.strip())
    except (ValueError, RecursionError):
        return None
    return (
        {"_".join(name.casefold().split()): part for name, part in value.items()} if isinstance(value, dict) else None
    )


def _said(part: Json) -> str:
    if part is None:
        return ""
    return part.strip() if isinstance(part, str) else json.dumps(part, ensure_ascii=False)


def _score(part: Json) -> float | None:
    """0 to 100; None for anything else."""
    if isinstance(part, bool):
        return None
    number = parse_number(str(part).strip().removesuffix("%").strip()) if isinstance(part, str | int | float) else None
    return float(number) if number is not None and 0 <= number <= 100 else None
