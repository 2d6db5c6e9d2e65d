"""Which drafts this process works on: it takes their leases, renews them while a model thinks, and picks the next.

When all slots of the process are taken, the waiting experiments share them. A hint then means "there is work for this
provider" and brings the next draft in turn, so the order of hints does not matter, and a lost hint costs nothing.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Coroutine, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID, uuid4

import structlog

from parley_lab.agent_worker.attempts import Attempt
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.base.clock import Clock
from parley_lab.base.errors import Unavailable
from parley_lab.base.failpoints import failpoint
from parley_lab.base.urgency import is_urgent
from parley_lab.drafts import drafts, due_drafts
from parley_lab.store.batcher import Batcher
from parley_lab.store.session import Database

log = structlog.get_logger(__name__)

ALONE: Final = 32
"""With fewer drafts in hand, slots need no sharing: a hint brings its own draft."""
_MOST_LINED_UP: Final = 256
_MOST_LEASED_AT_ONCE: Final = 32
_MOST_TURNS: Final = 1_000
"""Other processes may have taken any number of the drafts in line; the search ends after so many."""


class Leases:
    """The leases of one process."""

    def __init__(
        self, database: Database, clock: Clock, settings: WorkerSettings, worker_id: UUID | None = None
    ) -> None:
        self._worker_id = worker_id
        self._database = database
        self._clock = clock
        self._settings = settings
        self._lasts = timedelta(seconds=settings.lease_seconds)
        self._renews_after = self._lasts / 3
        self._taking = Batcher[bool, UUID, drafts.Lease | None](self._take_all, most=_MOST_LEASED_AT_ONCE)
        self._sharing = Sharing(database, clock)

    async def take(self, draft_id: UUID) -> drafts.Lease | None:
        """The lease of this draft; None when there is nothing to do for it."""
        # A draft that a person waits for is not leased behind drafts that no person waits for.
        return await self._taking.do(is_urgent(), draft_id)

    async def take_next(self, provider: str, draft_id: UUID) -> drafts.Lease | None:
        """The lease of one draft that waits for this provider: this draft, or the next in turn where many wait.

        Every hint brings a draft while there is one, so a draft whose hint was lost comes with another hint.
        """
        is_shared = self._sharing.is_full and not is_urgent()
        lease = None if is_shared else await self.take(draft_id)
        for _ in range(_MOST_TURNS):
            if lease is not None or (chosen := await self._sharing.next(provider)) is None:
                break
            lease = await self.take(chosen)
        if lease is None and is_shared:
            lease = await self.take(draft_id)
        return lease

    def holding(self, lease: drafts.Lease) -> AbstractContextManager[None]:
        """Count the draft as in hand until the block ends."""
        return self._sharing.holding(lease.experiment_id)

    async def keep(self, lease: drafts.Lease, call: Coroutine[Any, Any, Attempt]) -> Attempt | None:
        """The outcome of a call. Renews the lease meanwhile, and cancels the call when the lease is lost or over.

        A process that was held, or has made a call before, may have the lease no more: then no call is begun. One that
        does not reach Postgres stops at the end of the lease that it knows of, since others may reach it.
        """
        first_until = lease.leased_at + self._lasts
        is_fresh = self._clock.now() - lease.leased_at <= self._renews_after
        until = first_until if is_fresh else await self._renew(lease, first_until)
        if until is None:
            call.close()
            return None
        task = asyncio.create_task(call)
        try:
            while until is not None:
                left = min(self._renews_after, until - self._clock.now())
                done, _ = await asyncio.wait((task,), timeout=max(0.0, left.total_seconds()))
                if done:
                    return task.result()
                if self._clock.now() >= until:
                    log.warning("lease.over", draft=lease.path)
                    return None
                until = await self._renew(lease, until)
                await failpoint("lease.renewed")
            return None
        finally:
            task.cancel()

    async def _renew(self, lease: drafts.Lease, until: datetime) -> datetime | None:
        """Until when this process has the lease, which it had until `until`; None: another has it, or it is over.

        Postgres is asked even when it is over: no other process may have taken it.
        """
        now = self._clock.now()
        left = (until - now).total_seconds()
        try:
            async with asyncio.timeout(left if left > 0 else None), self._database.autocommit() as session:
                return now + self._lasts if await drafts.renew(session, lease, now + self._lasts) else None
        except (Unavailable, TimeoutError):
            return until if self._clock.now() < until else None

    async def is_gone(self, lease: drafts.Lease) -> bool:
        """Whether the draft was deleted with its experiment while this process worked on it."""
        try:
            async with self._database.read() as session:
                return not await due_drafts.is_there(session, lease.draft_id)
        except Unavailable:
            return False

    async def _take_all(self, draft_ids: Sequence[UUID]) -> list[drafts.Lease | Exception | None]:
        """Take leases of all these drafts at once; a repeated id gets one lease."""
        now = self._clock.now()
        until = now + timedelta(seconds=self._settings.lease_seconds)
        async with self._database.autocommit() as session:
            leased, passed_over = await drafts.lease_many(
                session, set(draft_ids), uuid4(), now, until, worker=self._worker_id
            )
        found: dict[UUID, drafts.Lease | Exception | None] = {**leased}
        for draft_id in passed_over:
            found[draft_id] = await self._take_alone(draft_id, now, until)
        return [await self._in_time(found.pop(draft_id, None), now) for draft_id in draft_ids]

    async def _in_time(
        self, lease: drafts.Lease | Exception | None, began: datetime
    ) -> drafts.Lease | Exception | None:
        """The lease, renewed if its statement took so long that it may be over by now; None when it was lost."""
        while isinstance(lease, drafts.Lease) and (now := self._clock.now()) - began > self._renews_after:
            lease, began = lease if await self._renew(lease, began + self._lasts) else None, now
        return lease

    async def _take_alone(self, draft_id: UUID, now: datetime, until: datetime) -> drafts.Lease | Exception | None:
        """The lease, or the error: an error must not cost other drafts the leases that they already have."""
        try:
            return await self._database.transact(
                lambda session: drafts.lease(session, draft_id, uuid4(), now, until, worker=self._worker_id)
            )
        except Exception as error:  # noqa: BLE001 - handed to the caller that waits for it
            return error


class Sharing:
    """Counts the drafts in hand of one process, by experiment, and chooses the next draft of a provider."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._in_hand: Counter[UUID] = Counter()
        self._lines: dict[str, deque[UUID]] = {}
        self._lining_up = asyncio.Lock()

    @property
    def is_full(self) -> bool:
        return self._in_hand.total() >= ALONE

    @contextmanager
    def holding(self, experiment_id: UUID) -> Iterator[None]:
        """Count a draft of this experiment as in hand until the block ends."""
        self._in_hand[experiment_id] += 1
        try:
            yield
        finally:
            self._in_hand[experiment_id] -= 1
            if not self._in_hand[experiment_id]:
                del self._in_hand[experiment_id]

    async def next(self, provider: str) -> UUID | None:
        """The next draft in turn; None when none waits. Another worker may have taken it: then ask again."""
        line = self._lines.setdefault(provider, deque())
        if not line:
            async with self._lining_up:
                if not line:
                    line.extend(await self._lined_up(provider))
        return line.popleft() if line else None

    async def _lined_up(self, provider: str) -> list[UUID]:
        async with self._database.read() as session:
            return await due_drafts.in_turn(
                session, provider, self._clock.now(), in_hand=dict(self._in_hand), most=_MOST_LINED_UP
            )
