"""Players without a model, the table of guesses and the report."""

from random import Random
from typing import Any
from uuid import UUID

import pytest

from parley_lab.contracts.experiment import Profile
from parley_lab.kinds import Json, LabView, Member
from parley_lab.kinds.stages.beauty_contest.config import BeautyContestStage
from parley_lab.kinds.stages.beauty_contest.reporting import ContestData, ContestReporter, depth
from parley_lab.kinds.stages.beauty_contest.rules import ContestDraws
from parley_lab.kinds.stages.beauty_contest.scripts import ContestScripts, equilibrium
from parley_lab.testing.views import lab
from parley_lab.views.builder import stated, with_moves


def stage(**fields: Any) -> BeautyContestStage:
    return BeautyContestStage.model_validate({"id": "contest", "rounds": 3, **fields})


def scripted(*scripts: dict[str, Json]) -> tuple[Member, ...]:
    return tuple(
        Member(
            UUID(int=number),
            f"c1/m{number}",
            "participant",
            "script",
            Profile(name=f"P{number}"),
            script={"beauty_contest": script},
            persona=f"p{number}",
        )
        for number, script in enumerate(scripts, start=1)
    )


def played(of: BeautyContestStage, *scripts: dict[str, Json]) -> LabView:
    """The contest of these scripts, played to its end."""
    members = scripted(*scripts)
    view = stated(of, lab(*members, draws=ContestDraws().draw(members, {}, Random(1))))
    while moves := ContestScripts(of).play(view, Random):
        view = stated(of, with_moves(view, moves))
    return view


def guesses(view: LabView, player: int) -> list[float]:
    answers = view.answers[UUID(int=player)]
    return [answers[f"round:{number}/guess"]["guess"] for number in range(1, len(answers) + 1)]


def test_levels_think_from_the_middle_and_then_from_the_last_mean() -> None:
    view = played(stage(), {"policy": "level_1"}, {"policy": "level_2"}, {"policy": "level_3"})

    assert [guesses(view, player)[0] for player in (1, 2, 3)] == [33.33, 22.22, 14.81]
    mean = (33.33 + 22.22 + 14.81) / 3
    assert guesses(view, 1)[1] == round(mean * 2 / 3, 2)
    assert guesses(view, 3)[1] == round(mean * (2 / 3) ** 3, 2)
    assert view.state["status"] == "over"


def test_fixed_guesses_end_with_the_last_one_and_bounds_hold() -> None:
    view = played(stage(lower=20), {"guesses": [80, 60]}, {"policy": "level_3"})

    assert guesses(view, 1) == [80, 60, 60]
    assert guesses(view, 2) == [20, 20, 20]


def test_level_0_draws_within_the_bounds_the_same_for_the_same_chance() -> None:
    of = stage(lower=10, upper=20)
    view = played(of, {"policy": "level_0"}, {"policy": "level_0"})

    drawn = [guess for player in (1, 2) for guess in guesses(view, player)]
    assert all(10 <= guess <= 20 for guess in drawn)
    assert len(set(drawn)) == 6
    assert played(of, {"policy": "level_0"}, {"policy": "level_0"}).answers == view.answers


@pytest.mark.parametrize(("factor", "guess"), [(2 / 3, 0), (1, 50), (1.3, 100)])
def test_the_equilibrium_is_an_end_of_the_bounds_unless_the_factor_is_1(factor: float, guess: float) -> None:
    assert equilibrium(stage(factor=factor)) == guess


@pytest.mark.parametrize(
    ("given", "where"),
    [
        (None, [""]),
        ({}, [""]),
        ({"policy": "level_9"}, ["policy"]),
        ({"guesses": [1], "policy": "level_1"}, [""]),
        ({"guesses": [50, 101]}, ["guesses[1]"]),
        ({"guesses": [50, 30]}, []),
    ],
)
def test_what_is_wrong_with_a_script(given: dict[str, Json] | None, where: list[str]) -> None:
    assert [problem.where for problem in ContestScripts(stage()).problems(given)] == where


@pytest.mark.parametrize(("guess", "found"), [(50, 0.0), (100 / 3, 1.0), (200 / 9, 2.0), (100, -1.71), (0, None)])
def test_depth_counts_the_steps_from_the_reference(guess: float, found: float | None) -> None:
    assert depth(guess, 50, 2 / 3) == found


def test_the_table_has_a_row_for_each_guess() -> None:
    of = stage(rounds=2)
    table = ContestData(of).table
    assert table is not None

    rows = table.rows(played(of, {"guesses": [30, 10]}, {"guesses": [60, 20]}, {"guesses": [90, 60]}))

    assert [(row["round"], row["player"], row["guess"], row["is_winner"], row["prize"]) for row in rows] == [
        (1, "p1", 30, True, 20),
        (1, "p2", 60, False, 0),
        (1, "p3", 90, False, 0),
        (2, "p1", 10, False, 0),
        (2, "p2", 20, True, 20),
        (2, "p3", 60, False, 0),
    ]
    assert {(row["round"], row["mean"], row["target"]) for row in rows} == {(1, 60, 40), (2, 30, 20)}


def test_the_report_has_a_line_for_each_round() -> None:
    of = stage(rounds=2)
    table = ContestData(of).table
    assert table is not None
    reporter = ContestReporter(["contest"])
    for number, first in enumerate((30, 60), start=1):
        rows = table.rows(played(of, {"guesses": [first, 10]}, {"guesses": [60, 20]}, {"guesses": [90, 60]}))
        reporter.add([{"cohort": f"c{number}", "stage": "contest", **row} for row in rows])

    report = reporter.report()

    assert report is not None
    (of_rounds,) = report.tables
    assert [
        (row["cohort"], row["round"], row["mean"], row["winners"], row["winning_guess"]) for row in of_rounds.rows
    ] == [
        ("c1", 1, 60, "P1", "30"),
        ("c1", 2, 30, "P2", "20"),
        ("c2", 1, 70, "P1, P2", "60"),
        ("c2", 2, 30, "P2", "20"),
    ]
    assert report.lines == (
        "contest, round 1: mean 65, target 43.33, mean distance 25 (2 contests)",
        "contest, round 2: mean 30, target 20, mean distance 16.67 (2 contests)",
    )
