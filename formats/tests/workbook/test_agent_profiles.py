"""The sheet of profiles: its two headers, ids and answers."""

from datetime import datetime

import pytest

from parley_lab.formats.testing.workbooks import base_values, design_of, only_problem


@pytest.mark.parametrize(
    ("row", "column", "typed", "where", "wrong"),
    [
        (0, 1, None, "agent_profiles!B1", "the short name is blank"),
        (0, 2, "age", "agent_profiles!C1", "the short name is repeated from agent_profiles!B1"),
        (1, 1, " ", "agent_profiles!B2", "the question is blank"),
        (4, 0, None, "agent_profiles!A5", "the ID is missing"),
        (4, 0, 1.0, "agent_profiles!A5", "the ID is repeated from agent_profiles!A3"),
    ],
)
def test_each_error_of_the_profiles_is_its_own(row: int, column: int, typed: object, where: str, wrong: str) -> None:
    values = base_values()
    values["agent_profiles"][row][column] = typed

    problem = only_problem(values)

    assert (problem.where, problem.wrong) == (where, wrong)


@pytest.mark.parametrize("header", [0, 1])
def test_the_id_may_be_named_in_either_row(header: int) -> None:
    values = base_values()
    values["agent_profiles"][1 - header][0] = "number"

    assert [person.id for person in design_of(values).profiles] == [str(number) for number in range(1, 13)]


def test_profiles_without_an_id_column_are_a_problem() -> None:
    values = base_values()
    values["agent_profiles"][0][0] = values["agent_profiles"][1][0] = "number"

    assert only_problem(values).where == "agent_profiles!A2"


def test_blank_rows_and_columns_around_and_between_are_no_profiles() -> None:
    values = base_values()
    for row in values["agent_profiles"]:
        row += [None, "", "  "]
    values["agent_profiles"].insert(5, [None, " "])
    values["agent_profiles"] += [[None], []]

    assert len(design_of(values).profiles) == 12


@pytest.mark.parametrize(
    ("typed", "text"),
    [
        (0, "0"),
        (False, "FALSE"),
        (3.0, "3"),
        (0.1 + 0.2, "0.3"),
        (datetime(2024, 5, 1, 14, 30), "2024-05-01 14:30"),  # noqa: DTZ001 - sheets know no zones
        (datetime(2024, 5, 1), "2024-05-01"),  # noqa: DTZ001 - sheets know no zones
        ("007", "007"),
    ],
)
def test_answers_read_as_they_were_typed(typed: object, text: str) -> None:
    values = base_values()
    values["agent_profiles"][2][2] = typed

    design = design_of(values)

    assert [answer for _, answer in design.answers(design.profiles[0])] == ["21", text]
