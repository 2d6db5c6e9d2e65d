"""Background work of a process: loops, and delayed tasks.

A failure is logged and costs nothing: all that must happen is a row, and the next look finds it.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress

import structlog

from parley_lab.base.errors import Unavailable

log = structlog.get_logger(__name__)

Work = Callable[[], Awaitable[object]]


async def do_quietly(work: Work) -> None:
    """Run the work now; a failure is logged."""
    try:
        await work()
    except Unavailable as error:
        log.warning("background.unavailable", reason=error.message)
    except Exception:
        log.exception("background.failed")


async def repeat(
    work: Work,
    *,
    every_seconds: float | None = None,
    woken_by: asyncio.Event | None = None,
    pause_seconds: float = 0.0,
) -> None:
    """Run the work whenever it is woken, and at the latest so many seconds after the last time, until cancelled.

    It waits `pause_seconds` after a wake-up, so that events close to each other are handled together.
    """
    woken = woken_by or asyncio.Event()
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(every_seconds):
                await woken.wait()
        if pause_seconds:
            await asyncio.sleep(pause_seconds)
        woken.clear()
        await do_quietly(work)


class Background:
    """The loops and delayed tasks of one service, which stop with it."""

    def __init__(self) -> None:
        self._loops: list[asyncio.Task[None]] = []
        self._timers: set[asyncio.TimerHandle] = set()
        self._running: set[asyncio.Task[None]] = set()
        self._has_stopped = False

    def repeat(
        self,
        work: Work,
        *,
        every_seconds: float | None = None,
        woken_by: asyncio.Event | None = None,
        pause_seconds: float = 0.0,
    ) -> None:
        """See `repeat` of this module."""
        loop = repeat(work, every_seconds=every_seconds, woken_by=woken_by, pause_seconds=pause_seconds)
        self._loops.append(asyncio.create_task(loop))

    def later(self, seconds: float, work: Work) -> None:
        """Run the work after so many seconds, unless the process has stopped by then."""

        if self._has_stopped:
            return

        def begin() -> None:
            self._timers.discard(timer)
            task = asyncio.ensure_future(do_quietly(work))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

        timer = asyncio.get_running_loop().call_later(seconds, begin)
        self._timers.add(timer)

    async def stop(self) -> None:
        """End the loops and start nothing new; running work goes on."""
        self._has_stopped = True
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        self._loops = []
        for timer in self._timers:
            timer.cancel()

    async def finish(self) -> None:
        """Return when all running work is done."""
        await asyncio.gather(*self._running, return_exceptions=True)
