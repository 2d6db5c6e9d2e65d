"""The first figures of an arena: its games, how much cooperation, and the pairs that earn the most and the least."""

from collections.abc import Iterator, Mapping, Sequence
from statistics import fmean
from typing import Any, Final

from parley_lab.kinds.stages.matrix_game.arena.intervals import estimate

Row = Mapping[str, Any]
COLUMNS: Final = ("figure", "pair", "player_a", "player_b", "value", "low", "high")


def overview(pairs: Sequence[Row], games: int, *, is_dilemma: bool) -> Iterator[dict[str, Any]]:
    """The rows of the table; `pairs`: those of the table of pairs with all rounds; `games`: how many have a result.

    Cooperation is a mean over pairs, each with the mean of both players. Pairs are compared by points a round, the mean
    of both players; of equal pairs the first one is named.
    """
    yield {"figure": "games", "value": games}
    cooperation = estimate([value for _, value in _of_both(pairs, "cooperation")], bounds=(0.0, 1.0))
    word = "cooperation" if is_dilemma else "first_action"
    yield {"figure": word, "value": cooperation.mean, "low": cooperation.low, "high": cooperation.high}
    scored = _of_both(pairs, "points_per_round")
    if len(scored) < 2:
        return
    for figure, (row, value) in (
        ("best_pair", max(scored, key=lambda one: one[1])),
        ("worst_pair", min(scored, key=lambda one: one[1])),
    ):
        names = {name: row[name] for name in ("pair", "player_a", "player_b")}
        yield {"figure": figure, **names, "value": value}


def _of_both(pairs: Sequence[Row], measure: str) -> list[tuple[Row, float]]:
    """Each pair that has the measure, with its mean over both players."""
    found: dict[str, tuple[Row, list[float]]] = {}
    for row in pairs:
        if row["measure"] in (f"{measure}_a", f"{measure}_b") and row["mean"] is not None:
            found.setdefault(row["pair"], (row, []))[1].append(row["mean"])
    return [(row, fmean(values)) for row, values in found.values()]
