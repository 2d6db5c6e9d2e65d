"""A number or a time as a spreadsheet shows it under its number format, in English punctuation. Pure."""

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import time, timedelta
from decimal import ROUND_HALF_UP, Decimal
from typing import Final

_SIGNIFICANT_DIGITS: Final = 15
"""As many as spreadsheets keep: 0.1 + 0.2 is shown as 0.3."""
_GENERAL: Final = "General"
_TOKEN: Final = re.compile(
    r'"(?P<quoted>[^"]*)"|\\(?P<escaped>.)|[_*].|\[\$(?P<currency>[^\]-]*)[^\]]*\]|\[[^\]]*\]'
    r"|(?P<general>General)|(?P<place>[0#?])|(?P<other>.)",
    re.DOTALL,
)
_PIECE: Final = re.compile(r'"[^"]*"?|\\.|[_*].|\[[^\]]*\]|.', re.DOTALL)
_CONDITION: Final = re.compile(
    r"\[(<=|>=|<>|<|>|=)\s*(-?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:E[+-]?[0-9]{1,3})?)\]", re.IGNORECASE
)
_COMPARED: Final[Mapping[str, Callable[[float, float], bool]]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "=": operator.eq,
    "<>": operator.ne,
}
_MOST_SECTIONS: Final = 4
_NO_PLACES: Final = re.compile(r'"[^"]*"|\\.|\[(?!h+\]|m+\]|s+\])[^\]]*\]', re.IGNORECASE | re.DOTALL)
_ELAPSED: Final = re.compile(r"\[(h+|m+|s+)\]", re.IGNORECASE)


def as_sheets_round(value: float) -> float:
    """The number rounded as spreadsheets keep it: 0.1 + 0.2 is 0.3."""
    return float(f"{value:.{_SIGNIFICANT_DIGITS}g}")


def digits(value: int | float) -> str:
    """The number without a format; whole numbers have no point."""
    if isinstance(value, int):
        return str(value)
    rounded = as_sheets_round(value)
    return str(int(rounded)) if rounded.is_integer() and abs(rounded) < 1e15 else repr(rounded)


def shown_number(value: int | float, number_format: str) -> str:
    """The number with its currency, separators and decimals: `$#,##0.00` makes 1234.5 `$1,234.50`.

    Fractions and powers of ten are shown as plain digits, which mean the same; so are numbers that no section is for.
    """
    if number_format in ("", _GENERAL, "@"):
        return digits(value)
    sections = _sections_of_numbers(number_format)
    section = next((one for one in sections if one.holds(value)), None)
    if section is None or re.search(r"E[+-]|[?#0]\s*/\s*[?#0\d]", section.text):
        return digits(value)
    text = _in_section(Decimal(digits(abs(value))), section.text)
    has_sign = value < 0 and not section.is_negative
    return f"-{text}" if has_sign and any(one in text for one in "123456789") else text


@dataclass(frozen=True, slots=True)
class _Section:
    """A part of a format, and the numbers that it is for: `compared` with `limit`, or all that are left."""

    text: str
    compared: str = ""
    limit: float = 0.0
    is_negative: bool = False
    """Whether the section is for negative numbers alone: it writes the sign itself."""

    def holds(self, value: float) -> bool:
        return not self.compared or _COMPARED[self.compared](value, self.limit)


def _sections_of_numbers(number_format: str) -> list[_Section]:
    """Those for positive numbers, negative ones and zero, or for what their conditions say; not that for texts."""
    parts = [""]
    for piece in _PIECE.findall(number_format):
        if piece == ";":
            parts.append("")
        else:
            parts[-1] += piece
    is_last_for_texts = len(parts) >= _MOST_SECTIONS or any(
        token["other"] == "@" for token in _TOKEN.finditer(parts[-1])
    )
    texts = parts[: min(len(parts), _MOST_SECTIONS) - 1] if is_last_for_texts else parts
    found: list[_Section] = []
    for index, text in enumerate(texts):
        compared, limit = _condition(text) or _usual_condition(index, len(texts))
        is_below = (compared in ("<", "<=", "=") and limit < 0) or (compared, limit) == ("<", 0)
        is_rest = index == 1 and not compared and (found[0].compared, found[0].limit) == (">=", 0)
        found.append(_Section(text, compared, limit, is_below or is_rest))
    return found


def _condition(section: str) -> tuple[str, float] | None:
    pieces = (_CONDITION.fullmatch(piece) for piece in _PIECE.findall(section))
    return next(((found[1], float(found[2])) for found in pieces if found is not None), None)


def _usual_condition(index: int, count: int) -> tuple[str, float]:
    if index == count - 1:
        return "", 0.0
    return ("<", 0.0) if index else (">=" if count == 2 else ">", 0.0)


