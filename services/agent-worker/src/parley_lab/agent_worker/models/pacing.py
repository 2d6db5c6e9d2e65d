"""Controls how many calls one endpoint gets at a time: it tries a few more now and then, and fewer after time-outs.

Additive increase, multiplicative decrease, as in the congestion control of TCP. Each process finds out for itself.
"""

import asyncio
import heapq
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from itertools import count
from typing import Final

import structlog

from parley_lab.agent_worker.models.limiter import Closed
from parley_lab.base.clock import Clock
from parley_lab.contracts.models import ModelReply

log = structlog.get_logger(__name__)

_AT_FIRST: Final = 8
_STEP_AT_FIRST: Final = 2
"""How many more calls each success allows before the first time-out: the number trebles with every round of calls."""
_QUICK_SHARE: Final = 0.5
"""Share of the time-out. A call that takes longer shows that the endpoint is at capacity."""
_TOGETHER_SECONDS: Final = 1.0
"""Calls that time out so close to each other were in flight together."""
_PAUSE_SECONDS: Final = 1.0
_PAUSE_AT_STOP_SECONDS: Final = 5.0


class Pacer:
    """Admits calls to endpoints, at most `most` at a time to one of them."""

    def __init__(self, clock: Clock, *, most: int) -> None:
        self._clock = clock
        self._most = most
        self._endpoints: dict[str, _Endpoint] = {}
        self._is_stopped = False

    @asynccontextmanager
    async def place(self, name: str, *, rank: int, patience_seconds: float) -> AsyncIterator["Place"]:
        """A place for one call at this endpoint, for as long as the block lasts.

        Waiting calls enter by rank, the lowest first, then in the order of arrival.

        Raises:
            Closed: no place became free in that time, or the process stops.
        """
        if self._is_stopped:
            raise Closed(name, _PAUSE_AT_STOP_SECONDS)
        endpoint = self._endpoint(name)
        await endpoint.enter(rank, patience_seconds)
        try:
            yield Place(endpoint, self._clock)
        finally:
            endpoint.leave()

    def stop(self) -> None:
        """Turn waiting calls away. Calls in flight go on."""
        self._is_stopped = True
        for endpoint in self._endpoints.values():
            endpoint.send_away()

    def _endpoint(self, name: str) -> "_Endpoint":
        if name not in self._endpoints:
            self._endpoints[name] = _Endpoint(name, self._most)
        return self._endpoints[name]


class Place:
    """The right to make one call. Report the outcome of the call with `note`."""

    def __init__(self, endpoint: "_Endpoint", clock: Clock) -> None:
        self._endpoint = endpoint
        self._clock = clock
        self._began_at = clock.now().timestamp()

    def note(self, reply: ModelReply, timeout_seconds: float) -> bool:
        """Learn from the reply; True for a time-out while other calls were in flight there."""
        now = self._clock.now().timestamp()
        if reply.status == "timeout":
            return self._endpoint.note_timeout(self._began_at, now)
        if reply.status == "rate_limited":
            self._endpoint.lower(self._began_at, now)
        elif reply.status in ("ok", "invalid", "refused") and now - self._began_at < _QUICK_SHARE * timeout_seconds:
            self._endpoint.rise()
        return False


class _Endpoint:
    """The calls of this process to one endpoint."""

    def __init__(self, name: str, most: int) -> None:
        self._name = name
        self._most = most
        self._allowed = float(min(_AT_FIRST, most))
        self._in_flight = 0
        self._lowered_at = 0.0
        self._timed_out_at = 0.0
        self._order = count()
        self._waiting: list[tuple[int, int, asyncio.Future[None]]] = []

    @property
    def allowed(self) -> int:
        return int(self._allowed)

    async def enter(self, rank: int, patience_seconds: float) -> None:
        """Wait for a place.

        Raises:
            Closed: no place became free in that time.
        """
        if self._in_flight < self.allowed and not self._waiting:
            self._in_flight += 1
            return
        turn = asyncio.get_running_loop().create_future()
        heapq.heappush(self._waiting, (rank, next(self._order), turn))
        try:
            async with asyncio.timeout(patience_seconds):
                await turn
        except BaseException as error:
            if turn.done() and not turn.cancelled() and turn.exception() is None:
                # The place became free at the last moment, and goes to another call.
                self.leave()
            if isinstance(error, TimeoutError):
                raise Closed(self._name, _PAUSE_SECONDS) from error
            raise

    def leave(self) -> None:
        self._in_flight -= 1
        self._let_in()

    def send_away(self) -> None:
        for _, _, turn in self._waiting:
            if not turn.done():
                turn.set_exception(Closed(self._name, _PAUSE_AT_STOP_SECONDS))
        self._waiting.clear()

    def rise(self) -> None:
        """A call succeeded at the full number of parallel calls: allow one more."""
        if self._in_flight < self.allowed and not self._waiting:
            return
        step = 1.0 / self._allowed if self._lowered_at else float(_STEP_AT_FIRST)
        self._allowed = min(float(self._most), self._allowed + step)
        self._let_in()

    def note_timeout(self, began_at: float, now: float) -> bool:
        """Lower the number if the endpoint had other calls to work on, and say whether it had."""
        had_others = self._in_flight > 1 or now - self._timed_out_at < _TOGETHER_SECONDS
        self._timed_out_at = now
        if had_others:
            self.lower(began_at, now)
        return had_others

    def lower(self, began_at: float, now: float) -> None:
        """Halve the number, once for all calls that were in flight together."""
        if began_at < self._lowered_at:
            return
        self._lowered_at = now
        before, self._allowed = self.allowed, max(1.0, min(self._allowed, float(self._in_flight)) / 2)
        log.info("endpoint.slower", endpoint=self._name, calls_before=before, calls=self.allowed)

    def _let_in(self) -> None:
        while self._waiting and self._in_flight < self.allowed:
            _, _, turn = heapq.heappop(self._waiting)
            if not turn.done():
                self._in_flight += 1
                turn.set_result(None)
