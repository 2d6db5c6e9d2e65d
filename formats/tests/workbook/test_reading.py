"""What makes a workbook right or wrong; every problem has its cell."""

from datetime import date, datetime
from typing import Any

import pytest

from formats.testing.workbooks import (
    Values,
    base_values,
    design_of,
    problems_of,
    task_row,
    with_setting,
    with_tasks,
    workbook_of,
)
from shared.errors import InvalidInput, Problem
from shared.stages.group_interview.options import ListOptions, RangeOptions, TextOptions


def only_problem(values: Values) -> Problem:
    (problem,) = problems_of(values)
    return problem


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


def test_a_missing_key_is_named_with_the_cell_where_it_could_stand() -> None:
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


def test_a_column_that_stands_there_twice_is_refused_where_it_does() -> None:
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


# 10: temperature and seed


@pytest.mark.parametrize("temperature", [-1, 3, 2.01, "hot", None, True], ids=repr)
def test_a_temperature_outside_its_limits_is_rejected(temperature: object) -> None:
    assert only_problem(with_setting(base_values(), temperature=temperature)).where == "experimental_setting!B5"


@pytest.mark.parametrize(("temperature", "is_told"), [(0, True), (0.7, True), (1, False)])
def test_a_temperature_that_the_model_does_not_take_is_told(temperature: float, is_told: bool) -> None:
    workbook = workbook_of(with_setting(base_values(), model_info="o3", temperature=temperature))

    assert [warning.where for warning in workbook.warnings] == ["experimental_setting!B5"] * is_told


@pytest.mark.parametrize("temperature", [0, 2, 0.7, "0.7", "1"], ids=repr)
def test_a_temperature_within_its_limits_is_taken(temperature: object) -> None:
    design = design_of(with_setting(base_values(), temperature=temperature))

    assert design.settings.temperature == float(str(temperature))


@pytest.mark.parametrize(("typed", "seed"), [(None, 42), ("", 42), ("  ", 42), (7.0, 7), ("7", 7), (0, 0)], ids=repr)
def test_a_blank_seed_is_42(typed: object, seed: int) -> None:
    assert design_of(with_setting(base_values(), random_seed=typed)).settings.random_seed == seed


@pytest.mark.parametrize("typed", ["text", -1, 1.5, 2**32, True, date(2024, 1, 1)], ids=repr)
def test_a_seed_that_the_draws_cannot_take_is_rejected(typed: object) -> None:
    assert only_problem(with_setting(base_values(), random_seed=typed)).where == "experimental_setting!B15"


# models


def test_a_model_that_is_not_in_the_list_gives_a_warning() -> None:
    workbook = workbook_of(with_setting(base_values(), model_info="llama-9"))

    assert [warning.where for warning in workbook.warnings] == ["experimental_setting!B3"]
    assert workbook.designs[0].settings.model_info == "llama-9"


@pytest.mark.parametrize("endpoint", [None, "somewhere", "https://"])
def test_hf_inference_needs_an_endpoint(endpoint: str | None) -> None:
    values = with_setting(base_values(), model_info="hf-inference", api_endpoint=endpoint)

    assert only_problem(values).where == "experimental_setting!B4"


@pytest.mark.parametrize("model", ["hf-inference", "gpt-4o"])
@pytest.mark.parametrize(
    "endpoint", ["https://ann:hf_secret@models.example/v1", "https://models.example/v1?token=hf_secret"]
)
def test_an_endpoint_with_a_secret_in_it_is_a_problem_that_does_not_repeat_it(model: str, endpoint: str) -> None:
    problem = only_problem(with_setting(base_values(), model_info=model, api_endpoint=endpoint))

    assert problem.where == "experimental_setting!B4"
    assert "hf_secret" not in str(problem)


def test_the_endpoint_is_taken_for_hf_inference_only() -> None:
    address = "https://models.example/v1"
    used = design_of(with_setting(base_values(), model_info="hf-inference", api_endpoint=address))
    unused = workbook_of(with_setting(base_values(), api_endpoint=address))

    assert used.settings.api_endpoint == address
    assert unused.designs[0].settings.api_endpoint is None
    assert [warning.where for warning in unused.warnings] == ["experimental_setting!B4"]


@pytest.mark.parametrize("name", ["../etc", "a/b", ".hidden", "a" * 81, "x\ny"])
def test_an_id_that_is_no_file_name_is_rejected(name: str) -> None:
    assert only_problem(with_setting(base_values(), experiment_id=name)).where == "experimental_setting!B2"


@pytest.mark.parametrize(("typed", "name"), [(2024, "2024"), (3.0, "3"), (date(2024, 5, 1), "2024-05-01")], ids=repr)
def test_an_id_reads_as_it_was_typed(typed: object, name: str) -> None:
    assert workbook_of(with_setting(base_values(), experiment_id=typed)).experiment_id == name


