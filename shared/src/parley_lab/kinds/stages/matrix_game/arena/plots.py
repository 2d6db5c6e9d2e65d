"""The figures of an arena, and the tables of their values."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from statistics import fmean
from typing import Any, Final

from parley_lab.kinds.stages.matrix_game.arena import figures, measures
from parley_lab.kinds.stages.matrix_game.arena.figures import Heading, Panel, Scored
from parley_lab.kinds.stages.matrix_game.arena.games import SIDES, PlayedGame, Side
from parley_lab.kinds.stages.matrix_game.arena.intervals import Estimate, estimate
from parley_lab.kinds.stages.matrix_game.arena.standings import cooperation_rates, has_even_lengths

ALL_ARMS: Final = ""
"""In place of an arm: all arms together."""
_MOST_SERIES: Final = len(figures.COLOURS)


@dataclass(frozen=True, slots=True)
class Plot:
    """One figure and the rows of its values, under the same name."""

    name: str
    columns: tuple[str, ...]
    rows: tuple[Mapping[str, Any], ...]
    drawing: str


@dataclass(frozen=True, slots=True)
class _Seat:
    """One player in one game."""

    game: PlayedGame
    side: Side
    arm: str

    @property
    def opponent(self) -> str:
        return self.game.players[1 - SIDES.index(self.side)]


def plots(games: Sequence[tuple[str, PlayedGame]], names: Mapping[str, str], *, is_dilemma: bool) -> list[Plot]:
    """The figures of these games, each with its arm; `names`: the names of the players."""
    seats = _seats(games)
    ordered = sorted(seats, key=lambda player: (-(_score(seats[player])[1].mean or 0.0), player))
    called = {player: names.get(player, player) for player in ordered}
    word = "Cooperation" if is_dilemma else "First action"
    return [
        _over_time(seats, called, games, word),
        _payoffs(seats, called, games),
        _against(games, called, word),
    ]


def _seats(games: Iterable[tuple[str, PlayedGame]]) -> dict[str, list[_Seat]]:
    """The seats of every player; those in games against itself only where it has no others."""
    found: dict[str, list[_Seat]] = {}
    for arm, game in games:
        for side, player in zip(SIDES, game.players, strict=True):
            found.setdefault(player, []).append(_Seat(game, side, arm))
    return {player: [seat for seat in seats if seat.opponent != player] or seats for player, seats in found.items()}


def _score(seats: Sequence[_Seat]) -> tuple[str, Estimate]:
    """Points per round, and the cases of its interval."""
    return _over_opponents([(seat.opponent, _points_per_round(seat)) for seat in seats])


def _points_per_round(seat: _Seat) -> float | None:
    points = seat.game.points(seat.side)
    return fmean(points) if points else None


def _over_opponents(
    values: Iterable[tuple[str, float | None]], bounds: tuple[float, float] = (float("-inf"), float("inf"))
) -> tuple[str, Estimate]:
    """A mean over opponents; with a single opponent, over games."""
    by_opponent: dict[str, list[float]] = {}
    for opponent, value in values:
        if value is not None:
            by_opponent.setdefault(opponent, []).append(value)
    if len(by_opponent) == 1:
        return "games", estimate(*by_opponent.values(), bounds=bounds)
    return "opponents", estimate([fmean(found) for found in by_opponent.values()], bounds=bounds)


def _over_time(
    seats: Mapping[str, Sequence[_Seat]], names: Mapping[str, str], games: Sequence[tuple[str, PlayedGame]], word: str
) -> Plot:
    """A row of panels for each player, one for each arm if there are several but not too many."""
    arms, series = _arms(games)
    found = _by_arm(seats, names, series)
    curves = {place: _curve(chosen) for place, chosen in found.items() if chosen}
    rows = [
        {"player": player, "name": names[player], "arm": arm, "round": number, **_interval(one)}
        for (player, arm), curve in curves.items()
        for number, one in enumerate(curve, start=1)
    ]
    drawing = figures.panels(
        Heading(
            f"{word} over time, best score first",
            f"{_of(word)} over the last {measures.TRAILING_ROUNDS} rounds: mean and 95 % interval; n: {_N}; "
            f"thin: fewer than half of them have come so far.{_pooled(arms)}",
        ),
        [Panel(name, curves.get((player, arm), ())) for player, name in names.items() for arm in series],
        y_title=f"{word.lower()} rate",
        across=() if series == [ALL_ARMS] else series,
    )
    columns = ("player", "name", "arm", "round", "count", "mean", "low", "high")
    return Plot(f"{_file(word)}_over_time", columns, tuple(rows), drawing)


def _arms(games: Sequence[tuple[str, PlayedGame]]) -> tuple[list[str], list[str]]:
    """All arms, and those with panels of their own: all of them, or ALL_ARMS where there is one, or too many."""
    arms = list(dict.fromkeys(arm for arm, _ in games))
    return arms, arms if 1 < len(arms) <= _MOST_SERIES else [ALL_ARMS]


def _by_arm(
    seats: Mapping[str, Sequence[_Seat]], players: Iterable[str], arms: Sequence[str]
) -> dict[tuple[str, str], list[_Seat]]:
    """The seats of each player in all arms together and in each of them."""
    found: dict[tuple[str, str], list[_Seat]] = {}
    for player in players:
        found |= {(player, arm): [] for arm in dict.fromkeys([ALL_ARMS, *arms])}
        for seat in seats[player]:
            for arm in {ALL_ARMS, seat.arm}:
                if (player, arm) in found:
                    found[player, arm].append(seat)
    return found


def _pooled(arms: Sequence[str]) -> str:
    return f" {len(arms)} arms together." if len(arms) > _MOST_SERIES else ""


_N: Final = "opponents, or games where there is one opponent"


def _curve(seats: Sequence[_Seat]) -> list[Estimate]:
    """Round by round, over the games that have come so far."""
    curves = [(seat.opponent, measures.cooperation_over_time(seat.game.play(seat.side))) for seat in seats]
    longest = max((len(curve) for _, curve in curves), default=0)
    return [
        _over_opponents([(opponent, curve[at]) for opponent, curve in curves if at < len(curve)], (0.0, 1.0))[1]
        for at in range(longest)
    ]


def _payoffs(
    seats: Mapping[str, Sequence[_Seat]], names: Mapping[str, str], games: Sequence[tuple[str, PlayedGame]]
) -> Plot:
    arms, series = _arms(games)
    found = _by_arm(seats, names, arms)
    rows = [
        {"player": player, "name": names[player], "arm": arm, **_scored(chosen)}
        for (player, arm), chosen in found.items()
        if chosen
    ]
    scores = {player: [_score(found[player, arm])[1] for arm in series] for player in names}
    lengths = sorted({len(game.points("a")) for _, game in games})
    is_even = has_even_lengths([game for _, game in games])
    caution = "" if is_even else f" Games have {lengths[0]} to {lengths[-1]} rounds: totals rank their lengths, too."
    drawing = figures.dots(
        Heading("Points per round, best first", f"Mean and 95 % interval; n: {_N}.{_pooled(arms)}{caution}"),
        [Scored(names[player], scores[player], _total_in_words(scores[player], seats[player])) for player in names],
        series,
        x_title="points per round",
        totals="n; mean total of a game" if is_even else "n; mean total (see the caution)",
    )
    columns = ("player", "name", "arm", "over", "count", "mean", "low", "high", "games", "fewest_rounds", "most_rounds")
    return Plot("payoffs", (*columns, "mean_total"), tuple(rows), drawing)


def _scored(seats: Sequence[_Seat]) -> dict[str, Any]:
    over, score = _score(seats)
    lengths = [len(seat.game.points(seat.side)) for seat in seats]
    return {
        "over": over,
        **_interval(score),
        "games": len(seats),
        "fewest_rounds": min(lengths),
        "most_rounds": max(lengths),
        "mean_total": _mean_total(seats),
    }


def _mean_total(seats: Sequence[_Seat]) -> float:
    return fmean(sum(seat.game.points(seat.side)) for seat in seats)


def _total_in_words(scores: Sequence[Estimate], seats: Sequence[_Seat]) -> str:
    counts = ", ".join(dict.fromkeys(str(one.count) for one in scores))
    return f"n = {counts}; {_mean_total(seats):.1f}"


def _against(games: Sequence[tuple[str, PlayedGame]], names: Mapping[str, str], word: str) -> Plot:
    rates = cooperation_rates(game for _, game in games)
    played = Counter(pair for _, game in games for pair in {game.players, game.players[::-1]})
    rows = [
        {
            "player": player,
            "name": names[player],
            "opponent": opponent,
            "opponent_name": names[opponent],
            "games": played[player, opponent],
            "mean": rate,
        }
        for (player, opponent), rate in sorted(rates.items())
    ]
    each = sorted({played[pair] for pair in rates}) or [0]
    count = f"{each[0]}" if len(each) == 1 else f"{each[0]} to {each[-1]}"
    many = f"{count} game" if each == [1] else f"{count} games"
    heading = Heading(
        f"{word} of the player in the row, best score first",
        f"{_of(word)} in whole games, mean over n = {many} of each two; grey: none",
    )
    columns = ("player", "name", "opponent", "opponent_name", "games", "mean")
    return Plot(_file(word), columns, tuple(rows), figures.heat_map(heading, names, rates))


def _of(word: str) -> str:
    return "Cooperation rate" if word == "Cooperation" else "Share of rounds with the first action (C in the data)"


def _file(word: str) -> str:
    return word.lower().replace(" ", "_")


def _interval(one: Estimate) -> dict[str, Any]:
    return {key: value for key, value in asdict(one).items() if key in ("count", "mean", "low", "high")}
