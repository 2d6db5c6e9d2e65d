"""An iterated game of two in normal form: a Prisoner's Dilemma unless the stage says otherwise."""

from shared.stages.matrix_game.rules import KIND as KIND