# 11: constants


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


@pytest.mark.parametrize(
    ("sheet", "row", "column"),
    [("agent_profiles", 2, 2), ("agent_profiles", 1, 1), ("experimental_setting", 1, 1)],
)
def test_a_placeholder_where_nothing_is_filled_in_is_reported(sheet: str, row: int, column: int) -> None:
    values = with_constants(["a", 1], text="{{a}}")
    values[sheet][row][column] = "x{{a}}"

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


# 14: assignments by hand


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
def test_a_role_that_nobody_can_take_is_rejected(role: str | None) -> None:
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


# 17: whom a task asks


def test_a_plain_text_goes_to_all_but_special_roles() -> None:
    design = design_of(with_tasks(task_row("t1", llm_text="How?")))

    assert [question.role for question in design.tasks[0].questions] == ["A", "B", "C"]


def test_a_dict_says_who_is_asked_and_in_which_order() -> None:
    values = with_tasks(task_row("t1", llm_text="{'B': 'b?', 'A': 'a?', 'Summarizer': 's?'}"))
    values["agent_roles"].append(["Summarizer", "You sum up."])

    questions = design_of(values).tasks[0].questions

    assert [(question.role, question.text) for question in questions] == [
        ("B", "b?"),
        ("A", "a?"),
        ("Summarizer", "s?"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        "{'Z': 'z?'}",
        "{'A': 5}",
        "{\u201cA\u201d: \u201ca?\u201d}",
        "{'A': 'a?'",
        "{'A': ''}",
        "{'A' 'a?'}",
        "{'A', 'B'}",
        "{'A': f(1)}",
    ],
)
def test_a_dict_that_is_not_texts_by_role_is_rejected_in_its_cell(text: str) -> None:
    assert only_problem(with_tasks(task_row("t1", llm_text=text))).where == "interview_prompts!F3"


def test_a_text_in_braces_is_a_text() -> None:
    (question, *_) = design_of(with_tasks(task_row("t1", llm_text="{response_options}"))).tasks[0].questions

    assert question.text == "{response_options}"


def test_a_text_that_only_begins_with_an_object_is_a_text() -> None:
    text = '{"choice": 1} is how an answer looks.'
    (question, *_) = design_of(with_tasks(task_row("t1", llm_text=text))).tasks[0].questions

    assert question.text == text


def test_with_the_references_draws_a_dict_in_a_discussion_is_a_text_for_all_and_warned_of() -> None:
    workbook = workbook_of(with_tasks(task_row("t1", type="discussion", llm_text="{'A': 'a?'}")))

    (task,) = workbook.designs[0].tasks
    assert (task.text, task.questions) == ("{'A': 'a?'}", ())
    (warning,) = workbook.warnings
    assert warning.where == "interview_prompts!F3"


def test_a_dict_in_a_discussion_decides_who_takes_part_in_which_order_with_which_text() -> None:
    row = task_row(
        "t1", type="discussion", llm_text="{'C': 'c?', 'A': 'a? {response_options}'}", response_options="[1, 2]"
    )

    workbook = workbook_of(with_tasks(row), "parley")

    (task,) = workbook.designs[0].tasks
    assert [(question.role, question.text) for question in task.questions] == [
        ("C", "c?"),
        ("A", "a? {response_options}"),
    ]
    assert workbook.warnings == ()


@pytest.mark.parametrize("text", ["{'Z': 'z?'}", "{'A': }", "{'A': 3}"])
def test_a_wrong_dict_in_a_discussion_is_a_problem_of_its_cell(text: str) -> None:
    values = with_tasks(task_row("t1", type="discussion", llm_text=text))

    with pytest.raises(InvalidInput) as refused:
        workbook_of(values, "parley")

    assert {problem.where for problem in refused.value.problems} == {"interview_prompts!F3"}


# 22 and 24: options


@pytest.mark.parametrize(
    ("cell", "options"),
    [
        ("[1, 2, 3]", ListOptions(values=(1, 2, 3))),
        ("['a', 'b']", ListOptions(values=("a", "b"))),
        (" [0.5, 'none'] ", ListOptions(values=(0.5, "none"))),
        ("(0,5)", RangeOptions(low=0, high=5)),
        ("(0.5, 1.5)", RangeOptions(low=0.5, high=1.5)),
        ("Say a number", TextOptions(text="Say a number")),
        ("(as you like)", TextOptions(text="(as you like)")),
        ("[yes] or [no], please", TextOptions(text="[yes] or [no], please")),
        (None, None),
    ],
)
def test_options_are_lists_ranges_texts_or_nothing(cell: str | None, options: object) -> None:
    (question, *_) = design_of(with_tasks(task_row("t1", response_options=cell))).tasks[0].questions

    assert question.options == options


