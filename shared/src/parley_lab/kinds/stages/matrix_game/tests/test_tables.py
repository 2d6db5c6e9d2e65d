"""From the table of rounds to games, pairs and experiments."""

from collections.abc import Mapping
from random import Random
from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.kinds.stages.matrix_game.arena.games import (
    MEASURES,
    SIDE_MEASURES,
    PlayedGame,
    Round,
    bounds_of,
    games_from,
    measures_of,
)
from parley_lab.kinds.stages.matrix_game.arena.intervals import Estimate
from parley_lab.kinds.stages.matrix_game.arena.standings import pairings, scores, standings
from parley_lab.kinds.stages.matrix_game.arena.summaries import by_pair, cautions, experiment_estimates, pair_estimates

POINTS = {"CC": (3, 3), "CD": (0, 5), "DC": (5, 0), "DD": (1, 1)}


def rows(own: str, other: str, pair: str = "x", replicate: int = 0, **cells: Any) -> list[dict[str, Any]]:
    return [
        {
            "pair": pair,
            "replicate": replicate,
            "player_a": "Ana",
            "player_b": "Ben",
            "round": number,
            "action_a": one,
            "action_b": two,
            "points_a": POINTS[one + two][0],
            "points_b": POINTS[one + two][1],
            **cells,
        }
        for number, (one, two) in enumerate(zip(own, other, strict=True), start=1)
    ]


def problems(table: list[dict[str, Any]]) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        games_from(table)
    return [str(problem) for problem in caught.value.problems]


def a_game(own: str, other: str, pair: str = "x", replicate: int = 0, **cells: Any) -> PlayedGame:
    (game,) = games_from(rows(own, other, pair, replicate, **cells))
    return game


def test_a_table_reads_the_same_in_any_order_and_as_text() -> None:
    table = rows("CDDC", "CCDD") + rows("CC", "CC", replicate=1) + rows("CD", "DD", pair="y")
    shuffled: list[Mapping[str, Any]] = [{name: str(value) for name, value in row.items()} for row in table]
    Random(1).shuffle(shuffled)

    games = games_from(table)

    assert games == games_from(shuffled)
    assert [(game.pair, game.replicate, len(game.rounds)) for game in games] == [("x", 0, 4), ("x", 1, 2), ("y", 0, 2)]


def test_the_worked_example_has_nine_points_on_both_sides() -> None:
    found = measures_of(a_game("CDDC", "CCDD"))

    assert (found["points_a"], found["points_b"], found["payoff_gap_a"]) == (9, 9, 0)
    assert (found["points_per_round_a"], found["rounds"]) == (2.25, 4)


def test_every_measure_has_its_bounds_and_every_bound_a_measure() -> None:
    line = measures_of(a_game("CDDC", "CCDD"))

    assert set(line) == {*MEASURES, *(f"{name}_{side}" for name in SIDE_MEASURES for side in "ab")}
    for name, value in line.items():
        low, high = bounds_of(name)
        assert value is None or low <= value <= high


def test_a_round_that_is_missing_is_named() -> None:
    table = rows("CCC", "CCC")
    del table[1]

    assert problems(table) == ["row 2, round: 3 cannot be used here. Write round 2 of the pair 'x', replicate 0."]


def test_a_round_that_is_there_twice_is_refused() -> None:
    assert len(problems(rows("CC", "CC") + rows("CC", "CC"))) == 1


def test_every_bad_cell_is_named() -> None:
    table = rows("CCCCC", "CCCCC")
    table[0]["action_a"] = "cooperate"
    table[1]["points_b"] = "many"
    table[2]["round"] = 1.5
    table[3]["action_b"] = ""
    table[4]["replicate"] = -1

    found = problems(table)

    assert [one.split(":")[0] for one in found] == [
        "row 1, action_a",
        "row 2, points_b",
        "row 3, round",
        "row 4, action_b",
        "row 5, replicate",
    ]


@pytest.mark.parametrize("value", ["1e999", "nan", 10**400, True, None, [1]])
def test_no_cell_breaks_the_reader(value: Any) -> None:
    table = rows("C", "C")
    table[0]["points_a"] = value

    assert len(problems(table)) == 1


