"""Cells as people have them: dashes, merged cells, numbers under a format, names that a spreadsheet changed, braces."""

import time as clock
from datetime import date, time
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import openpyxl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput
from parley_lab.design import resolve
from parley_lab.formats.testing.workbooks import (
    Values,
    base_values,
    design_of,
    only_problem,
    problems_of,
    task_row,
    warnings_of,
    with_setting,
    with_tasks,
    xlsx_of,
)
from parley_lab.formats.workbook import Workbook, compile_workbook, read, read_csv_tables, read_xlsx
from parley_lab.formats.workbook.cells import visible
from parley_lab.formats.workbook.literals import read_options_literal
from parley_lab.kinds.stages.group_interview.options import ListOptions, RangeOptions

DASHES = "-\u2010\u2011\u2012\u2013\u2014\u2212\uff0d"


def edited(values: Values, edit: Any) -> bytes:
    """The .xlsx file after `edit` of the spreadsheet by its cells."""
    spreadsheet = openpyxl.load_workbook(BytesIO(xlsx_of(values)))
    edit(spreadsheet)
    content = BytesIO()
    spreadsheet.save(content)
    return content.getvalue()


def read_edited(values: Values, edit: Any) -> Workbook:
    return read(read_xlsx(edited(values, edit), "book.xlsx"))


def problems_in(values: Values, edit: Any) -> list[tuple[str, str]]:
    with pytest.raises(InvalidInput) as raised:
        read_edited(values, edit)
    return [(problem.where, problem.wrong) for problem in raised.value.problems]


# ranges


@given(
    low=st.integers(min_value=-50, max_value=50),
    size=st.integers(min_value=0, max_value=50),
    between=st.sampled_from(
        [*(f"{dash}" for dash in DASHES), *(f" {dash} " for dash in DASHES), ", ", "\uff0c", ",\u00a0"]
    ),
    minus=st.sampled_from(DASHES),
    brackets=st.sampled_from(["()", "\uff08\uff09"]),
    around=st.sampled_from(["", " ", "\u200b", "\ufeff", "\u2060", "\u00a0"]),
    wide=st.booleans(),
)
def test_a_range_is_read_with_any_dash_width_and_invisible_characters(
    low: int, size: int, between: str, minus: str, brackets: str, around: str, wide: bool
) -> None:
    def number(value: int) -> str:
        digits = str(abs(value))
        digits = digits.translate({ord("0") + one: 0xFF10 + one for one in range(10)}) if wide else digits
        return (minus if value < 0 else "") + digits

    cell = f"{around}{brackets[0]}{number(low)}{between}{number(low + size)}{brackets[1]}{around}"
    (question, *_) = design_of(with_tasks(task_row("t1", response_options=cell))).tasks[0].questions

    assert question.options == RangeOptions(low=low, high=low + size)


@pytest.mark.parametrize(
    "cell", ["0\u201310", "0-10", " 0 \u2014 10 ", "0\uff5e10", "(0\u301c10)", "0..10", "0\u202610"]
)
def test_a_range_needs_no_brackets(cell: str) -> None:
    (question, *_) = design_of(with_tasks(task_row("t1", response_options=cell))).tasks[0].questions

    assert question.options == RangeOptions(low=0, high=10)


@pytest.mark.parametrize("cell", ["[0\u201310]", "(0;10)", "(0\u201310", "(10\u20130)", "(1\u20132\u20133)"])
def test_what_is_nearly_a_range_or_a_list_is_refused(cell: str) -> None:
    assert only_problem(with_tasks(task_row("t1", response_options=cell))).where == "interview_prompts!I3"


def test_a_range_in_a_list_is_told_how_ranges_are_written() -> None:
    problem = only_problem(with_tasks(task_row("t1", response_options="[0\u201310]")))

    assert problem.hint.endswith(". A range is written (0, 10).")


def test_dashes_in_quotes_stay() -> None:
    assert read_options_literal("['a\u2013b', \u22121]") == ["a\u2013b", -1]


