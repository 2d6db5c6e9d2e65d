"""Who may use one of the database's connections next: what somebody waits for first, the others in their order.

In front of the pool, because a pool knows no order but that of arrival: behind a few hundred transactions of a big run
a person's request would wait for seconds.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from shared.urgency import Urgency, urgency

_LONGEST_WAIT_SECONDS = 120.0
"""After so long something is wrong: nobody keeps a connection for that long."""

_BACKGROUND_SHARE = 0.4
"""Of the places, for as long as a participant waits for something now and then: Postgres gives each statement as much
time as any other, so behind a place of their own their transactions are slow among many."""
_NOW_AND_THEN_SECONDS = 10.0


class NoPlace(Exception):
    """There was no place in time."""


class Turnstile:
    """Lets `places` through at a time.

    Somebody who waits longer than `patience_seconds` for an answer is turned away. Work in the background has all the
    time that there is: turned away, it would only come back and make the line longer. While participants are about it
    has a share of the places only.
    """

    def __init__(self, places: int, patience_seconds: float, *, now: Callable[[], float] = time.monotonic) -> None:
        self._places = self._free = places
        self._background = 0
        self._now = now
        self._person_came_at = float("-inf")
        self._patience_seconds = patience_seconds
        self._lines: dict[Urgency, deque[asyncio.Future[None]]] = {each: deque() for each in reversed(Urgency)}

    @asynccontextmanager
    async def passed(self) -> AsyncIterator[None]:
        """A place for as long as the block lasts.

        Raises:
            NoPlace: there was none in time.
        """
        how_urgent = urgency.get()
        await self._enter(how_urgent)
        try:
            yield
        finally:
            self._leave(how_urgent)

    async def _enter(self, how_urgent: Urgency) -> None:
        if how_urgent is Urgency.PERSON:
            self._person_came_at = self._now()
        if self._has_room(how_urgent):
            self._take(how_urgent)
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
                self._leave(how_urgent)
            elif place in line:
                line.remove(place)
            if isinstance(error, TimeoutError):
                raise NoPlace from error
            raise

    def _has_room(self, how_urgent: Urgency) -> bool:
        if how_urgent is not Urgency.BACKGROUND or self._now() - self._person_came_at > _NOW_AND_THEN_SECONDS:
            return self._free > 0
        return self._free > 0 and self._background < max(1, int(self._places * _BACKGROUND_SHARE))

    def _take(self, how_urgent: Urgency) -> None:
        self._free -= 1
        self._background += how_urgent is Urgency.BACKGROUND

    def _leave(self, how_urgent: Urgency) -> None:
        self._free += 1
        self._background -= how_urgent is Urgency.BACKGROUND
        for each, line in self._lines.items():
            while line and self._has_room(each):
                place = line.popleft()
                if not place.done():
                    self._take(each)
                    place.set_result(None)
