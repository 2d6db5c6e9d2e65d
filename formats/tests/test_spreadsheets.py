"""Tables of personas in spreadsheets, and workbooks in OpenDocument."""

import json
from datetime import UTC, datetime
from io import BytesIO
from typing import Any
from xml.sax.saxutils import escape
from zipfile import ZipFile

import pytest
from openpyxl import Workbook

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.personas_from import PersonasFrom
from parley_lab.design import load
from parley_lab.formats.spreadsheets import read_table
from parley_lab.formats.testing.workbooks import base_values, sheets_of
from parley_lab.formats.workbook import read, read_ods
from parley_lab.formats.workbook.ods import is_ods

DAY = datetime(2026, 2, 1, tzinfo=UTC).replace(tzinfo=None)
ROWS: list[list[Any]] = [["id", "age", "income", "is_member"], ["R_1a", 30, 1234.5, True], ["bo", None, "n/a", False]]


def xlsx(*sheets: tuple[str, list[list[Any]]]) -> bytes:
    book = Workbook()
    book.remove(book.worksheets[0])
    for name, rows in sheets:
        sheet = book.create_sheet(name)
        for row in rows:
            sheet.append(row)
    content = BytesIO()
    book.save(content)
    return content.getvalue()


class Xml(str):
    """A cell of an .ods file as it is written there; an attribute of a row where it is the first one."""


def ods(*sheets: tuple[str, list[list[Any]]]) -> bytes:
    """A small .ods file, with blank rows down to the last one as LibreOffice writes them."""

    def cell(value: Any) -> str:
        if isinstance(value, Xml):
            return value
        if value is None:
            return "<table:table-cell/>"
        if isinstance(value, bool):
            return f'<table:table-cell office:value-type="boolean" office:boolean-value="{str(value).lower()}"/>'
        if isinstance(value, int | float):
            return f'<table:table-cell office:value-type="float" office:value="{value}"/>'
        return f'<table:table-cell office:value-type="string"><text:p>{escape(str(value))}</text:p></table:table-cell>'

    def attributes(row: list[Any]) -> str:
        return f" {row.pop(0)}" if row and isinstance(row[0], Xml) and not row[0].startswith("<") else ""

    blank = (
        '<table:table-row table:number-rows-repeated="1048000"><table:table-cell table:number-columns-repeated="9"/>'
    )
    tables = "".join(
        f'<table:table table:name="{name}">'
        + "".join(f"<table:table-row{attributes(row)}>{''.join(map(cell, row))}</table:table-row>" for row in rows)
        + f"{blank}</table:table-row></table:table>"
        for name, rows in sheets
    )
    names = " ".join(
        f'xmlns:{one}="urn:oasis:names:tc:opendocument:xmlns:{one}:1.0"' for one in ("office", "table", "text")
    )
    names += ' xmlns:calcext="urn:org:documentfoundation:names:experimental:calc:xmlns:calcext:1.0"'
    body = f"<office:body><office:spreadsheet>{tables}</office:spreadsheet></office:body>"
    content = BytesIO()
    with ZipFile(content, "w") as package:
        package.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        package.writestr("content.xml", f"<office:document-content {names}>{body}</office:document-content>")
        package.writestr(
            "META-INF/manifest.xml",
            '<manifest:manifest xmlns:manifest="urn:oasis:names:tc:opendocument:xmlns:manifest:1.0"/>',
        )
    return content.getvalue()


def source(**fields: Any) -> PersonasFrom:
    return PersonasFrom.model_validate({"file": "people.x", **fields})


def personas(content: bytes, **fields: Any) -> list[tuple[str, dict[str, Any]]]:
    file = {
        "parley": 1,
        "name": "Table",
        "personas_from": {"file": "people.x", **fields},
        "stages": [{"id": "page", "kind": "info", "lines": ["x"]}],
        "cohorts": [{"seats": [{"each_row": True}]}],
    }
    found = load(json.dumps(file), "x.json", read_table=lambda named: read_table(named, content)).personas
    return [(one.id, dict(one.attributes)) for one in found]


@pytest.mark.parametrize("write", [xlsx, ods])
def test_a_spreadsheet_has_its_numbers_and_flags_as_such(write: Any) -> None:
    assert personas(write(("People", ROWS))) == [
        ("R_1a", {"age": 30, "income": 1234.5, "is_member": True}),
        ("bo", {"age": None, "income": "n/a", "is_member": False}),
    ]


def with_format(value: Any, number_format: str) -> bytes:
    book = Workbook()
    for row in (["id", "x"], ["ana", value]):
        book.worksheets[0].append(row)
    book.worksheets[0]["B2"].number_format = number_format
    content = BytesIO()
    book.save(content)
    return content.getvalue()


