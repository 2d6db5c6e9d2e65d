"""Means with 95 % intervals, defined for the cases without a textbook formula, too."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist, fmean, stdev
from typing import Final

CONFIDENCE: Final = 0.95
UNBOUNDED: Final = (-math.inf, math.inf)
_EXACT_UP_TO: Final = 2000
"""Degrees of freedom beyond which the expansion around the normal distribution is exact to 12 digits."""


@dataclass(frozen=True, slots=True)
class Estimate:
    """The mean of `count` values and its confidence interval; `missing` values were None and are left out.

    No value: all fields are None. One value: no deviation and no interval. Equal values: the interval [mean, mean].
    """

    count: int
    missing: int
    mean: float | None = None
    deviation: float | None = None
    low: float | None = None
    high: float | None = None


def estimate(
    values: Iterable[float | None],
    *,
    bounds: tuple[float, float] = UNBOUNDED,
    confidence: float = CONFIDENCE,
) -> Estimate:
    """The mean with Student's interval: mean ± t · s / √n, with n - 1 in s and as degrees of freedom.

    `bounds` are those of the quantity, (0, 1) for a rate: the interval is cut off there.
    """
    given = list(values)
    known = [float(value) for value in given if value is not None]
    missing = len(given) - len(known)
    if not known:
        return Estimate(0, missing)
    if len(known) == 1:
        return Estimate(1, missing, known[0])
    if min(known) == max(known):
        # The mean of equal values, without rounding errors of their sum.
        return Estimate(len(known), missing, known[0], 0.0, known[0], known[0])
    mean, deviation = fmean(known), stdev(known)
    half = student_t(confidence, len(known) - 1) * deviation / math.sqrt(len(known))
    return Estimate(len(known), missing, mean, deviation, max(mean - half, bounds[0]), min(mean + half, bounds[1]))


@lru_cache(maxsize=1024)
def student_t(confidence: float, degrees: int) -> float:
    """The t for which P(|T| <= t) = confidence, T with Student's distribution of so many degrees of freedom.

    For whole degrees that probability is a finite sum (Abramowitz and Stegun 1964, 26.7.3 and 26.7.4), which is
    inverted by bisection; beyond 2,000 it is expanded around the normal quantile (26.7.5). The tests compare with
    published tables. SciPy would do the same, and is a hundred times the size of the lab's own code.

    Raises:
        ValueError: the confidence or the degrees are out of range.
    """
    if not 0 < confidence < 1 or degrees < 1:
        raise ValueError("a confidence between 0 and 1 and at least one degree of freedom are needed")
    if degrees > _EXACT_UP_TO:
        return _expanded(NormalDist().inv_cdf((1 + confidence) / 2), degrees)
    low, high = 0.0, math.pi / 2
    while low < (middle := (low + high) / 2) < high:
        if _central_probability(middle, degrees) < confidence:
            low = middle
        else:
            high = middle
    return math.sqrt(degrees) * math.tan(low)


def _central_probability(angle: float, degrees: int) -> float:
    """P(|T| <= √degrees · tan(angle))."""
    sine, cosine = math.sin(angle), math.cos(angle)
    # Odd: cos θ · (1 + 2/3 cos² θ + 2·4/(3·5) cos⁴ θ + ...); even: 1 + 1/2 cos² θ + 1·3/(2·4) cos⁴ θ + ...
    is_odd = degrees % 2 == 1
    term = cosine if is_odd else 1.0
    total = term if degrees > 1 else 0.0
    for step in range(3 if is_odd else 2, degrees - 1, 2):
        term *= cosine * cosine * (step - 1) / step
        total += term
    return 2 / math.pi * (angle + sine * total) if is_odd else sine * total


def _expanded(normal: float, degrees: int) -> float:
    z, n = normal, degrees
    first = (z**3 + z) / 4
    second = (5 * z**5 + 16 * z**3 + 3 * z) / 96
    third = (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384
    return z + first / n + second / n**2 + third / n**3
