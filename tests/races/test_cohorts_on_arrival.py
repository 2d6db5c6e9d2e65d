"""Cohorts that people make by coming: however they come, no cohort has too many and none is begun beside a half one."""

import asyncio
from collections import Counter
from itertools import product
from uuid import UUID

import pytest

from parley_lab.base.errors import Conflict
from parley_lab.experiments import experiments
from parley_lab.experiments.ending import delete
from parley_lab.people.links import find
from parley_lab.settle.watch import find_stuck
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab
from tests.races.test_joining_race import crowd

DOCUMENT = """
parley: 1
name: Groups on arrival
seed: {seed}
pace: live
{more}
stages: [{{id: page, kind: info, lines: [Hello], progress: {{wait_for_all: true}}}}]
personas: [{{id: ada, profile: {{name: Ada}}}}]
cohorts: [{{made: on_arrival, count: {count}, seats: [{{open: true, count: {seats}}}, {{persona: ada}}]}}]
"""
ARMS = "treatments: [{id: a}, {id: b}]"
JOINING = "joining: by_arrival"
QUICK = ((5, JOINING), (12, ""), (20, ARMS))


def study(*, seats: int = 3, count: int = 4, seed: int = 7, more: str = "") -> str:
    return DOCUMENT.format(seats=seats, count=count, seed=seed, more=more)


async def groups(lab: DrainLab) -> list[tuple[str, int, int]]:
    """The arm, the people and the free seats of every cohort there is."""
    rows = await lab.rows(
        """
        SELECT c.treatment_id AS arm, count(*) FILTER (WHERE m.status = 'in_progress') AS people,
            count(*) FILTER (WHERE m.status = 'expected') AS free
        FROM cohorts c JOIN members m ON m.cohort_id = c.id AND m.player = 'person' GROUP BY c.id, c.treatment_id
        """
    )
    return [tuple(row) for row in rows]


async def state(database: Database, experiment_id: UUID) -> str:
    async with database.transaction() as session:
        code = (await experiments.find(session, experiment_id)).join_code
        return (await find(session, code)).state


@pytest.mark.race
@pytest.mark.parametrize(
    ("people", "more"),
    quick_first(sorted(product((1, 5, 12, 20), ("", JOINING, ARMS)), key=lambda one: one not in QUICK), len(QUICK)),
)
async def test_no_schedule_of_joins_passes_the_maximum_or_leaves_two_half_groups_in_an_arm(
    database: Database, database_url: str, more: str, people: int
) -> None:
    for seed in range(3):
        lab = DrainLab(database)
        experiment_id = await lab.start(study(more=more, seed=seed))
        before = await state(database, experiment_id)

        outcomes = await crowd(database_url, experiment_id, lab.clock.now(), people=people)

        assert before == "open"
        assert Counter(outcomes) == Counter(seated=min(people, 12), full=max(0, people - 12)) - Counter()
        made = await groups(lab)
        assert all(taken + free == 3 and taken > 0 for _, taken, free in made)
        assert all(number <= 1 for number in Counter(arm for arm, _, free in made if free).values())
        assert await state(database, experiment_id) == ("full" if people >= 12 else "open")
        await delete(database, experiment_id, lab.clock.now())


@pytest.mark.race
async def test_ten_who_join_at_once_for_one_seat_get_it_once(database: Database, database_url: str) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(study(seats=1, count=1))

    outcomes = await crowd(database_url, experiment_id, lab.clock.now(), people=10)

    assert Counter(outcomes) == {"seated": 1, "full": 9}


async def test_agents_of_a_group_begin_with_its_first_person_and_the_study_ends_with_the_last_group(
    database: Database,
) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(study(seats=1, count=2))
    await lab.drain()
    assert await lab.overlooked() == []
    empty = await lab.rows("SELECT 1 AS one FROM members")
    async with database.transaction() as session:
        stuck = await find_stuck(session, experiment_id)
    statuses = []

    for _ in range(2):
        member_id, _ = await lab.join(experiment_id)
        await lab.drain()
        await lab.rows(
            "UPDATE members SET position = 1, status = 'completed' WHERE id = :id RETURNING id", id=member_id
        )
        hints = await lab.rows("UPDATE streams SET unsettled = last + 1 RETURNING cohort_id")
        assert hints
        lab.hints += await lab.overlooked()
        await lab.drain()
        await lab.overlooked()
        (row,) = await lab.rows("SELECT status FROM experiments")
        statuses.append(row.status)

    assert (empty, stuck) == ([], ())
    assert [row.path for row in await lab.rows("SELECT path FROM members ORDER BY path")] == [
        "c1/m1",
        "c1/m2",
        "c2/m1",
        "c2/m2",
    ]
    assert statuses == ["running", "ended"]


async def test_no_one_makes_a_group_in_a_study_that_is_paused(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(study())
    await lab.rows(
        "UPDATE experiments SET status = 'paused', paused_at = now(), pause_reason = 'requested' RETURNING id"
    )

    with pytest.raises(Conflict) as refused:
        await lab.join(experiment_id)

    assert refused.value.reason == "paused"
    assert await lab.rows("SELECT 1 AS one FROM cohorts") == []


async def test_values_that_are_balanced_go_on_over_groups(database: Database) -> None:
    balanced = "assigned: [{id: word, kind: balanced, values: [one, two, three]}]"
    lab = DrainLab(database)
    experiment_id = await lab.start(study(seats=1, more=balanced))

    await asyncio.gather(*(lab.join(experiment_id) for _ in range(3)))

    given = await lab.rows("SELECT assigned -> 'word' ->> 'value' AS word FROM members")
    assert Counter(row.word for row in given) == {"one": 2, "two": 2, "three": 2}
