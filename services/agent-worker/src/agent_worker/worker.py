"""The agent worker of one process: takes hints off its queues and keeps what is due in mind."""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from datetime import timedelta
from functools import partial
from uuid import UUID, uuid4

import structlog

from agent_worker.models import Limiter, Model
from agent_worker.prompts import Prompts
from agent_worker.settings import WorkerSettings
from agent_worker.steps import take_step
from agent_worker.thinking import Thinker
from shared.acts.page_times import due_members
from shared.bus import Bus, NotNow, Subscription
from shared.clock import Clock
from shared.contracts.hints import AGENT_STEPS, Hint, provider_of, provider_queue
from shared.db import workers
from shared.db.due_drafts import due_threads
from shared.db.failures import is_deadlock
from shared.db.session import Database
from shared.errors import NotFound, Unavailable
from shared.limits import Limit
from shared.logs import correlation
from shared.settings import read_settings

log = structlog.get_logger(__name__)


class Worker:
    """Consumes the steps of agents and the drafts of every provider in `models`; `stop` finishes what is in hand.

    `limits` are those that this worker shares with all others of the lab, by name.
    """

    def __init__(
        self,
        *,
        database: Database,
        bus: Bus,
        models: Mapping[str, Model],
        prompts: Prompts,
        clock: Clock,
        settings: WorkerSettings | None = None,
        limits: Mapping[str, Limit] | None = None,
    ) -> None:
        self._database = database
        self._bus = bus
        self._models = models
        self._clock = clock
        self._settings = settings or read_settings(WorkerSettings)
        self._subscriptions: list[Subscription] = []
        self._running: set[asyncio.Task[None]] = set()
        self._timers: set[asyncio.TimerHandle] = set()
        self._id = uuid4()
        self._name = f"process {os.getpid()} on {socket.gethostname()}"
        self._loops: list[asyncio.Task[None]] = []
        self._limiter = Limiter(database, clock, limits or {})
        self._thinker = Thinker(
            database=database,
            models=models,
            prompts=prompts,
            clock=clock,
            settings=self._settings,
            later=self._later,
            limiter=self._limiter,
        )

    async def start(self) -> None:
        self._subscriptions.append(
            await self._bus.consume(AGENT_STEPS, self.on_member_changed, prefetch=self._settings.step_prefetch)
        )
        for provider in self._models:
            self._subscriptions.append(
                await self._bus.consume(
                    provider_queue(provider), self.on_draft_wanted, prefetch=self._settings.prefetch
                )
            )
        await self._quietly(self.announce)
        self._loops = [
            asyncio.create_task(self._every(self._settings.poll_seconds, self.publish_what_is_due)),
            asyncio.create_task(self._every(self._settings.presence_seconds / 3, self.announce)),
            asyncio.create_task(self._every(self._settings.poll_seconds, self._thinker.try_keys)),
        ]

    async def stop(self) -> None:
        """Take nothing new, finish what is in hand, let go of what is merely due: its rows stay."""
        for loop in self._loops:
            loop.cancel()
        await asyncio.gather(*self._loops, return_exceptions=True)
        await self._quietly(self._retire)
        for timer in self._timers:
            timer.cancel()
        self._thinker.let_nobody_wait()
        for subscription in self._subscriptions:
            await subscription.cancel()
        await asyncio.gather(*self._running, return_exceptions=True)
        await self._limiter.aclose()
        for model in self._models.values():
            await model.aclose()

    async def on_member_changed(self, hint: Hint) -> None:
        correlation.set(hint.correlation)
        await self._guarded(lambda: self._step(UUID(hint.id)))

    async def on_draft_wanted(self, hint: Hint) -> None:
        correlation.set(hint.correlation)
        provider = provider_of(hint.queue)
        await self._guarded(lambda: self._thinker.work_on_next(provider, UUID(hint.id)))

    async def publish_what_is_due(self) -> None:
        """Publish every ready reply, and give every answer, whose time has come, whoever saved it."""
        async with self._database.transaction() as session:
            threads = await due_threads(session, self._clock.now())
            members = await due_members(session, self._clock.now())
        for thread_id in threads:
            await self._quietly(partial(self._thinker.publish_due, thread_id))
        for member_id in members:
            await self._quietly(partial(self._thinker.give_due, member_id))

    async def announce(self) -> None:
        """Tell the lab which providers this worker serves; a worker that says no more is not believed for long."""
        now = self._clock.now()
        until = now + timedelta(seconds=self._settings.presence_seconds)
        async with self._database.transaction() as session:
            await workers.announce(session, self._id, self._name, tuple(self._models), now, until)

    async def _retire(self) -> None:
        async with self._database.transaction() as session:
            await workers.retire(session, self._id)

    async def _step(self, member_id: UUID) -> None:
        with suppress(NotFound):
            async with self._database.transaction() as session:
                await take_step(session, member_id, self._clock.now())

    async def _guarded(self, work: Callable[[], Awaitable[None]]) -> None:
        """Once more after a deadlock; `NotNow` when a part of the lab is away."""
        try:
            try:
                await work()
            except Exception as error:
                if not is_deadlock(error):
                    raise
                log.warning("deadlock.retried")
                await work()
        except NotNow:
            raise
        except Unavailable as error:
            raise NotNow(error.message) from error

    def _later(self, delay_seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        def begin() -> None:
            self._timers.discard(timer)
            task = asyncio.ensure_future(self._quietly(work))
            self._running.add(task)
            task.add_done_callback(self._running.discard)

        timer = asyncio.get_running_loop().call_later(delay_seconds, begin)
        self._timers.add(timer)

    async def _quietly(self, work: Callable[[], Awaitable[None]]) -> None:
        """What is due stands in a row: if this fails, the poll or the watchdog finds it."""
        try:
            await self._guarded(work)
        except Unavailable as error:
            log.warning("later.unavailable", reason=error.message)
        except Exception:
            log.exception("later.failed")

    async def _every(self, seconds: float, work: Callable[[], Awaitable[None]]) -> None:
        while True:
            await asyncio.sleep(seconds)
            await self._quietly(work)
