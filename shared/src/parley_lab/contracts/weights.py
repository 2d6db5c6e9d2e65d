"""How often arms and values come: whole numbers, or shares such as 0.25 and 0.75."""

from collections.abc import Collection, Sequence
from decimal import Decimal
from fractions import Fraction
from math import gcd, lcm
from typing import Annotated, Final

from pydantic import AfterValidator, Field, PlainSerializer
from pydantic_core import PydanticCustomError

from parley_lab.contracts.experiment import Slug

_MOST: Final = 1000
"""How often one arm or value may come in a cycle: the block of a draw is stored whole."""


def cycle_counts(weights: Collection[float]) -> list[int]:
    """How often each comes in one cycle: the weights, if all are whole; else the least whole numbers in their ratio."""
    if all(isinstance(weight, int) for weight in weights):
        return [int(weight) for weight in weights]
    shares = [Fraction(Decimal(str(weight))) for weight in weights]
    common = lcm(*(share.denominator for share in shares))
    counts = [int(share * common) for share in shares]
    return [count // gcd(*counts) for count in counts]


def _whole_if_written_so(weight: float) -> float:
    return int(weight) if weight == int(weight) else weight


def _with_a_short_cycle(weights: Collection[float]) -> None:
    longest = max(cycle_counts(weights), default=0)
    if longest > _MOST:
        raise PydanticCustomError(
            "long_cycle",
            "weights in simpler ratios: with these one comes {longest} times in a cycle; at most {most} are possible",
            {"longest": longest, "most": _MOST},
        )


def _short_by_arm(weights: dict[Slug, float]) -> dict[Slug, float]:
    # An arm without a weight has the weight 1.
    _with_a_short_cycle([*weights.values(), 1])
    return weights


def _short_by_value(weights: Sequence[float]) -> Sequence[float]:
    _with_a_short_cycle(weights)
    return weights


Weight = Annotated[
    float,
    Field(gt=0, le=_MOST),
    AfterValidator(_whole_if_written_so),
    # The stored number is written as in the file: 2, not 2.0.
    PlainSerializer(_whole_if_written_so, return_type=int | float),
]
ArmWeights = Annotated[dict[Slug, Weight], AfterValidator(_short_by_arm)]
ValueWeights = Annotated[tuple[Weight, ...], AfterValidator(_short_by_value)]
