"""Interprets replies to interview questions: their parts, the option, and the typed value. Pure."""

import json
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final, Literal

from parley_lab.base.replies.spellings import bare, number, truth, written_number
from parley_lab.base.storable import LARGEST_INTEGER
from parley_lab.kinds.stages.group_interview.options import ListOptions, Option, Options, RangeOptions, option_text

Json = Any
VariableType = Literal["category", "integer", "float"]
Value = bool | int | float | str

_FENCE: Final = re.compile(r"^```[\w-]*[ \t]*\n?(.*?)\n?[ \t]*```$", re.DOTALL)
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
            _as_float(read_score(fields.get("speculation_score"))),
        )
    found = _SCORE_LINE.search(raw)
    if found is None:
        return ParsedReply(raw, raw.strip())
    return ParsedReply(raw, raw[: found.start()].strip(), speculation_score=read_score(found[1]))


def read_score(part: Json) -> float | None:
    """The score, 0 to 100, of a number or of words such as `85%`; None for anything else."""
    if isinstance(part, bool):
        return None
    found = number(part, about="%", highest=100) if isinstance(part, str) else part
    is_score = isinstance(found, int | float | Decimal) and 0 <= found <= 100
    return (float(found) if isinstance(found, Decimal) else found) if is_score else None


def match(response: str, options: Options | None, variable_type: VariableType | None, about: str = "") -> Match:
    """The value of a response, which must *be* an option, not mention one.

    about: the words of the question; a unit that they name may come with a number.
    """
    text = bare(response)
    if not text:
        return Match(None, "an answer")
    if isinstance(options, ListOptions):
        return _match_list(response, options, variable_type, about)
    if isinstance(options, RangeOptions):
        return _match_range(text, options, variable_type, about)
    if variable_type in ("integer", "float"):
        found = number(text, about=about)
        return _typed(found, variable_type) if found is not None else Match(None, _not_a_number(variable_type))
    return Match(response.strip())


def _match_list(response: str, options: ListOptions, variable_type: VariableType | None, about: str) -> Match:
    found = _option(response, options, about)
    if found is None:
        return Match(None, f"one of: {', '.join(option_text(option) for option in options.values)}")
    if variable_type not in ("integer", "float"):
        return Match(found)
    value = _number_of(found)
    return Match(None, _not_a_number(variable_type)) if value is None else _typed(value, variable_type)


def _option(response: str, options: ListOptions, about: str) -> Option | None:
    """The option that this is, in the exact words where several are alike; None where it is none, or two."""
    text = bare(response)
    given, said = number(text, about=about), truth(text)
    named = [option for option in options.values if _is_option(text, given, option)]
    named = [option for option in named if option_text(option) == response] or named
    named = named or [option for option in options.values if isinstance(option, bool) and option is said]
    return named[0] if len({(type(one), one) for one in named}) == 1 else None


def _is_option(text: str, found: Decimal | None, option: Option) -> bool:
    if text.casefold() == bare(option_text(option)).casefold():
        return True
    return found is not None and found == _number_of(option)


def _number_of(option: Option) -> Decimal | None:
    return None if isinstance(option, bool) else written_number(bare(option_text(option)))


def _match_range(text: str, options: RangeOptions, variable_type: VariableType | None, about: str) -> Match:
    found = number(text, about=about, highest=options.high)
    if found is None or not Decimal(str(options.low)) <= found <= Decimal(str(options.high)):
        return Match(None, f"a number from {options.low} to {options.high} and nothing else")
    return _typed(found, variable_type)


def _typed(found: Decimal, variable_type: VariableType | None) -> Match:
    is_whole = found == found.to_integral_value() if abs(found) <= LARGEST_INTEGER else False
    if variable_type == "integer":
        return Match(int(found)) if is_whole else Match(None, _not_a_number(variable_type))
    if variable_type == "float" or not is_whole:
        value = float(found)
        return Match(value) if abs(value) != float("inf") else Match(None, "a smaller number")
    return Match(int(found))


def _not_a_number(variable_type: VariableType) -> str:
    return "a whole number and nothing else" if variable_type == "integer" else "a number and nothing else"


def _unfenced(text: str) -> str:
    found = _FENCE.match(text.strip())
    return found[1] if found else text


def _object(text: str) -> dict[str, Json] | None:
    """The fields of a JSON object, with names in lower case; None where it gives one name two values."""
    try:
        value = json.loads(text.strip(), object_pairs_hook=_without_doubles)
    except (ValueError, RecursionError):
        return None
    return (
        {"_".join(name.casefold().split()): part for name, part in value.items()} if isinstance(value, dict) else None
    )


def _without_doubles(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    found = dict(pairs)
    if any(found[name] != value for name, value in pairs):
        raise ValueError("a name has two values")
    return found


def _as_float(score: float | None) -> float | None:
    return None if score is None else float(score)


def _said(part: Json) -> str:
    if part is None:
        return ""
    return part.strip() if isinstance(part, str) else json.dumps(part, ensure_ascii=False)
