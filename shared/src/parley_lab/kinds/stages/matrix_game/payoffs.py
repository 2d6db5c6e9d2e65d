"""Payoffs of two actions, and the names of the actions for players. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from parley_lab.base.errors import Problem
from parley_lab.contracts.experiment import Document

Action = Literal["C", "D"]
"""A player's action in a round, whatever players call it: to cooperate or to defect."""
_LARGEST: Final = 1e9
_DECIMALS: Final = 6
Points = Annotated[int | float, Field(ge=-_LARGEST, le=_LARGEST)]
Pair = tuple[Points, Points]
"""The points of the first and of the second player."""


class Payoffs(Document):
    """The payoffs of both players by outcome; the first letter is the action of the first player.

    The default is that of Axelrod's tournaments: temptation 5, reward 3, punishment 1, sucker's payoff 0.
    """

    CC: Pair = (3, 3)
    """Both cooperate."""
    CD: Pair = (0, 5)
    """The first cooperates, the second defects."""
    DC: Pair = (5, 0)
    """The first defects, the second cooperates."""
    DD: Pair = (1, 1)
    """Both defect."""

    def of(self, first: Action, second: Action) -> Pair:
        """The points of both for one round."""
        pair: Pair = getattr(self, first + second)
        return pair

    def mirrored(self) -> "Payoffs":
        """The same game from the second player's side: own points and own action first."""
        return Payoffs(CC=self.CC[::-1], CD=self.DC[::-1], DC=self.CD[::-1], DD=self.DD[::-1])


def violations(payoffs: Payoffs) -> Iterator[Problem]:
    """Why this is no Prisoner's Dilemma; empty when it is one. `where` is relative to the payoffs.

    It needs equal stakes for both players, T > R > P > S and 2R > T + S (Rapoport and Chammah 1965): otherwise
    defection would not tempt, or alternating exploitation would pay as well as cooperation.
    """
    if payoffs.mirrored() != payoffs:
        yield Problem(
            "", "stakes that differ between the players", "CC and DD with equal points, and DC as CD mirrored"
        )
        return
    reward, sucker, temptation, punishment = payoffs.CC[0], payoffs.CD[0], payoffs.DC[0], payoffs.DD[0]
    for greater, lesser, rule, what in (
        (temptation, reward, "T > R", "DC above CC"),
        (reward, punishment, "R > P", "CC above DD"),
        (punishment, sucker, "P > S", "DD above CD"),
        (2 * reward, temptation + sucker, "2R > T + S", "twice CC above DC and CD together"),
    ):
        if not greater > lesser:
            yield Problem(
                "",
                f"{written(greater)} against {written(lesser)}, which breaks {rule}",
                f"{what}, or `exploratory: true` for a game that is no Prisoner's Dilemma",
            )


def written(points: float) -> str:
    """Points as text, without needless decimals and rounding errors of sums."""
    rounded = round(points, _DECIMALS)
    return str(int(rounded)) if rounded == int(rounded) else f"{rounded:.{_DECIMALS}f}".rstrip("0")


Framing = Literal["named", "neutral", "situated"]


@dataclass(frozen=True, slots=True)
class Labels:
    """A letter for each action, and the full word if there is one."""

    cooperate: str
    defect: str
    cooperate_word: str = ""
    defect_word: str = ""

    def letter(self, action: Action) -> str:
        return self.cooperate if action == "C" else self.defect

    def word(self, action: Action) -> str:
        return self.cooperate_word if action == "C" else self.defect_word

    @property
    def letters(self) -> tuple[str, str]:
        """Both letters in alphabetical order, which does not tell their meaning."""
        first, second = sorted((self.cooperate, self.defect))
        return first, second


_LABELS: Final[dict[Framing, Labels]] = {
    "named": Labels("C", "D", "Cooperate", "Defect"),
    "neutral": Labels("A", "B"),
    "situated": Labels("F", "X"),
}


def labels_of(framing: Framing, *, swapped: bool = False) -> Labels:
    """The labels of a framing; `swapped`: with the letters exchanged, where they are meaningless."""
    labels = _LABELS[framing]
    return Labels(labels.defect, labels.cooperate) if swapped and framing != "named" else labels
