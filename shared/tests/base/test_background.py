"""What a process does beside what it is asked for goes on after a failure, and ends with the process."""

import asyncio

import pytest

from parley_lab.base.background import Background
from parley_lab.base.errors import Unavailable


class Work:
    """Something to do, which fails at first as it is told."""

    def __init__(self, *failures: Exception) -> None:
        self._failures = list(failures)
        self.done = asyncio.Semaphore(0)

    async def __call__(self) -> None:
        if self._failures:
            raise self._failures.pop(0)
        self.done.release()


async def times_done(work: Work, times: int) -> None:
    for _ in range(times):
        await work.done.acquire()


@pytest.mark.parametrize("failure", [Unavailable("away"), ZeroDivisionError()])
async def test_a_loop_goes_on_after_a_failure(failure: Exception) -> None:
    background, work = Background(), Work(failure)

    background.repeat(work, every_seconds=0.001)

    await asyncio.wait_for(times_done(work, 3), 5)
    await background.stop()


async def test_a_loop_that_is_woken_does_not_wait_for_its_time() -> None:
    background, work, woken = Background(), Work(), asyncio.Event()
    background.repeat(work, every_seconds=1_000, woken_by=woken)

    woken.set()

    await asyncio.wait_for(times_done(work, 1), 5)
    await background.stop()


async def test_what_is_for_later_is_not_begun_once_the_process_stops() -> None:
    background, work, never = Background(), Work(), Work()
    background.later(0, work)
    await asyncio.wait_for(times_done(work, 1), 5)
    background.later(0, never)

    await background.stop()
    background.later(0, never)
    for _ in range(3):
        await asyncio.sleep(0)

    await background.finish()
    assert never.done.locked()
