"""The bus of the distributed lab, over RabbitMQ 3.10 to 4.x.

A supervisor opens a link, attaches every subscription to it, waits until it is lost, and starts again. aio-pika's own
robust connection is not used: it needs the broker when it starts, and repairs channels one by one in no fixed order,
while a lab has to start and accept posts without a broker, and publish later.
"""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import TypeVar

import structlog

from parley_lab.base.errors import ParleyError
from parley_lab.bus.contract import (
    DELIVERY_LIMIT,
    Bus,
    BusMisconfigured,
    BusRefused,
    BusUnavailable,
    Fate,
    Handler,
    Pause,
    Subscription,
    Together,
    back_off,
    dead_queue,
    urgent_lane,
)
from parley_lab.bus.intake import Intake
from parley_lab.bus.rabbit_link import Link, attempt, refusal_in
from parley_lab.bus.rabbit_subscriptions import Consumer
from parley_lab.contracts.hints import Hint

T = TypeVar("T")

log = structlog.get_logger(__name__)

FIRST_CONNECTION_SECONDS = 0.8
"""How long the first publish waits for the first connection; later ones do not wait."""


class RabbitBus(Bus):
    """Connects at its first use; making one needs no broker.

    `prefix` precedes every name on the broker, so that labs and tests can share one. `answer_seconds` limits the wait
    for every answer of a connected broker; `pause` is the back-off of handlers that raise Unavailable,
    `reconnect_pause` that of the connection.
    """

    def __init__(
        self,
        url: str,
        *,
        prefix: str = "",
        delivery_limit: int = DELIVERY_LIMIT,
        answer_seconds: float = 5.0,
        heartbeat_seconds: int = 5,
        pause: Pause = back_off,
        reconnect_pause: Pause = back_off,
    ) -> None:
        self._url = url
        self._prefix = prefix
        self._delivery_limit = delivery_limit
        self._answer_seconds = answer_seconds
        self._heartbeat_seconds = heartbeat_seconds
        self._pause = pause
        self._reconnect_pause = reconnect_pause
        self._link: Link | None = None
        self._subscriptions: set[Consumer] = set()
        self._callbacks: list[Callable[[], None]] = []
        self._supervisor: asyncio.Task[None] | None = None
        self._goodbyes: set[asyncio.Task[None]] = set()
        self._tried = asyncio.Event()
        self._refusal = ""
        self._closed = False

    async def declare(self, queues: Sequence[str]) -> None:
        link = await self._current_link(self._answer_seconds)
        for queue in queues:
            await _ask_broker(link.declare(queue))

    async def publish(self, hints: Sequence[Hint]) -> None:
        if hints:
            link = await self._current_link(FIRST_CONNECTION_SECONDS)
            await link.publish(hints)

    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> Subscription:
        """Raises: BusMisconfigured."""
        consumers = [
            Consumer(
                queue,
                lane,
                Intake(handler, prefetch=prefetch, pause=self._pause),
                prefetch=prefetch,
                on_cancel=self._forget,
            )
            for lane in (urgent_lane(queue), queue)
        ]
        for consumer in consumers:
            await self._begin(consumer)
        return Together(consumers)

    async def waiting(self, queue: str) -> int:
        await self.declare([queue])
        link = await self._current_link(self._answer_seconds)
        return await _ask_broker(link.counted(urgent_lane(queue), queue))

    async def dead(self, queue: str) -> int:
        await self.declare([queue])
        link = await self._current_link(self._answer_seconds)
        return await _ask_broker(link.counted(dead_queue(queue)))

    async def consumers(self, queue: str) -> int | None:
        """How many processes consume a work queue; None where it is not there. Raises: BusUnavailable."""
        link = await self._current_link(self._answer_seconds)
        return await _ask_broker(link.consumers(queue))

    async def sift_dead(self, queue: str, decide: Callable[[bytes], Fate]) -> None:
        link = await self._current_link(self._answer_seconds)
        await _ask_broker(link.sift_dead(queue, decide))

    def on_reconnect(self, callback: Callable[[], None]) -> None:
        self._callbacks.append(callback)

    async def put(self, queue: str, body: bytes) -> None:
        await self.declare([queue])
        link = await self._current_link(self._answer_seconds)
        await _ask_broker(link.put(queue, body))

    async def take_dead(self, queue: str) -> bytes:
        link = await self._current_link(self._answer_seconds)
        return await _ask_broker(link.take_dead(queue))

    async def remove(self, queues: Sequence[str]) -> None:
        """Delete work queues with their dead-letter queues: this lab leaves the broker.

        Raises: BusUnavailable.
        """
        link = await self._current_link(self._answer_seconds)
        await _ask_broker(link.remove(queues))

    async def ping(self) -> bool:
        try:
            link = await self._current_link(FIRST_CONNECTION_SECONDS)
        except BusUnavailable:
            return False
        return await link.answers()

    async def close(self) -> None:
        for subscription in tuple(self._subscriptions):
            await subscription.cancel()
        # Only now, so that handlers of the last hints can still publish.
        self._closed = True
        if self._supervisor is not None:
            self._supervisor.cancel()
            await attempt(self._supervisor)
            self._supervisor = None
        if self._link is not None:
            await self._link.close()
            self._link = None
        if self._goodbyes:
            await asyncio.wait(self._goodbyes)

    async def _begin(self, subscription: Consumer) -> None:
        self._subscriptions.add(subscription)
        try:
            link = await self._current_link(self._answer_seconds)
        except BusUnavailable:
            return
        error = await attempt(subscription.attach(link))
        if isinstance(error, BusMisconfigured):
            self._forget(subscription)
            raise error
        if error is not None:
            link.give_up()

    def _forget(self, subscription: Subscription) -> None:
        self._subscriptions = {other for other in self._subscriptions if other is not subscription}

    async def _current_link(self, patience_seconds: float) -> Link:
        if self._closed:
            raise BusUnavailable("this connection to the broker was closed")
        if self._supervisor is None:
            self._supervisor = asyncio.create_task(self._supervise())
        try:
            async with asyncio.timeout(patience_seconds):
                await self._tried.wait()
        except TimeoutError as error:
            raise BusUnavailable("the broker has not answered yet") from error
        if self._link is None or self._link.lost.is_set():
            raise BusRefused(self._refusal) if self._refusal else BusUnavailable("the broker is away")
        return self._link

    async def _supervise(self) -> None:
        failures = 0
        is_first = True
        while True:
            if await self._open_link(failures):
                if failures or not is_first:
                    log.info("bus.broker_back")
                    self._call_back()
                failures, is_first = 0, False
                self._tried.set()
                await self._loss()
            else:
                failures += 1
            self._tried.set()
            await self._reconnect_pause(max(failures, 1))

    async def _open_link(self, failures: int) -> bool:
        """Whether there is a link now, with every subscription attached."""
        opened: list[Link] = []
        error = await attempt(self._open_into(opened))
        self._refusal = refusal_in(error)
        if error is None:
            return True
        for link in opened:
            self._abandon(link)
        if not failures:
            log.warning("bus.broker_away", reason=repr(error))
        return False

    async def _open_into(self, opened: list[Link]) -> None:
        async with asyncio.timeout(self._answer_seconds):
            link = await Link.open(
                self._url,
                prefix=self._prefix,
                delivery_limit=self._delivery_limit,
                answer_seconds=self._answer_seconds,
                heartbeat_seconds=self._heartbeat_seconds,
            )
            opened.append(link)
            # Set before the loop over subscriptions: one that starts meanwhile attaches itself.
            self._link = link
            for subscription in tuple(self._subscriptions):
                await subscription.attach(link)

    async def _loss(self) -> None:
        link = self._link
        if link is not None:
            await link.lost.wait()
            log.warning("bus.broker_lost")
            self._abandon(link)

    def _abandon(self, link: Link) -> None:
        self._link = None
        for subscription in tuple(self._subscriptions):
            subscription.detach()
        # A silent broker answers no goodbye: the next link does not wait for it.
        goodbye = asyncio.create_task(link.close())
        self._goodbyes.add(goodbye)
        goodbye.add_done_callback(self._goodbyes.discard)

    def _call_back(self) -> None:
        for callback in self._callbacks:
            try:
                callback()
            except Exception:
                log.exception("bus.reconnect_callback.failed")


async def _ask_broker(question: Awaitable[T]) -> T:
    """The broker's answer; any error of aio-pika about a broker that is away becomes BusUnavailable."""
    answer = (await asyncio.gather(question, return_exceptions=True))[0]
    if isinstance(answer, ParleyError):
        raise answer
    if isinstance(answer, BaseException):
        raise BusUnavailable(f"the broker went away: {answer!r}") from answer
    return answer
