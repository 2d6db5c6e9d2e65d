"""Names that are not known, and what they were likely meant to be; what is missing, and how it is typed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.base.meant_names import is_swapped, meant_by
from parley_lab.design import read, validate
from parley_lab.design.library import misspelt_personas

ASK: dict[str, Any] = {"id": "pre", "kind": "survey", "questions": [{"id": "age", "kind": "number", "title": "Age?"}]}
LATER: dict[str, Any] = {"id": "later", "kind": "survey", "questions": [{"id": "why", "kind": "text", "title": "Why?"}]}
FILE: dict[str, Any] = {
    "parley": 1,
    "name": "Names",
    "stages": [ASK, LATER],
    "personas": [{"id": "ben"}],
    "cohorts": [{"seats": [{"persona": "ben"}]}],
}


def complaints(**changes: Any) -> dict[str, tuple[str, str]]:
    with pytest.raises(InvalidInput) as refused:
        validate({**FILE, **changes})
    return {problem.where: (problem.found, problem.expected) for problem in refused.value.problems}


@pytest.mark.parametrize(
    ("kind", "meant"),
    [
        ("consent", "terms_of_service"),
        ("chat", "group_chat or private_chat"),
        ("public_goods", "group_interview"),
        ("Survey", "survey"),
        ("group-chat", "group_chat"),
    ],
)
def test_another_word_for_a_kind_of_stage_is_known(kind: str, meant: str) -> None:
    found = complaints(stages=[{"id": "x", "kind": kind}, LATER])

    assert found["stages[0].kind"][1] == f"{meant} (did you mean that?), or another kind"


@pytest.mark.parametrize(("kind", "meant"), [("likert", "scale or grid"), ("attention_check", "choice")])
def test_another_word_for_a_kind_of_question_is_known(kind: str, meant: str) -> None:
    found = complaints(stages=[{**ASK, "questions": [{"id": "q", "kind": kind, "title": "T"}]}])

    assert found["stages[0].questions[0].kind"][1] == f"{meant} (did you mean that?), or another kind"


def test_a_field_that_is_refused_is_not_what_was_meant() -> None:
    found = complaints(stages=[{"id": "x", "kind": "info", "text": "Hello"}])

    assert found["stages[0].text"][1] == "lines (did you mean that?), or another field"
    assert found["stages[0].lines"] == ("nothing", "this field: `lines: [...]`")


@pytest.mark.parametrize("field", ["info", "role", "payout"])
def test_a_field_with_the_name_of_a_kind_leads_to_no_other_fields(field: str) -> None:
    found = complaints(stages=[{"id": "x", "kind": "info", "lines": ["x"], "for": "x"}])

    assert "for," not in found["stages[0].for"][1]


def test_a_question_of_another_stage_is_found() -> None:
    question = {"id": "why", "kind": "text", "title": "Why?", "show_if": {"question": "age", "value": 3}}
    found = complaints(stages=[ASK, {**LATER, "questions": [question]}])

    assert found["stages[1].questions[0].show_if.question"][1].startswith("`stage: pre` beside it")


def test_letters_that_have_changed_places_are_a_misspelling() -> None:
    assert misspelt_personas({**FILE, "cohorts": [{"seats": [{"persona": "bne"}]}]}) == {"bne"}
    assert misspelt_personas({**FILE, "cohorts": [{"seats": [{"persona": "bob"}]}]}) == set()


@given(st.text(min_size=2, max_size=8), st.integers(0, 6))
def test_a_swap_is_one_both_ways(name: str, at: int) -> None:
    at %= len(name) - 1
    swapped = name[:at] + name[at + 1] + name[at] + name[at + 2 :]

    assert is_swapped(name, swapped) == is_swapped(swapped, name) == (name != swapped)


@given(st.text(max_size=8), st.lists(st.text(min_size=1, max_size=8), max_size=5))
def test_what_was_meant_is_known_and_another_name(name: str, known: list[str]) -> None:
    meant = meant_by(name, known)

    assert set(meant) <= set(known)
    assert name not in meant


@pytest.mark.parametrize("nearly", ["{{town}", "{town}}", "{ town }", "{town}"])
def test_a_placeholder_that_nearly_is_one_is_pointed_out(nearly: str) -> None:
    file = f"""\
parley: 1
name: Nearly
variables: {{ town: Rome }}
stages:
  - id: a
    kind: info
    lines: ["In {nearly} and {{{{town}}}}, {{other}}"]
cohorts: [{{ seats: [{{ open: true }}] }}]
"""
    reading = read(file, "x.yaml")

    (warning,) = reading.warnings()
    assert str(warning).startswith("line 7")
    assert nearly in warning.found
    assert reading.experiment().name == "Nearly"


def test_braces_inside_a_value_are_pointed_out_since_people_read_them() -> None:
    file = """\
parley: 1
name: Braces
variables: { town: Rome }
stages: [{ id: a, kind: info, lines: ["{{greeting}}"] }]
factors:
  greeting: ["In {{town}}", hello]
cohorts: [{ seats: [{ open: true }] }]
"""
    (warning,) = read(file, "x.yaml").warnings()

    assert "factors.greeting" in warning.where
    assert "{{town}}" in warning.found


def test_an_arm_needs_no_values_for_a_stage_that_it_leaves_out() -> None:
    treatments: list[dict[str, Any]] = [
        {"id": "told", "variables": {"story": "Once."}},
        {"id": "control", "leave_out": ["story"]},
    ]
    stages = [{"id": "story", "kind": "info", "lines": ["{{story}}"]}, LATER]

    assert validate({**FILE, "stages": stages, "treatments": treatments}).treatments[1].id == "control"

    del treatments[1]["leave_out"]
    found = complaints(stages=stages, treatments=treatments)
    assert found["stages[0].lines[0]"][0] == "`{{story}}`"


def test_a_column_is_not_an_answer_in_one_arm_and_an_order_in_another() -> None:
    ordered = {"shuffle_questions": True, "questions": [{"id": "x", "kind": "check", "title": "X"}]}
    stages = [{**LATER, "questions": [{"id": "order", "kind": "text", "title": "Which?"}]}]
    treatments = [{"id": "plain"}, {"id": "shuffled", "stages": {"later": ordered}}]

    found = complaints(stages=stages, treatments=treatments)
    assert "later.order" in found["treatments[1].stages.later"][0]
    assert "'plain'" in found["treatments[1].stages.later"][0]

    stages[0]["questions"][0]["id"] = "which"
    assert len(validate({**FILE, "stages": stages, "treatments": treatments}).treatments) == 2
