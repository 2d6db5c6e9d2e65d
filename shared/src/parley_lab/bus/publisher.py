"""Publishes committed outbox rows and has them deleted once confirmed; knows no SQL, blocks no commit."""

import asyncio
from collections import deque
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial

import structlog

from parley_lab.base.background import Background, do_quietly
from parley_lab.bus.contract import Bus, BusUnavailable
from parley_lab.contracts.hints import Hint

log = structlog.get_logger(__name__)

Row = tuple[int, Hint]
"""A hint and its row in the outbox."""

Delete = Callable[[Sequence[int]], Awaitable[None]]
Leftover = Callable[[int], Awaitable[Sequence[Row]]]


@dataclass(slots=True)
class _Lane:
    """Rows that are published in order, with a limit of parallel batches."""

    slots: asyncio.Semaphore
    offered: deque[Row] = field(default_factory=deque)
    something_offered: asyncio.Event = field(default_factory=asyncio.Event)


class OutboxPublisher:
    """Publishes the rows given to `offer`, at least once, and the rows that `leftover` finds.

    `delete(ids)` removes confirmed rows; `leftover(limit)` reads rows old enough that no living process is about to
    publish them. Both may raise: the rows stay and are tried again. A sweep does not publish rows that this process
    already knows. Urgent rows go first, in batches of their own. Memory is bounded by `capacity`: beyond it, and while
    the bus is away, rows are dropped here and left to the next sweep.
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
        self._lanes = {urgent: _Lane(asyncio.Semaphore(batches_at_once)) for urgent in (True, False)}
        self._confirmed: list[int] = []
        self._batches: set[asyncio.Task[None]] = set()
        self._deleting = asyncio.Lock()
        self._something_confirmed = asyncio.Event()
        self._sweep_due = asyncio.Event()
        self._background = Background()
        bus.on_reconnect(self._sweep_due.set)

    def offer(self, rows: Sequence[Row]) -> None:
        """Queue committed rows for publishing; returns at once and drops what exceeds the capacity."""
        new = [row for row in rows if row[0] not in self._known]
        taken = self._remember(new)
        if taken < len(new):
            log.warning("outbox.memory_full", left_to_sweep=len(new) - taken)

    def start(self) -> None:
        """Publish, delete and sweep in the background; the first sweep is immediate."""
        self._sweep_due.set()
        for lane in self._lanes.values():
            self._background.repeat(partial(self._begin_batches, lane), woken_by=lane.something_offered)
        self._background.repeat(
            self._delete_confirmed,
            woken_by=self._something_confirmed,
            # One deletion for all rows confirmed meanwhile; a crash before it only repeats hints.
            pause_seconds=self._delete_pause_seconds,
        )
        self._background.repeat(self._sweep_until_empty, woken_by=self._sweep_due, every_seconds=self._sweep_seconds)

    async def stop(self) -> None:
        """Publish the queued rows if the bus is available, then end; unpublished rows stay in the outbox."""
        await self._background.stop()
        await self.flush()

    async def flush(self) -> None:
        """Return when all rows so far are published and deleted, or dropped."""
        while any(lane.offered for lane in self._lanes.values()) or self._batches:
            for lane in self._lanes.values():
                await self._begin_batches(lane)
            if self._batches:
                await asyncio.wait(self._batches)
        await do_quietly(self._delete_confirmed)

    async def sweep(self) -> int:
        """Queue the rows of the outbox that are unknown here; returns their number."""
        found = await self._leftover(self._batch_size)
        return self._remember([row for row in found if row[0] not in self._known])

    def _remember(self, rows: Sequence[Row]) -> int:
        offered = sum(len(lane.offered) for lane in self._lanes.values())
        room = max(self._capacity - max(len(self._known), offered), 0)
        taken = rows[:room]
        self._known.update(_ids(taken))
        for urgent, lane in self._lanes.items():
            lane.offered.extend(row for row in taken if row[1].urgent is urgent)
            if lane.offered:
                lane.something_offered.set()
        return len(taken)

    async def _begin_batches(self, lane: "_Lane") -> None:
        while lane.offered:
            await lane.slots.acquire()
            if not lane.offered:
                lane.slots.release()
                return
            size = min(self._batch_size, len(lane.offered))
            batch = [lane.offered.popleft() for _ in range(size)]
            task = asyncio.create_task(self._publish(batch, lane))
            self._batches.add(task)
            task.add_done_callback(self._batches.discard)

    async def _publish(self, batch: Sequence[Row], lane: "_Lane") -> None:
        try:
            # Equal hints are sent once.
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
            lane.slots.release()

    async def _publish_by_queue(self, batch: Sequence[Row]) -> None:
        """A queue that cannot be published to must not delay the others."""
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

    def _forget(self, rows: Collection[Row]) -> None:
        self._times_given_up += 1
        self._known.difference_update(_ids(rows))

    def _give_up(self, batch: Sequence[Row]) -> None:
        self._forget(batch)
        for lane in self._lanes.values():
            self._forget(lane.offered)
            lane.offered.clear()

    async def _delete_confirmed(self) -> None:
        async with self._deleting:
            row_ids, self._confirmed = self._confirmed, []
            if not row_ids:
                return
            try:
                await self._delete(row_ids)
            except BaseException:
                # Still known, so that no sweep publishes them again; the next deletion includes them.
                self._confirmed.extend(row_ids)
                raise
            self._known.difference_update(row_ids)

    async def _sweep_until_empty(self) -> None:
        given_up_before = self._times_given_up
        while await self.sweep():
            await self.flush()
            if self._times_given_up > given_up_before:
                return
        await self._delete_confirmed()


def _ids(rows: Iterable[Row]) -> Iterator[int]:
    return (row_id for row_id, _ in rows)
