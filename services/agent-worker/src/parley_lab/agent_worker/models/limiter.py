"""This process's share of the limits of providers' keys: leased in blocks, spent call by call."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import islice
from typing import Final
from uuid import uuid4

import structlog

from parley_lab.base.clock import Clock
from parley_lab.base.errors import Unavailable
from parley_lab.base.urgency import Urgency, is_urgent, urgency
from parley_lab.contracts.limits import (
    LEASE_SECONDS,
    PERMIT_SECONDS,
    RECHECK_SECONDS,
    RETURN_SECONDS,
    WINDOW_SECONDS,
    Demand,
    Grant,
    Limit,
    names_of,
)
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.drafts import limits as rows
from parley_lab.store.session import Database

log = structlog.get_logger(__name__)

_CHARACTERS_PER_TOKEN: Final = 4
_FIRST_REPLY_TOKENS: Final = 300
_LEARNING_RATE: Final = 0.1
_MOST_AHEAD: Final = 0.05
"""The share of a rate that one process takes in advance; it may withhold that from other processes for two seconds."""
_LEAST_AHEAD: Final = 8
_SMALLEST_OF: Final = 100
"""The smallest of so many calls shows whether there is room for small ones."""
_AWAY_SECONDS: Final = 1.0
_LEAST_PAUSE_SECONDS: Final = 0.05
_PAUSE_AT_STOP_SECONDS: Final = 5.0

Take = Callable[[str, Limit, Demand, float], Awaitable[Grant]]


class Closed(Exception):
    """There is no room under a limit for now; ask again after `wait_seconds`.

    `has_room_then`: room is kept for this call, for a few seconds from then on.
    """

    def __init__(self, name: str, wait_seconds: float, *, has_room_then: bool = False) -> None:
        super().__init__(f"the limit {name!r} is used up")
        self.name = name
        self.wait_seconds = wait_seconds
        self.has_room_then = has_room_then


class Permit:
    """The right to make one call. Give it back when the call is over, with the tokens it used."""

    def __init__(self, meters: Sequence["_Meter"], tokens: int, admitted_at: float) -> None:
        self._meters = list(meters)
        self._tokens = tokens
        self._admitted_at = admitted_at

    def give_back(self, reply: ModelReply | None) -> None:
        """Idempotent. `reply` None: the call was cancelled, and may have used what was estimated."""
        used = self._tokens
        if reply is not None and reply.tokens_in is not None and reply.tokens_out is not None:
            used = reply.tokens_in + reply.tokens_out
        for meter in self._meters:
            meter.release(self._tokens, used, self._admitted_at, reply.tokens_out if reply else None)
        self._meters.clear()


class Limiter:
    """Admits calls as the limits allow; at once where there is no limit."""

    def __init__(self, database: Database, clock: Clock, limits: Mapping[str, Limit]) -> None:
        async def take(name: str, limit: Limit, demand: Demand, now: float) -> Grant:
            async with database.transaction() as session:
                return await rows.take(session, name, limit, demand, now)

        self._clock = clock
        worker = uuid4().hex
        self._meters = {name: _Meter(name, limit, worker, clock, take) for name, limit in limits.items()}

    @property
    def exchanges(self) -> int:
        """How often this process has talked to the database."""
        return sum(meter.exchanges for meter in self._meters.values())

    def closed_seconds(self, account: str, model: str, path: str = "") -> float:
        """For how long this process knows that there is no room, even for a small call; for the call with this path."""
        return max((meter.closed_seconds(path) for meter in self._of(account, model)), default=0.0)

    async def admit(
        self, account: str, request: ModelRequest, *, patience_seconds: float, longest_seconds: float = 0.0
    ) -> Permit:
        """Wait for room under all limits of this call, at most `patience_seconds`.

        While calls of this process complete, the wait may take `longest_seconds`.

        Raises:
            Closed: there is no room within that time, or the process stops.
        """
        meters = self._of(account, request.settings.model)
        prompt = sum(len(message.content) for message in request.messages) // _CHARACTERS_PER_TOKEN
        tokens = prompt + max((meter.reply_tokens(request) for meter in meters), default=0)
        admitted: list[_Meter] = []
        try:
            for meter in meters:
                await meter.admit(request.path, tokens, patience_seconds, max(patience_seconds, longest_seconds))
                admitted.append(meter)
        except BaseException:
            for meter in admitted:
                meter.release(tokens, 0, self._clock.now().timestamp())
            raise
        return Permit(admitted, tokens, self._clock.now().timestamp())

    def let_no_one_wait(self) -> None:
        """Before the process stops: send waiting calls away. Calls in flight go on."""
        for meter in self._meters.values():
            meter.send_away()

    async def aclose(self) -> None:
        """Give back all leases."""
        for meter in self._meters.values():
            await meter.aclose()

    def _of(self, account: str, model: str) -> list["_Meter"]:
        return [self._meters[name] for name in names_of(account, model) if name in self._meters]


@dataclass
class _Waiting:
    path: str
    tokens: int
    until: float
    until_at_last: float
    """The longest wait, as long as calls of this process are admitted."""
    is_urgent: bool = field(default_factory=is_urgent)
    """Whether a participant waits for the call; urgent calls go first."""
    room: asyncio.Future[None] = field(default_factory=lambda: asyncio.get_running_loop().create_future())


@dataclass
class _Kept:
    """The call for which room is kept, until then if it was sent away."""

    path: str
    tokens: int
    until: float = float("inf")


@dataclass
class _Lot:
    """Requests and tokens that were leased together."""

    second: int
    until: float
    requests: int
    tokens: int


class _Meter:
    """One limit, as this process sees it. At most one exchange with the database is under way at a time."""

    def __init__(self, name: str, limit: Limit, worker: str, clock: Clock, take: Take) -> None:
        self.exchanges = 0
        self._name = name
        self._limit = limit
        self._worker = worker
        self._clock = clock
        self._take = take
        self._calls = 0
        self._most_calls = 0
        self._in_flight = 0
        self._leased_until = 0.0
        self._busy_at = 0.0
        self._owed_tokens = 0
        self._lots: list[_Lot] = []
        self._unused: list[_Lot] = []
        self._waiting: deque[_Waiting] = deque()
        self._kept: _Kept | None = None
        self._charges: deque[int] = deque(maxlen=_SMALLEST_OF)
        self._started: deque[float] = deque(maxlen=1_000)
        self._closed_until = 0.0
        self._is_stopped = False
        self._average_reply = float(_FIRST_REPLY_TOKENS)
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None

    def reply_tokens(self, request: ModelRequest) -> int:
        """The estimated tokens of a reply: its limit if it has one, else the average so far."""
        return request.settings.max_tokens or int(self._average_reply)

    def closed_seconds(self, path: str) -> float:
        is_kept = self._kept is not None and self._kept.path == path
        return 0.0 if is_kept else max(0.0, self._closed_until - self._now())

    async def admit(self, path: str, tokens: int, patience_seconds: float, longest_seconds: float) -> None:
        """Raises:
        Closed: there is no room within that time.
        """
        if self._is_stopped:
            raise Closed(self._name, _PAUSE_AT_STOP_SECONDS)
        now = self._now()
        waiting = _Waiting(path, self._charge(tokens), now + patience_seconds, now + longest_seconds)
        self._charges.append(waiting.tokens)
        if is_urgent():
            self._waiting.insert(sum(one.is_urgent for one in self._waiting), waiting)
        else:
            self._waiting.append(waiting)
        self._let_in()
        if not waiting.room.done():
            self._wake.set()
            if self._task is None or self._task.done():
                self._task = asyncio.create_task(self._keep())
        try:
            await waiting.room
        except asyncio.CancelledError:
            if waiting in self._waiting:
                self._waiting.remove(waiting)
                self._keep_no_room_for(waiting)
            elif waiting.room.done() and not waiting.room.cancelled() and waiting.room.exception() is None:
                self.release(tokens, 0, self._now())
            raise

    def release(self, estimated: int, used: int, admitted_at: float, reply_tokens: int | None = None) -> None:
        """End a call; `used` corrects the estimate that was taken for it."""
        now = self._now()
        if self._limit.tokens_per_minute is not None:
            correction = used - self._charge(estimated)
            # Tokens of more than a minute ago no longer count: there is nothing to give back.
            self._owed_tokens += max(0, correction) if now - admitted_at >= WINDOW_SECONDS else correction
        if reply_tokens is not None:
            self._average_reply += _LEARNING_RATE * (reply_tokens - self._average_reply)
        self._in_flight -= 1
        self._busy_at = now
        if self._calls > self._most_calls:
            # Another call waits for the room.
            self._calls = max(self._most_calls, self._in_flight)
            self._wake.set()
        self._let_in()

    def send_away(self) -> None:
        self._is_stopped = True
        self._refuse(list(self._waiting), _PAUSE_AT_STOP_SECONDS)

    async def aclose(self) -> None:
        """Give back the unused rest of the lease."""
        if self._task is not None:
            self._task.cancel()
            with suppress(asyncio.CancelledError):
                await self._task
            self._busy_at = self._leased_until = 0.0
            self._retire_lots(float("inf"))
            with suppress(Unavailable):
                await self._exchange()

    def _now(self) -> float:
        return self._clock.now().timestamp()

    def _charge(self, tokens: int) -> int:
        """The charge for a call of so many tokens; a call larger than a minute's allowance takes all of it."""
        return min(tokens, self._limit.tokens_per_minute or 0)

    def _let_in(self) -> None:
        """Admit the calls for which there is room: the first, and those behind it that need fewer tokens."""
        now = self._now()
        self._retire_lots(now)
        if not self._waiting or not self._may_start(now):
            return
        first = self._first()
        for waiting in [*filter(None, [first]), *(one for one in self._waiting if one is not first)]:
            if not self._may_start(now):
                return
            if waiting.tokens > sum(lot.tokens for lot in self._lots):
                continue
            self._waiting.remove(waiting)
            self._keep_no_room_for(waiting)
            if waiting.room.done():
                # It was cancelled, and its task has not run since.
                continue
            self._in_flight += 1
            self._busy_at = now
            self._started.append(now)
            self._use(1, waiting.tokens)
            waiting.room.set_result(None)

    def _first(self) -> _Waiting | None:
        """The waiting call that comes first: that for which room is kept; while it is away, there is none."""
        kept = self._kept
        if kept is None:
            return self._waiting[0] if self._waiting else None
        return next((one for one in self._waiting if one.path == kept.path), None)

    def _keep_no_room_for(self, waiting: _Waiting) -> None:
        if self._kept is not None and self._kept.path == waiting.path:
            self._kept = None

    def _may_start(self, now: float) -> bool:
        """Whether there is room for a call, whatever its tokens."""
        is_leased = self._in_flight < self._calls and now < self._leased_until
        return (self._limit.concurrent_calls is None or is_leased) and (
            self._limit.requests_per_minute is None or any(lot.requests for lot in self._lots)
        )

    def _use(self, requests: int, tokens: int) -> None:
        for lot in self._lots:
            used_requests, used_tokens = min(requests, lot.requests), min(tokens, lot.tokens)
            lot.requests -= used_requests
            lot.tokens -= used_tokens
            requests, tokens = requests - used_requests, tokens - used_tokens

    def _retire_lots(self, now: float) -> None:
        self._unused += [lot for lot in self._lots if lot.until <= now and (lot.requests or lot.tokens)]
        self._lots = [lot for lot in self._lots if lot.until > now]

    async def _keep(self) -> None:
        """Lease what is missing, return what is unused and renew the lease, until there is nothing to do."""
        # All waiting calls depend on these statements, and the lease expires meanwhile.
        urgency.set(Urgency.PERSON)
        while True:
            self._wake.clear()
            wait, next_wait = await self._exchange_quietly()
            first = self._first()
            self._let_in()
            self._turn_away(first, wait, next_wait)
            wait = min([wait if one is first else next_wait for one in self._waiting], default=wait)
            if not (self._waiting or self._in_flight or self._calls or self._lots or self._unused):
                self._task = None
                return
            if not self._waiting:
                wait = PERMIT_SECONDS
            # Calls that end meanwhile are reported together.
            await asyncio.sleep(_LEAST_PAUSE_SECONDS)
            with suppress(TimeoutError):
                async with asyncio.timeout(max(0.0, wait - _LEAST_PAUSE_SECONDS)):
                    await self._wake.wait()

    def _turn_away(self, first: _Waiting | None, wait_seconds: float, next_wait_seconds: float) -> None:
        """Turn away the calls whose patience is too short for the wait, which is another one for the first.

        Under a limit of parallel calls alone there is room whenever a call ends: turning everything away in between
        would cost more than the calls.
        """
        now = self._now()
        for one in list(self._waiting):
            wait = wait_seconds if one is first else next_wait_seconds
            moves = self._in_flight > 0 and wait <= RECHECK_SECONDS
            if (one.until_at_last if moves else one.until) >= now + wait:
                continue
            is_kept = self._kept is not None and self._kept.path == one.path
            if self._kept is not None and is_kept:
                self._kept.until = now + wait + RETURN_SECONDS
            self._refuse([one], wait, has_room_then=is_kept)

    def _refuse(self, refused: Sequence[_Waiting], wait_seconds: float, *, has_room_then: bool = False) -> None:
        for waiting in refused:
            self._waiting.remove(waiting)
            if not waiting.room.done():
                waiting.room.set_exception(Closed(self._name, wait_seconds, has_room_then=has_room_then))

    async def _exchange_quietly(self) -> tuple[float, float]:
        try:
            return await self._exchange()
        except Unavailable as error:
            log.warning("limit.waits_for_database", limit=self._name, reason=error.message)
        except Exception:
            # Keep the queue served after an error: the next exchange succeeds, or turns the waiting calls away.
            log.exception("limit.failed", limit=self._name)
        return _AWAY_SECONDS, _AWAY_SECONDS

    async def _exchange(self) -> tuple[float, float]:
        """Exchange with the database; returns after how many seconds to ask again for the first call that waits, and
        for the others."""
        now = self._now()
        self._retire_lots(now)
        unused, owed = self._unused, self._owed_tokens
        self._unused, self._owed_tokens = [], 0
        self.exchanges += 1
        demand = self._demand(now, unused, owed)
        try:
            grant = await self._take(self._name, self._limit, demand, now)
        except BaseException:
            self._unused, self._owed_tokens = [*unused, *self._unused], self._owed_tokens + owed
            raise
        self._calls, self._most_calls = grant.calls, grant.most_calls
        self._leased_until = now + LEASE_SECONDS
        if grant.requests or grant.tokens:
            self._lots.append(_Lot(grant.second, now + PERMIT_SECONDS, grant.requests, grant.tokens))
        has_some = 0 < demand.least_tokens <= sum(lot.tokens for lot in self._lots)
        closed = grant.least_wait_seconds
        self._closed_until = now + closed if closed > RECHECK_SECONDS and not has_some else 0.0
        return grant.wait_seconds, grant.next_wait_seconds

    def _demand(self, now: float, unused: Sequence[_Lot], owed: int) -> Demand:
        is_idle = now - self._busy_at >= PERMIT_SECONDS
        self._calls = self._in_flight if is_idle else max(self._in_flight, min(self._calls, self._most_calls))
        first, kept = self._reserve(now)
        # Not for the whole queue: room that is leased for calls that cannot start soon is withheld from other
        # processes.
        others = (one for one in self._waiting if one is not first)
        soon = list(islice(others, max(_LEAST_AHEAD, 2 * self._started_lately(now))))
        sizes = [one.tokens for one in ([first, *soon] if first is not None else soon)]
        ahead = self._ahead(now) if sizes else 0
        # The first may be larger than those that come.
        usual = sizes if first is None or not soon else sizes[1:]
        tokens = sum(sizes) + ahead * (sum(usual) // max(1, len(usual)))
        tokens_here = sum(lot.tokens for lot in self._lots)
        requests = len(sizes) + ahead - sum(lot.requests for lot in self._lots)
        return Demand(
            worker=self._worker,
            held=self._calls,
            wanted=max(0, len(self._waiting) + self._in_flight - self._calls),
            requests=max(0, requests) if self._limit.requests_per_minute is not None else 0,
            tokens=max(0, tokens - tokens_here),
            first_tokens=max(0, first.tokens - tokens_here) if first is not None else 0,
            owed_tokens=owed,
            returned=[(lot.second, lot.requests, lot.tokens) for lot in unused],
            reserve_tokens=kept.tokens if kept is not None else 0,
            next_tokens=max(0, min((one.tokens for one in soon), default=0) - tokens_here),
            least_tokens=min(self._charges, default=0),
        )

    def _reserve(self, now: float) -> tuple[_Waiting | None, _Kept | None]:
        """The call that comes first, and that for which room is kept: it may be away."""
        if self._kept is not None and self._kept.until < now:
            self._kept = None
        first = self._first()
        if first is not None and self._limit.tokens_per_minute is not None:
            self._kept = _Kept(first.path, first.tokens)
        return first, self._kept

    def _ahead(self, now: float) -> int:
        """For how many calls to lease in advance: as many as there were lately, up to a small share of the limit."""
        if self._limit.requests_per_minute is None:
            return self._started_lately(now)
        share = int(self._limit.requests_per_minute * _MOST_AHEAD)
        return min(max(self._started_lately(now), _LEAST_AHEAD), share)

    def _started_lately(self, now: float) -> int:
        return sum(1 for at in self._started if now - at < PERMIT_SECONDS)