def shown_time(value: time | timedelta, number_format: str) -> str:
    """A time of day as hours and minutes, with seconds where there are some; a duration in the units of its format."""
    plain = _NO_PLACES.sub("", number_format).lower()
    elapsed = _ELAPSED.search(plain)
    if isinstance(value, time) and elapsed is None and ("h" in plain or "s" not in plain):
        return value.isoformat("seconds" if value.second else "minutes")
    length = value if isinstance(value, timedelta) else _since_midnight(value)
    minutes, seconds = divmod(round(abs(length).total_seconds()), 60)
    hours, rest = divmod(minutes, 60)
    sign = "-" if length < timedelta() else ""
    unit = elapsed[1][0] if elapsed else "h" if "h" in plain or "s" not in plain else "m"
    if unit == "s":
        return f"{sign}{minutes * 60 + seconds}"
    if unit == "m":
        return f"{sign}{minutes:02d}:{seconds:02d}" if "s" in plain else f"{sign}{minutes}"
    return f"{sign}{hours}:{rest:02d}" + (f":{seconds:02d}" if "s" in plain or seconds else "")


def _since_midnight(value: time) -> timedelta:
    return timedelta(hours=value.hour, minutes=value.minute, seconds=value.second, microseconds=value.microsecond)


def is_without_day(number_format: str) -> bool:
    """Whether the format of a date shows neither a day nor a year, as that of a time of day."""
    plain = re.sub(r"\[[^\]]*\]", "", _NO_PLACES.sub("", number_format)).lower()
    return bool(plain) and not any(letter in plain for letter in "dy") and any(letter in plain for letter in "hs")


def is_without_year(number_format: str) -> bool:
    """Whether the format of a date shows no year, as spreadsheets choose it for `1-2`."""
    return "y" not in re.sub(r"\[[^\]]*\]", "", _NO_PLACES.sub("", number_format)).lower()


def is_power_of_ten(number_format: str) -> bool:
    """Whether the format is the one that spreadsheets choose for `1E5`."""
    return re.search(r"E[+-]", _NO_PLACES.sub("", number_format)) is not None


def _in_section(number: Decimal, section: str) -> str:
    """A number that is not negative, in one section of a format."""
    parts = [_part(token) for token in _TOKEN.finditer(section)]
    number *= 100 ** sum(part == ("text", "%") for part in parts)
    places = [index for index, (kind, _) in enumerate(parts) if kind == "place"]
    if not places:
        return "".join(digits(float(number)) if kind == "general" else text for kind, text in parts)
    point = next((index for index in range(places[-1]) if parts[index] == ("text", ".") and index + 1 in places), None)
    before = [index for index in places if point is None or index < point]
    after = [index for index in places if point is not None and index > point]
    commas = {index for index, part in enumerate(parts) if part == ("text", ",") and before and index > before[0]}
    number /= 1000 ** sum(index > before[-1] for index in commas)
    whole, decimals = _rounded(number, len(after), sum(parts[index][1] == "0" for index in after))
    is_grouped = any(index < before[-1] for index in commas)
    filled = _whole(whole, [parts[index][1] for index in before], is_grouped=is_grouped)
    shown = dict(zip(before, filled, strict=True))
    shown |= {index: decimals[number : number + 1] for number, index in enumerate(after)}
    if point is not None:
        shown[point] = "." if decimals else ""
    return "".join("" if index in commas else shown.get(index, text) for index, (_, text) in enumerate(parts)).strip()


def _part(token: re.Match[str]) -> tuple[str, str]:
    if token["place"] is not None:
        return "place", token["place"]
    if token["general"] is not None:
        return "general", ""
    named = (token[name] for name in ("quoted", "escaped", "currency"))
    literal = next((text for text in named if text is not None), None)
    return ("literal", literal) if literal is not None else ("text", token["other"] or "")


def _rounded(number: Decimal, most: int, least: int) -> tuple[str, str]:
    """The digits before and after the point; further zeros than `least` are left out at the end."""
    rounded = (
        number.quantize(Decimal(1).scaleb(-most), rounding=ROUND_HALF_UP) if number < Decimal(10) ** 20 else number
    )
    whole, _, decimals = f"{rounded:f}".partition(".")
    while len(decimals) > least and decimals.endswith("0"):
        decimals = decimals[:-1]
    return whole, decimals


def _whole(whole: str, places: list[str], *, is_grouped: bool) -> list[str]:
    """The text at each place before the point, from the right; the first place takes what is left over."""
    if not places:
        return []
    least = len(places) - next((index for index, place in enumerate(places) if place == "0"), len(places))
    padded = whole.lstrip("0").rjust(least, "0")
    if is_grouped:
        groups = f"{int(padded):,}" if padded else ""
        missing = least - sum(one.isdigit() for one in groups)
        return [*[""] * (len(places) - 1), "0" * max(missing, 0) + groups]
    split = max(0, len(padded) - len(places) + 1)
    rest = list(padded[split:])
    return [padded[:split], *[""] * (len(places) - 1 - len(rest)), *rest]
