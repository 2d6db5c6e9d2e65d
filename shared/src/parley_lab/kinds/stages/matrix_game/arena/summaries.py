"""Measures over the replicates of a pair and over the pairs of an experiment, with cautions."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Final

from parley_lab.kinds.stages.matrix_game.arena.games import SIDES, PlayedGame, Side, bounds_of, measures_of
from parley_lab.kinds.stages.matrix_game.arena.intervals import Estimate, estimate

MOST_UNREADABLE: Final = 0.01
"""A larger share of a player's unreadable actions causes a warning."""


@dataclass(frozen=True, slots=True)
class Caution:
    """A caution for readers of the figures; `subject` is a pair or a player in it."""

    subject: str
    text: str


def by_pair(games: Iterable[PlayedGame]) -> dict[str, list[PlayedGame]]:
    """The games of every pair, in the order of their replicates."""
    ordered = sorted(games, key=lambda game: (game.pair, game.replicate))
    return {pair: list(found) for pair, found in groupby(ordered, key=lambda game: game.pair)}


def pair_estimates(games: Sequence[PlayedGame], *, with_flagged: bool = True) -> dict[str, Estimate]:
    """Every measure over the replicates of one pair."""
    return _estimates([measures_of(game, with_flagged=with_flagged) for game in games])


def experiment_estimates(games: Iterable[PlayedGame], *, with_flagged: bool = True) -> dict[str, Estimate]:
    """Every measure over the pairs: a pair is one value, the mean over its replicates.

    Replicates of a pair are more alike than games of different pairs; as separate cases they would make the intervals
    too narrow.
    """
    return _estimates(
        [
            {name: found.mean for name, found in pair_estimates(played, with_flagged=with_flagged).items()}
            for played in by_pair(games).values()
        ]
    )


def _estimates(lines: Sequence[Mapping[str, float | None]]) -> dict[str, Estimate]:
    names = list(lines[0]) if lines else []
    return {name: estimate([line[name] for line in lines], bounds=bounds_of(name)) for name in names}


def cautions(games: Iterable[PlayedGame]) -> Iterator[Caution]:
    """Different lengths, pairs with identical replicates, players with many unreadable actions."""
    games = list(games)
    lengths = sorted({len(game.points("a")) for game in games})
    if len(lengths) > 1:
        yield Caution(
            "totals",
            f"the games have {lengths[0]} to {lengths[-1]} rounds that count: totals also rank the drawn lengths. "
            "Compare points per round.",
        )
    for pair, played in by_pair(games).items():
        yield from _repeated(pair, played)
        for side in SIDES:
            yield from _unreadable(pair, played, side)


def _repeated(pair: str, played: Sequence[PlayedGame]) -> Iterator[Caution]:
    distinct = len({game.play() for game in played})
    if distinct < len(played):
        what = "all games of the pair are the same" if distinct == 1 else f"only {distinct} games of the pair differ"
        yield Caution(
            pair,
            f"{len(played)} replicates, but {what}: a game that repeats itself adds no information, and intervals over "
            "such replicates are narrower than what is known (pseudo-replication).",
        )


def _unreadable(pair: str, played: Sequence[PlayedGame], side: Side) -> Iterator[Caution]:
    rounds = sum(len(game.rounds) for game in played)
    flagged = sum(game.flagged(side) for game in played)
    if rounds and flagged / rounds > MOST_UNREADABLE:
        name = played[0].players[SIDES.index(side)]
        yield Caution(
            f"{name} in {pair}",
            f"{flagged} of {rounds} actions ({flagged / rounds:.1%}) could not be read; compare the figures with and "
            "without these rounds.",
        )
