"""Workbooks for tests: a small valid one as values that a test changes, and the .xlsx file of such values."""

from collections.abc import Mapping, Sequence
from io import BytesIO
from typing import Any

from openpyxl import Workbook as Spreadsheet

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.formats.workbook import Design, Draws, Workbook, read
from parley_lab.formats.workbook.cells import Cell, Value, flaw_of
from parley_lab.formats.workbook.prompts import HEADER as PROMPTS_HEADER
from parley_lab.formats.workbook.sheets import Sheet, Sheets, sheet_of

Rows = list[list[Any]]
Values = dict[str, Rows]


def base_values() -> Values:
    """Roles A, B and C, arms ctl and trt, 12 profiles in 4 sessions, a context and one private question."""
    return {
        "experimental_setting": [["experimental_setting", "value"], *([key, value] for key, value in _settings())],
        "treatments": [
            ["treatment_label", "treatment_description"],
            ["ctl", "You play as you like."],
            ["trt", "You hear that others gave a lot."],
        ],
        "agent_roles": [
            ["role_label", "role_description"],
            ["Facilitator", "You lead the session."],
            *([label, f"You are player {label}."] for label in "ABC"),
        ],
        "interview_prompts": [
            list(PROMPTS_HEADER),
            task_row("t0", type="context", task_order=0, llm_text="A game is played.", var_name="context"),
            task_row("t1", llm_text="How much do you give? {response_options}", var_name="give"),
        ],
        "agent_profiles": [
            ["ID", "age", "mood"],
            ["ID", "How old are you?", "How do you feel?"],
            *([number, 20 + number, "well"] for number in range(1, 13)),
        ],
        "constants": [["name", "value"]],
    }


def task_row(task_id: str, **fields: Any) -> list[Any]:
    """A row of interview_prompts: a private question for all, unless `fields` say otherwise."""
    values = {
        "type": "private_question",
        "task_order": 1,
        "is_adapted": 0,
        "human_text": None,
        "llm_text": "What do you say?",
        "var_name": task_id,
        "var_type": None,
        "response_options": None,
        "randomize_response_order": 0,
        "validate_response": 0,
        "generate_speculation_score": 0,
        "format_response": 0,
        **fields,
    }
    return [task_id, *(values[column] for column in PROMPTS_HEADER[1:])]


def with_setting(values: Values, **settings: Any) -> Values:
    """The workbook with these settings replaced."""
    for row in values["experimental_setting"]:
        if row[0] in settings:
            row[1] = settings[row[0]]
    return values


def with_tasks(*rows: list[Any]) -> Values:
    """The base workbook with these tasks after its context, and a limit that is long enough for them."""
    values = with_setting(base_values(), max_conversation_length=1000)
    values["interview_prompts"][2:] = list(rows)
    return values


def sheets_of(values: Mapping[str, Sequence[Sequence[Any]]]) -> Sheets:
    return {name: _sheet_of_values(name, rows) for name, rows in values.items()}


def _sheet_of_values(name: str, rows: Sequence[Sequence[Value]]) -> Sheet:
    def cell(column: int, row: int, value: Value) -> Cell:
        return Cell(name, column, row, value, flaw=flaw_of(value))

    return sheet_of(
        name,
        (
            (number, [cell(column, number, value) for column, value in enumerate(values, start=1)])
            for number, values in enumerate(rows, start=1)
        ),
    )


def workbook_of(values: Values, draws: Draws = "reference") -> Workbook:
    """The workbook that is read from the values."""
    return read(sheets_of(values), draws=draws)


def design_of(values: Values) -> Design:
    """The only design in the values."""
    (design,) = workbook_of(values).designs
    return design


def warnings_of(values: Values) -> list[Problem]:
    """All warnings about valid values."""
    return list(workbook_of(values).warnings)


def problems_of(values: Values) -> list[Problem]:
    """All problems of the values; none when they are valid."""
    try:
        workbook_of(values)
    except InvalidInput as error:
        return list(error.problems)
    return []


def only_problem(values: Values) -> Problem:
    (problem,) = problems_of(values)
    return problem


def xlsx_of(values: Mapping[str, Sequence[Sequence[Any]]]) -> bytes:
    """An .xlsx file with these sheets."""
    spreadsheet = Spreadsheet()
    spreadsheet.remove(spreadsheet.worksheets[0])
    for name, rows in values.items():
        sheet = spreadsheet.create_sheet(name)
        for row in rows:
            sheet.append(list(row))
    content = BytesIO()
    spreadsheet.save(content)
    return content.getvalue()


def _settings() -> list[tuple[str, Any]]:
    return [
        ("experiment_id", "demo"),
        ("model_info", "gpt-4o-mini"),
        ("api_endpoint", None),
        ("temperature", 0.5),
        ("num_agents_per_session", 3),
        ("num_sessions", 4),
        ("max_conversation_length", 100),
        ("treatment_assignment_strategy", "simple_random"),
        ("treatment_column", None),
        ("session_assignment_strategy", "random"),
        ("session_column", None),
        ("role_assignment_strategy", "random"),
        ("role_column", None),
        ("random_seed", 42),
    ]
