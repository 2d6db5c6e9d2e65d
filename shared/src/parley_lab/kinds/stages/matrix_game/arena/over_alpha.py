"""Cooperation over alpha: how often players cooperate with opponents who cooperate by chance with this probability."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict
from typing import Any, Final

from parley_lab.kinds.stages.matrix_game.arena import measures
from parley_lab.kinds.stages.matrix_game.arena.games import SIDES, PlayedGame
from parley_lab.kinds.stages.matrix_game.arena.intervals import estimate

COLUMNS: Final = ("player", "name", "alpha", "count", "mean", "low", "high")
Alphas = tuple[float | None, float | None]
"""The alpha of each player of a game; None: the player has another rule."""


def over_alpha(games: Iterable[tuple[Alphas, PlayedGame]], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """A row for each player and alpha of its opponents, with the mean over games; none where all have one alpha.

    A curve of coop(alpha) needs two points. Players by chance are on no curve of their own: they heed no opponent.
    """
    rates: dict[tuple[str, float], list[float | None]] = {}
    for alphas, game in games:
        for own, side in enumerate(SIDES):
            alpha = alphas[1 - own]
            if alpha is not None and alphas[own] is None:
                rate = measures.cooperation_rate(game.play(side))
                rates.setdefault((game.players[own], alpha), []).append(rate)
    if len({alpha for _, alpha in rates}) < 2:
        return []
    found = {place: asdict(estimate(values, bounds=(0.0, 1.0))) for place, values in sorted(rates.items())}
    return [
        {"player": player, "name": names.get(player, player), "alpha": alpha, **{key: one[key] for key in COLUMNS[3:]}}
        for (player, alpha), one in found.items()
    ]
