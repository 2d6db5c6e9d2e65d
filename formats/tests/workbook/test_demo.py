"""The workbook among the demos: the file is what its script makes, and it has what a workbook can have."""

import runpy
from io import BytesIO
from pathlib import Path
from typing import Any

import openpyxl

from parley_lab.formats.workbook import Workbook, assign, read, read_xlsx
from parley_lab.kinds.stages.group_interview.options import ListOptions, RangeOptions, TextOptions

DEMOS = Path(__file__).parents[3] / "demos"
PLAYERS = [f"Participant {number}" for number in range(1, 5)]


def demo() -> Workbook:
    return read(read_xlsx((DEMOS / "public_goods.xlsx").read_bytes(), "public_goods.xlsx"))


def cells(content: bytes) -> dict[str, list[tuple[Any, ...]]]:
    spreadsheet = openpyxl.load_workbook(BytesIO(content))
    return {sheet.title: list(sheet.iter_rows(values_only=True)) for sheet in spreadsheet}


def test_the_file_is_what_its_script_makes() -> None:
    made = runpy.run_path(str(DEMOS / "make_public_goods.py"))["content"]()

    assert cells((DEMOS / "public_goods.xlsx").read_bytes()) == cells(made)


def test_two_labels_make_two_experiments_of_two_sessions_of_four() -> None:
    workbook = demo()

    assert workbook.warnings == ()
    assert list(workbook.names()) == ["public_goods_1", "public_goods_2"]
    assert ["subject" in design.context.text for design in workbook.designs] == [False, True]
    for design in workbook.designs:
        sessions = assign(design).sessions
        assert [(session.id, session.arm.label) for session in sessions] == [("1", "plain"), ("2", "garden")]
        assert all([seat.role.label for seat in session.seats] == PLAYERS for session in sessions)


def test_the_demo_has_every_type_of_task_and_every_form_of_options() -> None:
    design = demo().designs[0]

    assert {task.type for task in design.tasks} == {"context", "discussion", "public_question", "private_question"}
    forms = {type(question.options) for task in design.tasks for question in task.questions}
    assert forms == {ListOptions, RangeOptions, TextOptions, type(None)}
    assert {task.var_type for task in design.tasks} == {"integer", "float", "category", None}
    assert any(task.validate and task.wants_score and task.as_json for task in design.tasks)
    assert any(task.wants_score and not task.as_json for task in design.tasks)


def test_rounds_ask_all_four_and_then_the_summarizer() -> None:
    rounds = [task for task in demo().designs[0].tasks if task.task_id.startswith("round_")]

    asked = [[question.role for question in task.questions] for task in rounds]
    assert asked == [[*PLAYERS, "Summarizer"]] * 3 + [[*PLAYERS[::-1], "Summarizer"]] * 2