@pytest.mark.parametrize(
    ("value", "number_format"), [(1234567, "#,##0"), (12.5, '"$"#,##0.00'), (0.25, "0%"), (1e9, "0.00E+00")]
)
def test_a_number_with_a_format_of_its_own_is_a_number_where_numbers_are_wanted(
    value: float, number_format: str
) -> None:
    content = with_format(value, number_format)

    assert personas(content, numbers=["x"]) == [("ana", {"x": value})]


@pytest.mark.parametrize(("value", "number_format"), [(True, "General"), (DAY, "yyyy-mm-dd"), ("12 kg", "General")])
def test_flags_dates_and_texts_are_no_numbers(value: Any, number_format: str) -> None:
    content = with_format(value, number_format)

    with pytest.raises(InvalidInput) as refused:
        personas(content, numbers=["x"])

    assert [one.where for one in refused.value.problems] == ["people.x Sheet!A2, x"]


@pytest.mark.parametrize("write", [xlsx, ods])
def test_the_first_sheet_with_cells_is_read_or_the_one_that_is_named(write: Any) -> None:
    content = write(("Empty", []), ("One", [["id"], ["ana"]]), ("Two", [["id"], ["ben"]]))

    assert personas(content) == [("ana", {})]
    assert personas(content, sheet="Two") == [("ben", {})]


def test_a_sheet_that_is_not_there_is_told_with_those_that_are() -> None:
    with pytest.raises(InvalidInput) as refused:
        read_table(source(sheet="Peeple"), xlsx(("People", ROWS)))

    assert refused.value.problems[0].expected == "People (did you mean that?), or another sheet"


def test_ids_that_became_dates_are_told_with_their_row() -> None:
    with pytest.raises(InvalidInput) as refused:
        personas(xlsx(("People", [["id"], [DAY]])))

    (problem,) = refused.value.problems
    assert problem.where == "people.x People!A2, id"
    assert "date" in problem.found


def test_hidden_rows_of_a_table_are_named() -> None:
    book = Workbook()
    for row in (["id"], ["ana"], ["ben"], ["eve"]):
        book.worksheets[0].append(row)
    book.worksheets[0].row_dimensions[3].hidden = True
    content = BytesIO()
    book.save(content)
    rows = [["id"], ["ana"], [Xml('table:visibility="filter"'), "ben"], ["eve"]]

    for one in (content.getvalue(), ods(("Sheet", rows))):
        table = read_table(source(), one)

        assert [warning.where for warning in table.warnings] == ["people.x Sheet!A3"]
        assert len(table.rows) == 3


@pytest.mark.parametrize(
    "written",
    [
        'office:value-type="string" office:string-value=""',
        'office:value-type="float" office:value="0"',
    ],
)
def test_an_error_in_an_ods_file_is_told_with_its_cell(written: str) -> None:
    error = Xml(f'<table:table-cell {written} calcext:value-type="error"><text:p>#DIV/0!</text:p></table:table-cell>')

    with pytest.raises(InvalidInput) as refused:
        personas(ods(("People", [["id", "age"], ["ana", 3], ["ben", error]])))

    (problem,) = refused.value.problems
    assert (problem.where, problem.found) == ("people.x People!B3", "the error #DIV/0!")


def test_merged_cells_of_an_ods_file_count_in_each_row() -> None:
    merged = Xml(
        '<table:table-cell office:value-type="string" table:number-rows-spanned="2"><text:p>Graz</text:p>'
        "</table:table-cell>"
    )
    covered = Xml("<table:covered-table-cell/>")
    content = ods(("People", [["id", "town"], ["ana", merged], ["ben", covered], ["eve", "Linz"]]))

    assert personas(content) == [("ana", {"town": "Graz"}), ("ben", {"town": "Graz"}), ("eve", {"town": "Linz"})]
    assert [one.where for one in read_table(source(), content).warnings] == ["people.x People!B2"]


def test_a_formula_without_a_value_is_told_with_its_cell() -> None:
    with pytest.raises(InvalidInput) as refused:
        personas(xlsx(("People", [["id", "age"], ["ana", "=1+1"]])))

    assert refused.value.problems[0].where == "people.x People!B2"


@pytest.mark.parametrize("content", [b"PK\x03\x04", b"\xd0\xcf\x11\xe0", ods(("People", ROWS))[:-40]])
def test_a_damaged_spreadsheet_is_refused(content: bytes) -> None:
    with pytest.raises(InvalidInput):
        personas(content)


def test_an_empty_spreadsheet_is_refused() -> None:
    with pytest.raises(InvalidInput, match="no sheet has cells"):
        personas(xlsx(("People", [])))


def test_a_workbook_may_be_an_ods_file() -> None:
    content = ods(*base_values().items())

    assert is_ods(content)
    assert read(read_ods(content, "book.ods")).designs[0].tasks == read(sheets_of(base_values())).designs[0].tasks
