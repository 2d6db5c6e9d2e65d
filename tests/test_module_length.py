"""A module that is read from top to bottom has at most 500 lines."""

from pathlib import Path
from subprocess import check_output
from typing import Final

ROOT: Final = Path(__file__).resolve().parent.parent
MOST_LINES: Final = 500


def test_no_module_is_longer_than_500_lines() -> None:
    found = check_output(["git", "ls-files", "*.py"], cwd=ROOT, text=True).split()
    lengths = {name: len((ROOT / name).read_text().splitlines()) for name in found if (ROOT / name).is_file()}

    assert {name: length for name, length in lengths.items() if length > MOST_LINES} == {
        "shared/src/parley_lab/store/migrations/versions/r0001_first_tables.py": 949
    }