def test_players_do_not_change_within_a_game() -> None:
    table = rows("CC", "CC")
    table[1]["player_b"] = "Cyr"

    assert "Ana and Ben, as in round 1" in problems(table)[0]


def test_rates_can_be_had_without_rounds_that_could_not_be_read() -> None:
    table = rows("CDC", "CCC")
    table[1]["flag_a"] = "fallback:D"
    (game,) = games_from(table)

    assert measures_of(game)["cooperation_a"] == pytest.approx(2 / 3)
    assert measures_of(game, with_flagged=False)["cooperation_a"] == 1.0
    assert measures_of(game)["unreadable_a"] == pytest.approx(1 / 3)
    assert measures_of(game)["unreadable_b"] == 0


def test_a_round_without_actions_does_not_count() -> None:
    table = rows("CDC", "CCC")
    table[1] |= {"action_a": "", "action_b": "", "points_a": "", "points_b": "", "flag_b": "none"}
    (game,) = games_from(table)
    found = measures_of(game)

    assert (found["rounds"], found["counted_rounds"]) == (3, 2)
    assert (found["points_a"], found["cooperation_a"], found["unreadable_b"]) == (6, 1.0, 1 / 3)


def test_promises_and_violations_are_read() -> None:
    found = measures_of(a_game("CDDC", "CCDD", signal_a="C", violations_b=2))

    assert (found["deception_success_a"], found["signal_consistency_a"]) == (0.5, 0.5)
    assert found["signal_correlation_a"] is None
    assert found["deception_success_b"] is None
    assert (found["violations_a"], found["violations_b"]) == (0, 8)


def test_a_pair_has_estimates_over_its_replicates() -> None:
    games = [a_game(own, "C" * 10, replicate=number) for number, own in enumerate(["C" * 10, "D" + "C" * 9])]

    found = pair_estimates(games)

    assert found["cooperation_a"].mean == pytest.approx(0.95)
    assert found["cooperation_a"].high == 1.0
    assert found["retaliation_a"] == Estimate(0, 2)
    assert found["retaliation_b"] == Estimate(1, 1, 0.0)


def test_a_pair_is_one_value_of_the_experiment() -> None:
    games = games_from([row for number in range(9) for row in rows("CC", "CC", "x", number)] + rows("DD", "DD", "y", 0))

    assert experiment_estimates(games)["cooperation_a"].mean == 0.5
    assert experiment_estimates(games)["cooperation_a"].count == 2
    assert experiment_estimates([]) == {}


def test_replicates_that_repeat_each_other_are_told() -> None:
    same = [a_game("CD", "DD", replicate=number) for number in range(3)]
    different = [a_game(own, "CC", "y", number) for number, own in enumerate(("CC", "CD"))]

    (caution,) = cautions([*same, *different])

    assert caution.subject == "x"
    assert "3 replicates, but all games of the pair are the same" in caution.text


def test_a_player_that_is_often_unreadable_is_told() -> None:
    game = a_game("C" * 100, "C" * 100, flag_b="fallback:C")

    (caution,) = cautions([game])

    assert caution.subject == "Ben in x"
    assert "100 of 100 actions (100.0%)" in caution.text


def test_one_unreadable_action_in_a_hundred_is_no_reason_to_worry() -> None:
    table = rows("C" * 100, "C" * 100)
    table[5]["flag_b"] = "fallback:C"

    assert list(cautions(games_from(table))) == []


def test_replicates_do_not_count_twice_in_a_tournament() -> None:
    games = [PlayedGame("Ana vs Ben", number, ("Ana", "Ben"), (Round(1, ("C", "D"), (0, 5)),)) for number in range(3)]

    assert [(one.player, one.score) for one in standings(scores(games), "without self-play")] == [
        ("Ben", 5),
        ("Ana", 0),
    ]
    assert list(by_pair(games)) == ["Ana vs Ben"]


def test_everybody_meets_everybody_once() -> None:
    assert pairings(["a", "b", "c"]) == [("a", "a"), ("a", "b"), ("a", "c"), ("b", "b"), ("b", "c"), ("c", "c")]
