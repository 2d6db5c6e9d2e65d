"""Constants, their permutations, and the places that they fill."""

from datetime import date
from typing import Any

import pytest

from parley_lab.formats.testing.workbooks import Values, base_values, design_of, only_problem, problems_of, workbook_of


def with_constants(*rows: list[Any], text: str = "{{a}} {{b}} {{c}}") -> Values:
    values = base_values()
    values["constants"] += [list(row) for row in rows]
    values["interview_prompts"][2][5] = text
    return values


def test_constants_make_every_permutation_and_the_last_one_changes_fastest() -> None:
    workbook = workbook_of(with_constants(["a", "['x', 'y']"], ["b", "[1, 2, 3]"], ["c", 5]))

    texts = [design.tasks[0].questions[0].text for design in workbook.designs]
    assert texts == ["x 1 5", "x 2 5", "x 3 5", "y 1 5", "y 2 5", "y 3 5"]
    assert list(workbook.names()) == [f"demo_{number}" for number in range(1, 7)]


def test_one_permutation_is_called_by_the_experiment_alone() -> None:
    assert list(workbook_of(base_values()).names()) == ["demo"]


def test_the_items_of_a_list_are_texts_and_a_single_value_is_not() -> None:
    workbook = workbook_of(with_constants(["a", "[1]"], ["b", 2.0], ["c", date(2024, 5, 1)]))

    assert workbook.designs[0].constants == {"a": "1", "b": 2, "c": "2024-05-01"}


@pytest.mark.parametrize(("typed", "filled"), [(0.1 + 0.2, "0.3"), (0.1 * 30, "3"), (1 - 0.9, "0.1"), (2.5, "2.5")])
def test_a_constant_that_was_calculated_is_filled_in_as_it_is_shown(typed: float, filled: str) -> None:
    design = design_of(with_constants(["a", typed], text="{{a}}"))

    assert design.tasks[0].questions[0].text == filled


@pytest.mark.parametrize("typed", [False, "FALSE", "false", "[False]", "['FALSE']"], ids=repr)
def test_a_flag_is_shown_as_it_was_typed_and_decides_what_it_says(typed: object) -> None:
    values = with_constants(["a", typed], text="{{a}} {% if a %}yes{% else %}no{% endif %}")

    found = design_of(values).tasks[0].questions[0].text

    assert (found.casefold(), found.endswith("no")) == ("false no", True)


@pytest.mark.parametrize(("typed", "filled"), [("5", "5 10"), ("0", "0 0"), ("-0.5", "-0.5 -1.0")])
def test_a_number_is_one_also_where_a_cell_holds_its_text(typed: object, filled: str) -> None:
    assert design_of(with_constants(["a", typed], text="{{a}} {{a * 2}}")).tasks[0].questions[0].text == filled


@pytest.mark.parametrize("typed", ["007", "1,000", "2.50", "12345678901234567890"])
def test_a_text_that_a_number_would_not_show_stays_as_it_is(typed: str) -> None:
    assert design_of(with_constants(["a", typed], text="{{a}}")).tasks[0].questions[0].text == typed


@pytest.mark.parametrize("value", ["[]", "[a b]", "[a]", "[1, 2", "[[1], 2]", None, "{{a}}"], ids=repr)
def test_a_constant_without_usable_values_is_a_problem(value: object) -> None:
    assert only_problem(with_constants(["a", value], text="{{a}}")).where == "constants!B2"


def test_too_many_permutations_are_a_problem_and_are_not_made() -> None:
    rows = [[name, str(list(range(100)))] for name in "abcdefgh"]

    assert only_problem(with_constants(*rows, text="{{a}}")).where == "constants!B1"


@pytest.mark.parametrize("name", ["two words", "1st", "if", "true", None])
def test_a_constant_needs_a_name_that_a_placeholder_can_have(name: str | None) -> None:
    assert only_problem(with_constants([name, 1], text="plain")).where == "constants!A2"


def test_an_unknown_placeholder_is_reported_and_not_left_empty() -> None:
    problem = only_problem(with_constants(["a", 1], text="{{z}}"))

    assert problem.where == "interview_prompts!F3"
    assert "'z'" in problem.wrong


def test_a_placeholder_where_nothing_is_filled_in_is_reported() -> None:
    values = with_constants(["a", 1], text="{{a}}")
    values["experimental_setting"][1][1] = "x{{a}}"

    assert any("placeholders are not filled in" in problem.wrong for problem in problems_of(values))


@pytest.mark.parametrize(
    "text",
    [
        "{% for a in 'xx' %}y{% endfor %}",
        "{{ a.__class__ }}",
        "{{ a() }}",
        "{{ 'x' * 1000000000 }}",
        "{{ a ** 999999999 }}",
        "{{ a",
        "{{ range(10) }}",
        "{% include 'x' %}",
        "{{ 1 / 0 }}",
        "{{ '%999999999d' % 1 }}",
        "{{ " + "(" * 3000 + "a" + ")" * 3000 + " }}",
    ],
)
def test_templates_that_do_more_than_fill_in_are_reported(text: str) -> None:
    assert only_problem(with_constants(["a", 1], text=text)).where == "interview_prompts!F3"


def test_conditions_and_simple_arithmetic_are_filled_in() -> None:
    values = with_constants(["a", "['2']"], ["b", 3], text="{% if b > 2 %}{{ a|int + b * 2 }}{% endif %}")

    assert design_of(values).tasks[0].questions[0].text == "8"


def test_labels_and_descriptions_are_filled_in() -> None:
    values = with_constants(["a", "player"], text="Give.")
    values["agent_roles"][2] = ["{{a}} one", "You are the {{a}}."]
    values["treatments"][1][1] = "A {{a}}."

    design = design_of(values)

    assert design.roles[1].label == "player one"
    assert (design.roles[1].description, design.arms[0].description) == ("You are the player.", "A player.")


def test_a_problem_is_told_once_however_many_permutations_have_it() -> None:
    values = with_constants(["a", "[1, 2, 3]"], text="{{z}}")

    assert len(problems_of(values)) == 1
