"""What an experiment file says about an iterated game of two."""

from typing import Literal

from pydantic import Field

from shared.contracts.experiment import Progress, StageConfig
from shared.stages.matrix_game.horizon import FixedHorizon, Horizon
from shared.stages.matrix_game.labels import Framing
from shared.stages.matrix_game.payoffs import Payoffs
from shared.stages.matrix_game.protocol import Protocol

Memory = Literal["none", "window", "full", "summary"]
GoalFraming = Literal["cooperative", "self_maximizing", "adversarial"]
OnInvalid = Literal["fail_game", "exclude_round", "fallback:C", "fallback:D", "fallback:repeat", "fallback:random"]


class GameProgress(Progress):
    """When the game opens; by default when both players are there."""

    wait_for_all: bool = True
    """The stage opens when everybody who is still in the cohort has arrived at it; open seats are waited for."""


class MatrixGameStage(StageConfig):
    """A game of two players who choose between two actions at the same time, again and again."""

    kind: Literal["matrix_game"] = "matrix_game"
    progress: GameProgress = GameProgress()
    payoffs: Payoffs = Payoffs()
    """The points of both players for each outcome; they have to make a Prisoner's Dilemma."""
    exploratory: bool = False
    """True: the payoffs may be those of any game, and the data say that they are no Prisoner's Dilemma."""
    horizon: Horizon = FixedHorizon()
    """How many rounds are played."""
    announce_horizon: bool = False
    """Whether players are told how many rounds there are, or how likely each is the last."""
    framing: Framing = "named"
    """`named`: the actions are Cooperate and Defect in a Prisoner's Dilemma. `neutral`: they are A and B, and the game
    has no name. `situated`: they are plans F and X of two neighbours in business.
    """
    counterbalance: bool = False
    """With letters that are only letters: whether a draw for each game decides which of them is to cooperate."""
    memory: Memory = "window"
    """What a model is shown of the rounds before: nothing, the last ones, all, or a summary."""
    memory_window: int = Field(default=10, ge=1)
    """How many rounds `window` shows."""
    goal_framing: GoalFraming | None = None
    """What players are told to aim for: the most points for both together, for themselves, or the greatest lead."""
    chat: bool = False
    """Whether both players say something to each other before each move. Scripts say nothing."""
    protocol: Protocol = "none"
    """What becomes of messages: `none` delivers all; `mcp_basic` those of the right form; `mcp_filtered` of these only
    those that do not manipulate. What is not delivered is kept and counted.
    """
    on_invalid: OnInvalid = "fail_game"
    """What happens when no action of a player can be read, after all attempts. `fail_game`: the game ends without a
    result. `exclude_round`: the round does not count. `fallback:...`: an action takes its place (C, D, the player's
    last one, or a drawn one), and is flagged in the data.
    """
