"""Leaderboards and heat maps as lines of text."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from parley_lab.kinds.stages.matrix_game.arena.standings import CONVENTIONS, Convention, Rank

_SHADES: Final = " ░▒▓█"


def leaderboard_lines(found: Sequence[Rank], convention: Convention, *, unit: str = "points") -> Iterator[str]:
    """One line for each player, below one with the convention."""
    if unit == "points":
        yield f"Leaderboard, {convention}: {CONVENTIONS[convention]}"
    else:
        yield f"Leaderboard, {convention}, {unit}: {CONVENTIONS[convention].replace('sum over', 'mean over')}"
    width = max((len(standing.player) for standing in found), default=0)
    is_even = len({standing.pairings for standing in found}) <= 1
    for standing in found:
        weight = "" if is_even else f"  of {standing.pairings} {'pairing' if standing.pairings == 1 else 'pairings'}"
        yield f"{standing.rank:>3}. {standing.player:<{width}}  {standing.score:>10.2f}{weight}"
    if not is_even:
        yield "     Not all met the same number of opponents: compare these scores with care."


def heat_map_lines(rates: Mapping[tuple[str, str], float], word: str = "Cooperation") -> Iterator[str]:
    """A row for each player, a column for each opponent: how often the player cooperates, in per cent and shades."""
    players = sorted({player for player, _ in rates})
    width = max(map(len, players), default=0)
    yield f"{word} of the player in the row with the opponent in the column, in per cent:"
    for number, player in enumerate(players, start=1):
        cells = " ".join(_cell(rates.get((player, opponent))) for opponent in players)
        yield f"{number:>3} {player:<{width}} {cells}"
    yield f"{'':>{width + 4}} " + " ".join(f"{number:^5}" for number, _ in enumerate(players, start=1))


def _cell(rate: float | None) -> str:
    if rate is None:
        return "  ·  "
    shade = _SHADES[min(int(rate * len(_SHADES)), len(_SHADES) - 1)]
    return f"{shade}{rate:>4.0%}"[:5] if rate < 1 else f"{shade}100%"
