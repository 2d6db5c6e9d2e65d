"""Who may use one of the database's connections next: what somebody waits for first, the others in their order.

In front of the pool, because a pool knows no order but that of arrival: behind a few hundred transactions of a big run
a person's request would wait for seconds.
"""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from shared.urgency import Urgency, urgency

_LONGEST_WAIT_SECONDS = 120.0
"""After so long something is wrong: nobody keeps a connection for that long."""


class NoPlace(Exception):
    """There was no place in time."""


class Turnstile:
    """Lets `places` through at a time.

    Somebody who waits longer than `patience_seconds` for an answer is turned away. Work in the background has all the
    time that there is: turned away, it would only come back and make the line longer.
    """

    def __init__(self, places: int, patience_seconds: float) -> None:
        self._free = places
        self._patience_seconds = patience_seconds
        self._lines: dict[Urgency, deque[asyncio.Future[None]]] = {each: deque() for each in reversed(Urgency)}

    @asynccontextmanager
    async def passed(self) -> AsyncIterator[None]:
        """A place for as long as the block lasts.

        Raises:
            NoPlace: there was none in time.
        """
        await self._enter(urgency.get())
        try:
            yield
        finally:
            self._leave()

    async def _enter(self, how_urgent: Urgency) -> None:
        if self._free > 0:
            self._free -= 1
            return
        place: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        line = self._lines[how_urgent]
        line.append(place)
        try:
            is_waited_for = how_urgent is not Urgency.BACKGROUND
            async with asyncio.timeout(self._patience_seconds if is_waited_for else _LONGEST_WAIT_SECONDS):
                await place
        except BaseException as error:
            if place.done() and not place.cancelled():
                self._leave()
            elif place in line:
                line.remove(place)
            if isinstance(error, TimeoutError):
                raise NoPlace from error
            raise

    def _leave(self) -> None:
        for line in self._lines.values():
            while line:
                place = line.popleft()
                if not place.done():
                    place.set_result(None)
                    return
        self._free += 1
