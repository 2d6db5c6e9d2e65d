"""People who come to a study in bursts, close the page, come back, decline: a script, and the groups that it allows.

Times are seconds from the beginning. Pure: the same seed gives the same crowd.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from random import Random
from typing import Final
from uuid import UUID

from parley_lab.people.matching import Rule, Waiting, decide

_DISTURBED: Final = 1 / 3
"""The share of people who close the page, come back, or decline."""
_OPENING: Final = (1.0, 90.0)
"""After how many seconds such a person closes the page."""
_AWAY: Final = (5.0, 60.0)


@dataclass(frozen=True, slots=True)
class Guest:
    """A person: when they come, while which times their page is open, and when they decline."""

    number: int
    spans: tuple[tuple[float, float], ...]
    declines_at: float | None = None

    @property
    def comes_at(self) -> float:
        return self.spans[0][0]

    @property
    def id(self) -> UUID:
        return UUID(int=self.number)

    def is_there(self, at: float) -> bool:
        return any(begin <= at < end for begin, end in self.spans)

    def gone_for(self, at: float) -> float:
        """Since how many seconds the page is closed; 0 while it is open."""
        ended = [end for begin, end in self.spans if begin <= at]
        return max(0.0, at - max(ended)) if ended else 0.0


def crowd(people: int, seconds: float, rng: Random) -> list[Guest]:
    """So many people who come within this time, half of them in bursts; a third of them does not simply stay."""
    bursts = [rng.uniform(0, seconds) for _ in range(max(1, people // 30))]
    times = sorted(
        min(seconds, rng.choice(bursts) + rng.expovariate(0.3)) if rng.random() < 0.5 else rng.uniform(0, seconds)
        for _ in range(people)
    )
    return [_guest(number, at, rng) for number, at in enumerate(times, 1)]


def _guest(number: int, comes_at: float, rng: Random) -> Guest:
    whole = Guest(number, ((comes_at, float("inf")),))
    if rng.random() >= _DISTURBED:
        return whole
    leaves_at = comes_at + rng.uniform(*_OPENING)
    match rng.choice(("closes", "returns", "declines")):
        case "closes":
            return replace(whole, spans=((comes_at, leaves_at),))
        case "returns":
            back_at = leaves_at + rng.uniform(*_AWAY)
            return replace(whole, spans=((comes_at, leaves_at), (back_at, float("inf"))))
        case _:
            return replace(whole, spans=((comes_at, leaves_at),), declines_at=leaves_at)


def possible_groups(people: Sequence[Guest], rule: Rule, at_most_seconds: float, seconds: float) -> int:
    """How many groups there would be if the lab saw at once who is there and lost no time: first come, the same rule.

    Looked at ten times a second.
    """
    waiting = {one.id: one for one in people}
    groups, tick = 0, 0
    while waiting and tick <= (seconds + at_most_seconds) * 10:
        at = tick / 10
        come = [one for one in waiting.values() if one.comes_at <= at]
        for one in come:
            if one.declines_at is not None and one.declines_at <= at:
                del waiting[one.id]
        row = [
            Waiting(one.id, one.is_there(at), at - one.comes_at >= at_most_seconds) for one in come if one.id in waiting
        ]
        decision = decide(row, rule)
        if decision is None:
            tick += 1
            continue
        groups += bool(decision.group)
        for member in (*decision.group, *decision.released):
            del waiting[member]
    return groups
