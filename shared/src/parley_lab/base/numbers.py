"""Numbers in words for readers."""

from decimal import Decimal
from fractions import Fraction


def write_number(number: float | Fraction) -> str:
    """The number with all its decimals and without an exponent; a whole one without a point."""
    exact = Fraction(number) if isinstance(number, Fraction) else Fraction(str(number))
    if exact.denominator == 1:
        return str(exact.numerator)
    decimal = Decimal(exact.numerator) / exact.denominator if isinstance(number, Fraction) else Decimal(str(number))
    return f"{decimal:f}"
