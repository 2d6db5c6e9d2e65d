"""Reading files of the world: what spreadsheets save, what is damaged, and what is meant to do harm."""

import tracemalloc
from collections.abc import Callable
from datetime import date, time
from io import BytesIO
from typing import Any
from zipfile import ZIP_DEFLATED, ZipFile

import openpyxl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from parley_lab.base.errors import InvalidInput, ParleyError, TooLarge
from parley_lab.formats.importing import ZIP, Choice, import_file
from parley_lab.formats.testing.workbooks import base_values, problems_of, sheets_of, xlsx_of
from parley_lab.formats.workbook import Workbook, read, read_csv_tables, read_xlsx
from parley_lab.formats.workbook.sheets import SHEETS
from parley_lab.testing.quick import quick_first

BASE = xlsx_of(base_values())
FEW = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def rewritten(part: str, content: bytes | None, original: bytes = BASE) -> bytes:
    """The package with one part replaced, added, or (None) taken out."""
    target = BytesIO()
    with ZipFile(BytesIO(original)) as old, ZipFile(target, "w", ZIP_DEFLATED) as new:
        for name in old.namelist():
            if name != part:
                new.writestr(name, old.read(name))
        if content is not None:
            new.writestr(part, content)
    return target.getvalue()


def sheet_xml(rows: str, dimension: str = "A1:B2") -> bytes:
    main = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
    return f'<worksheet xmlns="{main}"><dimension ref="{dimension}"/><sheetData>{rows}</sheetData></worksheet>'.encode()


def test_an_xlsx_file_says_what_its_values_say() -> None:
    assert read(read_xlsx(BASE, "base.xlsx")) == read(sheets_of(base_values()))


def test_dates_times_percentages_and_leading_zeros_read_as_they_are_shown() -> None:
    spreadsheet = openpyxl.Workbook()
    sheet = spreadsheet.worksheets[0]
    sheet.append([date(2024, 5, 1), time(14, 30), 0.5, 7, 3.0])
    sheet["C1"].number_format = "0%"
    sheet["D1"].number_format = "00000"
    content = BytesIO()
    spreadsheet.save(content)

    (row,) = read_xlsx(content.getvalue(), "shown.xlsx")["Sheet"].rows

    assert [cell.text for cell in row.cells.values()] == ["2024-05-01", "14:30", "50%", "00007", "3"]


def test_a_formula_counts_as_what_it_showed_when_it_was_saved() -> None:
    rows = '<row r="1"><c r="A1"><f>1+1</f><v>2</v></c></row>'

    sheets = read_xlsx(rewritten("xl/worksheets/sheet6.xml", sheet_xml(rows)), "formula.xlsx")

    assert sheets["constants"].row(1).cell(1).text == "2"


@pytest.mark.parametrize(
    ("value", "found"), [("=1+1", "a formula whose value was never calculated"), ("#REF!", "the error #REF!")]
)
def test_a_formula_without_a_value_and_an_error_are_problems_in_their_cells(value: str, found: str) -> None:
    values = base_values()
    values["agent_profiles"][2][1] = value

    with pytest.raises(InvalidInput) as raised:
        read(read_xlsx(xlsx_of(values), "flawed.xlsx"))

    assert [(problem.where, problem.found) for problem in raised.value.problems] == [("agent_profiles!B3", found)]


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "something that is not an .xlsx file"),
        (b"id,age\n1,2\n", "something that is not an .xlsx file"),
        (b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "an old .xls file, or one with a password"),
        (rewritten("xl/vbaProject.bin", b"Sub Auto_Open()"), "a workbook with macros"),
        (rewritten("xl/workbook.xml", None), "a damaged file"),
        (rewritten("xl/worksheets/sheet1.xml", b"<worksheet"), "a damaged file"),
    ],
    ids=["nothing", "csv", "xls", "macros", "no workbook", "broken sheet"],
)
def test_what_is_no_proper_xlsx_is_refused_with_a_hint(content: bytes, found: str) -> None:
    with pytest.raises(InvalidInput) as raised:
        read_xlsx(content, "bad.xlsx")

    (problem,) = raised.value.problems
    assert problem.where == "bad.xlsx"
    assert problem.found.startswith(found)
    assert problem.hint


