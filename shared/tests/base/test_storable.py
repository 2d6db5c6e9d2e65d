"""What can be stored as JSON and comes back unchanged."""

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.storable import LARGEST_INTEGER, is_storable_text, unstorable

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters(exclude_categories=())),
    lambda parts: st.lists(parts) | st.dictionaries(st.text(st.characters(exclude_categories=())), parts),
    max_leaves=10,
)


def problems(value: Any, deepest: int = 10) -> list[tuple[str, str]]:
    return [(problem.where, problem.found) for problem in unstorable(value, deepest=deepest)]


@pytest.mark.parametrize("value", [LARGEST_INTEGER, -LARGEST_INTEGER, 1e308, -1e308, True, None, "💥", {"a": [1, "b"]}])
def test_what_comes_back_unchanged_is_storable(value: Any) -> None:
    assert problems(value) == []


@pytest.mark.parametrize(
    ("value", "found"),
    [
        (LARGEST_INTEGER + 1, "64 bits"),
        (-LARGEST_INTEGER - 1, "64 bits"),
        (10**30, "100 bits"),
        (float("inf"), "without an end"),
        (float("nan"), "without an end"),
        ("a\x00b", "NUL"),
        ("\ud800", "broken"),
        ({"\x00": 1}, "NUL"),
        ([[[[[]]]]], "deeply"),
    ],
)
def test_what_would_not_come_back_is_not(value: Any, found: str) -> None:
    told = problems({"a": [value]}, deepest=4)

    assert len(told) == 1
    assert told[0][0].startswith("a[0]")
    assert found in told[0][1]


def test_every_place_is_told() -> None:
    value = {"a": [1, 2**64, {"b": "\x00"}], "c": float("inf"), "\ud800": 2**64}

    assert [where for where, _ in problems(value)] == ["a[1]", "a[2].b", "c", "", "?"]


@given(JSON)
def test_without_a_problem_nothing_is_lost(value: Any) -> None:
    told = problems(value, deepest=100)

    assert told or orjson.loads(orjson.dumps(value)) == value
    assert all(is_storable_text(where) for where, _ in told)
