"""The whole lab in one loop: every hint is handled until none is left, without sleeping or other processes."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from random import Random
from typing import Any
from uuid import UUID, uuid4

import httpx2
from sqlalchemy import text

from parley_lab.agent_worker.models import Model, build_models
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.thinking import Thinker
from parley_lab.agent_worker.worker import Stepping
from parley_lab.base.logs import correlation
from parley_lab.contracts.experiment import Profile
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, SCRIPTED_COHORTS, TIMER_ARMED, Hint
from parley_lab.contracts.prompting import PromptClient
from parley_lab.design import Experiment, load
from parley_lab.drafts.due_drafts import overdue, overdue_hints
from parley_lab.drafts.prompts import PROMPT
from parley_lab.experiments import starting
from parley_lab.orchestrator.playing_out import play_out
from parley_lab.orchestrator.settling import fire_due_timers, settle
from parley_lab.people.joining import join
from parley_lab.prompt_builder.app import create_app
from parley_lab.settle import unsettled
from parley_lab.settle.settling import CohortBusy, end_when_done
from parley_lab.store import tables
from parley_lab.store.session import Database
from parley_lab.testing.fake_clock import FakeClock

ENOUGH = 20_000

_CALLS = f"""
    SELECT k.path, k.draft_id, k.attempt, k.status, k.settings, d.stage_id, m.path AS member_path,
        m.profile ->> 'name' AS name, {PROMPT} AS prompt
    FROM model_calls k JOIN drafts d ON d.id = k.draft_id JOIN members m ON m.id = d.member_id ORDER BY k.path
