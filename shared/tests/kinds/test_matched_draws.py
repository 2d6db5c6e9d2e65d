"""A replicate of a pair is as long under every level of a factor; a cohort without levels draws as it always did."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base import seeds
from parley_lab.kinds.stages import parts_of
from parley_lab.kinds.stages.matrix_game.config import GeometricHorizon, MatrixGameStage
from parley_lab.views.playing import drawn

GAME = MatrixGameStage(id="game", horizon=GeometricHorizon(stop_probability=0.02), counterbalance=True)
IDS = st.from_regex(r"[a-z]{1,5}(-[a-z]{1,5}){0,2}", fullmatch=True)


def of(name: str, levels: dict[str, str], seed: int = 5) -> dict[str, Any]:
    return drawn(GAME, seed=seed, cohort_name=name, arrived=(), levels=levels)


@given(pair=IDS, one=IDS, other=IDS, seed=st.integers(0, 1000), replicate=st.integers(1, 30))
def test_levels_share_the_length_of_a_replicate_and_nothing_else(
    pair: str, one: str, other: str, seed: int, replicate: int
) -> None:
    first = of(f"{pair}-{one}-short-{replicate}", {"framing": one, "length": "short"}, seed)
    second = of(f"{pair}-{other}-short-{replicate}", {"framing": other, "length": "short"}, seed)
    assert first["rounds"] == second["rounds"]
    assert first["rounds"] == of(f"{pair}-{replicate}", {}, seed)["rounds"]
    assert one == other or first["luck_a"] != second["luck_a"]


@given(one=IDS, other=IDS, third=IDS, order=st.permutations(["framing", "length", "x"]))
def test_the_order_in_which_levels_are_stored_changes_no_draw(
    one: str, other: str, third: str, order: list[str]
) -> None:
    levels = {"framing": one, "length": other, "x": third}

    found = of(f"a-vs-b-{one}-{other}-{third}-1", {name: levels[name] for name in order})

    assert found["rounds"] == of("a-vs-b-1", {})["rounds"]


def test_replicates_differ_in_length() -> None:
    assert len({of(f"a-vs-b-loss-{number}", {"framing": "loss"})["rounds"] for number in range(1, 30)}) > 10


@given(name=IDS, seed=st.integers(0, 1000))
def test_a_cohort_without_levels_draws_as_its_kind_does(name: str, seed: int) -> None:
    draws = parts_of(GAME).draws
    assert draws is not None
    assert of(name, {}, seed) == draws.draw((), {}, seeds.rng(seed, f"{name}/game/draw"))