@pytest.mark.parametrize(
    "cell",
    [
        "[\u201cI don\u2019t\u201d, \u201eb\u201c]",
        "[\u2018I don\u2019t\u2019, \u2019b\u2019]",
        '["I don\u2019t", \u201cb\u201d]',
    ],
)
def test_typographic_quotes_are_quotes_outside_of_straight_ones(cell: str) -> None:
    assert read_options_literal(cell) == ["I don\u2019t", "b"]


def test_options_by_role_are_read_with_typographic_quotes() -> None:
    cell = "{\u201cA\u201d: [\u201cyes\u201d, \u201cno\u201d], \u201cB\u201d: (0\u20135)}"

    assert read_options_literal(cell) == {"A": ["yes", "no"], "B": (0, 5)}


@pytest.mark.parametrize("cell", ["['yes' 'no']", '["yes" "no", "maybe"]', '["yes" \u201cno\u201d]'])
def test_a_missing_comma_between_options_is_refused(cell: str) -> None:
    problem = only_problem(with_tasks(task_row("t1", response_options=cell)))

    assert problem.wrong == 'a comma is missing between "yes" and "no"'.replace('"', cell[1])
    assert "quotes" not in problem.hint


def test_ranges_by_role_are_read_with_dashes() -> None:
    options = "{'A': (0\u20135), 'B': [1, \u22122], 'C': '(0\u20139)'}"
    questions = design_of(with_tasks(task_row("t1", response_options=options))).tasks[0].questions

    assert [one.options for one in questions] == [
        RangeOptions(low=0, high=5),
        ListOptions(values=(1, -2)),
        RangeOptions(low=0, high=9),
    ]


@pytest.mark.parametrize("cell", ["1-2 sentences", "2020-01-01", "as you like", "(as you like)"])
def test_words_stay_words(cell: str) -> None:
    assert read_options_literal(cell) == cell


def test_options_that_differ_in_an_invisible_character_are_repeated() -> None:
    assert "repeated" in only_problem(with_tasks(task_row("t1", response_options="['Yes', 'Yes\u200b']"))).wrong


# what is checked


@pytest.mark.parametrize("var_type", [None, "category"])
def test_replies_that_are_checked_against_nothing_are_a_problem(var_type: str | None) -> None:
    problem = only_problem(with_tasks(task_row("t1", validate_response=1, var_type=var_type)))

    assert problem.where == "interview_prompts!K3"
    assert "I3" in problem.expected
    assert "H3" in problem.expected


def test_replies_that_are_checked_against_words_are_a_warning() -> None:
    (warning,) = warnings_of(with_tasks(task_row("t1", validate_response=1, response_options="yes or no")))

    assert warning.where == "interview_prompts!K3"


@pytest.mark.parametrize(
    "fields",
    [{"var_type": "integer"}, {"response_options": "[1, 2]"}, {"var_type": "float", "response_options": "any"}],
)
def test_replies_that_are_checked_against_something_are_fine(fields: dict[str, str]) -> None:
    assert not warnings_of(with_tasks(task_row("t1", validate_response=1, **fields)))


# merged cells


def test_cells_that_are_merged_over_rows_count_in_each_of_them() -> None:
    tasks = [task_row("t1", response_options="[1, 2]"), task_row("t2"), task_row("t3")]
    workbook = read_edited(with_tasks(*tasks), lambda book: book["interview_prompts"].merge_cells("I3:I4"))

    (design,) = workbook.designs
    assert [task.questions[0].options for task in design.tasks] == [ListOptions(values=(1, 2))] * 2 + [None]
    assert [warning.wrong for warning in workbook.warnings] == ["I3:I4 are merged: I4 count as the same"]


def test_values_that_are_merged_over_columns_are_named() -> None:
    values = with_tasks(task_row("t1", var_type="integer", response_options=None))
    found = problems_in(values, lambda book: book["interview_prompts"].merge_cells("H3:I4"))

    assert ("interview_prompts!H3", "H3:I4 are merged, over columns of their own") in found


