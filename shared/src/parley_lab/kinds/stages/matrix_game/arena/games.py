"""Reads games from the long table of rounds, and computes the measures of one game as a line of a table."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import groupby
from math import fsum, inf, isfinite
from typing import Any, Final, Literal

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.kinds.stages.matrix_game.arena import measures
from parley_lab.kinds.stages.matrix_game.arena.measures import COOPERATE, DEFECT, NOT_COUNTED, Play

Value = float | int | bool | None
Side = Literal["a", "b"]
SIDES: Final[tuple[Side, Side]] = ("a", "b")

_RATE: Final = (0.0, 1.0)
_COUNT: Final = (0.0, inf)
_ANY: Final = (-inf, inf)
MEASURES: Final[Mapping[str, tuple[float, float]]] = {
    "rounds": _COUNT,
    "counted_rounds": _COUNT,
    "mutual_cooperation": _RATE,
    "mutual_defection": _RATE,
    "exploitation": _RATE,
    "betrayals": _COUNT,
    "betrayals_without_recovery": _COUNT,
    "trust_recovery_rounds": _COUNT,
    "time_to_collapse": _COUNT,
    "payoff_gap_a": _ANY,
}
"""The measures of a whole game, each with the least and the greatest value possible."""
SIDE_MEASURES: Final[Mapping[str, tuple[float, float]]] = {
    "cooperation": _RATE,
    "points": _ANY,
    "points_per_round": _ANY,
    "exploits": _RATE,
    "exploitation_window": _COUNT,
    "retaliation": _RATE,
    "forgiveness_after_defection": _RATE,
    "forgiveness_after_mutual_defection": _RATE,
    "is_nice": _RATE,
    "deception_success": _RATE,
    "signal_consistency": _RATE,
    "signal_correlation": (-1.0, 1.0),
    "violations": _COUNT,
    "unreadable": _RATE,
}
"""The measures of one player; in a line of a game they end in `_a` or `_b`."""


def bounds_of(measure: str) -> tuple[float, float]:
    """The least and the greatest value of this measure, for `cooperation_a` as for `cooperation`."""
    return MEASURES[measure] if measure in MEASURES else SIDE_MEASURES[measure[:-2]]


@dataclass(frozen=True, slots=True)
class Round:
    """One round; `actions` and `points` are None in a round that does not count."""

    number: int
    actions: tuple[str, str] | None
    points: tuple[float, float] | None
    flags: tuple[str, str] = ("", "")
    signals: tuple[str, str] = ("", "")
    violations: tuple[int, int] = (0, 0)


@dataclass(frozen=True, slots=True)
class PlayedGame:
    """All rounds of one game, in order; a pair plays one game in every replicate."""

    pair: str
    replicate: int
    players: tuple[str, str]
    rounds: tuple[Round, ...]

    def play(self, side: Side = "a", *, with_flagged: bool = True) -> Play:
        """The actions from this side; `with_flagged`: whether flagged rounds count."""
        own, other = (self._letters(index, with_flagged) for index in _order(side))
        return Play(own, other)

    def points(self, side: Side) -> list[float]:
        """The points of this side in every round that counts."""
        index = _order(side)[0]
        return [one.points[index] for one in self.rounds if one.points is not None]

    def signals(self, side: Side) -> str:
        """The promises in this side's messages, a letter per round."""
        index = _order(side)[0]
        return "".join(one.signals[index] or NOT_COUNTED for one in self.rounds)

    def violations(self, side: Side) -> int:
        index = _order(side)[0]
        return sum(one.violations[index] for one in self.rounds)

    def flagged(self, side: Side) -> int:
        """The number of rounds in which no action of this side could be read."""
        index = _order(side)[0]
        return sum(bool(one.flags[index]) for one in self.rounds)

    def _letters(self, index: int, with_flagged: bool) -> str:
        return "".join(
            NOT_COUNTED if one.actions is None or (any(one.flags) and not with_flagged) else one.actions[index]
            for one in self.rounds
        )


def _order(side: Side) -> tuple[int, int]:
    return (0, 1) if side == "a" else (1, 0)


