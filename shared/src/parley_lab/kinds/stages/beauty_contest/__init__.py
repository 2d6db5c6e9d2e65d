"""A beauty contest: players guess a number, and the guess closest to a factor times the mean wins."""

from parley_lab.kinds.stages.beauty_contest.rules import KIND as KIND
