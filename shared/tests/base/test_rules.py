"""Show-if rules."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from parley_lab.base.rules import AllOf, AnyOf, Comparison, Rule, comparisons, holds, in_words, is_out_of_reach

RULE: TypeAdapter[Any] = TypeAdapter(Rule)
OPERATORS = [
    "equals",
    "not_equals",
    "greater_than",
    "greater_than_or_equal",
    "less_than",
    "less_than_or_equal",
    "contains",
    "not_contains",
]
values = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
leaves = st.builds(
    Comparison,
    stage=st.sampled_from([None, "before", "here"]),
    question=st.sampled_from("abc"),
    operator=st.sampled_from(OPERATORS),
    value=values,
)
any_rule: st.SearchStrategy[Any] = st.recursive(
    leaves,
    lambda parts: (
        st.builds(AllOf, all=st.lists(parts, max_size=3).map(tuple))
        | st.builds(AnyOf, any=st.lists(parts, max_size=3).map(tuple))
    ),
    max_leaves=8,
)
pages = st.dictionaries(
    st.sampled_from(["before", "here"]), st.dictionaries(st.sampled_from("abc"), values | st.lists(st.text()))
)


def is_true(answer: Any, operator: str, value: Any) -> bool:
    rule = RULE.validate_python({"question": "q", "operator": operator, "value": value})
    return holds(rule, {"here": {"q": answer}}, "here")


@pytest.mark.parametrize(
    ("answer", "operator", "value", "expected"),
    [
        ("5", "equals", 5, False),
        (5, "equals", 5.0, True),
        (True, "equals", 1, False),
        (["a", "b"], "equals", ["a", "b"], True),
        ("5", "not_equals", 5, True),
        ("5", "greater_than", 4, True),
        ("x", "greater_than", 4, False),
        ("x", "less_than_or_equal", 4, False),
        (4, "greater_than_or_equal", 4, True),
        (4, "less_than", 4, False),
        (4, "less_than_or_equal", "4", True),
        ("night bus", "contains", "bus", True),
        (["day", "night"], "contains", "night", True),
        (105, "contains", 5, True),
        ("night", "not_contains", "bus", True),
        (True, "contains", "true", True),
    ],
)
def test_operators(answer: Any, operator: str, value: Any, expected: bool) -> None:
    assert is_true(answer, operator, value) is expected


@pytest.mark.parametrize("operator", OPERATORS)
@given(value=values)
def test_a_missing_answer_makes_every_comparison_false(operator: Any, value: Any) -> None:
    rule = Comparison(question="q", operator=operator, value=value)

    assert not holds(rule, {}, "here")
    assert not holds(rule, {"here": {"other": 1}}, "here")
    assert not holds(rule, {"here": {"q": None}}, "here")


def test_an_empty_group_is_true() -> None:
    assert holds(AllOf(all=()), {}, "here")
    assert holds(AnyOf(any=()), {}, "here")


@given(parts=st.lists(any_rule, min_size=1, max_size=4), answers=pages)
def test_groups_nest(parts: list[Any], answers: dict[str, Any]) -> None:
    results = [holds(part, answers, "here") for part in parts]

    assert holds(AllOf(all=tuple(parts)), answers, "here") is all(results)
    assert holds(AnyOf(any=tuple(parts)), answers, "here") is any(results)


@given(answer=values.filter(lambda value: value is not None), value=values)
def test_opposites_exclude_each_other(answer: Any, value: Any) -> None:
    assert is_true(answer, "equals", value) != is_true(answer, "not_equals", value)
    assert is_true(answer, "contains", value) != is_true(answer, "not_contains", value)


@given(rule=any_rule, answers=pages, later=st.dictionaries(st.sampled_from("abc"), values))
def test_what_is_out_of_reach_never_comes_true(rule: Any, answers: dict[str, Any], later: dict[str, Any]) -> None:
    if is_out_of_reach(rule, answers, "here"):
        assert not holds(rule, {**answers, "here": later}, "here")


@given(rule=any_rule)
def test_a_rule_survives_json_and_has_words(rule: Any) -> None:
    assert RULE.validate_json(rule.model_dump_json()) == rule
    assert in_words(rule)


def test_comparisons_have_their_place() -> None:
    rule = RULE.validate_python({"all": [{"question": "a", "value": 1}, {"any": [{"question": "b", "value": 1}]}]})

    assert [(where, one.question) for where, one in comparisons(rule, "show_if")] == [
        ("show_if.all[0]", "a"),
        ("show_if.all[1].any[0]", "b"),
    ]
