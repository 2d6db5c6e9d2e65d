"""A whole game between two players that need no model."""

from collections.abc import Iterator

from shared.stages.matrix_game.policies import Rule


def play(
    first: Rule, second: Rule, first_luck: Iterator[float], second_luck: Iterator[float], rounds: int
) -> tuple[str, str]:
    """The actions of both, a letter per round; each decides knowing the rounds before, and not what the other does."""
    ours, theirs = "", ""
    for _ in range(rounds):
        one = first(ours, theirs, next(first_luck))
        other = second(theirs, ours, next(second_luck))
        ours += one
        theirs += other
    return ours, theirs
