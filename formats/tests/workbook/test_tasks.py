"""The sheet of tasks: whom a task asks, with which options, and its other cells."""

from datetime import date

import pytest

from parley_lab.base.errors import InvalidInput
from parley_lab.formats.testing.workbooks import design_of, only_problem, problems_of, task_row, with_tasks, workbook_of
from parley_lab.kinds.stages.group_interview.options import ListOptions, RangeOptions, TextOptions

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
        "{\u201cA\u201d: \u201ca?}",
        "{'A': 'a?' 'b?'}",
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
    assert design_of(with_tasks(task_row("t1", var_type="integer", validate_response=typed))).tasks[0].validate is True


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


def test_a_problem_says_where_what_is_wrong_what_was_found_and_what_to_do() -> None:
    values = with_tasks(task_row("t1", response_options="[a, b]"))

    assert str(only_problem(values)) == (
        "interview_prompts!I3: it looks like a list and cannot be read as one: something in it is neither a text nor a "
        "number (found '[a, b]'). Type a list such as [1, 2, 3], a range such as (0, 5), or a text; or a dict with one "
        "of them for each role. Texts in a list need quotes."
    )
