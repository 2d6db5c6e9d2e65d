"""Latin squares, and blocks that participants have in orders of their own."""

from collections import Counter
from itertools import pairwise
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.base.latin import order_at, orders_in
from parley_lab.contracts.assigned import Permutation
from parley_lab.design import resolve, validate
from parley_lab.design.assigning import at_place, values_of

INFO: dict[str, Any] = {"kind": "info", "lines": ["Read."]}
BLOCK = [{**INFO, "id": one, "block": "cases"} for one in "abc"]
ORDER = {"id": "order", "kind": "permutation", "values": ["a", "b", "c"], "order": "latin", "block": "cases"}
FILE: dict[str, Any] = {
    "parley": 1,
    "name": "Orders",
    "stages": [{**INFO, "id": "start"}, *BLOCK, {**INFO, "id": "end"}],
    "assigned": [ORDER],
    "cohorts": [{"seats": [{"open": True}], "count": 6}],
}


@given(values=st.integers(1, 12), cycles=st.integers(1, 3))
def test_a_latin_square_balances_places_and_neighbours_over_whole_cycles(values: int, cycles: int) -> None:
    orders = [order_at(values, number) for number in range(cycles * orders_in(values))]

    assert all(sorted(one) == [*range(values)] for one in orders)
    for place in range(values):
        assert len(set(Counter(one[place] for one in orders).values())) == 1
    pairs = Counter(pair for one in orders for pair in pairwise(one))
    assert len(pairs) == values * (values - 1)
    assert len(set(pairs.values())) <= 1


def test_participants_have_the_orders_of_the_square_as_they_arrive() -> None:
    one = Permutation(id="order", values=("a", "b", "c", "d"), order="latin", take=2)

    found = [values_of(at_place(one, "c1", number)) for number in range(1, 5)]

    assert Counter(each["order_1"] for each in found) == dict.fromkeys("abcd", 1)
    assert Counter(each["order_2"] for each in found) == dict.fromkeys("abcd", 1)
    assert found[0].keys() == {"order_1", "order_2"}


@given(order=st.permutations("abc"))
def test_a_block_comes_in_the_order_of_its_participant_once_they_are_there(order: list[str]) -> None:
    arm = resolve(validate(FILE), None)
    values = {f"order_{place}": one for place, one in enumerate(order, 1)}
    way = ["start", "a", "b", "c", "end"]

    assert arm.in_own_order(way, 0, values) == ["start", *order, "end"]
    assert arm.in_own_order(["start", *order, "end"], 1, values) == ["start", *order, "end"]


@given(order=st.permutations("abc"), is_shown=st.booleans())
def test_a_block_after_a_stage_that_is_left_out_comes_in_the_order_of_its_participant(
    order: list[str], is_shown: bool
) -> None:
    rule = {"variable": "order_1", "operator": "equals" if is_shown else "not_equals", "value": order[0]}
    stages = [FILE["stages"][0], {**INFO, "id": "between", "show_if": rule}, *FILE["stages"][1:]]
    values = {f"order_{place}": one for place, one in enumerate(order, 1)}
    arm = resolve(validate({**FILE, "stages": stages}), None).for_reader(values, {})
    way = ["start", "between", "a", "b", "c", "end"]

    found = arm.own_way(way, 0, values)

    assert found == (way if is_shown else ["start", *order, "end"])
    assert not is_shown or arm.own_way(found, 1, values) == ["start", "between", *order, "end"]


@pytest.mark.parametrize(
    ("changes", "where"),
    [
        ({"assigned": [{**ORDER, "block": "case"}]}, "assigned[0].block"),
        ({"assigned": [{**ORDER, "values": ["a", "b"]}]}, "assigned[0].values"),
        ({"assigned": [{**ORDER, "scope": "cohort"}]}, "assigned[0].scope"),
        ({"stages": FILE["stages"][1:]}, "assigned[0].block"),
        ({"treatments": [{"id": "x", "order": {"cases": ["c", "b", "a"]}}]}, "assigned[0].block"),
        (
            {"stages": [*FILE["stages"][:3], {"id": "c", "kind": "group_chat", "block": "cases"}]},
            "stages[3].block",
        ),
        (
            {"stages": [*FILE["stages"][:3], {**BLOCK[2], "kind": "reveal", "lines": None, "items": [{"stage": "b"}]}]},
            "stages[3].items[0].stage",
        ),
    ],
)
def test_what_cannot_be_ordered_by_participant_is_refused(changes: dict[str, Any], where: str) -> None:
    stages = [
        {name: part for name, part in one.items() if part is not None} for one in changes.get("stages", FILE["stages"])
    ]
    with pytest.raises(InvalidInput) as refused:
        validate({**FILE, **changes, "stages": stages})

    assert where in [one.where for one in refused.value.problems]


@given(order=st.permutations("abc"), begins_at=st.sampled_from("abc"))
def test_a_reader_who_begins_within_a_block_has_the_rest_of_their_own_order_ahead(
    order: list[str], begins_at: str
) -> None:
    arm = resolve(validate(FILE), None)
    values = {f"order_{place}": one for place, one in enumerate(order, 1)}

    assert arm.way_at(begins_at, values) == ["start", *order, "end"]
    assert arm.way_at(begins_at, values, until="end") == ["start", *order]


@given(order=st.permutations("abc"), begins_at=st.sampled_from("abc"), left_out=st.sampled_from("abc"))
def test_a_stage_that_was_left_out_stays_out_behind_a_reader_and_not_ahead(
    order: list[str], begins_at: str, left_out: str
) -> None:
    arm = resolve(validate(FILE), None)
    values = {f"order_{place}": one for place, one in enumerate(order, 1)}

    way = arm.way_at(begins_at, values, left_out={left_out})

    assert (left_out in way) == (order.index(left_out) >= order.index(begins_at))