def test_rows_that_are_merged_to_be_taller_stay_one() -> None:
    def taller(book: openpyxl.Workbook) -> None:
        for column in "AB":
            book["treatments"].merge_cells(f"{column}3:{column}5")

    assert [arm.label for arm in read_edited(base_values(), taller).designs[0].arms] == ["ctl", "trt"]


# numbers under a format


def test_money_is_filled_in_as_shown_and_calculated_with_as_a_number() -> None:
    values = with_tasks(task_row("t1", llm_text="You have {{money}}; twice that is {{money * 2}}."))
    values["constants"].append(["money", 5])

    def money(book: openpyxl.Workbook) -> None:
        book["constants"]["B2"].number_format = "$0.00"

    (design,) = read_edited(values, money).designs
    assert design.tasks[0].questions[0].text == "You have $5.00; twice that is 10."


@pytest.mark.parametrize("number_format", ["$0.00", "0%", "0.0"])
def test_a_setting_is_its_number_under_any_format(number_format: str) -> None:
    def formatted(book: openpyxl.Workbook) -> None:
        book["experimental_setting"]["B5"].number_format = number_format

    assert read_edited(base_values(), formatted).designs[0].settings.temperature == 0.5


def test_a_setting_that_shows_another_number_is_a_problem() -> None:
    def formatted(book: openpyxl.Workbook) -> None:
        book["experimental_setting"]["B5"].number_format = "0"

    assert problems_in(base_values(), formatted) == [("experimental_setting!B5", "the cell shows 1 and holds 0.5")]


# names


@pytest.mark.parametrize(
    ("value", "number_format"),
    [
        (date(2026, 2, 1), "d-m"),
        (date(2026, 2, 1), "yyyy-mm-dd"),
        (time(1, 2), "h:mm"),
        (100000.0, "0.00E+00"),
        (1234567890123456, "0"),
    ],
    ids=str,
)
def test_an_id_that_a_spreadsheet_has_changed_is_a_problem_in_its_cell(value: Any, number_format: str) -> None:
    def changed(book: openpyxl.Workbook) -> None:
        book["agent_profiles"]["A3"] = value
        book["agent_profiles"]["A3"].number_format = number_format

    ((where, _),) = problems_in(base_values(), changed)
    assert where == "agent_profiles!A3"


def test_labels_of_tasks_treatments_and_sessions_that_became_dates_are_problems() -> None:
    values = with_setting(base_values(), session_assignment_strategy="manual", session_column="age")
    values["treatments"][1][0] = date(2026, 2, 1)
    values["interview_prompts"][2][0] = date(2026, 2, 1)
    for number, row in enumerate(values["agent_profiles"][2:]):
        row[1] = date(2026, 1 + number % 4, 1)

    def without_year(book: openpyxl.Workbook) -> None:
        book["agent_profiles"]["B3"].number_format = "d-mmm"

    assert {where for where, wrong in problems_in(values, without_year) if "date" in wrong} == {
        "treatments!A2",
        "interview_prompts!A3",
        "agent_profiles!B3",
    }


@pytest.mark.parametrize("other", ["ctl\u200b", "\ufeffctl", "ctl\u00ad"], ids=ascii)
def test_labels_that_differ_in_an_invisible_character_are_a_problem(other: str) -> None:
    values = base_values()
    values["treatments"].append([other, "The same?"])

    problem = only_problem(values)
    assert problem.where == "treatments!A4"
    assert ascii(other) in problem.found


def test_sessions_that_differ_in_an_invisible_character_are_a_problem() -> None:
    values = with_setting(base_values(), session_assignment_strategy="manual", session_column="mood")
    for number, row in enumerate(values["agent_profiles"][2:]):
        row[2] = f"s{number % 4}"
    values["agent_profiles"][6][2] = "s0\u200b"

    assert any(one.where == "agent_profiles!C7" and "invisible" in one.wrong for one in problems_of(values))


