"""The configuration of an iterated game of two, and the draw of its length."""

import math
from random import Random
from typing import Annotated, Final, Literal

from pydantic import Field

from parley_lab.contracts.experiment import Document, StageConfig, Together
from parley_lab.kinds.stages.matrix_game.payoffs import Framing, Payoffs
from parley_lab.kinds.stages.matrix_game.protocol import Protocol

LONGEST_GAME: Final = 10_000
"""The limit of rounds; with the smallest stop probability, one game in three million reaches it."""
SMALLEST_CHANCE: Final = 0.0015


class FixedHorizon(Document):
    """A fixed number of rounds."""

    type: Literal["fixed"] = "fixed"
    rounds: int = Field(default=100, ge=1, le=LONGEST_GAME)


class GeometricHorizon(Document):
    """After every round the game ends with the same probability, so that it has 1 / probability rounds on average."""

    type: Literal["geometric"] = "geometric"
    stop_probability: float = Field(default=0.02, ge=SMALLEST_CHANCE, le=1)


Horizon = Annotated[FixedHorizon | GeometricHorizon, Field(discriminator="type")]


def length(horizon: FixedHorizon | GeometricHorizon, rng: Random) -> int:
    """The number of rounds, at least 1.

    A geometric length is drawn by inversion of its distribution function: P(length > n) = (1 - p)^n. It takes one
    random number, so that later draws from `rng` do not depend on the length.
    """
    if isinstance(horizon, FixedHorizon):
        return horizon.rounds
    # Above 0, so that its logarithm exists, and up to 1, which gives a game of one round.
    survived = 1.0 - rng.random()
    if horizon.stop_probability == 1:
        return 1
    drawn = math.ceil(math.log(survived) / math.log1p(-horizon.stop_probability))
    return min(max(drawn, 1), LONGEST_GAME)


Memory = Literal["none", "window", "full", "summary"]
GoalFraming = Literal["cooperative", "self_maximizing", "adversarial"]
OnInvalid = Literal["fail_game", "exclude_round", "fallback:C", "fallback:D", "fallback:repeat", "fallback:random"]


class MatrixGameStage(StageConfig):
    """A game of two players who choose between two actions at the same time, in rounds."""

    kind: Literal["matrix_game"] = "matrix_game"
    progress: Together = Together()
    payoffs: Payoffs = Payoffs()
    """The points of both players for each outcome; they have to make a Prisoner's Dilemma."""
    exploratory: bool = False
    """True: the payoffs may be those of any game, and the data mark games that are no Prisoner's Dilemma."""
    horizon: Horizon = FixedHorizon()
    """How many rounds are played."""
    announce_horizon: bool = False
    """Whether players are told the number of rounds, or the probability that a round is the last."""
    framing: Framing = "named"
    """`named`: the actions are Cooperate and Defect in a Prisoner's Dilemma. `neutral`: they are A and B, and the game
    has no name. `situated`: they are plans F and X of two neighbours in business.
    """
    counterbalance: bool = False
    """With meaningless letters: whether a draw for each game decides which letter means cooperation."""
    memory: Memory = "window"
    """What a model is shown of earlier rounds: nothing, the last ones, all, or a summary."""
    memory_window: int = Field(default=10, ge=1)
    """How many rounds `window` shows."""
    goal_framing: GoalFraming | None = None
    """The aim that players are told: the most points for both together, for themselves, or the greatest lead."""
    chat: bool = False
    """Whether both players say something to each other before each move. Scripts say nothing."""
    protocol: Protocol = "none"
    """Which messages are delivered: `none` delivers all; `mcp_basic` those of the right form; `mcp_filtered` of these
    only those that do not manipulate. Other messages are stored and counted.
    """
    on_invalid: OnInvalid = "fail_game"
    """What happens when no action of a player can be read, after all attempts. `fail_game`: the game ends without a
    result. `exclude_round`: the round does not count. `fallback:...`: an action replaces it (C, D, the player's last
    one, or a drawn one), and is flagged in the data.
    """
