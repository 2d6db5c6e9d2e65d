"""The interface of both buses, and the errors that they and their handlers raise."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence
from enum import Enum, auto

from parley_lab.base.errors import ParleyError, Unavailable
from parley_lab.contracts.hints import Hint

Handler = Callable[[Hint], Awaitable[None]]
Pause = Callable[[int], Awaitable[None]]
"""Waits before the next attempt; called with the number of consecutive failures, from 1."""

DELIVERY_LIMIT = 20
"""After so many redeliveries a hint moves to the dead-letter queue."""

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0


class Fate(Enum):
    """Decides about a body in a dead-letter queue."""

    KEEP = auto()
    REPLAY = auto()
    DROP = auto()


class BusUnavailable(Unavailable):
    """The broker is away or did not confirm in time: the hints may or may not have been published."""

    code = "bus_unavailable"


class BusRefused(BusUnavailable):
    """A broker answers and lets no one in: a wrong password, a virtual host that is not there."""


class BusMisconfigured(ParleyError):
    """A queue on the broker has other properties than ours; a person must delete it."""

    code = "bus_misconfigured"


def back_off_seconds(failures: int) -> float:
    # The exponent is bounded because 2.0 ** 1024 overflows on a long outage.
    return min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 10), LONGEST_PAUSE_SECONDS)


async def back_off(failures: int) -> None:
    await asyncio.sleep(back_off_seconds(failures))


def dead_queue(queue: str) -> str:
    """The dead-letter queue of a work queue, for bodies that cannot be decoded or handled; no process consumes it."""
    return f"{queue}.dead"


def urgent_lane(queue: str) -> str:
    """The queue of a work queue's urgent hints; each consumer has separate slots for them."""
    return f"{queue}.urgent"


def lane_of(hint: Hint) -> str:
    return urgent_lane(hint.queue) if hint.urgent else hint.queue


class Subscription(ABC):
    @abstractmethod
    async def stop_taking(self) -> None:
        """Take no more hints and return waiting ones, without waiting for running handlers; idempotent."""

    @abstractmethod
    async def cancel(self) -> None:
        """Take no more hints, return waiting ones, and wait for running handlers; idempotent."""


class Bus(ABC):
    """Publishes and consumes hints: at-least-once delivery, in any order, with acknowledgements.

    The handler decides about a hint: a normal return acknowledges it. Unavailable keeps it and stops the subscription
    until an attempt succeeds, which counts as no delivery. Any other exception returns it to the queue; after
    `DELIVERY_LIMIT` returns it moves to the dead-letter queue, where undecodable bodies go at once.
    """

    @abstractmethod
    async def declare(self, queues: Sequence[str]) -> None:
        """Create work queues with their dead-letter queues; publishing and consuming create their own.

        Raises: BusUnavailable, BusMisconfigured.
        """

    @abstractmethod
    async def publish(self, hints: Sequence[Hint]) -> None:
        """Return when the bus has confirmed every hint; needs no consumer.

        Raises: BusUnavailable; then some hints may be confirmed, so publish all of them again.
        """

    @abstractmethod
    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> Subscription:
        """Consume a work queue; each hint goes to one consumer, which runs at most `prefetch` handlers at a time.

        Urgent hints have as many separate slots, so that they never wait for others.

        Returns when the subscription is active; while the broker is away it returns at once and starts later.
        """

    @abstractmethod
    async def waiting(self, queue: str) -> int:
        """How many hints of a work queue wait for a consumer.

        Raises: BusUnavailable.
        """

    @abstractmethod
    async def dead(self, queue: str) -> int:
        """How many bodies are in a work queue's dead-letter queue.

        Raises: BusUnavailable.
        """

    @abstractmethod
    async def sift_dead(self, queue: str, decide: Callable[[bytes], Fate]) -> None:
        """Decide about every body in a work queue's dead-letter queue: keep it, put it into the work queue, or drop it.

        A body is never lost: one that is replayed while the broker goes away may be there twice. Nothing happens where
        there is no such queue.

        Raises: BusUnavailable.
        """

    @abstractmethod
    def on_reconnect(self, callback: Callable[[], None]) -> None:
        """Call `callback` after each reconnection, once every subscription is active."""

    @abstractmethod
    async def put(self, queue: str, body: bytes) -> None:
        """Publish raw bytes to a work queue, such as a dead body that is to be handled again.

        Raises: BusUnavailable.
        """

    @abstractmethod
    async def take_dead(self, queue: str) -> bytes:
        """Take one body out of a work queue's dead-letter queue; waits until there is one.

        Raises: BusUnavailable.
        """

    @abstractmethod
    async def ping(self) -> bool:
        """Whether the bus answers now; never raises."""

    @abstractmethod
    async def close(self) -> None:
        """Cancel every subscription and disconnect; later publishing is refused."""


class Together(Subscription):
    """Several subscriptions in one object."""

    def __init__(self, subscriptions: Sequence[Subscription]) -> None:
        self._subscriptions = subscriptions

    async def stop_taking(self) -> None:
        await asyncio.gather(*(subscription.stop_taking() for subscription in self._subscriptions))

    async def cancel(self) -> None:
        # First all of them: while one waits for its handlers, the others must not start new ones.
        await self.stop_taking()
        for subscription in self._subscriptions:
            await subscription.cancel()
