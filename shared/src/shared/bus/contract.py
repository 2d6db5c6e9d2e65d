"""What both buses promise, and the errors with which they and their handlers speak to each other."""

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Sequence

from shared.contracts.hints import Hint
from shared.errors import ParleyError, Unavailable

Handler = Callable[[Hint], Awaitable[None]]
Listener = Callable[[Hint], None]
Pause = Callable[[int], Awaitable[None]]
"""Waits before the next try; told how many tries have failed in a row, from 1."""

DELIVERY_LIMIT = 20
"""How often a hint comes back after its first delivery before it is put aside as dead."""

FIRST_PAUSE_SECONDS = 0.2
LONGEST_PAUSE_SECONDS = 5.0


class NotNow(Unavailable):
    """Raised by a handler when Postgres, the broker or prompt-builder is away: not an attempt at the hint."""

    code = "not_now"


class BusUnavailable(NotNow):
    """The broker is away, or did not confirm in time: what was to be published may or may not be there."""

    code = "bus_unavailable"


class BusMisconfigured(ParleyError):
    """A queue exists on the broker with other properties than ours; a person must remove it."""

    code = "bus_misconfigured"


def back_off_seconds(failures: int) -> float:
    # The exponent is bounded because 2.0 ** 1024 overflows on a long outage.
    return min(FIRST_PAUSE_SECONDS * 2.0 ** min(failures - 1, 10), LONGEST_PAUSE_SECONDS)


async def back_off(failures: int) -> None:
    await asyncio.sleep(back_off_seconds(failures))


def dead_queue(queue: str) -> str:
    """Where a work queue's undecodable and hopeless bodies end; nothing consumes it but a person."""
    return f"{queue}.dead"


def urgent_lane(queue: str) -> str:
    """Where a work queue's urgent hints wait: each consumer of the queue has room of its own for them."""
    return f"{queue}.urgent"


def lane_of(hint: Hint) -> str:
    return urgent_lane(hint.queue) if hint.urgent else hint.queue


class Subscription(ABC):
    @abstractmethod
    async def cancel(self) -> None:
        """Stop taking, give back what waits, and wait for the handlers that run; safe to repeat."""


class Bus(ABC):
    """Hints in and out: at least once, any order, acknowledged or gone.

    What a handler does with a hint decides its fate: returning acknowledges it; NotNow keeps it and stops taking
    until a try succeeds, which costs no delivery; any other exception puts it back, and after `DELIVERY_LIMIT`
    returns it is moved to the queue's dead queue, where undecodable bodies go at once.
    """

    @abstractmethod
    async def declare(self, queues: Sequence[str]) -> None:
        """Make work queues exist, each with its dead queue; publishing and consuming do so by themselves.

        Raises: BusUnavailable, BusMisconfigured.
        """

    @abstractmethod
    async def publish(self, hints: Sequence[Hint]) -> None:
        """Return when every hint is safe with the bus; needs no consumer, and no listener for facts.

        Raises: BusUnavailable; then some may be safe and some not, so publish all of them again.
        """

    @abstractmethod
    async def consume(self, queue: str, handler: Handler, *, prefetch: int) -> Subscription:
        """Give each hint of a work queue to one consumer; at most `prefetch` handlers of this one run at a time.

        Urgent hints have as much room again, so that they never wait for the others.

        Returns when it takes; when the broker is away it returns too, and starts to take once it is back.
        """

    @abstractmethod
    async def waiting(self, queue: str) -> int:
        """How many hints of a work queue no consumer has taken yet.

        Raises: BusUnavailable.
        """

    @abstractmethod
    async def listen(self, handler: Listener) -> Subscription:
        """Call `handler` with every fact from now on. Facts published while the broker was away from this process
        are not repeated: look again on `on_reconnect`."""

    @abstractmethod
    def on_reconnect(self, callback: Callable[[], None]) -> None:
        """Call `callback` each time the broker is back and every subscription takes again."""

    @abstractmethod
    async def put(self, queue: str, body: bytes) -> None:
        """Publish bytes to a work queue as they are, such as a dead body that deserves another chance.

        Raises: BusUnavailable.
        """

    @abstractmethod
    async def take_dead(self, queue: str) -> bytes:
        """Take one body out of a work queue's dead queue, waiting until there is one.

        Raises: BusUnavailable.
        """

    @abstractmethod
    async def ping(self) -> bool:
        """Whether the bus answers now; never raises."""

    @abstractmethod
    async def close(self) -> None:
        """Cancel every subscription and let go of the broker; what is published afterwards is refused."""


class Together(Subscription):
    """Several subscriptions that are one to whoever holds them."""

    def __init__(self, subscriptions: Sequence[Subscription]) -> None:
        self._subscriptions = subscriptions

    async def cancel(self) -> None:
        for subscription in self._subscriptions:
            await subscription.cancel()
