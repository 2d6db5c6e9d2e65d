"""Pauses during parallel work: nothing changes in between, and everything comes to its end."""

import asyncio
from functools import partial
from random import Random
from typing import Any, Final
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.agent_worker.models import build_models
from parley_lab.answers.advancing import move_on
from parley_lab.base.errors import Conflict, Paused
from parley_lab.drafts.due_drafts import due_threads
from parley_lab.experiments import pausing
from parley_lab.members.standings import lock_standing
from parley_lab.people.joining import join
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab, empty
from tests.flows.test_chaos import CHAOS, FIRST_TALKS, SECOND_TALKS, WRONG, Chaos, Unreliable, _refused
from tests.flows.test_deliberation import DELIBERATION, the_data
from tests.flows.test_same_data import TALK, TALKS

WHAT_MUST_STAY: Final = """
    SELECT 'message' AS what, g.id::text AS place, '' AS fact FROM messages g
    UNION ALL SELECT 'position', m.path, m.position::text FROM members m
    UNION ALL SELECT 'joined', m.path, '' FROM members m WHERE m.status <> 'expected'
    UNION ALL SELECT 'ask', k.path, '' FROM asks k
    UNION ALL SELECT 'draft', d.path, '' FROM drafts d
    UNION ALL SELECT 'stage', s.cohort_id::text, s.stage_id || s.draws::text || coalesce(s.state::text, '')
        FROM cohort_stages s
    UNION ALL SELECT 'reaction', r.message_id::text, r.member_id::text FROM reactions r
    UNION ALL SELECT 'timer', t.path, t.state || coalesce(t.remaining_ms::text, '') || coalesce(t.due_at::text, '')
        FROM timers t
    UNION ALL SELECT 'cohort', c.path, c.status FROM cohorts c
    ORDER BY 1, 2, 3
"""
"""What must not change in a pause. A reply in the making is stored: calls, answers and states of drafts may change."""


async def what_is_stored(database: Database) -> list[Any]:
    async with database.transaction() as session:
        return list(await session.all(text(WHAT_MUST_STAY)))


class ChaosWithPauses(Chaos):
    """The chaos of `Chaos`, with pauses in the middle."""

    async def pause_in_the_middle(self) -> tuple[list[Any], list[Any]]:
        """The state at the pause, and after all work in flight has ended."""
        hints = self._some_hints()
        rush = [*map(self._handle, hints), *(self._act() for _ in range(6)), *map(self._settle_quietly, self._cohorts)]
        *_, kept = await asyncio.gather(*rush, self._paused_after(self._rng.choice((0, 1, 5, 20))))
        assert isinstance(kept, list)
        return kept, await what_is_stored(self._lab.database)

    async def _paused_after(self, turns: int) -> list[Any]:
        for _ in range(turns):
            await asyncio.sleep(0)
        await pause(self._lab, self._experiment_id)
        return await what_is_stored(self._lab.database)

    async def try_everything(self) -> None:
        """Try everything in a pause, hints and time included; refusals are expected."""
        for _ in range(4):
            self._lab.hints += await self._overlooked()
            await asyncio.gather(
                *map(self._handle, self._some_hints() * 2),
                *map(self._settle_quietly, self._cohorts),
                *(_refused(partial(self._step, member_id)) for member_id in self._members),
                *(_refused(act) for act in (self._say_something, self._go_on, self._let_time_pass, self._publish_due)),
                _refused(self._join),
            )

    async def _settle_quietly(self, cohort_id: UUID) -> None:
        await _refused(partial(self._settle, cohort_id))

    async def _join(self) -> None:
        async with self._lab.database.transaction() as session:
            now = self._lab.clock.now()
            member_id, _ = await join(session, self._experiment_id, now, cohort_id=None, profile=None)
        self._people.append(member_id)

    async def _go_on(self) -> None:
        async with self._lab.database.transaction() as session:
            standing = await lock_standing(session, self._rng.choice(self._people))
            # As the gateway does for people.
            if standing.is_paused:
                raise Paused
            if standing.is_in_progress and standing.stage is not None and not standing.is_locked:
                await move_on(session, standing, self._lab.clock.now(), cause="test")


async def pause(lab: DrainLab, experiment_id: UUID) -> bool:
    async with lab.database.transaction() as session:
        return await pausing.pause(session, experiment_id, lab.clock.now())


