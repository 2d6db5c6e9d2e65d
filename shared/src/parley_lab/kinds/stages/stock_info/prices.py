"""Prices as a table of the file has them, and the change in each calendar year. Pure.

The change of a year is from its first price to its last, as a share of the first (Deliberate Lab, stock info stages).
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from io import StringIO
from typing import Final

from parley_lab.base import csv_reading

_COLUMNS: Final = ("date", "close")
_DECIMALS: Final = 6


@dataclass(frozen=True, slots=True)
class Price:
    day: date
    close: Decimal


@dataclass(frozen=True, slots=True)
class Year:
    """`change` is 0.1 for a gain of 10 percent."""

    year: int
    change: Decimal


def unreadable(table: str) -> Iterator[tuple[str, str]]:
    """What is wrong with a table: what was found, and what is expected."""
    reader = csv_reading.DictReader(StringIO(table.strip()))
    if reader.fieldnames is None or not set(_COLUMNS) <= {name.strip() for name in reader.fieldnames}:
        yield "a table without its columns", "CSV whose first line is `date,close`"
        return
    before: date | None = None
    count = 0
    for number, line in enumerate(reader, start=2):
        count += 1
        price = _read(line)
        if price is None:
            shown = ",".join(value or "" for value in list(line.values())[:2] if not isinstance(value, list))
            yield f"{shown!r} in line {number}", "a date such as 2024-12-31, and a price above 0"
        elif before is not None and price.day <= before:
            yield f"{price.day} after {before} in line {number}", "days in their order, each once"
        before = before if price is None else price.day
    if not count:
        yield "no prices", "a line for each day"


@lru_cache(maxsize=256)
def read(table: str) -> tuple[Price, ...]:
    """The prices; lines that cannot be read were refused with the file."""
    lines = csv_reading.DictReader(StringIO(table.strip()))
    return tuple(price for line in lines if (price := _read(line)) is not None)


def _read(line: Mapping[str | None, str | None]) -> Price | None:
    # Cells beyond the columns have no name.
    given = {(name or "").strip(): value for name, value in line.items()}
    try:
        price = Price(date.fromisoformat((given["date"] or "").strip()), Decimal((given["close"] or "").strip()))
    except (KeyError, ValueError, InvalidOperation):
        return None
    return price if price.close.is_finite() and price.close > 0 else None


def years(prices: Sequence[Price]) -> list[Year]:
    """The change in each year that has prices, in their order."""
    by_year: dict[int, list[Decimal]] = {}
    for price in prices:
        by_year.setdefault(price.day.year, []).append(price.close)
    return [
        Year(year, round((closes[-1] - closes[0]) / closes[0], _DECIMALS)) for year, closes in sorted(by_year.items())
    ]


def best(of: Sequence[Year]) -> Year | None:
    """The year with the largest change, the earliest of several."""
    return max(of, key=lambda one: (one.change, -one.year), default=None)


def worst(of: Sequence[Year]) -> Year | None:
    """The year with the smallest change, the earliest of several."""
    return min(of, key=lambda one: (one.change, one.year), default=None)


def in_percent(change: Decimal) -> str:
    """With a sign and one decimal: +12.5 %."""
    return f"{change * 100:+.1f} %"
