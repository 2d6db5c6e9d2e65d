"""What the two actions are called in front of a player."""

from dataclasses import dataclass
from typing import Final, Literal

from shared.stages.matrix_game.payoffs import Action

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
