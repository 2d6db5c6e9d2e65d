"""Textbook games of two players."""

from parley_lab.kinds.stages.matrix_game.payoffs import Payoffs


def prisoners_dilemma(temptation: float, reward: float, punishment: float, sucker: float) -> Payoffs:
    """The symmetric game with these four payoffs, whether or not they make a dilemma."""
    return Payoffs(CC=(reward, reward), CD=(sucker, temptation), DC=(temptation, sucker), DD=(punishment, punishment))
