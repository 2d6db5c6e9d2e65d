"""The sheets of a workbook, their headers, names and sizes; every problem has its cell."""

from typing import Any

import pytest

from parley_lab.formats.testing.workbooks import (
    base_values,
    design_of,
    only_problem,
    problems_of,
    task_row,
    with_setting,
    with_tasks,
)


def test_the_base_workbook_is_right() -> None:
    assert problems_of(base_values()) == []


# 1 and 2: sheets


@pytest.mark.parametrize("name", ["constants", "treatments", "agent_profiles"])
def test_a_missing_sheet_is_named(name: str) -> None:
    values = base_values()
    del values[name]

    assert name in [problem.where.partition("!")[0] for problem in problems_of(values)]


def test_sheet_names_are_case_sensitive() -> None:
    values = base_values()
    values["Treatments"] = values.pop("treatments")

    assert {problem.where for problem in problems_of(values)} >= {"treatments!A1", "Treatments!A1"}


def test_an_unexpected_sheet_is_a_problem() -> None:
    problem = only_problem({**base_values(), "notes": [["remember the milk"]]})

    assert problem.where == "notes!A1"
    assert "does not belong" in problem.wrong


# 3 and 4: keys and headers


def test_a_missing_key_is_named_with_the_cell_where_it_could_be() -> None:
    values = base_values()
    values["experimental_setting"] = [row for row in values["experimental_setting"] if row[0] != "api_endpoint"]

    problem = only_problem(values)

    assert (problem.where, problem.wrong) == ("experimental_setting!A15", "the key api_endpoint is missing")


def test_an_unknown_key_is_reported() -> None:
    values = base_values()
    values["experimental_setting"].append(["random_sed", 3])

    problem = only_problem(values)

    assert problem.where == "experimental_setting!A16"
    assert "random_seed (did you mean that?)" in problem.expected


def test_a_repeated_key_is_reported() -> None:
    values = base_values()
    values["experimental_setting"].append(["temperature", 1])

    assert "repeated from experimental_setting!A5" in only_problem(values).wrong


@pytest.mark.parametrize(
    ("sheet", "header"),
    [
        ("treatments", "[treatment_label, treatment_description]"),
        ("agent_roles", "[role_label, role_description]"),
        ("constants", "[name, value]"),
        ("experimental_setting", "[experimental_setting, value]"),
    ],
)
def test_a_further_column_is_refused_with_the_header_that_is_right(sheet: str, header: str) -> None:
    values = base_values()
    values[sheet][0].append("extra")

    problem = only_problem(values)

    assert problem.where == f"{sheet}!C1"
    assert problem.expected == header
    assert problem.found == header.replace("]", ", extra]")


def test_a_column_that_is_there_twice_is_refused_where_it_does() -> None:
    values = base_values()
    values["agent_roles"] = [[*row, row[0]] for row in values["agent_roles"]]

    (problem,) = problems_of(values)

    assert problem.where == "agent_roles!C1"


def test_a_value_beside_the_table_is_a_problem() -> None:
    values = base_values()
    values["treatments"][1].append("a note")

    assert only_problem(values).where == "treatments!C2"


# 5: the context


def test_the_first_task_must_be_the_context() -> None:
    values = with_tasks(task_row("t1"))
    values["interview_prompts"][1][1] = "discussion"

    assert only_problem(values).where == "interview_prompts!B2"


def test_the_context_comes_first_whatever_its_order_and_is_no_turn() -> None:
    values = base_values()
    values["interview_prompts"][1][2] = 9

    design = design_of(values)

    assert design.context.task_id == "t0"
    assert [task.task_id for task in design.tasks] == ["t1"]


# 6: repeated names


@pytest.mark.parametrize(
    ("sheet", "row", "where"),
    [
        ("interview_prompts", task_row("t2", var_name="give"), "interview_prompts!G4"),
        ("interview_prompts", task_row("t1", var_name="other"), "interview_prompts!A4"),
        ("treatments", ["ctl", "Again."], "treatments!A4"),
        ("agent_roles", ["A", "Again."], "agent_roles!A6"),
        ("agent_profiles", [3, 33, "well"], "agent_profiles!A15"),
    ],
)
def test_a_repeated_name_is_a_problem_in_its_cell(sheet: str, row: list[Any], where: str) -> None:
    values = with_setting(base_values(), max_conversation_length=1000)
    values[sheet].append(row)

    repeated = [problem for problem in problems_of(values) if "repeated" in problem.wrong]

    assert [problem.where for problem in repeated] == [where]


def test_a_repeated_variable_names_its_task() -> None:
    problem = only_problem(with_tasks(task_row("t1", var_name="n"), task_row("t2", var_name="n")))

    assert "t2" in problem.wrong


def test_a_repeated_constant_is_a_problem() -> None:
    values = base_values()
    values["constants"] += [["a", 1], ["a", 2]]

    assert only_problem(values).where == "constants!A3"


@pytest.mark.parametrize("name", ["role", "ID", "give.response"])
def test_a_variable_may_not_share_a_column_of_the_results(name: str) -> None:
    values = with_tasks(task_row("t1", var_name="give"), task_row("t2", var_name=name))

    assert only_problem(values).where == "interview_prompts!G4"


# 7, 8 and 9: sizes


def test_a_facilitator_is_needed() -> None:
    values = base_values()
    values["agent_roles"][1][0] = "facilitator"
    with_setting(values, num_agents_per_session=4, num_sessions=3)

    assert only_problem(values).where == "agent_roles!A6"


@pytest.mark.parametrize("label", ["value", "speaker", "system", "attempts"])
def test_a_role_is_not_called_as_a_field_of_messages_in_the_data(label: str) -> None:
    values = base_values()
    values["agent_roles"][2][0] = label

    assert only_problem(values).where == "agent_roles!A3"


def test_facilitator_and_summarizer_do_not_count_as_agents_of_a_session() -> None:
    values = base_values()
    values["agent_roles"].append(["Summarizer", "You sum up."])

    assert design_of(values).settings.num_agents_per_session == 3


def test_agents_of_a_session_must_be_as_many_as_roles() -> None:
    values = base_values()
    del values["agent_roles"][-1]

    problem = only_problem(values)

    assert (problem.where, problem.found) == ("experimental_setting!B6", "3")
    assert problem.expected.startswith("2,")


def test_profiles_must_be_exactly_as_many_as_seats() -> None:
    values = base_values()
    del values["agent_profiles"][-1]

    problem = only_problem(values)

    assert "12" in problem.expected
    assert "11" in problem.found


def test_the_conversation_must_hold_every_task_of_every_role() -> None:
    values = with_setting(base_values(), max_conversation_length=7)

    assert only_problem(values).where == "experimental_setting!B8"
    assert problems_of(with_setting(values, max_conversation_length=8)) == []


def test_all_problems_of_all_sheets_are_told_at_once() -> None:
    values = with_setting(base_values(), temperature="hot", random_seed="x")
    values["treatments"][1][0] = None
    values["agent_roles"][2][1] = None
    values["interview_prompts"][2][1] = "chat"
    values["agent_profiles"][2][0] = None
    values["constants"].append(["a", "[]"])

    assert {problem.where for problem in problems_of(values)} == {
        "experimental_setting!B5",
        "experimental_setting!B15",
        "treatments!A2",
        "agent_roles!B3",
        "interview_prompts!B3",
        "agent_profiles!A3",
        "constants!B2",
    }
