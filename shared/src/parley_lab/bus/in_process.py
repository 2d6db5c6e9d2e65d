"""The bus of the embedded lab: queues in memory for one process and one event loop."""

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import structlog

from parley_lab.bus.contract import (
    DELIVERY_LIMIT,
    Bus,
    BusUnavailable,
    Fate,
    Handler,
    Pause,
    Subscription,
    Together,
    back_off,
    dead_queue,
    lane_of,
    urgent_lane,
)
from parley_lab.bus.intake import Intake
from parley_lab.contracts.hints import Hint, HintInvalid

log = structlog.get_logger(__name__)


class InProcessBus(Bus):
    """Its hints are lost with the process; the outbox and the watchdog announce them again."""

    def __init__(self, *, delivery_limit: int = DELIVERY_LIMIT, pause: Pause = back_off) -> None:
        self._delivery_limit = delivery_limit
        self._pause = pause
        self._queues: dict[str, _Queue] = {}
        self._subscriptions: set[Subscription] = set()
        self._closed = False

    async def declare(self, queues: Sequence[str]) -> None:
        for name in queues:
            self._queue(name)

    async def publish(self, hints: Sequence[Hint]) -> None:
        self._refuse_when_closed()
        for hint in hints:
            self._queue(hint.queue)
            self._queues[lane_of(hint)].put(hint.encode())

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> Subscription:
        self._queue(queue)
        consumers = []
        for lane in (urgent_lane(queue), queue):
            intake = Intake(handler, prefetch=prefetch, pause=self._pause)
            consumers.append(_Consumer(self._queues[lane], intake, prefetch, on_cancel=self._subscriptions.discard))
        self._subscriptions.update(consumers)
        return Together(consumers)

    async def waiting(self, queue: str) -> int:
        self._queue(queue)
        return sum(len(self._queues[lane].ready) for lane in (urgent_lane(queue), queue))

    async def dead(self, queue: str) -> int:
        self._queue(queue)
        return len(self._queues[dead_queue(queue)].ready)

    async def sift_dead(self, queue: str, decide: Callable[[bytes], Fate]) -> None:
        self._refuse_when_closed()
        self._queue(queue)
        dead = self._queues[dead_queue(queue)].ready
        for body, returns in [dead.popleft() for _ in range(len(dead))]:
            match decide(body):
                case Fate.KEEP:
                    dead.append((body, returns))
                case Fate.REPLAY:
                    await self.put(queue, body)
                case Fate.DROP:
                    pass

    def on_reconnect(self, callback: Callable[[], None]) -> None:
        """Never called: this bus has no connection to lose."""

    async def put(self, queue: str, body: bytes) -> None:
        self._refuse_when_closed()
        self._queue(queue).put(body)

    async def take_dead(self, queue: str) -> bytes:
        self._refuse_when_closed()
        return await self._queue(dead_queue(queue)).take()

    async def ping(self) -> bool:
        return not self._closed

    async def close(self) -> None:
        for subscription in tuple(self._subscriptions):
            await subscription.cancel()
        self._closed = True

    def _refuse_when_closed(self) -> None:
        if self._closed:
            raise BusUnavailable("the bus of this process is closed")

    def _queue(self, name: str) -> "_Queue":
        if name not in self._queues:
            dead = self._queues.setdefault(dead_queue(name), _Queue(dead_queue(name), self._delivery_limit, None))
            for lane in (name, urgent_lane(name)):
                self._queues[lane] = _Queue(name, self._delivery_limit, dead)
        return self._queues[name]


class _Queue:
    """Bodies with their number of redeliveries, and the consumers in turn."""

    def __init__(self, name: str, delivery_limit: int, dead: "_Queue | None") -> None:
        self.name = name
        self.ready: deque[tuple[bytes, int]] = deque()
        self.consumers: deque[_Consumer] = deque()
        self._takers: deque[asyncio.Future[bytes]] = deque()
        self._delivery_limit = delivery_limit
        self._dead = dead

    def put(self, body: bytes, returns: int = 0) -> None:
        if returns > self._delivery_limit:
            self.bury(body)
            return
        while self._takers:
            taker = self._takers.popleft()
            if not taker.done():
                taker.set_result(body)
                return
        self.ready.append((body, returns))
        self.hand_out()

    async def take(self) -> bytes:
        """Take one body directly, without a consumer; waits until there is one."""
        if self.ready:
            return self.ready.popleft()[0]
        taker: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()
        self._takers.append(taker)
        return await taker

    def bury(self, body: bytes) -> None:
        log.error("bus.hint.dead", queue=self.name)
        if self._dead is not None:
            self._dead.put(body)

    def hand_out(self) -> None:
        while self.ready and (consumer := self._next_with_room()):
            body, returns = self.ready.popleft()
            try:
                hint = Hint.decode(self.name, body)
            except HintInvalid:
                self.bury(body)
            else:
                consumer.give(_Lent(self, consumer, hint, body, returns))

    def _next_with_room(self) -> "_Consumer | None":
        for _ in range(len(self.consumers)):
            self.consumers.rotate(-1)
            if self.consumers[-1].has_room:
                return self.consumers[-1]
        return None


class _Consumer(Subscription):
    def __init__(
        self, queue: _Queue, intake: Intake, prefetch: int, *, on_cancel: Callable[[Subscription], None]
    ) -> None:
        self._queue = queue
        self._intake = intake
        self._prefetch = prefetch
        self._held = 0
        self._on_cancel = on_cancel
        queue.consumers.append(self)
        queue.hand_out()

    @property
    def has_room(self) -> bool:
        return self._held < self._prefetch

    def give(self, lent: "_Lent") -> None:
        self._held += 1
        self._intake.take(lent)

    def settled(self) -> None:
        self._held -= 1
        self._queue.hand_out()

    async def stop_taking(self) -> None:
        if self in self._queue.consumers:
            self._queue.consumers.remove(self)
        self._intake.refuse()

    async def cancel(self) -> None:
        await self.stop_taking()
        await self._intake.stop()
        self._on_cancel(self)


@dataclass(slots=True)
class _Lent:
    """A body that a consumer is working on."""

    queue: _Queue
    consumer: _Consumer
    hint: Hint
    body: bytes
    returns: int

    async def acknowledge(self) -> None:
        self.consumer.settled()

    async def fail(self) -> None:
        self.queue.put(self.body, self.returns + 1)
        self.consumer.settled()

    async def give_back(self) -> None:
        self.queue.put(self.body, self.returns)
        self.consumer.settled()
