"""How much those who divided agree, from 0 to 100, as Deliberate Lab reckons it. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations


def consensus(given: Sequence[Mapping[str, float]]) -> float:
    """The score of these divisions, each with the share of every asset: 100 when all are the same, or there is one.

    Three quarters of Krippendorff's alpha with squared differences, for which the shares of an asset are the ratings of
    one thing, and a quarter of the whole, within the bounds.
    """
    if len(given) < 2:
        return 100.0 * len(given)
    ratings = [[one[asset] for one in given] for asset in given[0]]
    observed = _mean(_difference(each) for each in ratings)
    expected = _difference([share for each in ratings for share in each])
    alpha = 100.0 if observed == 0 else (1 - observed / expected) * 100
    return min(100.0, max(0.0, (3 * alpha + 100) / 4))


def _difference(values: Sequence[float]) -> float:
    return _mean((one - other) ** 2 for one, other in combinations(values, 2))


def _mean(values: Iterable[float]) -> float:
    found = list(values)
    return sum(found) / len(found)
