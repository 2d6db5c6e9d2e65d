"""Elects a candidate by orders that may leave out candidates. Pure.

The rule is Condorcet's by the number of pairs won (Copeland). In an order, a candidate without a place is below all
that have one; two without a place are not compared.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

Ballot = Sequence[str]
"""The candidates with a place, the best first."""


def wins(candidates: Sequence[str], ballots: Sequence[Ballot]) -> dict[str, int]:
    """How many others each candidate wins against: more voters rank it higher than lower."""
    places = [{candidate: place for place, candidate in enumerate(ballot)} for ballot in ballots]
    found = dict.fromkeys(candidates, 0)
    for one, other in combinations(candidates, 2):
        lead = sum(_lead(given, one, other) for given in places)
        if lead:
            found[one if lead > 0 else other] += 1
    return found


def _lead(places: Mapping[str, int], one: str, other: str) -> int:
    """1 where `one` is ranked above `other`, -1 where it is below, 0 where neither has a place."""
    first, second = places.get(one, len(places)), places.get(other, len(places))
    return (first < second) - (first > second)


def leaders(candidates: Sequence[str], ballots: Sequence[Ballot]) -> list[str]:
    """The candidates with the most wins, in their order; empty when no order has a place."""
    given = {candidate for ballot in ballots for candidate in ballot}
    if given.isdisjoint(candidates):
        return []
    won = wins(candidates, ballots)
    return [candidate for candidate in candidates if won[candidate] == max(won.values())]


def winner(
    candidates: Sequence[str], ballots: Sequence[Ballot], tie_breaks: Mapping[str, int] | None = None
) -> str | None:
    """The leader who is first in the list, or with `tie_breaks` the one with the smallest number."""
    found = leaders(candidates, ballots)
    if tie_breaks is None or not found:
        return next(iter(found), None)
    return min(found, key=lambda candidate: (tie_breaks.get(candidate, 0), candidates.index(candidate)))