"""  # noqa: S608 - put together from constants


@lru_cache(maxsize=16)
def load_text(document: str) -> Experiment:
    """The experiment of this text. JSON is read as such: as YAML it takes many times as long."""
    return load(document, "test.json" if document.startswith("{") else "test.yaml")


async def empty(database: Database) -> None:
    """Delete all experimenters and experiments with all that belongs to them.

    To truncate the tables takes twenty times as long, and the database could be used by no other test.
    """
    deleted = ", ".join(f"{name}_gone AS (DELETE FROM {name})" for name in _below("experiments", "experimenters"))  # noqa: S608
    async with database.transaction() as session:
        await session.run(text("SET LOCAL session_replication_role = replica"))
        await session.run(text(f"WITH {deleted} SELECT 1"))


def _below(*names: str) -> set[str]:
    """These tables, and all whose rows belong to rows of them."""
    found, known = set(names), tables.metadata.tables.items()
    while more := {
        name
        for name, one in known
        if name not in found and any(key.column.table.name in found for key in one.foreign_keys)
    }:
        found |= more
    return found


class DrainLab:
    """A lab on `database` whose hints are drained by the test.

    `deliveries` says how often each hint is delivered, at the same time; `rng` shuffles the order of hints.
    `one_by_one`: cohorts of scripts are settled like all others instead of being played out together.
    """

    def __init__(
        self,
        database: Database,
        *,
        models: Mapping[str, Model] | None = None,
        deliveries: int = 1,
        rng: Random | None = None,
        together: int = 1,
        one_by_one: bool = False,
        settings: WorkerSettings | None = None,
    ) -> None:
        self.database = database
        self.clock = FakeClock(datetime(2026, 1, 1, tzinfo=UTC))
        self.watched: UUID | None = None
        """The experiment whose cohorts are settled again when they are at rest; None: some of all."""
        self.hints: list[Hint] = []
        self.later: list[tuple[float, Callable[[], Awaitable[None]]]] = []
        self._deliveries = deliveries
        self._rng = rng
        self._together = together
        self._one_by_one = one_by_one
        self._busy: set[UUID] = set()
        self._rested_at: dict[UUID, tuple[datetime, Any]] = {}
        """When a cohort was last found at rest, and its row of then."""
        self._draining = asyncio.Lock()
        database.on_commit = self._collect
        transport = httpx2.ASGITransport(app=create_app(database))
        self.prompts = PromptClient(httpx2.AsyncClient(transport=transport, base_url="http://prompts"))
        self.stepping = Stepping(database, self.clock)
        self.thinker = Thinker(
            database=database,
            models=models or build_models({}),
            prompts=self.prompts,
            clock=self.clock,
            settings=settings or WorkerSettings(),
            later=lambda delay, work: self.later.append((delay, work)),
        )

    def _collect(self, rows: Sequence[tuple[int, Hint]]) -> None:
        self.hints += [hint for _, hint in rows]

    async def start(self, document: str) -> UUID:
        owner_id = uuid4()
        experiment = load_text(document)
        async with self.database.transaction() as session:
            owner = {"id": owner_id, "name": str(owner_id), "created_at": self.clock.now()}
            await session.insert(tables.experimenters, [owner])
            experiment_id = await starting.create(session, owner_id, experiment, self.clock.now())
        async with self.database.transaction() as session:
            await starting.start(session, experiment_id, self.clock.now())
        return experiment_id

    async def join(self, experiment_id: UUID, profile: Profile | None = None) -> tuple[UUID, str]:
        """The id and the token of a person who has taken the next open seat."""
        async with self.database.transaction() as session:
            return await join(session, experiment_id, self.clock.now(), cohort_id=None, profile=profile)

    async def drain(self) -> None:
        """Handle hints, and let time pass when nothing else is left to do, until the lab is at rest.

        Two requests that are sent at once drain it one after the other: at rest no other settle may hold a cohort.
        """
        async with self._draining:
            await self._drain()

    async def _drain(self) -> None:
        for _ in range(ENOUGH):
            if self.hints:
                await self.deliver(self.next_hints())
            elif self.later:
                self.later.sort(key=lambda one: one[0])
                delay, work = self.later.pop(0)
                self.clock.advance(delay)
                self.later = [(max(0.0, other - delay), then) for other, then in self.later]
                await work()
            else:
                await self._settling_again_does_nothing()
                return
        raise AssertionError("the lab never comes to rest")

    async def _settling_again_does_nothing(self) -> None:
        """A cohort at rest has all that is due in it done, whatever was announced and whatever was not."""
        query = """
            SELECT c.id, v.last, (SELECT sum(m.version) FROM members m WHERE m.cohort_id = c.id) AS versions,
                (SELECT count(*) FROM timers t WHERE t.cohort_id = c.id) AS timers, e.xmin::text AS experiment,
                (SELECT max(d.xmin::text::bigint) FROM drafts d WHERE d.cohort_id = c.id) AS drafts,
                (SELECT max(a.xmin::text::bigint) FROM asks a WHERE a.cohort_id = c.id) AS asks,
                (SELECT max(h.xmin::text::bigint) FROM threads h WHERE h.cohort_id = c.id) AS threads
            FROM cohorts c JOIN streams v ON v.cohort_id = c.id JOIN experiments e ON e.id = c.experiment_id
            WHERE c.status = 'running' AND (cast(:watched AS uuid) IS NULL OR c.experiment_id = :watched)
            ORDER BY c.id LIMIT 20
        """
        before = await self.rows(query, watched=self.watched)
        moved = [cohort for cohort in before if self._rested_at.get(cohort.id) != (self.clock.now(), cohort)]
        for cohort in moved:
            await settle(self.database, cohort.id, self.clock.now())
        assert not moved or await self.rows(query, watched=self.watched) == before, (
            "something was due that nothing had announced"
        )
        assert self.hints == []
        self._rested_at |= {cohort.id: (self.clock.now(), cohort) for cohort in moved}

    def next_hints(self) -> list[Hint]:
        if self._rng is not None:
            self._rng.shuffle(self.hints)
        chosen, self.hints = self.hints[: self._together], self.hints[self._together :]
        return chosen * self._deliveries

    async def deliver(self, hints: Sequence[Hint]) -> None:
        """Handle these hints at the same time."""
        await asyncio.gather(*(self._handle(hint) for hint in hints))
        busy, self._busy = self._busy, set()
        for cohort_id in busy:
            await self._handle(Hint(ORCHESTRATOR, "cohort.unsettled", str(cohort_id)))
        # The process that ends an experiment may hold a cohort for longer.
        self.hints += [Hint(ORCHESTRATOR, "cohort.unsettled", str(cohort_id)) for cohort_id in self._busy]
        self._busy.clear()

    async def _handle(self, hint: Hint) -> None:
        if hint.type == SCRIPTED_COHORTS:
            if self._one_by_one:
                await self._announce_cohorts(UUID(hint.id))
            else:
                await play_out(self.database, UUID(hint.id), self.clock.now())
        elif hint.type == TIMER_ARMED:
            (timer,) = await self.rows("SELECT due_at FROM timers WHERE id = :id", id=UUID(hint.id))
            # A pause that came first holds it, and it is armed again afterwards.
            if timer.due_at is None:
                return
            self.later.append((max(0.0, (timer.due_at - self.clock.now()).total_seconds()), self.fire_timers))
        elif hint.queue == ORCHESTRATOR:
            try:
                await settle(self.database, UUID(hint.id), self.clock.now())
            except CohortBusy:
                self._busy.add(UUID(hint.id))
        elif hint.queue == AGENT_STEPS:
            await self.step(UUID(hint.id))
        else:
            await self.thinker.work_on(UUID(hint.id))

    async def step(self, member_id: UUID) -> None:
        """Let an agent take its step, and answer the offer of a move that it finds, as a worker does."""
        await self.stepping.take(member_id, correlation.get())

    async def _announce_cohorts(self, experiment_id: UUID) -> None:
        found = await self.rows("SELECT id FROM cohorts WHERE experiment_id = :id", id=experiment_id)
        self.hints += [Hint(ORCHESTRATOR, "cohort.unsettled", str(row.id)) for row in found]

    async def overlooked(self) -> list[Hint]:
        """What a watchdog would announce now; ends what has ended, as it does."""
        now = self.clock.now()
        async with self.database.transaction() as session:
            hints = [
                *[
                    hint
                    for each in await overdue(session, now, now)
                    for hint in await overdue_hints(session, each, now, now)
                ],
                *await unsettled.unsettled(session),
                *await unsettled.unstepped(session),
            ]
            finished = await unsettled.finished_experiments(session)
        for experiment_id in finished:
            async with self.database.transaction() as session:
                await end_when_done(session, experiment_id, now)
        return hints

    async def fire_timers(self) -> None:
        await fire_due_timers(self.database, self.clock.now())

    async def calls(self) -> list[Any]:
        """The calls of models in the order of their paths, with their stages, their members and whole prompts."""
        return await self.rows(_CALLS)

    async def rows(self, query: str, **params: Any) -> list[Any]:
        async with self.database.transaction() as session:
            return list(await session.all(text(query), params))


async def all_but_one(works: list[asyncio.Task[None]]) -> None:
    """Return when all of these are over except one, which is held."""
    for number, over in enumerate(asyncio.as_completed(works), 2):
        await over
        if number == len(works):
            return
