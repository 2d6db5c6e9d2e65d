"""The leaderboard of a tournament, by a named convention: whether games against oneself count changes the order."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from statistics import fmean
from typing import Final, Literal

from parley_lab.kinds.stages.matrix_game.arena import measures
from parley_lab.kinds.stages.matrix_game.arena.games import SIDES, PlayedGame

Convention = Literal["without self-play", "self-play once", "self-play twice"]
CONVENTIONS: Final[dict[Convention, str]] = {
    "without self-play": "sum over the opponents; games against itself do not count",
    "self-play once": "sum over the opponents and one seat of the game against itself",
    "self-play twice": "mean over all seats, both seats of the game against itself included",
}
_SELF: Final[dict[Convention, int]] = {"without self-play": 0, "self-play once": 1, "self-play twice": 2}


@dataclass(frozen=True, slots=True)
class Rank:
    """One line of a leaderboard. Players with equal scores share a rank.

    `score`: by the convention, of the mean game of every pairing, so that replicates do not count twice.
    """

    rank: int
    player: str
    score: float
    pairings: int


def pairings(players: Iterable[str]) -> list[tuple[str, str]]:
    """All pairings of the players, with themselves too, each once: n (n + 1) / 2 of them."""
    return list(combinations_with_replacement(players, 2))


def scores(games: Iterable[PlayedGame]) -> dict[tuple[str, str], float]:
    """(player, opponent) -> the player's points in the mean game of the two; against itself, the mean of both seats."""
    points: dict[tuple[str, str], list[float]] = {}
    for game in games:
        a, b = game.players
        points.setdefault((a, b), []).append(sum(game.points("a")))
        points.setdefault((b, a), []).append(sum(game.points("b")))
    return {pairing: fmean(found) for pairing, found in points.items()}


def has_even_lengths(games: Iterable[PlayedGame]) -> bool:
    """Whether all games have the same number of rounds that count, so that totals can be compared."""
    return len({len(game.points("a")) for game in games}) <= 1


def scores_per_round(games: Iterable[PlayedGame]) -> dict[tuple[str, str], float]:
    """Like `scores`, in points per round, to compare games of different lengths."""
    points: dict[tuple[str, str], list[float]] = {}
    for game in games:
        for side, pairing in zip(SIDES, (game.players, game.players[::-1]), strict=True):
            if found := game.points(side):
                points.setdefault(pairing, []).append(fmean(found))
    return {pairing: fmean(found) for pairing, found in points.items()}


def cooperation_rates(games: Iterable[PlayedGame]) -> dict[tuple[str, str], float]:
    """(player, opponent) -> the player's mean cooperation rate against that opponent; the cells of a heat map."""
    rates: dict[tuple[str, str], list[float]] = {}
    for game in games:
        a, b = game.players
        for pairing, rate in (
            ((a, b), measures.cooperation_rate(game.play("a"))),
            ((b, a), measures.cooperation_rate(game.play("b"))),
        ):
            if rate is not None:
                rates.setdefault(pairing, []).append(rate)
    return {pairing: fmean(found) for pairing, found in rates.items()}


def standings(scored: Mapping[tuple[str, str], float], convention: Convention) -> list[Rank]:
    """The leaderboard by this convention, best first; equal scores by name."""
    players = sorted({player for player, _ in scored})
    totals: dict[str, tuple[float, int]] = {}
    for player in players:
        weights = {
            opponent: _SELF[convention] if opponent == player else 1 for one, opponent in scored if one == player
        }
        total = sum(weight * scored[player, opponent] for opponent, weight in weights.items())
        counted = sum(weights.values())
        totals[player] = (total / counted if convention == "self-play twice" and counted else total, counted)
    ordered = sorted(players, key=lambda player: (-totals[player][0], player))
    return [
        Rank(1 + sum(totals[other][0] > totals[player][0] for other in players), player, *totals[player])
        for player in ordered
    ]
