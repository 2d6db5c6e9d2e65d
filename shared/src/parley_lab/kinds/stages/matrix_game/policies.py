"""Players without a model: classic policies, and the behaviour of each type of persona with the mock.

A rule gets the actions of both players in the rounds so far, as texts such as `CCD`, and one random number from 0 up to
1 for this round. Rounds that do not count are in neither text.
"""

from collections.abc import Callable, Iterator
from random import Random
from typing import Final, Literal

from pydantic import Field, model_validator

from parley_lab.contracts.experiment import Document
from parley_lab.kinds.stages.matrix_game.payoffs import Action, Payoffs

Rule = Callable[[str, str, float], Action]
"""(own actions, opponent's actions, luck) -> the next action."""

PolicyName = Literal["ALLC", "ALLD", "TFT", "GRIM", "GTFT", "WSLS", "RANDOM"]
PersonaType = Literal["cooperative", "tit_for_tat", "selfish", "forgiving", "random", "custom"]

ALPHA: Final = 0.5
"""How often RANDOM and the persona `random` cooperate where nothing else is said."""


class Policy(Document):
    """A player that follows a fixed rule."""

    policy: PolicyName
    """ALLC and ALLD always cooperate and always defect. TFT copies the opponent's last action. GRIM defects for ever
    once the opponent has defected. GTFT is TFT that sometimes ignores a defection. WSLS repeats an action that won, and
    otherwise changes it. RANDOM cooperates by chance. All but ALLD and RANDOM begin with cooperation.
    """
    alpha: float | None = Field(default=None, ge=0, le=1)
    """For RANDOM: the probability of cooperation in every round; left out: 0.5."""
    generosity: float | None = Field(default=None, ge=0, le=1)
    """For GTFT: the probability of cooperation after a defection of the opponent; left out: computed from the payoffs
    (Nowak and Sigmund 1992).
    """

    @model_validator(mode="after")
    def _only_its_own_parameters(self) -> "Policy":
        for name, value, owner in (("alpha", self.alpha, "RANDOM"), ("generosity", self.generosity, "GTFT")):
            if value is not None and self.policy != owner:
                raise ValueError(f"{name} belongs to {owner}, and {self.policy} has no use for it")
        return self


def rule_of(policy: Policy, payoffs: Payoffs) -> Rule:
    """The rule of this policy for a player whose own points come first in `payoffs`.

    Raises:
        ValueError: GTFT has no generosity, and the payoffs of the game give none.
    """
    if policy.policy == "GTFT":
        return _generous(generosity_of(payoffs) if policy.generosity is None else policy.generosity)
    if policy.policy == "RANDOM":
        return _random(ALPHA if policy.alpha is None else policy.alpha)
    return _POLICIES[policy.policy]


def persona_rule(persona_type: PersonaType) -> Rule:
    """The rule of a persona of this type with the mock."""
    return _PERSONAS[persona_type]


def generosity_of(payoffs: Payoffs) -> float:
    """How often GTFT can forgive without inviting exploitation: min(1 - (T-R)/(R-S), (R-P)/(T-P)), 1/3 by default.

    Raises:
        ValueError: the payoffs make no Prisoner's Dilemma, and the formula gives no probability.
    """
    reward, sucker, temptation, punishment = payoffs.CC[0], payoffs.CD[0], payoffs.DC[0], payoffs.DD[0]
    if reward > sucker and temptation > punishment:
        worth_exploiting = (reward - punishment) / (temptation - punishment)
        generosity = min(1 - (temptation - reward) / (reward - sucker), worth_exploiting)
        if 0 <= generosity <= 1:
            return generosity
    raise ValueError("these payoffs give GTFT no generosity; state one")


def luck(seed: int) -> Iterator[float]:
    """The random numbers of one player, one for each round, used or not: they do not depend on any player's actions."""
    drawn = Random(seed).random
    while True:
        yield drawn()


def _always_cooperate(own: str, other: str, luck: float) -> Action:
    return "C"


def _always_defect(own: str, other: str, luck: float) -> Action:
    return "D"


def _tit_for_tat(own: str, other: str, luck: float) -> Action:
    return "D" if other.endswith("D") else "C"


def _grim(own: str, other: str, luck: float) -> Action:
    return "D" if "D" in other else "C"


def _win_stay_lose_shift(own: str, other: str, luck: float) -> Action:
    """The opponent's cooperation is a win, whatever it is worth: C after CC and DD, D after CD and DC."""
    return "C" if own[-1:] == other[-1:] else "D"


def _generous(generosity: float) -> Rule:
    def generous(own: str, other: str, luck: float) -> Action:
        return "D" if other.endswith("D") and luck >= generosity else "C"

    return generous


def _random(alpha: float) -> Rule:
    def by_chance(own: str, other: str, luck: float) -> Action:
        return "C" if luck < alpha else "D"

    return by_chance


def _until_exploited_thrice(own: str, other: str, luck: float) -> Action:
    return "D" if other.endswith("DDD") else "C"


def _forgive_one(own: str, other: str, luck: float) -> Action:
    return "D" if other.endswith("DD") else "C"


_POLICIES: Final[dict[PolicyName, Rule]] = {
    "ALLC": _always_cooperate,
    "ALLD": _always_defect,
    "TFT": _tit_for_tat,
    "GRIM": _grim,
    "WSLS": _win_stay_lose_shift,
}
_PERSONAS: Final[dict[PersonaType, Rule]] = {
    "cooperative": _until_exploited_thrice,
    "tit_for_tat": _tit_for_tat,
    "selfish": _always_defect,
    "forgiving": _forgive_one,
    "random": _random(ALPHA),
    # A free persona has no rule; with the mock it plays TFT, as documented.
    "custom": _tit_for_tat,
}