@pytest.mark.parametrize(
    "cell",
    [
        "[]",
        "[a, b]",
        "[[1], 2]",
        "[1, 2",
        "['a', 'b'",
        "(0, 5",
        "(5, 0)",
        "(1,)",
        "(1, 2, 3)",
        "(0;5)",
        5,
        -5,
        date(2024, 1, 2),
        True,
        "[1, 1]",
    ],
    ids=repr,
)
def test_options_that_cannot_be_meant_are_rejected_in_their_cell(cell: object) -> None:
    assert only_problem(with_tasks(task_row("t1", response_options=cell))).where == "interview_prompts!I3"


def test_constants_in_options_make_a_real_range() -> None:
    values = with_tasks(task_row("t1", response_options="({{lo}},{{hi}})"))
    values["constants"] += [["lo", "[0]"], ["hi", "['7']"]]

    (question, *_) = design_of(values).tasks[0].questions

    assert question.options == RangeOptions(low=0, high=7)


def test_options_may_differ_by_role() -> None:
    values = with_tasks(task_row("t1", response_options="{'A': (0, 3), 'B': [1, 2], 'C': 'as you like'}"))

    questions = design_of(values).tasks[0].questions

    assert [question.options for question in questions] == [
        RangeOptions(low=0, high=3),
        ListOptions(values=(1, 2)),
        TextOptions(text="as you like"),
    ]


@pytest.mark.parametrize(
    "cell", ["{'A': (0, 3), 'B': [1, 2]}", "{'A': (0, 3), 'B': [1], 'C': [2], 'Z': [3]}"], ids=repr
)
def test_options_by_role_name_every_role_that_is_asked_and_no_other(cell: str) -> None:
    assert only_problem(with_tasks(task_row("t1", response_options=cell))).where == "interview_prompts!I3"


def test_options_without_roles_are_not_those_of_the_summarizer() -> None:
    values = with_tasks(task_row("t1", llm_text="{'A': 'a?', 'Summarizer': 's?'}", response_options="[1, 2]"))
    values["agent_roles"].append(["Summarizer", "You sum up."])

    asked = {question.role: question.options for question in design_of(values).tasks[0].questions}

    assert asked == {"A": ListOptions(values=(1, 2)), "Summarizer": None}


def test_an_option_that_is_not_of_the_variables_type_is_rejected() -> None:
    values = with_tasks(task_row("t1", response_options="[1, 'two']", var_type="integer"))

    assert only_problem(values).where == "interview_prompts!I3"


# cells


@pytest.mark.parametrize("typed", [1, "1", 1.0, "1.0", True, "TRUE", "true", " 1 "], ids=repr)
def test_a_flag_that_is_set_is_set_however_it_was_typed(typed: object) -> None:
    assert design_of(with_tasks(task_row("t1", validate_response=typed))).tasks[0].validate is True


@pytest.mark.parametrize("typed", [0, "0", 0.0, "0.0", False, "FALSE", "false"], ids=repr)
def test_a_flag_that_is_not_set_is_not_set_however_it_was_typed(typed: object) -> None:
    assert design_of(with_tasks(task_row("t1", validate_response=typed))).tasks[0].validate is False


@pytest.mark.parametrize("typed", [None, 2, "yes", date(2024, 1, 1)], ids=repr)
def test_a_flag_that_is_neither_is_a_problem(typed: object) -> None:
    assert only_problem(with_tasks(task_row("t1", validate_response=typed))).where == "interview_prompts!K3"


@pytest.mark.parametrize(("field", "column"), [("task_order", "C"), ("type", "B"), ("var_type", "H")])
def test_a_word_that_is_not_known_is_a_problem(field: str, column: str) -> None:
    assert problems_of(with_tasks(task_row("t1", **{field: "nonsense"})))[0].where == f"interview_prompts!{column}3"


@pytest.mark.parametrize("blank", [None, "", "   "])
def test_a_blank_question_is_a_problem_in_its_cell(blank: str | None) -> None:
    assert only_problem(with_tasks(task_row("t1", llm_text=blank))).where == "interview_prompts!F3"


def test_a_blank_variable_takes_the_id_of_its_task() -> None:
    assert design_of(with_tasks(task_row("t1", var_name=None))).tasks[0].var_name == "t1"


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


def test_a_problem_is_told_once_however_many_permutations_have_it() -> None:
    values = with_constants(["a", "[1, 2, 3]"], text="{{z}}")

    assert len(problems_of(values)) == 1


def test_a_problem_says_where_what_is_wrong_what_is_expected_what_was_found_and_what_to_do() -> None:
    values = with_tasks(task_row("t1", response_options="[a, b]"))

    assert str(only_problem(values)) == (
        "interview_prompts!I3: it looks like a list and cannot be read as one: something in it is neither a text nor a "
        "number; expected a list such as [1, 2, 3], a range such as (0, 5), or a text; or a dict with one of them for "
        "each role; found '[a, b]'. Hint: texts in a list need quotes."
    )
