"""Lets the calls of one process be in flight together, or one of them alone.

A call that may end the process goes alone: if it does, no other call is lost with it, and no other is to blame.
"""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class Flights:
    """The calls in flight of one process. They go in the order of arrival where one of them waits to go alone."""

    def __init__(self) -> None:
        self._in_flight = 0
        self._one_alone = asyncio.Lock()
        self._is_empty = asyncio.Event()
        self._is_empty.set()

    @asynccontextmanager
    async def together(self) -> AsyncIterator[None]:
        """Wait until no call is alone, and be in flight until the block ends."""
        if self._one_alone.locked():
            async with self._one_alone:
                pass
        self._in_flight += 1
        self._is_empty.clear()
        try:
            yield
        finally:
            self._in_flight -= 1
            if not self._in_flight:
                self._is_empty.set()

    @asynccontextmanager
    async def alone(self) -> AsyncIterator[None]:
        """Wait until no call is in flight, and let none begin until the block ends."""
        async with self._one_alone:
            await self._is_empty.wait()
            yield