def arm_of(row: Mapping[str, Any]) -> str:
    """The arm of a game, as far as its treatment says more than the pair; empty without one.

    Where players have arms of their own it is both, in their order: `loss vs gain`; or the one that they share.
    """
    treatment = str(row.get("treatment") or "")
    if not treatment:
        own = dict.fromkeys(str(row.get(f"treatment_{side}") or "") for side in SIDES)
        return " vs ".join(own) if all(own) else ""
    cell = treatment.removeprefix(f"{row['player_a']}-vs-{row['player_b']}").removeprefix("-")
    return "" if cell == "default" else cell


class Pairing:
    """Names the pair of a game, and its replicate: the games of a pair are numbered in the order of the rows.

    A pair is named by its players; its arm and its stage are added where they differ between games.
    """

    def __init__(self, *, tells_stages: bool = False) -> None:
        """tells_stages: the games come from several stages."""
        self._tells_stages = tells_stages
        self._games: dict[str, dict[tuple[str, str], int]] = {}

    def of(self, row: Mapping[str, Any]) -> tuple[str, int]:
        """The pair and the replicate, of any row of the game."""
        stage, arm = str(row.get("stage") or ""), arm_of(row)
        players = f"{row['player_a']} vs {row['player_b']}"
        pair = ", ".join(part for part in (players, arm, stage if self._tells_stages else "") if part)
        of_pair = self._games.setdefault(pair, {})
        return pair, of_pair.setdefault((str(row.get("cohort_path")), stage), len(of_pair))


def with_pairs(rows: Iterable[Mapping[str, Any]], pairing: Pairing) -> Iterator[dict[str, Any]]:
    """Rows of the lab's own `rounds.csv`, with the pair and the replicate of each game."""
    for row in rows:
        pair, replicate = pairing.of(row)
        yield {**row, "pair": pair, "replicate": replicate}


def games_from(rows: Iterable[Mapping[str, Any]]) -> list[PlayedGame]:
    """The games in a table of rounds, rows in any order, values as in JSON or as text as in CSV; by pair and replicate.

    Reads the columns `pair`, `replicate`, `round` and, for both sides (`_a`, `_b`), `player`, `action` and `points`;
    also `flag`, `signal` and `violations`, where there are any. A flag is empty for an action that the player gave;
    otherwise it says what replaced it. A round without actions does not count.

    Raises:
        InvalidInput: with every invalid cell, and every missing or repeated round.
    """
    problems: list[Problem] = []
    read = [_Line(number, row, problems) for number, row in enumerate(rows, start=1)]
    if problems:
        raise InvalidInput("The table of rounds cannot be read.", problems)
    read.sort(key=_Line.game)
    games = [_game(list(lines), problems) for _, lines in groupby(read, key=_Line.game)]
    if problems:
        raise InvalidInput("The table of rounds cannot be read.", problems)
    return games


class _Line:
    """One row with its cells checked; problems are added to `problems`."""

    def __init__(self, number: int, row: Mapping[str, Any], problems: list[Problem]) -> None:
        self.number, self._row, self._problems = number, row, problems
        self.pair = str(row.get("pair") or "")
        self.replicate = int(self._number("replicate", "a whole number from 0", lambda n: n >= 0 and n == int(n)))
        self.players = (str(row.get("player_a") or ""), str(row.get("player_b") or ""))
        number_of_round = int(self._number("round", "a whole number from 1", lambda n: n >= 1 and n == int(n)))
        actions = [self._letter(f"action_{side}") for side in SIDES]
        if bool(actions[0]) != bool(actions[1]):
            self._complain("action_b", repr(actions[1]), "an action on both sides or on neither")
        counts = bool(actions[0])
        points = [self._number(f"points_{side}", "a number", isfinite) for side in SIDES] if counts else None
        self.round = Round(
            number=number_of_round,
            actions=(actions[0], actions[1]) if counts else None,
            points=(points[0], points[1]) if points else None,
            flags=(str(row.get("flag_a") or ""), str(row.get("flag_b") or "")),
            signals=(self._letter("signal_a"), self._letter("signal_b")),
            violations=(self._count("violations_a"), self._count("violations_b")),
        )

    def game(self) -> tuple[str, int]:
        return self.pair, self.replicate

    def _letter(self, column: str) -> str:
        found = self._row.get(column)
        if found in (None, ""):
            return ""
        if found not in (COOPERATE, DEFECT):
            self._complain(column, repr(found), "C, D or nothing")
        return str(found)

    def _count(self, column: str) -> int:
        if self._row.get(column) in (None, ""):
            return 0
        return int(self._number(column, "a whole number from 0", lambda n: n >= 0 and n == int(n)))

    def _number(self, column: str, expected: str, fits: Callable[[float], bool]) -> float:
        found = self._row.get(column)
        try:
            number = float(found) if isinstance(found, str | int | float) and not isinstance(found, bool) else None
        except (ValueError, OverflowError):
            number = None
        if number is None or not isfinite(number) or not fits(number):
            self._complain(column, repr(found)[:80], expected)
            return 0.0
        return number

    def _complain(self, column: str, found: str, expected: str) -> None:
        self._problems.append(Problem(f"row {self.number}, {column}", found, expected))


