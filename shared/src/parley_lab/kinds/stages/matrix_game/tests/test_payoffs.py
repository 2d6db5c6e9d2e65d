"""Which payoffs make a Prisoner's Dilemma."""

import json

import pytest

from parley_lab.kinds.stages.matrix_game.payoffs import Payoffs, violations, written
from parley_lab.testing.dilemmas import prisoners_dilemma


@pytest.mark.parametrize("payoffs", [(5, 3, 1, 0), (50, 30, 10, 0), (5.5, 3, 1, -2)])
def test_a_dilemma_is_accepted(payoffs: tuple[float, float, float, float]) -> None:
    assert list(violations(prisoners_dilemma(*payoffs))) == []


@pytest.mark.parametrize(
    ("payoffs", "broken"),
    [
        ((10, 3, 1, 0), "6 against 10, which breaks 2R > T + S"),
        ((6, 3, 1, 0), "6 against 6, which breaks 2R > T + S"),
        ((5, 3, 0, 0), "0 against 0, which breaks P > S"),
        ((5, 3, 1, 1), "1 against 1, which breaks P > S"),
        ((3, 3, 1, 0), "3 against 3, which breaks T > R"),
        ((5, 1, 3, 0), "1 against 3, which breaks R > P"),
    ],
)
def test_the_broken_inequality_is_named(payoffs: tuple[float, float, float, float], broken: str) -> None:
    assert broken in [problem.found for problem in violations(prisoners_dilemma(*payoffs))]


def test_a_dilemma_has_equal_stakes_for_both() -> None:
    (problem,) = violations(Payoffs(CD=(0, 6)))

    assert "differ between the players" in problem.found


def test_the_second_player_sees_the_game_turned_round() -> None:
    payoffs = Payoffs(CC=(4, 3), CD=(0, 6), DC=(5, 1), DD=(2, 1))

    assert payoffs.mirrored().of("C", "D") == payoffs.of("D", "C")[::-1]
    assert payoffs.mirrored().mirrored() == payoffs


def test_payoffs_survive_json_as_they_were_written() -> None:
    payoffs = Payoffs(CC=(3, 2.5))

    assert Payoffs.model_validate(json.loads(payoffs.model_dump_json())) == payoffs
    assert [written(points) for points in payoffs.CC] == ["3", "2.5"]


def test_points_are_written_as_people_write_them() -> None:
    assert [written(points) for points in (0, -2.0, 0.1 + 0.2, 1e9, 0.00001)] == [
        "0",
        "-2",
        "0.3",
        "1000000000",
        "0.00001",
    ]
