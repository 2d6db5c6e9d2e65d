"""Drawn answers to a form that fit together."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.fitting import fitted, is_met, sum_of

NUMBERS = st.lists(st.integers(0, 100), min_size=1, max_size=6)


def form(count: int, total: dict[str, Any], **field: Any) -> dict[str, Any]:
    names = [f"q{number}" for number in range(count)]
    part = {"type": "integer", "minimum": 0, **field}
    return {"properties": dict.fromkeys(names, part), "x-totals": [{**total, "fields": names}]}


@given(numbers=NUMBERS, wanted=st.integers(0, 200))
def test_numbers_are_made_to_add_up(numbers: list[int], wanted: int) -> None:
    schema = form(len(numbers), {"equals": wanted})
    names = [*schema["properties"]]

    found = fitted(schema, dict(zip(names, numbers, strict=True)))

    assert sum(found.values()) == wanted
    assert all(value >= 0 and isinstance(value, int) for value in found.values())
    assert fitted(schema, found) == found


@given(numbers=st.lists(st.integers(0, 60), min_size=2, max_size=5))
def test_numbers_stay_within_their_own_bounds(numbers: list[int]) -> None:
    schema = form(len(numbers), {"equals": 100}, maximum=60)

    found = fitted(schema, dict(zip(schema["properties"], numbers, strict=True)))

    assert sum(found.values()) == 100
    assert max(found.values()) <= 60


@given(sent=st.integers(0, 10), kept=st.integers(0, 10))
def test_a_number_is_no_more_than_the_answer_that_bounds_it(sent: int, kept: int) -> None:
    schema = {"properties": {"sent": {"type": "integer"}, "kept": {"type": "integer", "x-maximum": "sent"}}}

    assert fitted(schema, {"sent": sent, "kept": kept}) == {"sent": sent, "kept": min(sent, kept)}


def test_sums_are_those_of_the_numbers_as_they_are_written() -> None:
    assert is_met({"equals": 0.3}, [0.1, 0.2])
    assert str(sum_of([0.1, 0.2, None])) == "0.3"
    assert not is_met({"at_most": 1}, [0.5, 0.6])
    assert is_met({"at_least": 1, "at_most": 2}, [0.5, 0.6])
