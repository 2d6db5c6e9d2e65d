"""Numbers and times as a cell shows them under its format."""

from datetime import datetime, time, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from parley_lab.formats.workbook.cells import shown


@pytest.mark.parametrize(
    ("value", "number_format", "text"),
    [
        (1234.5, "$#,##0.00", "$1,234.50"),
        (1234.5, "#,##0.00\\ [$\u20ac-407]", "1,234.50 \u20ac"),
        (-5, '_($* #,##0.00_);_($* (#,##0.00);_($* "-"??_);_(@_)', "$(5.00)"),
        (3.1, "0.00", "3.10"),
        (2.5, "0", "3"),
        (0.125, "0.0%", "12.5%"),
        (0.5, ".00", ".50"),
        (7, "00000", "00007"),
        (123456789, "000-00-0000", "123-45-6789"),
        (1234567, "#,##0,", "1,235"),
        (5, 'General" tokens"', "5 tokens"),
        (5, "[Red]0;[Blue]-0", "5"),
        (0.5, "# ?/?", "0.5"),
        (0, "0;-0;;@", ""),
        (-5, "0;-0;;@", "-5"),
        (-5, "0;;;@", ""),
        (5, "0;;;@", "5"),
        (5, ";;;", ""),
        (0, ";;;", ""),
        (-5, "0;", ""),
        (0, "0;", "0"),
        (-5, '0;"a;b";', "a;b"),
        (5, '"x"@', "5"),
        (-5, "0.0;@", "-5.0"),
        (2_500_000, '[>=1000000]0.0,,"M";[>=1000]0.0,"K";0', "2.5M"),
        (2_500, '[>=1000000]0.0,,"M";[>=1000]0.0,"K";0', "2.5K"),
        (25, '[>=1000000]0.0,,"M";[>=1000]0.0,"K";0', "25"),
        (-25, '[>=1000000]0.0,,"M";[>=1000]0.0,"K";0', "-25"),
        (5, '[<10]"low"', "low"),
        (15, '[<10]"low"', "15"),
        (1, '[=1]0" token";0" tokens"', "1 token"),
        (2, '[=1]0" token";0" tokens"', "2 tokens"),
        (-2, "[Red][<0](0);0", "(2)"),
        (3, '"[=3]"0', "[=3]3"),
        (3.0, "General", "3"),
        (timedelta(hours=36), "[h]:mm", "36:00"),
        (time(0, 5, 30), "mm:ss", "05:30"),
        (timedelta(minutes=90, seconds=5), "[mm]:ss", "90:05"),
        (time(14, 30), "h:mm:ss", "14:30"),
        (datetime.fromisoformat("1900-01-01 12:00"), "h:mm", "12:00"),
    ],
)
def test_a_number_or_a_time_reads_as_it_is_shown(value: Any, number_format: str, text: str) -> None:
    assert shown(value, number_format) == text


@given(value=st.integers(-(10**9), 10**9) | st.floats(-1e6, 1e6), decimals=st.integers(0, 4))
def test_a_format_changes_no_number_but_for_its_decimals(value: float, decimals: int) -> None:
    text = shown(value, f"#,##0.{'0' * decimals}" if decimals else "#,##0")

    assert abs(float(text.replace(",", "")) - value) <= 0.5 * 10**-decimals * 1.000001
