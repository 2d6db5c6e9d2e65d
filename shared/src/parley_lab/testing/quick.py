"""Which examples of a test are for every run, and which for `make faults` or `make pages` alone."""

from collections.abc import Iterable
from typing import Any

import pytest


def quick_first(values: Iterable[Any], count: int, mark: pytest.MarkDecorator = pytest.mark.long) -> list[Any]:
    """All values for `parametrize`; those after the first `count` are marked."""
    return [pytest.param(value, marks=[mark] if number >= count else []) for number, value in enumerate(values)]