async def resume(lab: DrainLab, experiment_id: UUID) -> bool:
    async with lab.database.transaction() as session:
        return await pausing.resume(session, experiment_id, lab.clock.now())


@pytest.mark.race
@pytest.mark.parametrize("seed", quick_first((1, 0, 2, 3), 1))
async def test_nothing_moves_in_a_pause_that_comes_in_the_middle_and_all_ends_after_it(
    database: Database, seed: int
) -> None:
    rng = Random(seed)
    model = Unreliable(build_models({})["mock"], rng)
    lab = DrainLab(database, models={"mock": model})
    document = CHAOS.format(
        seed=seed,
        pace=("live", "fast")[seed % 2],
        waits=rng.choice(("true", "false")),
        limit=rng.choice((60, 600)),
        first=FIRST_TALKS[(seed + 1) % len(FIRST_TALKS)],
        second=SECOND_TALKS[(seed // 2 + 1) % len(SECOND_TALKS)],
    )
    experiment_id = await lab.start(document)
    chaos = ChaosWithPauses(lab, rng, experiment_id)
    await chaos.let_people_in()

    for _ in range(10):
        await chaos.rage(rounds=8)
        try:
            kept, remains = await chaos.pause_in_the_middle()
        except Conflict:
            # All went so quickly that it was over before.
            break
        assert remains == kept, "what was under way came after the pause"
        calls = len(model.paths)
        await chaos.try_everything()
        assert await what_is_stored(database) == kept
        assert len(model.paths) == calls, "a model was asked in the pause"
        assert not await lab.rows("SELECT 1 FROM timers WHERE state = 'armed'")
        assert await resume(lab, experiment_id)
        assert not await lab.rows("SELECT 1 FROM timers WHERE state = 'held'")
    await chaos.send_people_home()
    await chaos.calm_down()

    assert [row.status for row in await lab.rows("SELECT status FROM experiments")] == ["ended"]
    for name, query in WRONG.items():
        assert not await lab.rows(query), name
    assert len(model.paths) == len(set(model.paths)) == len(await lab.rows("SELECT 1 FROM model_calls"))


@pytest.mark.parametrize(
    "document", quick_first([DELIBERATION, *(TALK.format(talk=talk) for talk in TALKS.values())], 1)
)
async def test_a_run_that_is_paused_again_and_again_comes_to_the_data_of_one_that_is_not(
    database: Database, document: str
) -> None:
    expected = await _undisturbed(database, document)
    lab = DrainLab(database, rng=Random(3))
    experiment_id = await lab.start(document)

    for number in range(300):
        for _ in range(3):
            if lab.hints:
                await lab.deliver(lab.next_hints())
        if number % 5 == 0 and await _is(lab, "running"):
            await pause(lab, experiment_id)
            await lab.drain()
            lab.clock.advance(1000)
            await resume(lab, experiment_id)
            if number % 2:
                # The hints of the resumption are lost; the watchdog finds what they were about.
                lab.hints = await _watch(lab)
    await lab.drain()

    assert await _is(lab, "ended")
    assert await the_data(lab) == expected


async def _undisturbed(database: Database, document: str) -> dict[str, list[Any]]:
    lab = DrainLab(database)
    await lab.start(document)
    await lab.drain()
    data = await the_data(lab)
    await empty(database)
    return data


async def _is(lab: DrainLab, status: str) -> bool:
    return [row.status for row in await lab.rows("SELECT status FROM experiments")] == [status]


async def _watch(lab: DrainLab) -> list[Any]:
    async with lab.database.transaction() as session:
        found = await due_threads(session, lab.clock.now())
    for thread_id in found:
        await lab.thinker.publish_due(thread_id)
    return list(await lab.overlooked())


async def test_resuming_at_the_same_time_is_resuming_once(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(DELIBERATION)
    await pause(lab, experiment_id)

    resumed = await asyncio.gather(*(resume(lab, experiment_id) for _ in range(5)))
    paused = await asyncio.gather(*(pause(lab, experiment_id) for _ in range(5)))

    assert sorted(resumed) == sorted(paused) == [False, False, False, False, True]
    events = await lab.rows("SELECT type FROM events WHERE type LIKE 'experiment.%' ORDER BY seq")
    cohorts = 2
    assert [row.type for row in events] == [
        *["experiment.paused"] * cohorts, *["experiment.resumed"] * cohorts, *["experiment.paused"] * cohorts,
    ]  # fmt: skip
