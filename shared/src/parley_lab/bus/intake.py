"""Works through the deliveries of a subscription; both buses use it, so they behave alike.

A handler that finds a part of the lab away raises `Unavailable`: its hint stays unacknowledged and is tried again after
a pause. A hint that is returned would come back at once, and each return counts towards the delivery limit.
"""

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from enum import Enum, auto
from typing import Protocol

import structlog

from parley_lab.base.errors import GivenUp, Unavailable
from parley_lab.base.metrics import UNACKNOWLEDGED
from parley_lab.base.urgency import Urgency, urgency
from parley_lab.bus.contract import Handler, Pause
from parley_lab.contracts.hints import Hint

log = structlog.get_logger(__name__)


class Delivery(Protocol):
    """One delivered hint. Each method settles it, and must not raise when the connection is gone."""

    @property
    def hint(self) -> Hint: ...

    async def acknowledge(self) -> None: ...

    async def fail(self) -> None:
        """Return it and count the attempt, or move it to the dead-letter queue after too many."""

    async def give_back(self) -> None:
        """Return it without an attempt."""


class _Outcome(Enum):
    DONE = auto()
    FAILED = auto()
    UNTRIED = auto()


class Intake:
    """Runs one task per delivery, `prefetch` at most; after Unavailable it holds all and retries with one at a time.

    A held hint stays unacknowledged, because every return to the broker counts towards the delivery limit there: an
    outage would move all of them to the dead-letter queue.
    """

    def __init__(self, handler: Handler, *, prefetch: int, pause: Pause) -> None:
        self._handler = handler
        self._pause = pause
        # The broker counts per channel; handlers that outlive a lost channel still count here.
        self._slots = asyncio.Semaphore(prefetch)
        self._tasks: set[asyncio.Task[None]] = set()
        self._waiting: set[asyncio.Task[None]] = set()
        self._failures = 0
        self._probe = asyncio.Lock()
        self._stopping = False

    def take(self, delivery: Delivery) -> None:
        UNACKNOWLEDGED.labels(delivery.hint.queue).inc()
        task = asyncio.create_task(self._serve(delivery))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def release_waiting(self) -> None:
        """Return all deliveries without a running handler."""
        for task in self._waiting:
            task.cancel()

    def refuse(self) -> None:
        """Start no more handlers: return waiting and further deliveries."""
        self._stopping = True
        self.release_waiting()

    async def stop(self) -> None:
        """Refuse further deliveries, and return when no handler runs; a handler of this intake may call it."""
        self.refuse()
        while others := self._tasks - {asyncio.current_task()}:
            await asyncio.wait(others)

    async def _serve(self, delivery: Delivery) -> None:
        # Registered here and not in take(): a task cancelled before its first step would settle nothing.
        task = _this_task()
        self._waiting.add(task)
        urgency.set(Urgency.PERSON if delivery.hint.urgent else Urgency.BACKGROUND)
        outcome = _Outcome.UNTRIED
        with contextlib.suppress(asyncio.CancelledError):
            outcome = await self._handle(delivery.hint)
        self._waiting.discard(task)
        try:
            await _settlement(delivery, outcome)()
        finally:
            UNACKNOWLEDGED.labels(delivery.hint.queue).dec()

    async def _handle(self, hint: Hint) -> _Outcome:
        async with self._slots:
            while not self._stopping:
                outcome = await self._tried_in_turn(hint)
                if outcome is not _Outcome.UNTRIED:
                    return outcome
        return _Outcome.UNTRIED

    async def _tried_in_turn(self, hint: Hint) -> _Outcome:
        if self._failures:
            async with self._probe:
                if self._failures:
                    await self._pause(self._failures)
                    return await self._try(hint, step=1)
        return await self._try(hint, step=0)

    async def _try(self, hint: Hint, *, step: int) -> _Outcome:
        """Only an attempt after a pause lengthens the next pause (`step` 1), however many fail together."""
        task = _this_task()
        self._waiting.discard(task)
        outcome = await self._outcome(hint)
        if outcome is _Outcome.UNTRIED:
            self._waiting.add(task)
            self._note_away(hint, step)
        else:
            self._note_present(hint)
        return outcome

    def _note_away(self, hint: Hint, step: int) -> None:
        if not self._failures:
            log.warning("bus.consumer.paused", queue=hint.queue, type=hint.type)
        self._failures = max(self._failures + step, 1)

    def _note_present(self, hint: Hint) -> None:
        if self._failures:
            log.info("bus.consumer.resumed", queue=hint.queue)
        self._failures = 0

    async def _outcome(self, hint: Hint) -> _Outcome:
        try:
            await self._handler(hint)
        except GivenUp as error:
            # It may never succeed: others are not held up by it.
            log.warning("bus.handler.given_up", queue=hint.queue, type=hint.type, id=hint.id, reason=error.message)
            return _Outcome.FAILED
        except Unavailable:
            return _Outcome.UNTRIED
        except asyncio.CancelledError:
            # Libraries cancel their own futures; that is a failed attempt unless this task itself was cancelled.
            if _this_task().cancelling():
                raise
            log.warning("bus.handler.cancelled", queue=hint.queue, type=hint.type, id=hint.id)
            return _Outcome.FAILED
        except Exception:
            log.exception("bus.handler.failed", queue=hint.queue, type=hint.type, id=hint.id)
            return _Outcome.FAILED
        return _Outcome.DONE


def _this_task() -> asyncio.Task[None]:
    task = asyncio.current_task()
    assert task is not None
    return task


def _settlement(delivery: Delivery, outcome: _Outcome) -> Callable[[], Awaitable[None]]:
    match outcome:
        case _Outcome.DONE:
            return delivery.acknowledge
        case _Outcome.FAILED:
            return delivery.fail
        case _Outcome.UNTRIED:
            return delivery.give_back
