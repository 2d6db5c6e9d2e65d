"""What the games of an experiment come to: measures with intervals, leaderboards, figures. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Final

from shared.arena.figures import bars, heat_map, lines
from shared.arena.games import Game, Pairing, games_from, measures_of, with_pairs
from shared.arena.intervals import Estimate
from shared.arena.standings import CONVENTIONS, cooperation_rates, scores, standings
from shared.arena.summaries import Chart, by_pair, cautions, chart, experiment_estimates, pair_estimates
from shared.arena.terminal import heat_map_lines, leaderboard_lines
from shared.stage import Json, Report, Reporter, ReportTable

Row = Mapping[str, Json]
_WHERE: Final = ("pair", "replicate", "cohort_path", "cohort", "treatment", "stage", "player_a", "player_b")
_ESTIMATE: Final = ("count", "missing", "mean", "deviation", "low", "high")
_MOST_NAMED: Final = 3
ALL_ROUNDS: Final = "all"
UNFLAGGED: Final = "unflagged"


class GamesReporter(Reporter):
    """Games that came to their end are measured; those that failed or were abandoned are counted, and said."""

    def __init__(self, stage_ids: Sequence[str]) -> None:
        self._pairing = Pairing(tells_stages=len(stage_ids) > 1)
        self._games: list[tuple[Row, Game]] = []
        self._without_result: Counter[str] = Counter()

    def add(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        placed = [*with_pairs(rows, self._pairing)]
        if placed[0]["status"] != "over":
            self._without_result[placed[0]["pair"]] += 1
            return
        where = {column: placed[0].get(column) for column in _WHERE}
        self._games.append((where, games_from(placed)[0]))

    def report(self) -> Report | None:
        games = [game for _, game in self._games]
        if not games:
            return None
        return Report(
            tables=(
                _games_table(self._games),
                _pairs_table(games),
                _measures_table(games),
                _leaderboard(games),
                self._cautions(games),
            ),
            figures=_figures(games),
            lines=tuple(self._lines(games)),
        )

    def _cautions(self, games: Sequence[Game]) -> ReportTable:
        rows = [{"subject": one.subject, "caution": one.text} for one in cautions(games)]
        rows += [{"subject": pair, "caution": _missing(count)} for pair, count in self._without_result.items()]
        return ReportTable("cautions", ("subject", "caution"), tuple(rows))

    def _lines(self, games: Sequence[Game]) -> Iterator[str]:
        for convention in CONVENTIONS:
            yield from leaderboard_lines(standings(scores(games), convention), convention)
            yield ""
        yield from heat_map_lines(cooperation_rates(games))
        subjects: dict[str, list[str]] = {}
        for row in self._cautions(games).rows:
            subjects.setdefault(row["caution"], []).append(row["subject"])
        for caution, named in subjects.items():
            more = f" and {len(named) - _MOST_NAMED} more (cautions.csv)" if len(named) > _MOST_NAMED else ""
            yield f"Note: {', '.join(named[:_MOST_NAMED])}{more}: {caution}"


def _missing(count: int) -> str:
    games = "1 game" if count == 1 else f"{count} games"
    return f"{games} without a result, in no figure: failed, abandoned or not over."


def _games_table(games: Sequence[tuple[Row, Game]]) -> ReportTable:
    lines = [{**where, **measures_of(game)} for where, game in games]
    return ReportTable("games", tuple(lines[0]), tuple(lines))


def _pairs_table(games: Sequence[Game]) -> ReportTable:
    rows = []
    for pair, played in by_pair(games).items():
        names = {"pair": pair, "player_a": played[0].players[0], "player_b": played[0].players[1]}
        rows += [{**names, **row} for row in _estimates(pair_estimates(played), ALL_ROUNDS)]
        if any(game.flagged(side) for game in played for side in ("a", "b")):
            unflagged = pair_estimates(played, with_flagged=False)
            rows += [{**names, **row} for row in _estimates(unflagged, UNFLAGGED)]
    return ReportTable("pairs", ("pair", "player_a", "player_b", "rounds", "measure", *_ESTIMATE), tuple(rows))


def _measures_table(games: Sequence[Game]) -> ReportTable:
    """Over the pairs: a pair is one value."""
    rows = [*_estimates(experiment_estimates(games), ALL_ROUNDS)]
    if any(game.flagged(side) for game in games for side in ("a", "b")):
        rows += _estimates(experiment_estimates(games, with_flagged=False), UNFLAGGED)
    return ReportTable("measures", ("rounds", "measure", *_ESTIMATE), tuple(rows))


def _estimates(found: Mapping[str, Estimate], rounds: str) -> Iterator[dict[str, Json]]:
    for measure, estimate in found.items():
        yield {"rounds": rounds, "measure": measure, **asdict(estimate)}


def _leaderboard(games: Sequence[Game]) -> ReportTable:
    scored = scores(games)
    rows = [
        {"convention": convention, **asdict(standing)}
        for convention in CONVENTIONS
        for standing in standings(scored, convention)
    ]
    return ReportTable("leaderboard", ("convention", "rank", "player", "score", "pairings"), tuple(rows))


def _figures(games: Sequence[Game]) -> dict[str, str]:
    pairs = by_pair(games)
    curves = {pair: _both(chart(played)) for pair, played in pairs.items()}
    payoffs = {
        pair: [(name, found[f"points_{side}"].mean) for name, side in zip(played[0].players, "ab", strict=True)]
        for pair, played in pairs.items()
        for found in [pair_estimates(played)]
    }
    return {
        "cooperation_over_time.svg": lines("Cooperation over the last ten rounds, mean of both players", curves),
        "payoffs.svg": bars("Mean points per game", payoffs),
        "cooperation.svg": heat_map("Cooperation rate of the player in the row", cooperation_rates(games)),
    }


def _both(found: Chart) -> list[float | None]:
    return [
        None if one is None or other is None else (one + other) / 2
        for one, other in zip(found.cooperation_rates_a, found.cooperation_rates_b, strict=True)
    ]
