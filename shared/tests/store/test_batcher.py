"""Work that is gathered: in batches of one key, each item with its own result."""

import asyncio
from collections.abc import Sequence

import pytest

from parley_lab.base.errors import Unavailable
from parley_lab.store.batcher import Batcher


class Work:
    """Doubles numbers; the first batch waits until it is let go."""

    def __init__(self) -> None:
        self.batches: list[list[int]] = []
        self.may_go_on = asyncio.Event()

    async def __call__(self, items: Sequence[int]) -> list[int | Exception]:
        self.batches.append(list(items))
        if len(self.batches) == 1:
            await self.may_go_on.wait()
        if 13 in items:
            raise RuntimeError("thirteen")
        if 99 in items:
            raise Unavailable("away")
        return [ValueError("odd") if item % 2 else 2 * item for item in items]


async def started(batcher: Batcher[str, int, int], *items: int) -> list["asyncio.Task[int]"]:
    tasks = [asyncio.create_task(batcher.do("key", item)) for item in items]
    for _ in range(3):
        await asyncio.sleep(0)
    return tasks


async def test_what_comes_while_work_is_under_way_is_done_together() -> None:
    work = Work()
    batcher = Batcher[str, int, int](work, most=3)

    first = await started(batcher, 2)
    later = await started(batcher, 4, 6, 8, 10)
    work.may_go_on.set()

    assert [await task for task in (*first, *later)] == [4, 8, 12, 16, 20]
    assert work.batches == [[2], [4, 6, 8], [10]]


async def test_each_item_gets_its_own_exception() -> None:
    work = Work()
    batcher = Batcher[str, int, int](work, most=10)
    work.may_go_on.set()

    even, odd = await asyncio.gather(batcher.do("key", 2), batcher.do("key", 3), return_exceptions=True)

    assert even == 4
    assert isinstance(odd, ValueError)


async def test_one_bad_item_does_not_spoil_the_others_of_its_batch() -> None:
    work = Work()
    batcher = Batcher[str, int, int](work, most=10)

    tasks = [*await started(batcher, 2), *await started(batcher, 4, 13, 6)]
    work.may_go_on.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert [results[0], results[1], results[3]] == [4, 8, 12]
    assert isinstance(results[2], RuntimeError)


async def test_a_database_that_is_away_is_asked_once_for_all() -> None:
    work = Work()
    batcher = Batcher[str, int, int](work, most=10)

    tasks = [*await started(batcher, 2), *await started(batcher, 4, 99)]
    work.may_go_on.set()
    results = await asyncio.gather(*tasks, return_exceptions=True)

    assert [type(result) for result in results[1:]] == [Unavailable, Unavailable]
    assert len(work.batches) == 2


async def test_work_of_different_keys_does_not_wait_for_each_other() -> None:
    work = Work()
    batcher = Batcher[str, int, int](work, most=10)

    (held,) = await started(batcher, 2)

    assert await batcher.do("other", 4) == 8
    work.may_go_on.set()
    assert await held == 4


async def test_who_stops_waiting_does_not_take_the_others_along() -> None:
    work = Work()
    batcher = Batcher[str, int, int](work, most=10)
    (first,) = await started(batcher, 2)
    impatient, patient = await started(batcher, 4, 6)

    impatient.cancel()
    work.may_go_on.set()

    assert [await first, await patient] == [4, 12]
    with pytest.raises(asyncio.CancelledError):
        await impatient


async def test_what_waits_and_is_cancelled_is_left_out() -> None:
    work = Work()
    batcher = Batcher[str, int, int](work, most=10)
    (first,) = await started(batcher, 2)
    impatient, patient = await started(batcher, 4, 6)

    impatient.cancel()
    work.may_go_on.set()

    assert [await first, await patient] == [4, 12]
    assert work.batches == [[2], [6]]


async def test_what_has_waited_for_too_long_when_its_turn_comes_is_refused() -> None:
    work = Work()
    batcher = Batcher[str, int, int](work, most=10, patience_seconds=0.2)
    (first,) = await started(batcher, 2)
    (late,) = await started(batcher, 4)

    asyncio.get_running_loop().call_later(0.4, work.may_go_on.set)

    assert await first == 4
    with pytest.raises(Unavailable):
        await late
    assert await batcher.do("key", 6) == 12
