"""Measures of one player in one game. A measure without any cases is None, never 0.

Rates over *transitions* compare a round with the next one; the last round has no next one and is in no denominator. A
round that does not count interrupts the transitions on both sides of it.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final

COOPERATE: Final = "C"
DEFECT: Final = "D"
NOT_COUNTED: Final = "-"
_LETTERS: Final = frozenset((COOPERATE, DEFECT, NOT_COUNTED))

TRAILING_ROUNDS: Final = 10
COLLAPSE_ROUNDS: Final = 10
COLLAPSE_RATE: Final = 0.2


@dataclass(frozen=True, slots=True)
class Play:
    """The actions of one game from one side, a letter per round: C, D, or - on both sides of a round that does not
    count.
    """

    own: str
    other: str

    def __post_init__(self) -> None:
        if len(self.own) != len(self.other) or not _LETTERS.issuperset(self.own + self.other):
            raise ValueError("both sides need a letter C, D or - for every round")
        if any((one == NOT_COUNTED) != (other == NOT_COUNTED) for one, other in zip(self.own, self.other, strict=True)):
            raise ValueError("a round counts for both sides or for neither")

    @property
    def mirrored(self) -> "Play":
        """The same game from the other side."""
        return Play(self.other, self.own)

    @property
    def outcomes(self) -> list[str]:
        """The rounds that count, as CC, CD, DC or DD with the own action first."""
        return [one + other for one, other in zip(self.own, self.other, strict=True) if one != NOT_COUNTED]

    @property
    def transitions(self) -> Iterator[tuple[str, str]]:
        """(outcome, outcome of the next round) wherever both rounds count."""
        outcomes = [one + other for one, other in zip(self.own, self.other, strict=True)]
        for now, after in pairwise(outcomes):
            if NOT_COUNTED not in now + after:
                yield now, after


@dataclass(frozen=True, slots=True)
class Recovery:
    """How long mutual cooperation takes to return after a betrayal.

    `mean_rounds` is over the betrayals after which it returned; after `censored` others it had not by the end.
    """

    mean_rounds: float | None
    betrayals: int
    censored: int


def cooperation_rate(play: Play) -> float | None:
    """C / rounds."""
    return _share([outcome[0] == COOPERATE for outcome in play.outcomes])


def outcome_rate(play: Play, outcome: str) -> float | None:
    """Rounds with this outcome (own action first) / rounds; the rates of CC, CD, DC and DD sum to 1.

    CC is mutual cooperation, DD mutual defection, DC own exploitation of the other, CD being exploited.
    """
    return _share([found == outcome for found in play.outcomes])


def exploitation_rate(play: Play) -> float | None:
    """Rounds in which one side, either one, defects and the other cooperates / rounds."""
    return _share([found in ("CD", "DC") for found in play.outcomes])


def retaliation(play: Play) -> float | None:
    """P(own D in the next round | the other defects)."""
    return _share([after[0] == DEFECT for now, after in play.transitions if now[1] == DEFECT])


def forgiveness_after_defection(play: Play) -> float | None:
    """P(own C in the next round | the other defects) = 1 - retaliation."""
    return _share([after[0] == COOPERATE for now, after in play.transitions if now[1] == DEFECT])


def forgiveness_after_mutual_defection(play: Play) -> float | None:
    """P(own C in the next round | both defect)."""
    return _share([after[0] == COOPERATE for now, after in play.transitions if now == "DD"])


def is_nice(play: Play) -> bool | None:
    """Whether the player cooperates in round 1; None when that round does not count."""
    return None if play.own[:1] in ("", NOT_COUNTED) else play.own[0] == COOPERATE


def cooperation_over_time(play: Play, window: int = TRAILING_ROUNDS) -> list[float | None]:
    """One value per round t: the cooperation rate of rounds max(1, t - window + 1) to t."""
    return [
        _share([action == COOPERATE for action in play.own[max(0, end - window) : end] if action != NOT_COUNTED])
        for end in range(1, len(play.own) + 1)
    ]


def exploitation_window(play: Play) -> int | None:
    """The longest run of rounds in which the player defects on one who cooperates; None without a round that counts."""
    if not play.outcomes:
        return None
    longest = current = 0
    for one, other in zip(play.own, play.other, strict=True):
        current = current + 1 if one + other == "DC" else 0
        longest = max(longest, current)
    return longest


def trust_recovery(play: Play) -> Recovery:
    """The number of rounds from a betrayal, by either side, to the next CC.

    A betrayal is a round in which one side defects on a cooperator right after CC. It is the same from both sides.
    """
    outcomes = [one + other for one, other in zip(play.own, play.other, strict=True)]
    betrayed = [number for number in range(1, len(outcomes)) if _is_betrayal(outcomes, number)]
    waits = [
        next((later - number for later in range(number + 1, len(outcomes)) if outcomes[later] == "CC"), None)
        for number in betrayed
    ]
    recovered = [wait for wait in waits if wait is not None]
    return Recovery(_mean(recovered), len(betrayed), len(betrayed) - len(recovered))


def time_to_collapse(play: Play, rounds: int = COLLAPSE_ROUNDS, rate: float = COLLAPSE_RATE) -> int | None:
    """The first round t such that in the `rounds` rounds from t on neither side cooperates more often than `rate`."""
    for start in range(len(play.own) - rounds + 1):
        stretch = Play(play.own[start : start + rounds], play.other[start : start + rounds])
        rates = [cooperation_rate(stretch), cooperation_rate(stretch.mirrored)]
        if all(one is not None and one <= rate for one in rates):
            return start + 1
    return None


def deception_success(play: Play, signals: str) -> float | None:
    """Of the rounds in which the player signalled C and did D: the share in which the other cooperated.

    `signals` has a letter per round: the promise in the player's message, - for none.
    """
    return _share([outcome == "DC" for signal, outcome in _signalled(play, signals) if signal + outcome[0] == "CD"])


def signal_consistency(play: Play, signals: str) -> float | None:
    """Of the rounds with a promise: the share in which it was kept."""
    return _share([signal == outcome[0] for signal, outcome in _signalled(play, signals)])


def signal_correlation(play: Play, signals: str) -> float | None:
    """The correlation (phi) of promise and action; None when either never changes."""
    pairs = [signal + outcome[0] for signal, outcome in _signalled(play, signals)]
    kept_c, broken_c, broken_d, kept_d = (pairs.count(pair) for pair in ("CC", "CD", "DC", "DD"))
    margins = (kept_c + broken_c) * (broken_d + kept_d) * (kept_c + broken_d) * (broken_c + kept_d)
    return (kept_c * kept_d - broken_c * broken_d) / math.sqrt(margins) if margins else None


def _signalled(play: Play, signals: str) -> Iterator[tuple[str, str]]:
    for signal, one, other in zip(signals, play.own, play.other, strict=True):
        if NOT_COUNTED not in signal + one:
            yield signal, one + other


def _is_betrayal(outcomes: Sequence[str], number: int) -> bool:
    return outcomes[number] in ("CD", "DC") and outcomes[number - 1] == "CC"


def _share(hits: Sequence[bool]) -> float | None:
    return sum(hits) / len(hits) if hits else None


def _mean(values: Sequence[int]) -> float | None:
    return sum(values) / len(values) if values else None