@given(st.text(max_size=20))
def test_what_is_visible_of_a_name_is_visible_of_itself(name: str) -> None:
    assert visible(visible(name)) == visible(name)


# sheets


def test_empty_and_hidden_sheets_and_notes_are_left_out_and_named() -> None:
    def stray(book: openpyxl.Workbook) -> None:
        book.create_sheet("Sheet7")
        book.create_sheet("notes")["A1"] = "my notes"
        book["notes"].sheet_state = "hidden"
        book.create_sheet("#todo")["A1"] = "x"

    workbook = read_edited(base_values(), stray)

    assert [warning.wrong for warning in workbook.warnings] == [
        "the sheet 'Sheet7' is empty and is left out",
        "the sheet 'notes' is hidden and is left out",
        "the sheet '#todo' is a note and is left out",
    ]


@pytest.mark.parametrize("name", ["Treatment", "treatments ", "agent roles", "Constant"])
def test_a_sheet_whose_name_is_nearly_right_stays_a_problem(name: str) -> None:
    def nearly(book: openpyxl.Workbook) -> None:
        book.create_sheet(name)

    assert [where for where, _ in problems_in(base_values(), nearly)] == [f"{name}!A1"]


FORMS = {"short": '<c r="{c}{r}" s="1"/>', "long": '<c r="{c}{r}" s="1"></c>', "none": ""}
EVERY_ROW = range(4, 1_048_577)


@pytest.mark.parametrize(
    ("form", "prefix", "rows"),
    [
        pytest.param(FORMS["short"], "", EVERY_ROW, id="every row", marks=pytest.mark.long),
        pytest.param(FORMS["short"], "", EVERY_ROW[::6], id="to the last row"),
        *(
            pytest.param(form, prefix, range(4, 60_000), id=f"{name}-{prefix}")
            for name, form in FORMS.items()
            for prefix in ("", "x:")
        ),
    ],
)
def test_styles_down_to_the_last_row_are_read_in_seconds(form: str, prefix: str, rows: range) -> None:
    cells = ["".join(form.format(c=column, r=row) for column in "ABCD") for row in rows]
    styled = "".join(
        f'<row r="{row}" s="1" spans="1:4">{of_row}</row>' if of_row else f'<row r="{row}" ht="20"/>'
        for row, of_row in zip(rows, cells, strict=True)
    )
    content = with_rows(xlsx_of(base_values()), "sheet2.xml", styled, prefix)

    begun = clock.process_time()
    sheets = read_xlsx(content, "styled.xlsx")

    assert [row.number for row in sheets["treatments"].rows] == [1, 2, 3]
    assert clock.process_time() - begun < 20


