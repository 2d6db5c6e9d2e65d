"""Who came how far in a tournament, by a convention that is always named: games against oneself change the order."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations_with_replacement
from statistics import fmean
from typing import Final, Literal

from shared.stages.matrix_game.arena import measures
from shared.stages.matrix_game.arena.games import SIDES, Game

Convention = Literal["without self-play", "self-play once", "self-play twice"]
CONVENTIONS: Final[dict[Convention, str]] = {
    "without self-play": "sum over the opponents; games against itself do not count",
    "self-play once": "sum over the opponents and one seat of the game against itself",
    "self-play twice": "mean over all seats, both seats of the game against itself included",
}
_SELF: Final[dict[Convention, int]] = {"without self-play": 0, "self-play once": 1, "self-play twice": 2}


@dataclass(frozen=True, slots=True)
class Standing:
    """One line of a leaderboard. Players with equal scores share a rank.

    `score` is what the convention says, of the mean game of every pairing, so that replicates do not count twice.
    """

    rank: int
    player: str
    score: float
    pairings: int


def pairings(players: Iterable[str]) -> list[tuple[str, str]]:
    """Everybody against everybody and against itself, each pairing once: n (n + 1) / 2 of them."""
    return list(combinations_with_replacement(players, 2))


def scores(games: Iterable[Game]) -> dict[tuple[str, str], float]:
    """(player, opponent) -> the player's points in the mean game of the two; against itself, the mean of both seats."""
    points: dict[tuple[str, str], list[float]] = {}
    for game in games:
        a, b = game.players
        points.setdefault((a, b), []).append(sum(game.points("a")))
        points.setdefault((b, a), []).append(sum(game.points("b")))
    return {pairing: fmean(found) for pairing, found in points.items()}


def has_even_lengths(games: Iterable[Game]) -> bool:
    """Whether all games have equally many rounds that count, so that totals can be compared."""
    return len({len(game.points("a")) for game in games}) <= 1


def scores_per_round(games: Iterable[Game]) -> dict[tuple[str, str], float]:
    """The same as `scores`, of points per round: what games of different lengths can be compared by."""
    points: dict[tuple[str, str], list[float]] = {}
    for game in games:
        for side, pairing in zip(SIDES, (game.players, game.players[::-1]), strict=True):
            if found := game.points(side):
                points.setdefault(pairing, []).append(fmean(found))
    return {pairing: fmean(found) for pairing, found in points.items()}


def cooperation_rates(games: Iterable[Game]) -> dict[tuple[str, str], float]:
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


def standings(scored: Mapping[tuple[str, str], float], convention: Convention) -> list[Standing]:
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
        Standing(1 + sum(totals[other][0] > totals[player][0] for other in players), player, *totals[player])
        for player in ordered
    ]
