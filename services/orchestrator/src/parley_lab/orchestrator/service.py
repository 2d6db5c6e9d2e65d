"""The orchestrator of one process: settles cohorts as they are announced, fires timers, announces what is overdue."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Final
from uuid import UUID

import structlog

from parley_lab.base.background import Background, do_quietly
from parley_lab.base.clock import Clock
from parley_lab.base.logs import go_on_with
from parley_lab.base.settings import read_settings
from parley_lab.bus import Bus, Subscription
from parley_lab.contracts.hints import ORCHESTRATOR, SCRIPTED_COHORTS, TIMER_ARMED, Hint, provider_queue
from parley_lab.drafts.due_drafts import overdue, overdue_hints, queued
from parley_lab.experiments import retention
from parley_lab.members import held_cohorts
from parley_lab.members.guarding import Guard
from parley_lab.members.person_ids import mend_compared
from parley_lab.orchestrator.meeting import make_groups
from parley_lab.orchestrator.playing_out import play_out
from parley_lab.orchestrator.presence import look_for_gone
from parley_lab.orchestrator.settings import OrchestratorSettings
from parley_lab.orchestrator.settling import fire_due_timers, settle
from parley_lab.settle import timers, unsettled
from parley_lab.settle.settling import CohortBusy, end_when_done
from parley_lab.store.failures import retry_deadlocks
from parley_lab.store.session import WHOLE_EXPERIMENT_SECONDS, Database

log = structlog.get_logger(__name__)
_REST_SECONDS_PER_MEMBER: Final = 0.0005
_SHORTEST_REST_SECONDS: Final = 0.01
_FIRST_FORGETTING_SECONDS: Final = 60.0


class Orchestrator:
    """Runs one settle per cohort at a time; what arrives meanwhile is merged into one more run."""

    def __init__(
        self, *, database: Database, bus: Bus, clock: Clock, settings: OrchestratorSettings | None = None
    ) -> None:
        self._database = database
        self._bus = bus
        self._clock = clock
        self._settings = settings or read_settings(OrchestratorSettings)
        self._repeater = Repeater(self._settings.watch_seconds)
        self._subscription: Subscription | None = None
        self._background = Background()
        self._guard = Guard(database)
        self._settling: set[UUID] = set()
        self._again: set[UUID] = set()

    async def start(self) -> None:
        self._subscription = await self._bus.consume(ORCHESTRATOR, self.on_unsettled, prefetch=self._settings.prefetch)
        self._background.repeat(self._fire_timers, every_seconds=self._settings.timer_seconds)
        self._background.repeat(self._look_into_rooms, every_seconds=self._settings.room_seconds)
        self._background.repeat(self.watch, every_seconds=self._settings.watch_seconds)
        self._background.repeat(self._look_for_gone, every_seconds=self._settings.watch_seconds)
        # Also soon: a process may never run for as long as lies between two looks.
        self._background.later(_FIRST_FORGETTING_SECONDS, self.forget_people)
        self._background.repeat(self.forget_people, every_seconds=self._settings.forget_seconds)
        self._background.later(_FIRST_FORGETTING_SECONDS, self.mend_ids)
        self._background.repeat(self.mend_ids, every_seconds=self._settings.forget_seconds)

    async def stop(self) -> None:
        await self._background.stop()
        if self._subscription is not None:
            await self._subscription.cancel()
        await self._background.finish()

    async def on_unsettled(self, hint: Hint) -> None:
        go_on_with(hint.correlation)
        if hint.type == SCRIPTED_COHORTS:
            await play_out(self._database, UUID(hint.id), self._clock.now())
        elif hint.type == TIMER_ARMED:
            await self._expect(UUID(hint.id))
        else:
            await self.settle(UUID(hint.id))

    async def settle(self, cohort_id: UUID) -> None:
        """Settle the cohort, or have the run that is under way do it once more."""
        if cohort_id in self._settling:
            self._again.add(cohort_id)
            return
        self._settling.add(cohort_id)
        rest_seconds = 0.0
        try:
            rest_seconds = await self._settle_or_hold(cohort_id)
        finally:
            if rest_seconds == 0:
                self._settling.discard(cohort_id)
                self._again.discard(cohort_id)
        if rest_seconds:
            self._background.later(rest_seconds, partial(self._end_rest, cohort_id))

    async def _settle_or_hold(self, cohort_id: UUID) -> float:
        """`_settle_until_quiet`; a cohort whose rules fail is held, and tried again ever more rarely."""
        is_tried = not self._guard.seconds_left("cohort", cohort_id, self._clock.now())
        rest_seconds = await self._guard.do(
            "cohort", cohort_id, partial(self._settle_until_quiet, cohort_id), self._clock.now()
        )
        if is_tried and (pause := self._guard.seconds_left("cohort", cohort_id, self._clock.now())):
            self._background.later(pause, partial(self.settle, cohort_id))
        return rest_seconds or 0.0

    async def _settle_until_quiet(self, cohort_id: UUID) -> float:
        """Returns for how many seconds the cohort is to be left alone now."""
        try:
            while True:
                # A run may have seen what several hints are about.
                members = await retry_deadlocks(
                    lambda: settle(self._database, cohort_id, self._clock.now(), only_unsettled=True)
                )
                if rest_seconds := _rest_seconds(members):
                    return rest_seconds
                if not await self._has_more(cohort_id):
                    return 0.0
        except CohortBusy:
            self._background.later(self._settings.retry_seconds, partial(self.settle, cohort_id))
        return 0.0

    async def _end_rest(self, cohort_id: UUID) -> None:
        """Settle the cohort for all that was announced during its rest, if the last look has not seen it.

        While Postgres is away the watchdog announces it again.
        """
        try:
            has_more = await self._has_more(cohort_id)
        finally:
            self._settling.discard(cohort_id)
            self._again.discard(cohort_id)
        if has_more:
            await self.settle(cohort_id)

    async def _has_more(self, cohort_id: UUID) -> bool:
        """Whether anything was announced meanwhile that the last run has not seen already."""
        while cohort_id in self._again:
            self._again.discard(cohort_id)
            async with self._database.read() as session:
                if await unsettled.is_unsettled(session, cohort_id):
                    return True
        return False

    async def _expect(self, timer_id: UUID) -> None:
        """Fire this timer on time; were the process gone by then, the next look for due timers finds it."""
        async with self._database.read() as session:
            due_at = await timers.due_at(session, timer_id)
        if due_at is not None:
            self._background.later(max(0.0, (due_at - self._clock.now()).total_seconds()), self._fire_timers)

    async def _fire_timers(self) -> None:
        await fire_due_timers(self._database, self._clock.now(), self._guard)

    async def _look_for_gone(self) -> None:
        await look_for_gone(self._database, self._clock.now(), self._guard)

    async def _look_into_rooms(self) -> None:
        await make_groups(self._database, self._clock, self._guard)

    async def forget_people(self) -> None:
        """Delete the data of people in experiments whose time is over, each in a transaction of its own."""
        now = self._clock.now()
        async with self._database.read() as session:
            held = self._guard.held("experiment", now)
            found = await retention.due(session, now, self._settings.keep_personal_days, but=held)

        async def forget(experiment_id: UUID) -> None:
            async with self._database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
                if await retention.forget_people(session, experiment_id, now):
                    log.info("people.forgotten", experiment=str(experiment_id))

        await self._guard.each("experiment", found, forget, now)

    async def mend_ids(self) -> None:
        """Mend how ids of people compare that services of an earlier version stored or deleted during an upgrade."""
        has_more = True
        while has_more:
            async with self._database.transaction() as session:
                has_more = await mend_compared(session)

    async def watch(self) -> None:
        """Announce overdue work: drafts that no worker took, expired leases, unsettled cohorts and agents."""
        now = self._clock.now()
        before = now - timedelta(seconds=self._settings.overdue_seconds)
        async with self._database.transaction() as session:
            waiting = await overdue(session, now, before)
            on_their_way = await queued(session)
            hints = [
                *await unsettled.unsettled(session),
                *await unsettled.unstepped(session),
            ]
            finished = await unsettled.finished_experiments(session)
            settled_again = await held_cohorts.settled_again(session)

        async def end(experiment_id: UUID) -> None:
            async with self._database.transaction() as session:
                await end_when_done(session, experiment_id, now)

        async def release(cohort_id: UUID) -> None:
            async with self._database.transaction() as session:
                await held_cohorts.release(session, cohort_id, now)

        await self._guard.each("experiment", finished, end, now)
        await self._guard.each("cohort", settled_again, release, now)

        async def look_for_drafts(provider: str, drafts: int) -> None:
            queue = provider_queue(provider)
            # Every hint brings a draft, so of those that wait as many are safe as there are hints.
            safe = on_their_way.get(queue, 0) + await self._bus.waiting(queue)
            if drafts > safe:
                async with self._database.read() as reading:
                    hints.extend(await overdue_hints(reading, provider, now, before, safe=safe))

        for provider, drafts in waiting.items():
            # A queue that the broker refuses holds back neither cohorts nor the drafts of others.
            await do_quietly(partial(look_for_drafts, provider, drafts))
        chosen = self._repeater.due(hints, now.timestamp())
        if chosen:
            log.info("watch.announced", hints=len(chosen))
            await self._bus.publish(chosen)


def _rest_seconds(members: int) -> float:
    """How long a cohort is left alone after it was settled; small ones are looked at again at once.

    A look takes time by the member, and in a big cohort some member moves all the time: without a rest its looks would
    cost with the square of its members.
    """
    rest_seconds = members * _REST_SECONDS_PER_MEMBER
    return rest_seconds if rest_seconds >= _SHORTEST_REST_SECONDS else 0.0


LONGEST_PAUSE_SECONDS = 300.0


@dataclass(slots=True)
class Repeater:
    """Lets a hint through at once, then ever more rarely for as long as it keeps being overdue.

    Drafts of a provider without workers would otherwise fill its queue without bound.
    """

    first_pause_seconds: float
    _next: dict[Hint, tuple[float, float]] = field(default_factory=dict)

    def due(self, hints: Iterable[Hint], now_seconds: float) -> list[Hint]:
        """Those of `hints`, all that are overdue now, which are to be announced."""
        overdue = list(dict.fromkeys(hints))
        chosen = [hint for hint in overdue if self._next.get(hint, (now_seconds, 0.0))[0] <= now_seconds]
        kept = {hint: self._next[hint] for hint in overdue if hint in self._next}
        for hint in chosen:
            _, pause = kept.get(hint, (0.0, self.first_pause_seconds / 2))
            pause = min(pause * 2, LONGEST_PAUSE_SECONDS)
            kept[hint] = (now_seconds + pause, pause)
        self._next = kept
        return chosen
