"""The report on the games of an experiment: measures with intervals, leaderboards, figures. Pure."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from typing import Final

from parley_lab.kinds import Json, Report, Reporter, ReportTable
from parley_lab.kinds.stages.matrix_game.arena.games import (
    Pairing,
    PlayedGame,
    arm_of,
    games_from,
    measures_of,
    with_pairs,
)
from parley_lab.kinds.stages.matrix_game.arena.intervals import Estimate
from parley_lab.kinds.stages.matrix_game.arena.over_alpha import COLUMNS as ALPHA_COLUMNS
from parley_lab.kinds.stages.matrix_game.arena.over_alpha import Alphas, over_alpha
from parley_lab.kinds.stages.matrix_game.arena.overview import COLUMNS as OVERVIEW_COLUMNS
from parley_lab.kinds.stages.matrix_game.arena.overview import overview
from parley_lab.kinds.stages.matrix_game.arena.plots import plots
from parley_lab.kinds.stages.matrix_game.arena.standings import (
    CONVENTIONS,
    Convention,
    Rank,
    cooperation_rates,
    has_even_lengths,
    scores,
    scores_per_round,
    standings,
)
from parley_lab.kinds.stages.matrix_game.arena.summaries import by_pair, cautions, experiment_estimates, pair_estimates
from parley_lab.kinds.stages.matrix_game.arena.terminal import heat_map_lines, leaderboard_lines

Row = Mapping[str, Json]
_WHERE: Final = (
    *("pair", "replicate", "cohort_path", "cohort", "treatment", "stage"),
    *(f"{name}_{side}" for name in ("participant", "treatment", "player") for side in ("a", "b")),
)
_ESTIMATE: Final = ("count", "missing", "mean", "deviation", "low", "high")
_MOST_NAMED: Final = 3
ALL_ROUNDS: Final = "all"
UNFLAGGED: Final = "unflagged"


class GamesReporter(Reporter):
    """Measures complete games; counts those that failed or were abandoned, and reports their number."""

    def __init__(self, stage_ids: Sequence[str]) -> None:
        self._pairing = Pairing(tells_stages=len(stage_ids) > 1)
        self._games: list[tuple[Row, PlayedGame]] = []
        self._arms: list[str] = []
        self._alphas: list[Alphas] = []
        self._without_result: Counter[str] = Counter()
        self._names: dict[str, set[str]] = {}
        self._is_dilemma = True

    def add(self, rows: Sequence[Row]) -> None:
        if not rows:
            return
        placed = [*with_pairs(rows, self._pairing)]
        if placed[0]["status"] != "over":
            self._without_result[placed[0]["pair"]] += 1
            return
        where = {column: placed[0].get(column) for column in _WHERE}
        self._games.append((where, games_from(placed)[0]))
        self._arms.append(arm_of(placed[0]))
        self._alphas.append((placed[0].get("alpha_a"), placed[0].get("alpha_b")))
        self._is_dilemma = self._is_dilemma and placed[0].get("is_dilemma") is not False
        for side in ("a", "b"):
            self._names.setdefault(str(placed[0][f"player_{side}"]), set()).add(
                str(placed[0].get(f"name_{side}") or "")
            )

    def report(self) -> Report | None:
        games = [game for _, game in self._games]
        if not games:
            return None
        drawn = plots([*zip(self._arms, games, strict=True)], self._called(), is_dilemma=self._is_dilemma)
        pairs = _pairs_table(games)
        return Report(
            tables=(
                self._overview(pairs, len(games)),
                _games_table(self._games),
                pairs,
                _measures_table(games),
                _leaderboard(games),
                self._cautions(games),
                *(ReportTable(plot.name, plot.columns, plot.rows) for plot in drawn),
                *self._over_alpha(games),
            ),
            figures={f"{plot.name}.svg": plot.drawing for plot in drawn},
            lines=tuple(self._lines(games)),
        )

    def _overview(self, pairs: ReportTable, games: int) -> ReportTable:
        whole = [row for row in pairs.rows if row["rounds"] == ALL_ROUNDS]
        return ReportTable("overview", OVERVIEW_COLUMNS, tuple(overview(whole, games, is_dilemma=self._is_dilemma)))

    def _over_alpha(self, games: Sequence[PlayedGame]) -> Iterator[ReportTable]:
        rows = over_alpha(zip(self._alphas, games, strict=True), self._called())
        if rows:
            word = "cooperation" if self._is_dilemma else "first_action"
            yield ReportTable(f"{word}_over_alpha", ALPHA_COLUMNS, tuple(rows))

    def _called(self) -> dict[str, str]:
        """The players' names in figures: the profile's name, if it is unique and the same in all games."""
        own = {player: next(iter(names)) for player, names in self._names.items() if len(names) == 1}
        shared = Counter(own.values())
        return {player: name if name and shared[name] == 1 else player for player, name in own.items()}

    def _cautions(self, games: Sequence[PlayedGame]) -> ReportTable:
        rows = [{"subject": one.subject, "caution": one.text} for one in cautions(games)]
        rows += [{"subject": pair, "caution": _missing(count)} for pair, count in self._without_result.items()]
        return ReportTable("cautions", ("subject", "caution"), tuple(rows))

    def _lines(self, games: Sequence[PlayedGame]) -> Iterator[str]:
        for convention in CONVENTIONS:
            yield from leaderboard_lines(_ranked(games, convention), convention, unit=_unit(games))
            yield ""
        yield from heat_map_lines(cooperation_rates(games), "Cooperation" if self._is_dilemma else "First action")
        subjects: dict[str, list[str]] = {}
        for row in self._cautions(games).rows:
            subjects.setdefault(row["caution"], []).append(row["subject"])
        for caution, named in subjects.items():
            more = f" and {len(named) - _MOST_NAMED} more (cautions.csv)" if len(named) > _MOST_NAMED else ""
            yield f"Note: {', '.join(named[:_MOST_NAMED])}{more}: {caution}"


def _missing(count: int) -> str:
    games = "1 game" if count == 1 else f"{count} games"
    return f"{games} without a result, in no figure: failed, abandoned or not over."


def _games_table(games: Sequence[tuple[Row, PlayedGame]]) -> ReportTable:
    lines = [{**where, **measures_of(game)} for where, game in games]
    return ReportTable("games", tuple(lines[0]), tuple(lines))


def _pairs_table(games: Sequence[PlayedGame]) -> ReportTable:
    rows = []
    for pair, played in by_pair(games).items():
        names = {"pair": pair, "player_a": played[0].players[0], "player_b": played[0].players[1]}
        rows += [{**names, **row} for row in _estimates(pair_estimates(played), ALL_ROUNDS)]
        if any(game.flagged(side) for game in played for side in ("a", "b")):
            unflagged = pair_estimates(played, with_flagged=False)
            rows += [{**names, **row} for row in _estimates(unflagged, UNFLAGGED)]
    return ReportTable("pairs", ("pair", "player_a", "player_b", "rounds", "measure", *_ESTIMATE), tuple(rows))


def _measures_table(games: Sequence[PlayedGame]) -> ReportTable:
    """Measures over the pairs: a pair is one value."""
    rows = [*_estimates(experiment_estimates(games), ALL_ROUNDS)]
    if any(game.flagged(side) for game in games for side in ("a", "b")):
        rows += _estimates(experiment_estimates(games, with_flagged=False), UNFLAGGED)
    return ReportTable("measures", ("rounds", "measure", *_ESTIMATE), tuple(rows))


def _estimates(found: Mapping[str, Estimate], rounds: str) -> Iterator[dict[str, Json]]:
    for measure, estimate in found.items():
        yield {"rounds": rounds, "measure": measure, **asdict(estimate)}


def _unit(games: Sequence[PlayedGame]) -> str:
    return "points" if has_even_lengths(games) else "points per round"


def _ranked(games: Sequence[PlayedGame], convention: Convention) -> list[Rank]:
    """By points or, where games differ in length, by points per round: a mean over the same seats."""
    if has_even_lengths(games):
        return standings(scores(games), convention)
    found = standings(scores_per_round(games), convention)
    if convention == "self-play twice":
        return found
    means = {one.player: one.score / one.pairings if one.pairings else 0.0 for one in found}
    return sorted(
        (
            replace(one, score=means[one.player], rank=1 + sum(mean > means[one.player] for mean in means.values()))
            for one in found
        ),
        key=lambda one: (one.rank, one.player),
    )


def _leaderboard(games: Sequence[PlayedGame]) -> ReportTable:
    """The total follows the convention for points, whatever the lengths of games."""
    rows = []
    for convention in CONVENTIONS:
        totals = {one.player: one.score for one in standings(scores(games), convention)}
        for one in _ranked(games, convention):
            rows.append({"convention": convention, **asdict(one), "unit": _unit(games), "total": totals[one.player]})
    return ReportTable("leaderboard", tuple(rows[0]), tuple(rows))
