"""Each line of SECURITY.md names a test, and the test is there."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINES = [
    line.strip("|\n ").split(" | ") for line in (ROOT / "SECURITY.md").read_text().splitlines() if line.startswith("| ")
][1:]


@pytest.mark.parametrize("line", LINES, ids=[line[0] for line in LINES])
def test_each_line_is_held_by_a_test_that_there_is(line: list[str]) -> None:
    path, _, name = line[-1].strip("` ").partition("::")

    content = (ROOT / path).read_text()

    assert re.search(rf"def {name or 'test_'}", content), line[0]
