"""Personas that act by script, and what a file may say about them."""

import json
from dataclasses import replace
from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.design import load, validate
from parley_lab.design.providers import models_used

GAME = {"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": 5}}
TFT = {"id": "tft", "player": "script", "script": {"matrix_game": {"policy": "TFT"}}}


def file(*personas: dict[str, Any], stage: dict[str, Any] | None = None, **fields: Any) -> str:
    seats = [{"persona": persona["id"]} for persona in personas] or [{"open": True}, {"open": True}]
    document: dict[str, Any] = {
        "parley": 1,
        "name": "Games",
        "stages": [stage or GAME],
        "personas": list(personas),
        "cohorts": [{"seats": seats if len(seats) == 2 else seats * 2}],
        **fields,
    }
    return json.dumps(document)


def problems(text: str) -> list[str]:
    with pytest.raises(InvalidInput) as caught:
        load(text, "games.json")
    return [str(replace(problem, at="")) for problem in caught.value.problems]


def test_policies_need_no_provider() -> None:
    assert models_used(load(file(TFT), "games.json")) == []


@pytest.mark.parametrize(
    ("script", "where"),
    [
        ({"matrix_game": {"policy": "TIT"}}, "personas[0].script.matrix_game.policy"),
        ({"matrix_game": {"policy": "TFT", "alpha": 0.5}}, "personas[0].script.matrix_game"),
        ({"matrix_game": {"policy": "TFT", "persona": "selfish"}}, "personas[0].script.matrix_game"),
        ({"matrix_game": {"policy": "RANDOM", "alpha": 2}}, "personas[0].script.matrix_game.alpha"),
        ({"matrix_game": {}}, "personas[0].script.matrix_game"),
        ({"game": {"persona": "nice"}}, "personas[0].script.game.persona"),
        ({"gmae": {"policy": "TFT"}}, "personas[0].script.gmae"),
        ({}, "personas[0].script.game"),
    ],
)
def test_a_script_that_cannot_be_played_is_refused_where_it_is(script: dict[str, Any], where: str) -> None:
    found = problems(file({**TFT, "script": script}))

    assert next(one.partition(": ")[0] for one in found) == where


def test_gtft_says_when_the_payoffs_give_it_no_generosity() -> None:
    stage = {**GAME, "exploratory": True, "payoffs": {"CC": [1, 1], "CD": [3, 3], "DC": [3, 3], "DD": [0, 0]}}
    gtft = {**TFT, "script": {"matrix_game": {"policy": "GTFT"}}}

    assert "script.matrix_game.generosity" in problems(file(gtft, stage=stage))[0]


def test_a_game_of_two_needs_two_players() -> None:
    for seats in ([{"persona": "tft"}], [{"persona": "tft", "count": 3}]):
        (found,) = problems(file(TFT, cohorts=[{"seats": seats}]))

        assert found.startswith("cohorts[0].seats: ")
        assert "Write 2, for the stage 'game'" in found


def test_a_player_may_meet_itself() -> None:
    assert load(file(TFT, cohorts=[{"seats": [{"persona": "tft", "count": 2}]}]), "games.json").cohorts[0].seats


def test_a_mediator_has_a_model() -> None:
    found = problems(file(TFT, cohorts=[{"seats": [{"persona": "tft", "count": 2}], "mediators": ["tft"]}]))

    assert found == [
        "cohorts[0].mediators[0]: a persona that acts by script cannot be used here. Write one that a model speaks for."
    ]


@pytest.mark.parametrize(
    ("payoffs", "broken"), [({"CC": [3, 3], "CD": [0, 10], "DC": [10, 0], "DD": [1, 1]}, "2R > T + S")]
)
def test_what_is_no_dilemma_is_refused_unless_it_is_exploratory(payoffs: dict[str, Any], broken: str) -> None:
    (found,) = problems(file(TFT, stage={**GAME, "payoffs": payoffs}))

    assert broken in found
    assert found.startswith("stages[0].payoffs: ")
    assert load(file(TFT, stage={**GAME, "payoffs": payoffs, "exploratory": True}), "games.json").stages


def test_named_actions_are_not_counterbalanced() -> None:
    assert "counterbalance" in problems(file(TFT, stage={**GAME, "counterbalance": True}))[0]


@pytest.mark.parametrize("name", ["talk", "group_interview"])
def test_a_script_for_a_stage_whose_kind_has_none_is_refused(name: str) -> None:
    task = {"id": "hello", "type": "discussion", "variable": "hello", "text": "Hello."}
    stage = {"id": "talk", "kind": "group_interview", "roles": [{"label": "A"}], "tasks": [task]}
    persona = {"id": "ana", "script": {name: {"answers": {"hello": "Hi"}}}}
    cohorts = [{"seats": [{"persona": "ana"}]}]
    file = {"parley": 1, "name": "A", "stages": [stage], "personas": [persona], "cohorts": cohorts}

    with pytest.raises(InvalidInput) as refused:
        validate(file)

    assert [str(one) for one in refused.value.problems] == [
        f"personas[0] (ana).script.{name}: a stage of the kind group_interview follows no script. "
        "Take the script out, and let a model speak for the persona."
    ]
