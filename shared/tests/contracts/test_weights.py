"""Weights of arms and values: whole numbers or shares."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from parley_lab.contracts.allocation import Allocation
from parley_lab.contracts.assigned import Balanced
from parley_lab.contracts.weights import cycle_counts


def test_shares_make_the_shortest_cycle_with_their_ratio() -> None:
    assert cycle_counts([0.25, 0.75]) == [1, 3]
    assert cycle_counts([0.1, 0.2, 0.7]) == [1, 2, 7]
    assert cycle_counts([1, 1.5]) == [2, 3]


def test_whole_weights_are_kept_as_they_are() -> None:
    # Two and four have blocks of six, which one and two have not.
    assert cycle_counts([2, 4]) == [2, 4]


@given(st.lists(st.integers(1, 100), min_size=1, max_size=5))
def test_hundredths_give_each_its_exact_share(hundredths: list[int]) -> None:
    counts = cycle_counts([one / 100 for one in hundredths])

    assert [Fraction(count, sum(counts)) for count in counts] == [Fraction(one, sum(hundredths)) for one in hundredths]


def test_an_allocation_stores_the_weights_as_written() -> None:
    allocation = Allocation.model_validate({"weights": {"loss": 2, "gain": 0.5}})

    assert allocation.model_dump_json(include={"weights"}) == '{"weights":{"loss":2,"gain":0.5}}'
    assert allocation.cycle(["loss", "gain", "none"]) == ["loss"] * 4 + ["gain"] + ["none"] * 2


def test_values_come_by_shares() -> None:
    one = Balanced.model_validate({"id": "word", "kind": "balanced", "values": ["a", "b"], "weights": [0.4, 0.6]})

    assert one.cycle == ("a", "a", "b", "b", "b")


@pytest.mark.parametrize("weight", [0.12345, 1e-9, 0, -1, 1001])
def test_weights_that_need_an_endless_cycle_are_refused(weight: float) -> None:
    with pytest.raises(ValidationError):
        Allocation.model_validate({"weights": {"loss": weight}})