def _game(lines: Sequence[_Line], problems: list[Problem]) -> PlayedGame:
    lines = sorted(lines, key=lambda line: line.round.number)
    first = lines[0]
    for expected, line in enumerate(lines, start=1):
        if line.round.number != expected:
            where = f"row {line.number}, round"
            problems.append(Problem(where, str(line.round.number), f"round {expected} of {_named(first)}"))
            break
        if line.players != first.players:
            where = f"row {line.number}, player_a and player_b"
            problems.append(Problem(where, " and ".join(line.players), f"{' and '.join(first.players)}, as in round 1"))
            break
    return PlayedGame(first.pair, first.replicate, first.players, tuple(line.round for line in lines))


def _named(line: _Line) -> str:
    return f"the pair {line.pair!r}, replicate {line.replicate}"


def measures_of(game: PlayedGame, *, with_flagged: bool = True) -> dict[str, Value]:
    """One line per game with every measure; those of one player end in `_a` or `_b`.

    Points are those of all rounds that count. In a game without promises, the measures of promises are None.
    """
    play = game.play(with_flagged=with_flagged)
    recovery = measures.trust_recovery(play)
    totals = [fsum(game.points(side)) for side in SIDES]
    return {
        "rounds": len(game.rounds),
        "counted_rounds": len(play.outcomes),
        "mutual_cooperation": measures.outcome_rate(play, "CC"),
        "mutual_defection": measures.outcome_rate(play, "DD"),
        "exploitation": measures.exploitation_rate(play),
        "betrayals": recovery.betrayals,
        "betrayals_without_recovery": recovery.censored,
        "trust_recovery_rounds": recovery.mean_rounds,
        "time_to_collapse": measures.time_to_collapse(play),
        "payoff_gap_a": totals[1] - totals[0],
        **{
            f"{name}_{side}": value
            for side in SIDES
            for name, value in _of_side(game, game.play(side, with_flagged=with_flagged), side).items()
        },
    }


def _of_side(game: PlayedGame, play: Play, side: Side) -> dict[str, Value]:
    points, signals = game.points(side), game.signals(side)
    return {
        "cooperation": measures.cooperation_rate(play),
        "points": fsum(points),
        "points_per_round": fsum(points) / len(points) if points else None,
        "exploits": measures.outcome_rate(play, "DC"),
        "exploitation_window": measures.exploitation_window(play),
        "retaliation": measures.retaliation(play),
        "forgiveness_after_defection": measures.forgiveness_after_defection(play),
        "forgiveness_after_mutual_defection": measures.forgiveness_after_mutual_defection(play),
        "is_nice": measures.is_nice(play),
        "deception_success": measures.deception_success(play, signals),
        "signal_consistency": measures.signal_consistency(play, signals),
        "signal_correlation": measures.signal_correlation(play, signals),
        "violations": game.violations(side),
        "unreadable": game.flagged(side) / len(game.rounds) if game.rounds else None,
    }
