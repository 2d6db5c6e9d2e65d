"""The lines of `parley guests`: of a list, of none, and of one whose guests are forgotten."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from parley_lab.cli.lifecycle import guest_lines

CAME = SimpleNamespace(external_id="ada", path="c1/m1", status="completed")
NOT_YET = SimpleNamespace(external_id="ben", path=None, status=None)
CLOSED = "The list stays closed to everybody else."


@pytest.mark.parametrize(
    ("listed", "forgotten", "lines"),
    [
        ([], None, ["'Study' has no guest list: everybody who has the link may join."]),
        ([], 0, ["The guest list of 'Study' is empty: no one may join."]),
        ([CAME, NOT_YET], 0, ["ada\tc1/m1 completed", "ben\t-", "1 of 2 have joined."]),
        ([], 2, [f"2 guests are not shown: their data was deleted. {CLOSED}"]),
        ([NOT_YET], 1, ["ben\t-", "0 of 1 have joined.", f"1 guest is not shown: their data was deleted. {CLOSED}"]),
    ],
)
def test_no_list_and_a_list_of_forgotten_guests_are_told_apart(
    listed: Sequence[Any], forgotten: int | None, lines: list[str]
) -> None:
    assert guest_lines("Study", listed, forgotten or 0, has_list=forgotten is not None) == lines
