"""Treatments, sessions and roles that columns of the profiles assign."""

from typing import Any

import pytest

from parley_lab.formats.testing.workbooks import Values, base_values, design_of, only_problem, problems_of, with_setting


def by_hand(people: list[tuple[str, str, str]]) -> Values:
    """(session, treatment, role) of each profile; two roles."""
    values = with_setting(
        base_values(),
        num_agents_per_session=2,
        num_sessions=len(people) // 2,
        treatment_assignment_strategy="manual",
        treatment_column="treatment",
        session_assignment_strategy="manual",
        session_column="session",
        role_assignment_strategy="manual",
        role_column="What is the role?",
    )
    del values["agent_roles"][-1]
    values["agent_profiles"] = [
        ["ID", "session", "treatment", "role"],
        ["ID", "session", "treatment", "What is the role?"],
        *([number, *person] for number, person in enumerate(people, start=1)),
    ]
    return values


PAIRS = [("s1", "ctl", "A"), ("s1", "ctl", "B"), ("s2", "trt", "A"), ("s2", "trt", "B")]


def test_assignments_by_hand_are_found_by_either_name_of_a_column() -> None:
    settings = design_of(by_hand(PAIRS)).settings

    assert (settings.treatment_column, settings.session_column, settings.role_column) == (3, 2, 4)


def test_a_session_with_two_treatments_is_rejected() -> None:
    problem = only_problem(by_hand([("s1", "ctl", "A"), ("s1", "trt", "B"), *PAIRS[2:]]))

    assert "'s1'" in problem.wrong
    assert problem.found == "'ctl', 'trt'"


def test_a_treatment_that_does_not_exist_is_rejected_in_its_cell() -> None:
    problems = problems_of(by_hand([*PAIRS[:2], ("s2", "new", "A"), ("s2", "new", "B")]))

    assert [problem.where for problem in problems] == ["agent_profiles!C5", "agent_profiles!C6"]


def test_a_session_of_another_size_is_rejected_with_both_numbers() -> None:
    people = [("s1", "ctl", "A"), ("s1", "ctl", "B"), ("s1", "ctl", "B"), ("s2", "trt", "A")]
    texts = [str(problem) for problem in problems_of(by_hand(people))]

    assert any("'s1' has 3 agents, and there are 2 roles" in text for text in texts)
    assert any("'s2' has 1 agents, and there are 2 roles" in text for text in texts)


@pytest.mark.parametrize("role", ["Facilitator", "Z", None])
def test_a_role_that_no_one_can_take_is_rejected(role: str | None) -> None:
    people: list[Any] = [("s1", "ctl", role), *PAIRS[1:]]

    assert only_problem(by_hand(people)).where == "agent_profiles!D3"


def test_a_role_that_is_taken_twice_is_rejected() -> None:
    assert only_problem(by_hand([*PAIRS[:3], ("s2", "trt", "A")])).where == "agent_profiles!D6"


def test_treatments_by_hand_need_sessions_by_hand() -> None:
    values = with_setting(by_hand(PAIRS), session_assignment_strategy="random")

    assert only_problem(values).where == "experimental_setting!B11"


@pytest.mark.parametrize("column", [None, "nowhere", "ID"])
def test_an_assignment_by_hand_needs_a_column(column: str | None) -> None:
    values = with_setting(by_hand(PAIRS), treatment_column=column)

    assert only_problem(values).where == "experimental_setting!B10"
