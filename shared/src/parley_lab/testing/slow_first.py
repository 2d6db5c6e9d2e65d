"""A pytest plugin: how many processes run tests, and in which order: those that take long begin first.

So no process is left with one of them at the end.
"""

import os
from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import pytest

_TAKE_LONG: Final = ("slow", "fault", "race")
_MOST_WORKERS: Final = 16
"""All of them share one PostgreSQL and its connections."""
OneT = TypeVar("OneT")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_auto_num_workers() -> int:
    """Five for two processors: tests wait for more than half of their time."""
    return min(_MOST_WORKERS, (os.cpu_count() or 1) * 5 // 2)


# Last, so that what is left out is not counted.
@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    workers = getattr(config, "workerinput", {}).get("workercount", 0)
    if workers > 1:
        items[:] = slow_first(items, lambda item: any(map(item.get_closest_marker, _TAKE_LONG)), workers)


def slow_first(items: Sequence[OneT], is_slow: Callable[[OneT], bool], workers: int) -> list[OneT]:
    """These items, in an order whose parts for each worker begin with slow ones; the others stay beside each other.

    The parts are those that `--dist worksteal` hands out.
    """
    slow = [item for item in items if is_slow(item)]
    others = [item for item in items if not is_slow(item)]
    found: list[OneT] = []
    for number in range(workers):
        size = (len(items) - len(found)) // (workers - number)
        own = slow[: -(-len(slow) // (workers - number))][:size]
        del slow[: len(own)]
        found += own + others[: size - len(own)]
        del others[: size - len(own)]
    return found
