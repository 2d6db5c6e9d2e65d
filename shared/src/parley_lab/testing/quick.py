"""Which examples of a test are for every run, and which are for `make faults` alone."""

from collections.abc import Iterable
from typing import Any

import pytest


def quick_first(values: Iterable[Any], count: int) -> list[Any]:
    """All values for `parametrize`; those after the first `count` are marked `long`."""
    return [
        pytest.param(value, marks=[pytest.mark.long] if number >= count else []) for number, value in enumerate(values)
    ]