def test_entities_that_grow_are_refused() -> None:
    layers = "".join(f'<!ENTITY e{number} "{f"&e{number - 1};" * 10}">' for number in range(1, 12))
    bomb = f'<!DOCTYPE b [<!ENTITY e0 "boom">{layers}]><sst>&e11;</sst>'.encode()

    with pytest.raises(InvalidInput):
        read_xlsx(rewritten("xl/worksheets/sheet1.xml", bomb), "entities.xlsx")


def test_a_zip_bomb_is_refused_before_it_is_unpacked() -> None:
    bomb = rewritten("xl/media/zeros.bin", b"\0" * (80 * 1024 * 1024))
    assert len(bomb) < 1024 * 1024

    tracemalloc.start()
    with pytest.raises(TooLarge, match="unpacks to"):
        read_xlsx(bomb, "bomb.xlsx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 5 * 1024 * 1024


@pytest.mark.parametrize("length", quick_first([300_000, 1_000_000], 1))
def test_a_sheet_of_very_many_rows_is_refused_in_bounded_memory(length: int) -> None:
    rows = "".join(f'<row r="{number}"><c r="A{number}"><v>1</v></c></row>' for number in range(1, length + 1))
    content = rewritten("xl/worksheets/sheet2.xml", sheet_xml(rows))

    tracemalloc.start()
    with pytest.raises(TooLarge, match="more than 20000 rows"):
        read_xlsx(content, "long.xlsx")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 60 * 1024 * 1024


@pytest.mark.parametrize(
    "rows",
    [
        '<row r="1048576"><c r="A1048576"><v>1</v></c></row>',
        '<row r="2000000000"><c r="A2000000000"><v>1</v></c></row>',
        '<row r="1"><c r="XFD1"><v>1</v></c></row>',
    ],
    ids=["last row", "row that cannot be", "last column"],
)
def test_cells_that_lie_far_away_are_refused(rows: str) -> None:
    with pytest.raises(TooLarge):
        read_xlsx(rewritten("xl/worksheets/sheet2.xml", sheet_xml(rows)), "far.xlsx")


def test_formats_that_reach_further_than_values_do_no_harm() -> None:
    rows = "".join(f'<row r="{number}"><c r="XFD{number}"/></row>' for number in range(3, 60))
    header = '<row r="1"><c r="A1" t="inlineStr"><is><t>name</t></is></c></row>'

    sheets = read_xlsx(rewritten("xl/worksheets/sheet6.xml", sheet_xml(header + rows, "A1:XFD1048576")), "wide.xlsx")

    assert [cell.text for row in sheets["constants"].rows for cell in row.cells.values()] == ["name"]


@FEW
@given(position=st.integers(min_value=0, max_value=len(BASE) - 1), damage=st.binary(min_size=1, max_size=200))
def test_a_damaged_file_is_read_or_refused_and_nothing_else(position: int, damage: bytes) -> None:
    content = BASE[:position] + damage + BASE[position + len(damage) :]

    assert said(lambda: read(read_xlsx(content, "damaged.xlsx")))


@FEW
@given(data=st.data())
def test_a_damaged_part_of_a_file_is_read_or_refused_and_nothing_else(data: st.DataObject) -> None:
    with ZipFile(BytesIO(BASE)) as package:
        part = data.draw(st.sampled_from(package.namelist()))
        content = package.read(part)
    start = data.draw(st.integers(min_value=0, max_value=len(content)))
    end = data.draw(st.integers(min_value=start, max_value=min(len(content), start + 80)))
    inserted = data.draw(st.one_of(st.binary(max_size=40), st.sampled_from([b"<c/>", b'r="ZZZZ9"', b"<v>1e999</v>"])))

    damaged = rewritten(part, content[:start] + inserted + content[end:])
    assert said(lambda: read(read_xlsx(damaged, "damaged.xlsx")))


def said(reading: Callable[[], Workbook]) -> str:
    """What comes of reading: the experiment's id, or what is told; anything but our own error goes through."""
    try:
        return reading().experiment_id
    except ParleyError as error:
        return str(error)


CELLS = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.floats(),
    st.dates(),
    st.datetimes(),
    st.times(),
    st.text(max_size=30),
    st.text(alphabet="{}[]()'\",:%#a10 -+.", max_size=30),
    st.sampled_from(
        ["{{a}}", "{{", "{% if a %}", "[1,2]", "(0,5)", "{'A': 'a'}", "\x00", "\ud800", "_x0000_", "1e999"]
    ),
)


