"""The configuration of a beauty contest."""

from collections.abc import Iterator
from typing import Final, Literal

from pydantic import Field

from parley_lab.base.errors import Problem
from parley_lab.base.numbers import write_number
from parley_lab.contracts.experiment import StageConfig, Together

FEWEST_PLAYERS: Final = 2
MOST_ROUNDS: Final = 100


class BeautyContestStage(StageConfig):
    """Players guess a number at the same time, in rounds; the guess closest to a factor times the mean of all wins."""

    kind: Literal["beauty_contest"] = "beauty_contest"
    progress: Together = Together()
    rounds: int = Field(default=4, ge=1, le=MOST_ROUNDS)
    """How many rounds are played."""
    lower: float = Field(default=0, ge=0)
    """The smallest guess allowed."""
    upper: float = Field(default=100, gt=0)
    """The largest guess allowed."""
    factor: float = Field(default=2 / 3, gt=0)
    """The target of a round is this factor times the mean of its guesses; left out: 2/3."""
    prize: float = Field(default=20, ge=0)
    """The prize of a round; winners who are equally close share it equally."""
    chat: bool = False
    """Whether all players say something to each other before each guess. Scripts say nothing."""

    @property
    def middle(self) -> float:
        """The mean of uniformly drawn guesses."""
        return (self.lower + self.upper) / 2


def problems(stage: BeautyContestStage) -> Iterator[Problem]:
    if stage.lower >= stage.upper:
        yield Problem("upper", write_number(stage.upper), f"more than lower, which is {write_number(stage.lower)}")
    if not stage.progress.wait_for_all and stage.progress.min_participants < FEWEST_PLAYERS:
        expected = f"at least {FEWEST_PLAYERS} without `wait_for_all`: those who are there at the opening play"
        yield Problem("progress.min_participants", str(stage.progress.min_participants), expected)
