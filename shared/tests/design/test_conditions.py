"""Rules over variables, arms, roles and scores: what a file may say, and what each arm makes of it."""

from typing import Any

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.design import Experiment, resolve, validate

ROLES: dict[str, Any] = {"id": "parts", "kind": "role", "roles": [{"id": "chair"}, {"id": "member"}]}
SURVEY: dict[str, Any] = {
    "id": "before",
    "kind": "survey",
    "questions": [
        {"id": "age", "kind": "number", "title": "Age?", "minimum": 0},
        {
            "id": "town",
            "kind": "choice",
            "title": "Town?",
            "options": [{"id": "a", "text": "A"}, {"id": "b", "text": "B"}],
            "correct": "a",
        },
    ],
}
PAGE: dict[str, Any] = {"id": "page", "kind": "info", "lines": ["Read."]}
CHAT: dict[str, Any] = {"id": "talk", "kind": "group_chat"}
ARMS = [{"id": "told", "levels": {"dose": 1}}, {"id": "control", "levels": {"dose": 2}}]
FILE: dict[str, Any] = {
    "parley": 1,
    "name": "Rules",
    "variables": {"city": "Rome"},
    "assigned": [{"id": "luck", "kind": "balanced", "values": ["high", "low"]}],
    "stages": [ROLES, SURVEY, PAGE],
    "treatments": ARMS,
    "cohorts": [{"count": 2, "seats": [{"open": True, "count": 2}]}],
}


def file(rule: Any, *, stage: dict[str, Any] = PAGE, **changes: Any) -> Experiment:
    return validate({**FILE, "stages": [ROLES, SURVEY, {**stage, "show_if": rule}], **changes})


def complaint(rule: Any, *, stage: dict[str, Any] = PAGE, **changes: Any) -> tuple[str, str, str]:
    with pytest.raises(InvalidInput) as refused:
        file(rule, stage=stage, **changes)
    (problem,) = refused.value.problems
    return problem.where, problem.found, problem.expected


@pytest.mark.parametrize(
    "rule",
    [
        {"variable": "city", "value": "Rome"},
        {"variable": "luck", "value": "high"},
        {"treatment": "told"},
        {"factor": "dose", "value": 1},
        {"role": "chair"},
        {"score": "before", "operator": "greater_than", "value": 0},
        {"stage": "before", "question": "age", "operator": "less_than", "value": 30},
        {"all": [{"treatment": "told"}, {"any": [{"role": "chair"}, {"variable": "luck", "value": "low"}]}]},
    ],
)
def test_a_stage_can_have_a_rule_over_all_that_is_known(rule: Any) -> None:
    assert file(rule).stages[2].show_if is not None


@pytest.mark.parametrize(
    ("rule", "where", "remedy"),
    [
        ({"variable": "citty", "value": 1}, "show_if.variable", "city (did you mean that?)"),
        ({"treatment": "tld"}, "show_if.treatment", "told (did you mean that?)"),
        ({"treatment": "told", "given": "told"}, "show_if.given", "nothing"),
        ({"factor": "dosis", "value": 1}, "show_if.factor", "dose (did you mean that?)"),
        ({"factor": "dose", "value": 3}, "show_if.value", "1, 2"),
        ({"role": "chairman"}, "show_if.role", "chair (did you mean that?)"),
        ({"score": "page", "value": 1}, "show_if.score", "before"),
        ({"question": "age", "value": 1}, "show_if.stage", "before"),
        ({"stage": "after", "question": "age", "value": 1}, "show_if.stage", "before"),
        ({"stage": "before", "question": "ages", "value": 1}, "show_if.question", "a question of the survey 'before'"),
        ({"stage": "before", "question": "town", "value": "c"}, "show_if.value", "a (A), b (B)"),
    ],
)
def test_what_comes_later_or_never_is_named_with_the_remedy(rule: Any, where: str, remedy: str) -> None:
    found = complaint(rule)

    assert found[0] == f"stages[2].{where}"
    assert remedy in found[2]


@pytest.mark.parametrize("rule", [{"value": 1}, {"question": "a", "role": "b", "value": 1}])
def test_a_comparison_has_one_subject(rule: Any) -> None:
    assert "one of question, variable, treatment, factor, role, score, row" in " ".join(complaint(rule))


@pytest.mark.parametrize(
    "rule",
    [
        {"treatment": "told", "value": "control"},
        {"role": "chair", "value": "member"},
        {"treatment": "told", "operator": "contains"},
        {"role": "chair", "operator": "greater_than"},
    ],
)
def test_an_arm_and_a_role_are_their_own_value(rule: Any) -> None:
    assert "no `value`" in " ".join(complaint(rule))


