"""The numbers that a JSON Schema allows: their bounds and steps, in exact fractions."""

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Any, Final

Schema = Mapping[str, Any]

# How far a missing bound is from the one that is given.
_DEFAULT_SPAN: Final = 100


def fraction(value: int | float) -> Fraction:
    """The decimal that was written, not the binary number next to it: 0.1 is one tenth."""
    return Fraction(str(value))


def integer_step(schema: Schema) -> Fraction:
    # The integers among the multiples of p/q are the multiples of p.
    return Fraction(fraction(schema.get("multipleOf", 1)).numerator)


def bounds(schema: Schema) -> tuple[Fraction | None, Fraction | None]:
    lows = [fraction(schema[key]) for key in ("minimum", "exclusiveMinimum") if schema.get(key) is not None]
    highs = [fraction(schema[key]) for key in ("maximum", "exclusiveMaximum") if schema.get(key) is not None]
    return max(lows, default=None), min(highs, default=None)


def first_and_last(schema: Schema, step: Fraction) -> tuple[int, int]:
    """The smallest and largest factor of `step` within the bounds; first > last when there is none."""
    low, high = bounds(schema)
    if low is None:
        low = Fraction(0) if high is None or high > 0 else high - max(Fraction(_DEFAULT_SPAN), step)
    if high is None:
        high = low + max(Fraction(_DEFAULT_SPAN), step)
    first, last = math.ceil(low / step), math.floor(high / step)
    if "exclusiveMinimum" in schema and first * step <= fraction(schema["exclusiveMinimum"]):
        first += 1
    if "exclusiveMaximum" in schema and last * step >= fraction(schema["exclusiveMaximum"]):
        last -= 1
    return first, last


def lies_within(value: float, schema: Schema) -> bool:
    return bool(
        value >= schema.get("minimum", -math.inf)
        and value <= schema.get("maximum", math.inf)
        and value > schema.get("exclusiveMinimum", -math.inf)
        and value < schema.get("exclusiveMaximum", math.inf)
    )
