"""One broker of either kind with as many processes on it as a test wants, and handlers that a test controls."""

import asyncio
import uuid
from abc import ABC, abstractmethod
from collections.abc import Sequence

from parley_lab.bus import DELIVERY_LIMIT, Bus, Pause, back_off
from parley_lab.bus.in_process import InProcessBus
from parley_lab.bus.rabbit import RabbitBus
from parley_lab.contracts.hints import Hint


class Broker(ABC):
    """`bus()` is the bus of one more process; `close` closes all of them."""

    @abstractmethod
    def bus(self, *, pause: Pause = back_off) -> Bus: ...

    @abstractmethod
    async def close(self) -> None: ...


class InProcessBroker(Broker):
    """There is one process, so every call returns the same bus; the first call sets its pause."""

    def __init__(self, *, delivery_limit: int = DELIVERY_LIMIT) -> None:
        self._delivery_limit = delivery_limit
        self._bus: InProcessBus | None = None

    def bus(self, *, pause: Pause = back_off) -> InProcessBus:
        if self._bus is None:
            self._bus = InProcessBus(delivery_limit=self._delivery_limit, pause=pause)
        return self._bus

    async def close(self) -> None:
        if self._bus is not None:
            await self._bus.close()


class RabbitBroker(Broker):
    """A real broker with a prefix for the test; `queues` are deleted at the end."""

    def __init__(self, url: str, *, queues: Sequence[str], delivery_limit: int = DELIVERY_LIMIT) -> None:
        self.url = url
        self.prefix = f"test-{uuid.uuid4().hex[:12]}."
        self._queues = queues
        self._delivery_limit = delivery_limit
        self._buses: list[RabbitBus] = []

    def bus(self, *, pause: Pause = back_off) -> RabbitBus:
        return self.bus_at(self.url, pause=pause)

    def bus_at(
        self,
        url: str,
        *,
        pause: Pause = back_off,
        answer_seconds: float = 5.0,
        delivery_limit: int | None = None,
    ) -> RabbitBus:
        """A bus that reaches the broker through another address, such as a proxy."""
        limit = self._delivery_limit if delivery_limit is None else delivery_limit
        bus = RabbitBus(url, prefix=self.prefix, delivery_limit=limit, pause=pause, answer_seconds=answer_seconds)
        self._buses.append(bus)
        return bus

    async def close(self) -> None:
        for bus in self._buses:
            await bus.close()
        cleaner = RabbitBus(self.url, prefix=self.prefix)
        await cleaner.remove(self._queues)
        await cleaner.close()


class ManualPause:
    """A back-off that ends when the test says so."""

    def __init__(self) -> None:
        self._begun: asyncio.Queue[int] = asyncio.Queue()
        self._ends = asyncio.Semaphore(0)

    async def __call__(self, failures: int) -> None:
        self._begun.put_nowait(failures)
        await self._ends.acquire()

    async def begun(self) -> int:
        """Wait until a pause begins; returns how many failures led to it."""
        return await self._begun.get()

    def end(self) -> None:
        self._ends.release()


class Inbox:
    """A handler that stores what it receives."""

    def __init__(self) -> None:
        self._hints: asyncio.Queue[Hint] = asyncio.Queue()

    async def handle(self, hint: Hint) -> None:
        self._hints.put_nowait(hint)

    async def next(self) -> Hint:
        return await self._hints.get()

    async def until(self, hint: Hint) -> None:
        """Wait for this hint and drop those before it: hints whose acknowledgement was lost in a cut come again."""
        while await self._hints.get() != hint:
            pass

    async def take(self, count: int) -> list[Hint]:
        return [await self._hints.get() for _ in range(count)]

    @property
    def is_empty(self) -> bool:
        return self._hints.empty()


def a_hint(queue: str = "work", kind: str = "cohort.changed") -> Hint:
    return Hint(queue, kind, str(uuid.uuid4()), "request-1")