@settings(max_examples=300, deadline=None)
@given(data=st.data())
def test_whatever_is_in_a_cell_the_workbook_is_read_or_refused_with_its_place(data: st.DataObject) -> None:
    values = base_values()
    values["constants"].append(["a", "['x', 'y']"])
    for _ in range(data.draw(st.integers(min_value=1, max_value=4))):
        rows: list[list[Any]] = values[data.draw(st.sampled_from(SHEETS))]
        row = rows[data.draw(st.integers(min_value=0, max_value=len(rows) - 1))]
        row[data.draw(st.integers(min_value=0, max_value=len(row) - 1))] = data.draw(CELLS)

    assert all("!" in problem.where for problem in problems_of(values))


# CSV


def tables(delimiter: str = ",") -> dict[str, bytes]:
    def quoted(value: object) -> str:
        return "" if value is None else '"' + str(value).replace('"', '""') + '"'

    return {
        name: "\n".join(delimiter.join(quoted(value) for value in row) for row in rows).encode("utf-8-sig")
        for name, rows in base_values().items()
    }


@pytest.mark.parametrize("delimiter", [",", ";"])
def test_a_folder_of_csv_files_works_like_a_workbook(delimiter: str) -> None:
    from_csv = read(read_csv_tables(tables(delimiter), "folder")).designs[0]
    from_xlsx = read(read_xlsx(BASE, "base.xlsx")).designs[0]

    assert (from_csv.settings, from_csv.tasks) == (from_xlsx.settings, from_xlsx.tasks)
    assert [from_csv.answers(one) for one in from_csv.profiles] == [
        from_xlsx.answers(one) for one in from_xlsx.profiles
    ]


def test_a_table_whose_encoding_is_a_guess_is_named() -> None:
    polish = tables()["treatments"].decode("utf-8-sig").replace("ctl", "Łódź").encode("cp1250")

    warnings = read(read_csv_tables({**tables(), "treatments": polish}, "folder")).warnings

    (warning,) = map(str, warnings)
    assert warning.startswith("treatments.csv line 2")
    assert "read as Windows-1252" in warning
    assert "Save it as UTF-8" in warning


def test_tables_that_cannot_be_read_are_all_named() -> None:
    bad = {**tables(), "treatments": b"\x81\x8d", "constants": b'name,value\n"open'}

    with pytest.raises(InvalidInput) as raised:
        read_csv_tables(bad, "folder")

    assert [problem.where for problem in raised.value.problems] == [
        "treatments.csv line 1",
        "constants.csv line 2",
    ]


@given(content=st.binary(max_size=300))
def test_any_bytes_are_a_table_or_refused(content: bytes) -> None:
    assert said(lambda: read(read_csv_tables({**tables(), "treatments": content}, "folder")))


def test_a_table_that_is_too_long_is_refused() -> None:
    with pytest.raises(TooLarge):
        read_csv_tables({"treatments": b"a,b\n" * 20_002}, "folder")


def test_a_zip_leaves_out_what_is_no_table_with_a_word() -> None:
    target = BytesIO()
    hidden = ("__MACOSX/study/._prompts.csv", ".git/config.csv", ".DS_Store")
    with ZipFile(target, "w") as archive:
        for name, content in tables().items():
            archive.writestr(f"study/{name}.csv", content)
        for name in (*hidden, "~$prompts.csv", "#todo.csv", "prompts.docx"):
            archive.writestr(name if "/" in name else f"study/{name}", b"x")

    (told,) = import_file(target.getvalue(), ZIP, Choice()).warnings

    assert told.startswith(
        "the archive: files that are no tables are left out (found study/#todo.csv, study/prompts.docx, "
        "study/~$prompts.csv)"
    )
