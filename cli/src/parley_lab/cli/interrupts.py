"""Ctrl-C, SIGTERM and a terminal that closes: the first finishes the work in hand, the second stops at once."""

import asyncio
import os
import signal
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any, Final, TypeVar

from parley_lab.base.event_loop import call_on_signal

ResultT = TypeVar("ResultT")

HANG_UP: Final = getattr(signal, "SIGHUP", None)
"""The terminal was closed; Windows has no such signal."""
EXIT_OF_SIGNAL: Final = {
    signal.SIGINT: 130,
    signal.SIGTERM: 143,
    **({} if HANG_UP is None else {HANG_UP: 129}),
}


class Interrupted(Exception):
    """The user wants the command to end; `exit_code` is what a shell expects."""

    def __init__(self, exit_code: int) -> None:
        super().__init__(f"interrupted ({exit_code})")
        self.exit_code = exit_code


class Interrupts:
    """Listens for signals of this process as soon as it is made; belongs to a running loop.

    `on_first` may acknowledge the first signal; `before_exit` runs at the second.
    """

    def __init__(self, *, on_first: Callable[[], None], before_exit: Callable[[], None]) -> None:
        self._wanted = asyncio.Event()
        self._exit_code = 0
        self._on_first = on_first
        self._before_exit = before_exit
        for number in EXIT_OF_SIGNAL:
            # nohup has it ignored, so that the command outlives its terminal.
            if number != HANG_UP or signal.getsignal(number) is not signal.SIG_IGN:
                call_on_signal(number, partial(self._heard, number))

    def _heard(self, number: signal.Signals) -> None:
        if not self._wanted.is_set():
            self._exit_code = EXIT_OF_SIGNAL[number]
            self._wanted.set()
            self._on_first()
            return
        # The shell and the system each send one for the same terminal.
        if number == HANG_UP:
            return
        self._before_exit()
        os._exit(EXIT_OF_SIGNAL[number])

    async def wait(self) -> None:
        """Return at the first signal."""
        await self._wanted.wait()

    async def unless(self, work: Callable[[], Coroutine[Any, Any, ResultT]]) -> ResultT:
        """The result of `work`, which is not even called after a signal.

        Raises:
            Interrupted: a signal came first; `work` was cancelled.
        """
        if self._wanted.is_set():
            raise Interrupted(self._exit_code)
        task = asyncio.create_task(work())
        wanted = asyncio.create_task(self._wanted.wait())
        try:
            await asyncio.wait({task, wanted}, return_when=asyncio.FIRST_COMPLETED)
            if task.done():
                return task.result()
            raise Interrupted(self._exit_code)
        finally:
            for unfinished in (task, wanted):
                unfinished.cancel()
            await asyncio.gather(task, wanted, return_exceptions=True)
