"""Takes committed outbox rows to the bus and has them deleted once confirmed; knows no SQL, blocks no commit."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence

import structlog

from shared.bus.contract import Bus, BusUnavailable
from shared.contracts.hints import Hint

log = structlog.get_logger(__name__)

OutboxRow = tuple[int, Hint]
_FACTS_PAUSE_SECONDS = 0.02

Row = tuple[int | None, Hint]
"""A hint and its row in the outbox; None for a fact, which only wakes readers who look by themselves now and then."""

Delete = Callable[[Sequence[int]], Awaitable[None]]
Leftover = Callable[[int], Awaitable[Sequence[OutboxRow]]]


class OutboxPublisher:
    """Publishes what `offer` names, at least once, and what `leftover` finds when memory was lost.

    `delete(ids)` removes confirmed rows; `leftover(limit)` reads rows old enough that no living process is still
    about to publish them. Both may raise: the rows stay and are tried again. Rows of which this process knows are
    not published a second time because a sweep finds them too. What has no row is published once or lost. Memory is
    bounded by `capacity`; beyond it, and whenever the bus is away, rows are forgotten here and left to the next sweep.
    """

    def __init__(
        self,
        bus: Bus,
        *,
        delete: Delete,
        leftover: Leftover,
        capacity: int = 10_000,
        batch_size: int = 500,
        batches_at_once: int = 4,
        sweep_seconds: float = 5.0,
        delete_pause_seconds: float = 0.05,
    ) -> None:
        self._bus = bus
        self._delete = delete
        self._leftover = leftover
        self._capacity = capacity
        self._batch_size = batch_size
        self._sweep_seconds = sweep_seconds
        self._delete_pause_seconds = delete_pause_seconds
        self._times_given_up = 0
        self._known: set[int] = set()
        self._offered: deque[Row] = deque()
        self._facts: dict[Hint, None] = {}
        self._something_to_tell = asyncio.Event()
        self._confirmed: list[int] = []
        self._slots = asyncio.Semaphore(batches_at_once)
        self._batches: set[asyncio.Task[None]] = set()
        self._deleting = asyncio.Lock()
        self._something_offered = asyncio.Event()
        self._something_confirmed = asyncio.Event()
        self._sweep_due = asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        bus.on_reconnect(self._sweep_due.set)

    def offer(self, rows: Sequence[Row]) -> None:
        """Remember committed rows for publishing; returns at once and drops what exceeds the capacity."""
        facts = [hint for row_id, hint in rows if row_id is None]
        if facts and len(self._facts) < self._capacity:
            self._facts.update(dict.fromkeys(facts))
            self._something_to_tell.set()
        new = [row for row in rows if row[0] is not None and row[0] not in self._known]
        taken = self._remembered(new)
        if taken < len(new):
            log.warning("outbox.memory_full", left_to_sweep=len(new) - taken)

    def start(self) -> None:
        """Publish, delete and sweep in the background; the first sweep is immediate."""
        self._sweep_due.set()
        self._tasks = [
            asyncio.create_task(self._keep_publishing()),
            asyncio.create_task(self._keep_telling()),
            asyncio.create_task(self._keep_deleting()),
            asyncio.create_task(self._keep_sweeping()),
        ]

    async def stop(self) -> None:
        """Publish what was offered if the bus lets us, then end; what remains stays in the outbox."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        await self.flush()

    async def flush(self) -> None:
        """Return when everything offered so far was published and deleted, or given up."""
        while self._offered or self._batches:
            await self._begin_batches()
            if self._batches:
                await asyncio.wait(self._batches)
        await self._tell()
        await self._delete_confirmed()

    async def sweep(self) -> int:
        """Remember what lies in the outbox and is not known here; returns how many rows that were."""
        found = await self._leftover(self._batch_size)
        return self._remembered([row for row in found if row[0] not in self._known])

    def _remembered(self, rows: Sequence[Row]) -> int:
        room = max(self._capacity - max(len(self._known), len(self._offered)), 0)
        taken = rows[:room]
        self._known.update(_ids(taken))
        self._offered.extend(taken)
        self._something_offered.set()
        return len(taken)

    async def _keep_publishing(self) -> None:
        while True:
            await self._something_offered.wait()
            self._something_offered.clear()
            await self._begin_batches()

    async def _keep_telling(self) -> None:
        while True:
            await self._something_to_tell.wait()
            # What happens at about the same time is told together.
            await asyncio.sleep(_FACTS_PAUSE_SECONDS)
            self._something_to_tell.clear()
            await self._tell()

    async def _tell(self) -> None:
        facts, self._facts = list(self._facts), {}
        if not facts:
            return
        try:
            await self._bus.publish(facts)
        except BusUnavailable as error:
            log.info("facts.lost", reason=error.message, facts=len(facts))
        except Exception:
            log.exception("facts.publish_failed")

    async def _begin_batches(self) -> None:
        while self._offered:
            await self._slots.acquire()
            if not self._offered:
                self._slots.release()
                return
            size = min(self._batch_size, len(self._offered))
            batch = [self._offered.popleft() for _ in range(size)]
            task = asyncio.create_task(self._publish(batch))
            self._batches.add(task)
            task.add_done_callback(self._batches.discard)

    async def _publish(self, batch: Sequence[Row]) -> None:
        try:
            # What says the same twice is said once.
            await self._bus.publish(list(dict.fromkeys(hint for _, hint in batch)))
        except BusUnavailable as error:
            log.warning("outbox.bus_away", reason=error.message)
            self._give_up(batch)
        except Exception:
            log.exception("outbox.publish_failed")
            await self._publish_by_queue(batch)
        else:
            self._confirm(batch)
        finally:
            self._slots.release()

    async def _publish_by_queue(self, batch: Sequence[Row]) -> None:
        """What cannot be published to one queue must not keep the others waiting."""
        for queue in dict.fromkeys(hint.queue for _, hint in batch):
            rows = [row for row in batch if row[1].queue == queue]
            try:
                await self._bus.publish([hint for _, hint in rows])
            except Exception:
                log.exception("outbox.queue_failed", queue=queue)
                self._forget(rows)
            else:
                self._confirm(rows)

    def _confirm(self, rows: Sequence[Row]) -> None:
        self._confirmed.extend(_ids(rows))
        self._something_confirmed.set()

    def _forget(self, rows: Sequence[Row]) -> None:
        self._times_given_up += 1
        self._known.difference_update(_ids(rows))

    def _give_up(self, batch: Sequence[Row]) -> None:
        lost = [*batch, *self._offered]
        self._offered.clear()
        self._forget(lost)

    async def _keep_deleting(self) -> None:
        while True:
            await self._something_confirmed.wait()
            # One deletion for all that is confirmed meanwhile; until then a crash only repeats hints.
            await asyncio.sleep(self._delete_pause_seconds)
            self._something_confirmed.clear()
            await self._delete_confirmed()

    async def _delete_confirmed(self) -> None:
        async with self._deleting:
            row_ids, self._confirmed = self._confirmed, []
            if not row_ids:
                return
            try:
                await self._delete(row_ids)
            except Exception:
                # Still known, so that no sweep publishes them again; the next sweep lets us try again.
                self._confirmed.extend(row_ids)
                log.exception("outbox.delete_failed", rows=len(row_ids))
            except asyncio.CancelledError:
                self._confirmed.extend(row_ids)
                raise
            else:
                self._known.difference_update(row_ids)

    async def _keep_sweeping(self) -> None:
        while True:
            try:
                async with asyncio.timeout(self._sweep_seconds):
                    await self._sweep_due.wait()
            except TimeoutError:
                pass
            self._sweep_due.clear()
            await self._sweep_until_empty()

    async def _sweep_until_empty(self) -> None:
        given_up_before = self._times_given_up
        try:
            while await self.sweep():
                await self.flush()
                if self._times_given_up > given_up_before:
                    return
            await self._delete_confirmed()
        except Exception:
            log.exception("outbox.sweep_failed")


def _ids(rows: Iterable[Row]) -> Iterator[int]:
    return (row_id for row_id, _ in rows if row_id is not None)
