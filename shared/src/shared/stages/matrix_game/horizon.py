"""How many rounds a game has: a number, or a chance to end after every round."""

import math
from random import Random
from typing import Annotated, Final, Literal

from pydantic import Field

from shared.contracts.experiment import Document

LONGEST_GAME: Final = 10_000
"""No game has more rounds; with the smallest chance to end, one game in three million reaches it."""
SMALLEST_CHANCE: Final = 0.0015


class FixedHorizon(Document):
    """So many rounds."""

    type: Literal["fixed"] = "fixed"
    rounds: int = Field(default=100, ge=1, le=LONGEST_GAME)


class GeometricHorizon(Document):
    """After every round the game ends with the same probability, so that it has 1 / probability rounds on average."""

    type: Literal["geometric"] = "geometric"
    stop_probability: float = Field(default=0.02, ge=SMALLEST_CHANCE, le=1)


Horizon = Annotated[FixedHorizon | GeometricHorizon, Field(discriminator="type")]


def length(horizon: FixedHorizon | GeometricHorizon, rng: Random) -> int:
    """The number of rounds, at least 1.

    A geometric length is drawn at once, by inversion of its distribution function: P(length > n) = (1 - p)^n. One
    random number is used, so that whatever is drawn from `rng` later does not depend on the length.
    """
    if isinstance(horizon, FixedHorizon):
        return horizon.rounds
    # Above 0, so that its logarithm exists, and up to 1, which gives a game of one round.
    survived = 1.0 - rng.random()
    if horizon.stop_probability == 1:
        return 1
    drawn = math.ceil(math.log(survived) / math.log1p(-horizon.stop_probability))
    return min(max(drawn, 1), LONGEST_GAME)