def with_rows(content: bytes, part: str, rows: str, prefix: str) -> bytes:
    target = BytesIO()
    with ZipFile(BytesIO(content)) as old, ZipFile(target, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            xml = old.read(name)
            if name.endswith(part):
                xml = xml.replace(b"</sheetData>", rows.encode() + b"</sheetData>")
                if prefix:
                    xml = xml.replace(b"<worksheet xmlns=", b"<worksheet xmlns:x=").replace(b"<", b"<x:")
                    xml = xml.replace(b"<x:/", b"</x:").replace(b"<x:?", b"<?")
            new.writestr(name, xml)
    return target.getvalue()


def test_a_value_far_below_blank_rows_keeps_its_row() -> None:
    rows = "".join(f'<row r="{row}"><c r="A{row}" s="1"/></row>' for row in range(4, 15_000))
    far = '<row r="15000"><c r="A15000" t="inlineStr"><is><t>far</t></is></c></row>'
    sheets = read_xlsx(with_rows(xlsx_of(base_values()), "sheet2.xml", rows + far, ""), "far.xlsx")

    assert sheets["treatments"].row(15_000).cell(1).text == "far"


def test_hidden_rows_count_and_are_named() -> None:
    def hide(book: openpyxl.Workbook) -> None:
        book["agent_profiles"].row_dimensions[4].hidden = True
        book["agent_profiles"].row_dimensions[5].hidden = True
        book["agent_profiles"].row_dimensions[99].hidden = True

    workbook = read_edited(base_values(), hide)

    assert len(workbook.designs[0].profiles) == len(base_values()["agent_profiles"]) - 2
    assert [(one.where, one.wrong) for one in workbook.warnings] == [
        ("agent_profiles!A4", "hidden rows count like the others: 4, 5")
    ]


# formulas and escapes


@pytest.mark.parametrize(
    ("written", "text", "flaw"),
    [
        ('<c r="A4" t="str"><f>IF(B1=1,"","y")</f><v></v></c>', "", ""),
        ('<c r="A4" t="str"><f>IF(B1=1,"","y")</f><v/></c>', "", ""),
        ('<c r="A4" t="str"><f>IF(B1=1,"","y")</f><v>y</v></c>', "y", ""),
        ('<c r="A4"><f>1+1</f><v></v></c>', "", "a formula whose value was never calculated"),
        ('<c r="A4"><f>1+1</f></c>', "", "a formula whose value was never calculated"),
    ],
)
def test_a_formula_that_shows_nothing_is_blank(written: str, text: str, flaw: str) -> None:
    sheets = read_xlsx(with_rows(xlsx_of(base_values()), "sheet2.xml", f'<row r="4">{written}</row>', ""), "empty.xlsx")

    cell = sheets["treatments"].row(4).cell(1)
    assert (cell.text, cell.flaw) == (text, flaw)


def test_only_an_xlsx_file_writes_characters_as_escapes() -> None:
    rows = '<row r="4"><c r="A4" t="inlineStr"><is><t>a_x0041_b</t></is></c></row>'

    sheets = read_xlsx(with_rows(xlsx_of(base_values()), "sheet2.xml", rows, ""), "escapes.xlsx")
    tables = read_csv_tables({"treatments": b"label\na_x0041_b\n"}, "folder")

    assert sheets["treatments"].row(4).cell(1).text == "aAb"
    assert tables["treatments"].row(2).cell(1).text == "a_x0041_b"


# braces


def test_what_people_said_is_put_in_as_it_is() -> None:
    values = with_tasks(task_row("t1", llm_text="{{topic}}?", response_options="['{{ '{{' }}nothing}}', 'b']"))
    values["constants"].append(["topic", "trams"])
    values["agent_profiles"][2][2] = "I like {{topic}}, {{nothing}} and {% this"
    values["agent_profiles"][3][0] = "{{id}}"

    workbook = read(read_xlsx(xlsx_of(values), "book.xlsx"))

    (experiment,) = compile_workbook(workbook)
    resolved = resolve(experiment, None)
    said = {
        persona.attributes["ID"]: persona.attributes.get("mood")
        for persona in resolved.personas.values()
        if persona.attributes
    }
    assert said["1"] == "I like {{topic}}, {{nothing}} and {% this"
    assert "{{id}}" in said
    assert [warning.where for warning in workbook.warnings] == ["agent_profiles!C3"]


def test_an_error_in_a_template_says_how_braces_are_written() -> None:
    assert "{{ '{{' }}" in only_problem(with_tasks(task_row("t1", llm_text="Fill in {{ this"))).hint


def test_a_constant_that_names_another_is_told_that_it_is_not_filled_in() -> None:
    values = with_tasks(task_row("t1", llm_text="{{a}} {{b}}"))
    values["constants"] += [["a", "x"], ["b", "{{a}}"]]

    assert only_problem(values).where == "constants!B3"


def test_a_constant_may_have_braces() -> None:
    values = with_tasks(task_row("t1", llm_text="{{a}}"))
    values["constants"] += [["a", "write {{name}}"]]

    assert design_of(values).tasks[0].questions[0].text == "write {{name}}"
