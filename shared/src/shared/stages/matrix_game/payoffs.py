"""What two actions pay, and what they are called in front of a player. Pure."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Annotated, Final, Literal

from pydantic import Field

from shared.contracts.experiment import Document
from shared.errors import Problem

Action = Literal["C", "D"]
"""What a player does in a round, whatever it is called in front of the player: to cooperate or to defect."""
_LARGEST: Final = 1e9
_DECIMALS: Final = 6
Points = Annotated[int | float, Field(ge=-_LARGEST, le=_LARGEST)]
Pair = tuple[Points, Points]
"""The points of the first and of the second player."""


class Payoffs(Document):
    """The payoffs of both players by outcome; the first letter is the action of the first player.

    By default those of Axelrod's tournaments: temptation 5, reward 3, punishment 1, sucker's payoff 0.
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
        """The same game as the second player sees it: own points and own action first."""
        return Payoffs(CC=self.CC[::-1], CD=self.DC[::-1], DC=self.CD[::-1], DD=self.DD[::-1])


def violations(payoffs: Payoffs) -> Iterator[Problem]:
    """Why this is no Prisoner's Dilemma: nothing when it is one. `where` is relative to the payoffs.

    Wanted are equal stakes for both players, T > R > P > S and 2R > T + S (Rapoport and Chammah 1965): otherwise to
    defect would not tempt, or to take turns at exploiting each other would pay as well as to cooperate.
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
    """Points as people write them: no decimals where there are none, and none that only adding up has made."""
    rounded = round(points, _DECIMALS)
    return str(int(rounded)) if rounded == int(rounded) else f"{rounded:.{_DECIMALS}f}".rstrip("0")


Framing = Literal["named", "neutral", "situated"]


@dataclass(frozen=True, slots=True)
class Labels:
    """A letter for each action, and the full word when there is one."""

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
        """Both letters in the order of the alphabet, which does not say which is which."""
        first, second = sorted((self.cooperate, self.defect))
        return first, second


_LABELS: Final[dict[Framing, Labels]] = {
    "named": Labels("C", "D", "Cooperate", "Defect"),
    "neutral": Labels("A", "B"),
    "situated": Labels("F", "X"),
}


def labels_of(framing: Framing, *, swapped: bool = False) -> Labels:
    """The labels of a framing; `swapped`: with the letters exchanged, where they are only letters."""
    labels = _LABELS[framing]
    return Labels(labels.defect, labels.cooperate) if swapped and framing != "named" else labels
