"""A pytest plugin: the tests that take long begin first, so that no process is left with one of them at the end."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

import pytest

_TAKE_LONG: Final = ("slow", "fault", "race")
OneT = TypeVar("OneT")


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
