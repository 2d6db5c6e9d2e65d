"""Which examples of a test are for every run, and which for `make faults` or `make pages` alone."""

from collections.abc import Iterable
from typing import Any

import pytest


def quick_first(values: Iterable[Any], count: int, mark: pytest.MarkDecorator = pytest.mark.long) -> list[Any]:
    """All values for `parametrize`, a tuple being those of several arguments; the ones after `count` are marked."""
    several = [value if isinstance(value, tuple) else (value,) for value in values]
    return [pytest.param(*value, marks=[mark] if number >= count else []) for number, value in enumerate(several)]
