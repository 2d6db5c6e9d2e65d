"""Factors crossed to treatments, and how cohorts and people get them."""

from collections import Counter
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.allocation import Allocation
from parley_lab.design import Block, Experiment, allocate, draw_arm, load, resolve, validate

INFO = {"id": "page", "kind": "info", "lines": ["A {{framing}} of {{length}}."]}
FILE: dict[str, Any] = {
    "parley": 1,
    "name": "Crossed",
    "stages": [INFO],
    "personas": [{"id": "ana"}],
    "cohorts": [{"count": 8, "seats": [{"open": True}]}],
    "factors": {"framing": ["loss", "gain"], "length": ["short", "long"]},
}


def file(**changes: Any) -> Experiment:
    return validate({**FILE, **changes})


def complaints(**changes: Any) -> dict[str, tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        file(**changes)
    return {problem.where: (problem.found, problem.expected) for problem in refused.value.problems}


def arms_of(experiment: Experiment, seed: int = 1) -> list[str]:
    return [str(one.treatment_id) for one in allocate(experiment, seed)]


def test_two_lines_make_a_two_by_two() -> None:
    experiment = load(
        """
        parley: 1
        name: Two by two
        stages: [{ id: page, kind: info, lines: ["A {{framing}} of {{length}}."] }]
        cohorts: [{ count: 8, seats: [{ open: true }] }]
        factors:
          framing: [loss, gain]
          length: [short, long]
        """
    )

    assert [one.id for one in experiment.treatments] == ["loss-short", "loss-long", "gain-short", "gain-long"]
    assert experiment.treatments[1].levels == {"framing": "loss", "length": "long"}
    assert resolve(experiment, "gain-short").stages[0].model_dump()["lines"] == ("A gain of short.",)
    assert Counter(arms_of(experiment)) == dict.fromkeys([one.id for one in experiment.treatments], 2)


def test_a_level_changes_what_a_treatment_may() -> None:
    levels = {"plain": {}, "loud": {"stages": {"page": {"name": "LOUD"}}, "variables": {"length": "much"}}}

    experiment = file(factors={"length": ["short"], "framing": levels})

    assert [one.id for one in experiment.treatments] == ["short-plain", "short-loud"]
    (loud,) = resolve(experiment, "short-loud").stages
    assert (loud.title, loud.model_dump()["lines"]) == ("LOUD", ("A loud of much.",))


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"treatments": [{"id": "a"}]}, "factors"),
        ({"factors": {"framing": [], "length": [1]}}, "factors.framing"),
        ({"factors": {"framing": ["a", "a"], "length": [1]}}, "factors.framing"),
        ({"factors": {"framing": [{"no": "id"}], "length": [1]}}, "factors.framing"),
        (
            {"factors": {"framing": {"odd": {"stages": {"gape": {}}}}, "length": [1]}},
            "factors.framing.odd.stages.gape",
        ),
        ({"factors": {"framing": {"odd": {"stage": {}}}, "length": [1]}}, "factors.framing.odd.stage"),
        ({"factors": {"framing": ["a"]}}, "stages[0].lines[0]"),
        ({"allocation": {"weights": {"nobody": 2}}}, "allocation.weights.nobody"),
    ],
)
def test_what_is_wrong_with_factors_is_told_with_its_place(changes: dict[str, Any], where: str) -> None:
    assert where in complaints(**changes)


WEIGHTS = st.fixed_dictionaries({arm: st.integers(1, 4) for arm in ("loss-short", "loss-long", "gain-short")})


@given(weights=WEIGHTS, cohorts=st.integers(0, 60), seed=st.integers(0, 2**31))
def test_a_complete_draw_has_every_arm_as_often_as_its_weight_to_one_cycle(
    weights: dict[str, int], cohorts: int, seed: int
) -> None:
    allocation = {"weights": weights}
    experiment = file(cohorts=[{"count": max(cohorts, 1), "seats": [{"open": True}]}], allocation=allocation)
    had = Counter(arms_of(experiment, seed))

    cycle = Allocation(weights={**weights}).cycle([one.id for one in experiment.treatments])
    whole = max(cohorts, 1) // len(cycle)
    assert all(whole * cycle.count(arm) <= had[arm] <= (whole + 1) * cycle.count(arm) for arm in cycle)


@given(seed=st.integers(0, 2**31))
def test_a_blocked_draw_has_every_arm_as_often_as_its_weight_in_every_block(seed: int) -> None:
    allocation = {"method": "blocked", "weights": {"loss-short": 2}}
    experiment = file(cohorts=[{"count": 15, "seats": [{"open": True}]}], allocation=allocation)

    plan = allocate(experiment, seed)

    for begin in range(0, 15, 5):
        block = plan[begin : begin + 5]
        assert Counter(one.treatment_id for one in block)["loss-short"] == 2
        assert {one.allocated["block"] for one in block} == {begin // 5 + 1}
    assert {one.allocated["probability"] for one in plan} == {2 / 5, 1 / 5}


def test_a_simple_draw_is_for_each_cohort_alone() -> None:
    allocation = {"method": "simple", "weights": {"loss-short": 3}}
    experiment = file(cohorts=[{"count": 3000, "seats": [{"open": True}]}], allocation=allocation)

    had = Counter(arms_of(experiment))

    assert 0.46 < had["loss-short"] / 3000 < 0.54
    assert len({Counter(arms_of(experiment, seed))["loss-short"] for seed in range(5)}) > 1


def test_two_to_one_and_sixty_who_join_are_forty_and_twenty() -> None:
    block, arms = Block(), []
    for _ in range(60):
        draw, block = draw_arm(block, ["a", "b"], 7, Allocation(weights={"a": 2}))
        arms.append(draw)

    assert Counter(one.arm for one in arms) == {"a": 40, "b": 20}
    for begin in range(0, 60, 3):
        assert sorted(one.arm for one in arms[begin : begin + 3]) == ["a", "a", "b"]
    assert {one.probability for one in arms} <= {2 / 3, 1 / 3, 1 / 2, 1}


def test_rows_are_dealt_into_groups_in_an_order_of_the_seed() -> None:
    people = [{"id": f"p{number}"} for number in range(12)]
    seats = [{"persona": one["id"]} for one in people]
    experiment = file(personas=people, cohorts=[{"id": "table", "seats": seats, "groups_of": 4}])

    plan = allocate(experiment, 3)

    assert [one.name for one in plan] == ["table-1", "table-2", "table-3"]
    dealt = [seat.persona_id for one in plan for seat in one.seats]
    assert sorted(map(str, dealt)) == sorted(one["id"] for one in people)
    assert dealt != [one["id"] for one in people]
    assert dealt == [seat.persona_id for one in allocate(experiment, 3) for seat in one.seats]
    assert dealt != [seat.persona_id for one in allocate(experiment, 4) for seat in one.seats]


def test_groups_divide_the_seats() -> None:
    cohorts = [{"seats": [{"open": True, "count": 10}], "groups_of": 4}]

    assert complaints(cohorts=cohorts)["cohorts[0].groups_of"] == ("4", "a number that divides the 10 seats")


def test_a_treatment_may_say_its_level_as_a_number() -> None:
    words = {"framing": "loss", "length": "short"}
    arms = [{"id": "low", "levels": {"dose": 1}}, {"id": "high", "levels": {"dose": 2.5}}]

    assert [one.levels for one in file(factors=None, treatments=arms, variables=words).treatments] == [
        {"dose": "1"},
        {"dose": "2-5"},
    ]
