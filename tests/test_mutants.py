"""The list of `make mutants`: each change can be made, and its tests exist."""

from collections import Counter
from pathlib import Path

import pytest

from tests.mutants.changes import CHANGES, Change

_ROOT = Path(__file__).parents[1]


@pytest.mark.parametrize("change", CHANGES, ids=lambda change: change.rule)
def test_a_change_can_be_made_in_one_place(change: Change) -> None:
    assert (_ROOT / change.file).read_text().count(change.before) == 1
    assert change.after != change.before
    assert [place for place in change.tests if not (_ROOT / place).exists()] == []


def test_each_rule_is_changed_once() -> None:
    assert [rule for rule, times in Counter(change.rule for change in CHANGES).items() if times > 1] == []
    assert len(CHANGES) >= 60