def test_an_arm_can_be_that_of_all_others() -> None:
    experiment = file({"treatment": "told", "operator": "not_equals", "value": "told"})

    assert [[one.id for one in resolve(experiment, arm).stages] for arm in ("told", "control")] == [
        ["parts", "before"],
        ["parts", "before", "page"],
    ]


def test_levels_are_compared_with_numbers_between_them() -> None:
    experiment = file({"factor": "dose", "operator": "greater_than", "value": 1.5})

    assert [len(resolve(experiment, arm).stages) for arm in ("told", "control")] == [2, 3]


def test_levels_whose_names_are_no_numbers_have_no_order() -> None:
    arms = [{"id": "told", "levels": {"dose": 0.5}}, {"id": "control", "levels": {"dose": 2}}]

    where, _, expected = complaint({"factor": "dose", "operator": "less_than", "value": 1}, treatments=arms)

    assert (where, expected) == ("stages[2].show_if.factor", "`variable: dose`, whose values are numbers")


def test_a_stage_for_all_of_a_cohort_can_be_left_out_only_for_all_of_them() -> None:
    assert [one.id for one in resolve(file({"treatment": "told"}, stage=CHAT), "control").stages] == ["parts", "before"]

    for rule, more in (
        ({"role": "chair"}, {}),
        ({"variable": "luck", "value": "high"}, {}),
        ({"treatment": "told"}, {"allocation": {"by": "participant"}}),
    ):
        where, _, expected = complaint(rule, stage=CHAT, **more)
        assert where == "stages[2].show_if"
        assert "the same for all of a cohort" in expected


def test_a_rule_over_single_participants_needs_a_stage_before_it() -> None:
    first = {**PAGE, "show_if": {"variable": "luck", "value": "high"}}

    with pytest.raises(InvalidInput, match="a stage before it"):
        validate({**FILE, "stages": [first, SURVEY]})


def test_an_arm_has_the_stages_questions_and_lines_of_which_its_rules_are_true() -> None:
    asked = [*SURVEY["questions"], {"id": "why", "kind": "text", "title": "Why?", "show_if": {"treatment": "told"}}]
    lines = ["All.", {"text": "In Rome.", "show_if": {"variable": "city", "value": "Rome"}}]
    stages = [
        ROLES,
        {**SURVEY, "questions": asked},
        {**PAGE, "lines": lines, "show_if": {"factor": "dose", "value": 1}},
    ]
    experiment = validate({**FILE, "stages": stages})

    told, control = (resolve(experiment, one.id) for one in experiment.treatments)

    assert told.stage_ids == ("parts", "before", "page")
    assert control.stage_ids == ("parts", "before")
    read = told.for_reader({}, {}).stage("page").model_dump()["lines"]
    assert read == ("All.", "In Rome.")
    assert told.stage("page").show_if is None


def test_the_tasks_of_an_interview_are_those_of_the_arm() -> None:
    task = {"type": "context", "text": "Hello."}
    tasks: list[dict[str, Any]] = [
        {**task, "id": "a", "variable": "a"},
        {**task, "id": "b", "variable": "b", "show_if": {"role": "chair"}},
    ]
    panel = {"id": "panel", "kind": "group_interview", "roles": [{"label": "X"}, {"label": "Y"}], "tasks": tasks}

    with pytest.raises(InvalidInput, match="a rule that is the same for all of a cohort"):
        validate({**FILE, "stages": [ROLES, panel]})
    tasks[1]["show_if"] = {"treatment": "told"}
    assert len(validate({**FILE, "stages": [ROLES, panel]}).stages) == 2


def test_a_task_of_an_interview_depends_on_a_variable_of_the_cohort_and_of_no_participant() -> None:
    task = {
        "type": "context",
        "text": "Hello.",
        "id": "a",
        "variable": "a",
        "show_if": {"variable": "hall", "value": 1},
    }
    panel = {"id": "panel", "kind": "group_interview", "roles": [{"label": "X"}, {"label": "Y"}], "tasks": [task]}
    hall: dict[str, Any] = {"id": "hall", "kind": "by_cohort", "value": 1}
    file = {**FILE, "stages": [ROLES, panel]}

    validate({**file, "assigned": [hall]})
    own = {"id": "hall", "kind": "balanced", "values": [1, 2]}
    with pytest.raises(InvalidInput, match="over a `variable` of the cohort"):
        validate({**file, "assigned": [own]})
