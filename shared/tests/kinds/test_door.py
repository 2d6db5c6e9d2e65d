"""The door to stage kinds is small, and the page for authors of kinds has each of its names."""

import re
from pathlib import Path

import parley_lab.kinds

MOST_NAMES = 30
PAGE = Path(__file__).parents[3] / "docs" / "kinds.md"


def names_on_the_page() -> set[str]:
    """The names of the door in the table of the page."""
    section = PAGE.read_text(encoding="utf-8").partition("## What to import\n")[2].partition("| beside the door")[0]
    rows = re.findall(r"^\| (`.+?`) \| `\w+\.py` \|", section, re.MULTILINE)
    return {name for row in rows for name in re.findall(r"`(\w+)`", row)}


def test_the_door_has_at_most_thirty_names() -> None:
    assert len(parley_lab.kinds.__all__) <= MOST_NAMES


def test_the_page_has_each_name_of_the_door_and_no_other() -> None:
    assert names_on_the_page() == set(parley_lab.kinds.__all__)
