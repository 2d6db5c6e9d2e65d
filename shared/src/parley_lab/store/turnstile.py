"""Decides which transaction gets the next database connection: urgent ones first, the others in order.

It is in front of the pool, because a pool serves in the order of arrival: behind a few hundred transactions of a big
run a person's request would wait for seconds.
"""

import asyncio
import time
from collections import deque
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

from parley_lab.base.urgency import Urgency, urgency

_LONGEST_WAIT_SECONDS = 120.0
"""A longer wait is a fault: no transaction keeps a connection that long."""

_BACKGROUND_SHARE = 0.4
"""The share of places while participants are active: Postgres gives each statement an equal share of time, so with all
places taken by background work their transactions would be slow."""
_NOW_AND_THEN_SECONDS = 10.0


class NoPlace(Exception):
    """No place became free in time."""


class Turnstile:
    """Admits `places` transactions at a time.

    A request that waits longer than `patience_seconds` is turned away. Background work waits without limit: turned
    away, it would only come back and lengthen the queue. While participants are active, background work gets a share of
    the places only.
    """

    def __init__(self, places: int, patience_seconds: float, *, now: Callable[[], float] = time.monotonic) -> None:
        self._places = self._free = places
        self._background = 0
        self._now = now
        self._person_came_at = float("-inf")
        self.patience_seconds = patience_seconds
        self._lines: dict[Urgency, deque[asyncio.Future[None]]] = {each: deque() for each in reversed(Urgency)}

    @asynccontextmanager
    async def passed(self) -> AsyncIterator[None]:
        """A place until the block ends.

        Raises:
            NoPlace: none became free in time.
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
            async with asyncio.timeout(self.patience_seconds if is_waited_for else _LONGEST_WAIT_SECONDS):
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
