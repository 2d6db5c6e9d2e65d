"""The replacement of an unreadable action is always flagged, and never a silent C."""

from typing import get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.kinds.stages.matrix_game.config import MatrixGameStage, OnInvalid
from parley_lab.kinds.stages.matrix_game.game import Move, move_for_unreadable


def test_the_game_fails_unless_the_researcher_says_otherwise() -> None:
    stage = MatrixGameStage(id="game")

    assert move_for_unreadable(stage.on_invalid, "CC", 0.1) == Move(None, "failed")


@pytest.mark.parametrize(
    ("on_invalid", "own", "luck", "expected"),
    [
        ("exclude_round", "CC", 0.1, Move(None, "excluded")),
        ("fallback:C", "DD", 0.9, Move("C", "fallback:C")),
        ("fallback:D", "CC", 0.1, Move("D", "fallback:D")),
        ("fallback:repeat", "CCD", 0.1, Move("D", "fallback:repeat")),
        ("fallback:repeat", "DDC", 0.9, Move("C", "fallback:repeat")),
        ("fallback:repeat", "", 0.9, Move("D", "fallback:repeat")),
        ("fallback:random", "CCC", 0.49, Move("C", "fallback:random")),
        ("fallback:random", "CCC", 0.5, Move("D", "fallback:random")),
    ],
)
def test_what_takes_the_place_of_an_action(on_invalid: OnInvalid, own: str, luck: float, expected: Move) -> None:
    assert move_for_unreadable(on_invalid, own, luck) == expected


@given(st.sampled_from(get_args(OnInvalid)), st.text(alphabet="CD"), st.floats(0, 1, exclude_max=True))
def test_nothing_takes_the_place_of_an_action_without_a_flag(on_invalid: OnInvalid, own: str, luck: float) -> None:
    assert move_for_unreadable(on_invalid, own, luck).flag
