"""The workbook that researchers start from explains itself and is right as it is."""

from io import BytesIO

import openpyxl

from parley_lab.formats.workbook import assign, read, read_xlsx, template
from parley_lab.formats.workbook.prompts import HEADER
from parley_lab.formats.workbook.settings import KEYS
from parley_lab.formats.workbook.sheets import SHEETS


def test_the_template_is_right_and_has_a_worked_row_on_every_sheet() -> None:
    workbook = read(read_xlsx(template(), "template.xlsx"))

    assert workbook.warnings == ()
    assert [len(assign(design).sessions) for design in workbook.designs] == [1, 1]
    assert [task.task_id for task in workbook.designs[0].tasks] == ["trips"]


def test_every_key_and_column_has_a_note() -> None:
    spreadsheet = openpyxl.load_workbook(BytesIO(template()))

    noted = {cell.value for sheet in spreadsheet for row in sheet.iter_rows() for cell in row if cell.comment}

    assert spreadsheet.sheetnames == list(SHEETS)
    assert noted >= {*KEYS, *HEADER, "treatment_label", "role_label", "ID", "name", "value"}
