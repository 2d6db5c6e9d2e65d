"""The agent worker of one process: consumes hints from its queues and schedules what is due."""

import os
import socket
from collections.abc import Collection, Mapping, Sequence
from contextlib import suppress
from datetime import timedelta
from typing import Final
from uuid import UUID, uuid4

import structlog

from parley_lab.agent_worker.models import Limiter, Model
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.steps import CAUSE, take_step, take_steps
from parley_lab.agent_worker.thinking import Thinker
from parley_lab.answers.page_times import due_members
from parley_lab.base.background import Background, do_quietly
from parley_lab.base.clock import Clock
from parley_lab.base.errors import NotFound
from parley_lab.base.logs import go_on_with
from parley_lab.base.settings import read_settings
from parley_lab.base.urgency import is_urgent
from parley_lab.bus import Bus, Subscription
from parley_lab.contracts.hints import AGENT_STEPS, Hint, provider_of, provider_queue
from parley_lab.contracts.limits import Limit
from parley_lab.contracts.prompting import Prompts
from parley_lab.drafts import workers
from parley_lab.drafts.due_drafts import due_threads
from parley_lab.members.guarding import Guard
from parley_lab.people import transferring
from parley_lab.store.batcher import Batcher
from parley_lab.store.session import Database

log = structlog.get_logger(__name__)

_MOST_AT_ONCE: Final = 16


class Stepping:
    """Takes the steps of members for one process."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        # All consequences of a batch carry one correlation id, and one urgency.
        self._batcher = Batcher[tuple[str | None, bool], UUID, bool](self._take_all, most=_MOST_AT_ONCE)

    async def take(self, member_id: UUID, cause: str | None) -> None:
        """Do what is due for this member (see `take_step`); an unknown member has nothing to do.

        cause: the correlation id of the hint. Steps without one share the id of the first.
        """
        if not await self._batcher.do((cause, is_urgent()), member_id):
            await self._take_alone(member_id)

    async def _take_all(self, member_ids: Sequence[UUID]) -> Sequence[bool]:
        """Whether each of these members has stepped; the others do it each in a transaction of their own."""
        together: Collection[UUID] = dict.fromkeys(member_ids)
        if len(together) == 1:
            await self._take_alone(member_ids[0])
            return [True] * len(member_ids)
        alone = await self._database.transact(lambda session: take_steps(session, together, self._clock.now()))
        return [member_id not in alone for member_id in member_ids]

    async def _take_alone(self, member_id: UUID) -> None:
        with suppress(NotFound):
            if await self._database.transact(lambda session: take_step(session, member_id, self._clock.now())):
                await self._database.transact(
                    lambda session: transferring.resolve(session, member_id, self._clock.now(), cause=CAUSE)
                )


class Worker:
    """Consumes the steps of agents and the drafts of every provider in `models`.

    `limits`: the limits that this worker shares with all others of the lab, by name.
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
        self._background = Background()
        self._guard = Guard(database)
        self._id = uuid4()
        self._name = f"process {os.getpid()} on {socket.gethostname()}"
        self._limiter = Limiter(database, clock, limits or {})
        self._steps = Stepping(database, clock)
        self._thinker = Thinker(
            database=database,
            models=models,
            prompts=prompts,
            clock=clock,
            settings=self._settings,
            later=self._background.later,
            limiter=self._limiter,
            worker_id=self._id,
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
        await do_quietly(self.announce)
        self._background.repeat(self.publish_what_is_due, every_seconds=self._settings.poll_seconds)
        self._background.repeat(self.announce, every_seconds=self._settings.presence_seconds / 3)
        self._background.repeat(self._thinker.try_keys, every_seconds=self._settings.poll_seconds)

    async def stop(self) -> None:
        """Take nothing new, finish the work in hand, and drop the schedule: its rows stay."""
        await self._background.stop()
        await do_quietly(self._retire)
        self._thinker.let_no_one_wait()
        for subscription in self._subscriptions:
            await subscription.cancel()
        await self._background.finish()
        await self._limiter.aclose()
        for model in self._models.values():
            await model.aclose()

    async def on_member_changed(self, hint: Hint) -> None:
        go_on_with(hint.correlation)
        await self._steps.take(UUID(hint.id), hint.correlation)

    async def on_draft_wanted(self, hint: Hint) -> None:
        go_on_with(hint.correlation)
        await self._thinker.work_on_next(provider_of(hint.queue), UUID(hint.id))

    async def publish_what_is_due(self) -> None:
        """Publish every ready reply, and give every kept answer, that is due, whichever process saved it."""
        now = self._clock.now()
        async with self._database.transaction() as session:
            threads = await due_threads(session, now, but=self._guard.held("thread", now))
            members = await due_members(session, now, but=self._guard.held("member", now))

        async def publish(thread_id: UUID) -> None:
            go_on_with(threads[thread_id])
            await self._thinker.publish_due(thread_id)

        await self._guard.each("thread", threads, publish, now)
        await self._guard.each("member", members, self._thinker.give_due, now)

    async def announce(self) -> None:
        """Register this worker's providers. The registration expires after `presence_seconds`."""
        now = self._clock.now()
        until = now + timedelta(seconds=self._settings.presence_seconds)
        async with self._database.transaction() as session:
            await workers.announce(session, self._id, self._name, tuple(self._models), now, until)

    async def _retire(self) -> None:
        async with self._database.transaction() as session:
            await workers.retire(session, self._id)
