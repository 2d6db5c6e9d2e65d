"""An iterated game of two players in normal form: by default a Prisoner's Dilemma."""

from parley_lab.kinds.stages.matrix_game.rules import KIND as KIND
