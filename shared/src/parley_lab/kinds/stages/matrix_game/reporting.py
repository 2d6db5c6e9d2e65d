"""The report on the games of an experiment: measures with intervals, leaderboards, figures. Pure."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from statistics import fmean
from types import MappingProxyType
from typing import Any, Final

from parley_lab.kinds import Json
from parley_lab.kinds.data import Report, Reporter, ReportTable
from parley_lab.kinds.stages.matrix_game.arena import measures
from parley_lab.kinds.stages.matrix_game.arena.games import (
    SIDES,
    Pairing,
    PlayedGame,
    arm_of,
    games_from,
    measures_of,
    with_pairs,
)
from parley_lab.kinds.stages.matrix_game.arena.intervals import Estimate, estimate
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

Row = Mapping[str, Json]
_WHERE: Final = (
    *("pair", "replicate", "cohort_path", "cohort", "treatment", "stage"),
    *(f"{name}_{side}" for name in ("participant", "treatment", "player") for side in ("a", "b")),
)
_ESTIMATE: Final = ("count", "missing", "mean", "deviation", "low", "high")
_MOST_NAMED: Final = 3
NO_NAMES: Final[Mapping[str, str]] = MappingProxyType({})
"""Players are called by their ids."""
ALL_ROUNDS: Final = "all"
UNFLAGGED: Final = "unflagged"

ALPHA_COLUMNS: Final = ("player", "name", "alpha", "count", "mean", "low", "high")
Alphas = tuple[float | None, float | None]
"""The alpha of each player of a game; None: the player has another rule."""

_SHADES: Final = " ░▒▓█"

PairRow = Mapping[str, Any]
OVERVIEW_COLUMNS: Final = ("figure", "pair", "player_a", "player_b", "value", "low", "high")


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
                _leaderboard(games, self._called()),
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
            ranked = _ranked(games, convention)
            yield from leaderboard_lines(ranked, convention, unit=_unit(games), names=self._called())
            yield ""
        word = "Cooperation" if self._is_dilemma else "First action"
        yield from heat_map_lines(cooperation_rates(games), word, self._called())
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
    for measure, one in found.items():
        yield {"rounds": rounds, "measure": measure, **asdict(one)}


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


def _leaderboard(games: Sequence[PlayedGame], names: Mapping[str, str]) -> ReportTable:
    """The total follows the convention for points, whatever the lengths of games."""
    rows = []
    for convention in CONVENTIONS:
        totals = {one.player: one.score for one in standings(scores(games), convention)}
        for one in _ranked(games, convention):
            called = {"name": names.get(one.player, one.player), "total": totals[one.player]}
            rows.append({"convention": convention, **asdict(one), "unit": _unit(games), **called})
    return ReportTable("leaderboard", tuple(rows[0]), tuple(rows))


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
        {
            "player": player,
            "name": names.get(player, player),
            "alpha": alpha,
            **{key: one[key] for key in ALPHA_COLUMNS[3:]},
        }
        for (player, alpha), one in found.items()
    ]


def leaderboard_lines(
    found: Sequence[Rank], convention: Convention, *, unit: str = "points", names: Mapping[str, str] = NO_NAMES
) -> Iterator[str]:
    """One line for each player, below one with the convention."""
    if unit == "points":
        yield f"Leaderboard, {convention}: {CONVENTIONS[convention]}"
    else:
        yield f"Leaderboard, {convention}, {unit}: {CONVENTIONS[convention].replace('sum over', 'mean over')}"
    called = {standing.player: names.get(standing.player, standing.player) for standing in found}
    width = max(map(len, called.values()), default=0)
    is_even = len({standing.pairings for standing in found}) <= 1
    for standing in found:
        weight = "" if is_even else f"  of {standing.pairings} {'pairing' if standing.pairings == 1 else 'pairings'}"
        yield f"{standing.rank:>3}. {called[standing.player]:<{width}}  {standing.score:>10.2f}{weight}"
    if not is_even:
        yield "     Not all met the same number of opponents: compare these scores with care."


def heat_map_lines(
    rates: Mapping[tuple[str, str], float], word: str = "Cooperation", names: Mapping[str, str] = NO_NAMES
) -> Iterator[str]:
    """A row for each player, a column for each opponent: how often the player cooperates, in per cent and shades."""
    players = sorted({player for player, _ in rates})
    called = [names.get(player, player) for player in players]
    width = max(map(len, called), default=0)
    yield f"{word} of the player in the row with the opponent in the column, in per cent:"
    for number, (player, name) in enumerate(zip(players, called, strict=True), start=1):
        cells = " ".join(_cell(rates.get((player, opponent))) for opponent in players)
        yield f"{number:>3} {name:<{width}} {cells}"
    yield f"{'':>{width + 4}} " + " ".join(f"{number:^5}" for number, _ in enumerate(players, start=1))


def _cell(rate: float | None) -> str:
    if rate is None:
        return "  ·  "
    shade = _SHADES[min(int(rate * len(_SHADES)), len(_SHADES) - 1)]
    return f"{shade}{rate:>4.0%}"[:5] if rate < 1 else f"{shade}100%"


def overview(pairs: Sequence[PairRow], games: int, *, is_dilemma: bool) -> Iterator[dict[str, Any]]:
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


def _of_both(pairs: Sequence[PairRow], measure: str) -> list[tuple[PairRow, float]]:
    """Each pair that has the measure, with its mean over both players."""
    found: dict[str, tuple[PairRow, list[float]]] = {}
    for row in pairs:
        if row["measure"] in (f"{measure}_a", f"{measure}_b") and row["mean"] is not None:
            found.setdefault(row["pair"], (row, []))[1].append(row["mean"])
    return [(row, fmean(values)) for row, values in found.values()]
