"""Numbers in words for readers."""

from decimal import Decimal
from fractions import Fraction
from typing import Final

_MOST_DIGITS: Final = 10**16
"""A float has no more digits: a larger one keeps its exponent, and so does one that is as small."""


def write_number(number: float | Fraction) -> str:
    """The number with all its decimals, without an exponent at usual lengths; a whole one has no point."""
    if isinstance(number, Fraction):
        return str(number.numerator if number.denominator == 1 else Decimal(number.numerator) / number.denominator)
    if isinstance(number, int):
        return str(number)
    if number and not 1 / _MOST_DIGITS <= abs(number) < _MOST_DIGITS:
        return str(number)
    return str(int(number)) if number.is_integer() else f"{Decimal(str(number)):f}"
