"""How many rounds a game has."""

from statistics import fmean

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from parley_lab.base import seeds
from parley_lab.kinds.stages.matrix_game.config import SMALLEST_CHANCE, FixedHorizon, GeometricHorizon, length


def lengths(stop_probability: float, count: int) -> list[int]:
    horizon = GeometricHorizon(stop_probability=stop_probability)
    return [length(horizon, seeds.rng(seed, "game/horizon")) for seed in range(count)]


def test_a_fixed_horizon_is_kept_exactly() -> None:
    assert {length(FixedHorizon(rounds=100), seeds.rng(seed, "x")) for seed in range(20)} == {100}


def test_a_game_that_surely_ends_has_one_round() -> None:
    assert set(lengths(1, 50)) == {1}


def test_geometric_lengths_have_their_law() -> None:
    drawn = lengths(0.02, 20_000)

    assert fmean(drawn) == pytest.approx(50, abs=1.5)
    assert min(drawn) == 1
    assert drawn.count(1) / 20_000 == pytest.approx(0.02, abs=0.004)
    assert sum(rounds >= 100 for rounds in drawn) / 20_000 == pytest.approx(0.98**99, abs=0.01)


@given(st.floats(SMALLEST_CHANCE, 1), st.integers())
def test_every_game_has_a_round_and_the_same_seed_the_same_length(stop_probability: float, seed: int) -> None:
    horizon = GeometricHorizon(stop_probability=stop_probability)

    drawn = length(horizon, seeds.rng(seed, "x"))

    assert drawn >= 1
    assert length(horizon, seeds.rng(seed, "x")) == drawn


@pytest.mark.parametrize("stop_probability", [0, 1.1, -0.1, 0.0001])
def test_a_game_that_may_never_end_is_refused(stop_probability: float) -> None:
    with pytest.raises(ValidationError):
        GeometricHorizon(stop_probability=stop_probability)


def test_a_game_without_rounds_is_refused() -> None:
    with pytest.raises(ValidationError):
        FixedHorizon(rounds=0)
