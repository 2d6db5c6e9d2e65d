"""Groups of those who are there, made by several orchestrators at once while people come and go."""

import asyncio
from collections import Counter
from functools import partial
from typing import Any
from uuid import UUID

import pytest

from parley_lab.answers.advancing import end_member
from parley_lab.members.standings import lock_standing
from parley_lab.orchestrator.meeting import make_groups
from parley_lab.people.presence import come
from parley_lab.store.databases import connect
from parley_lab.store.session import Database, Session
from tests.flows.drain import DrainLab

FILE = """
parley: 1
name: Groups of three in two arms
seed: {seed}
pace: live
stages: [{{id: play, kind: info, lines: [Hello], progress: {{wait_for_all: true}}}}]
treatments: [{{id: a}}, {{id: b}}]
personas: [{{id: ada}}]
cohorts: [{{made: when_together, at: play, count: {count}, seats: [{{open: true, count: 3}}, {{persona: ada}}]}}]
"""
PEOPLE = 20


async def gather_people(lab: DrainLab, experiment_id: UUID, *, people: int = PEOPLE) -> list[UUID]:
    """People who wait and are there."""
    found = [(await lab.join(experiment_id))[0] for _ in range(people)]
    async with lab.database.transaction() as session:
        for member_id in found:
            await come(session, member_id, lab.clock.now())
    return found


async def matches(lab: DrainLab, experiment_id: UUID) -> list[Any]:
    return await lab.rows(
        """
        SELECT x.number, x.people, x.given_back_at, c.treatment_id AS arm, c.path,
            ARRAY(SELECT m.id FROM members m WHERE m.cohort_id = c.id AND m.player = 'person' ORDER BY m.seat) AS here
        FROM matches x JOIN cohorts c ON c.id = x.cohort_id WHERE c.experiment_id = :id ORDER BY x.number
        """,
        id=experiment_id,
    )


async def leave(session: Session, member_id: UUID, lab: DrainLab) -> None:
    standing = await lock_standing(session, member_id)
    await end_member(session, standing, "left", "left", lab.clock.now(), cause="test")


@pytest.mark.race
async def test_two_orchestrators_put_no_one_in_two_groups_while_people_leave(
    database: Database, database_url: str
) -> None:
    other = connect(database_url, pool_size=10)
    try:
        for seed in range(3):
            lab = DrainLab(database)
            experiment_id = await lab.start(FILE.format(seed=seed, count=10))
            people = await gather_people(lab, experiment_id)
            gone = people[seed::7]

            await asyncio.gather(
                *(make_groups(one, lab.clock) for one in (database, other) for _ in range(3)),
                *(database.transact(partial(leave, member_id=one, lab=lab)) for one in gone),
            )
            await make_groups(database, lab.clock)

            found = await matches(lab, experiment_id)
            chosen = Counter(member for match in found for member in match.people)
            assert set(chosen.values()) == {1}
            assert all(len(match.people) == 3 for match in found)
            assert all({*match.here} == {*match.people} for match in found)
            left_before = [one for one in gone if one not in chosen]
            assert len(found) == (PEOPLE - len(left_before)) // 3
            arms = Counter(match.arm for match in found)
            assert abs(arms["a"] - arms["b"]) <= 1
    finally:
        await other.close()


async def test_two_orchestrators_keep_to_the_composition(database: Database, database_url: str) -> None:
    other = connect(database_url, pool_size=10)
    file = FILE.format(seed=1, count=10).replace(
        "seats: [{open: true, count: 3}",
        "match: {by: {variable: side}, want: {pro: 1, con: 2}}, seats: [{open: true, count: 3}",
    )
    side = "assigned: [{id: side, kind: balanced, values: [pro, con]}]\n"
    try:
        lab = DrainLab(database)
        experiment_id = await lab.start(file + side)
        await gather_people(lab, experiment_id)

        await asyncio.gather(*(make_groups(one, lab.clock) for one in (database, other) for _ in range(3)))

        found = await matches(lab, experiment_id)
        assigned = {
            row.id: row.side for row in await lab.rows("SELECT id, assigned #>> '{side,value}' AS side FROM members")
        }
        assert len(found) == PEOPLE // 2 // 2
        assert len({member for match in found for member in match.people}) == 3 * len(found)
        assert all(sorted(assigned[one] for one in match.people) == ["con", "con", "pro"] for match in found)
    finally:
        await other.close()


async def test_a_group_that_never_began_gives_its_draw_back(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(FILE.format(seed=1, count=2))
    first = await gather_people(lab, experiment_id, people=3)
    await make_groups(database, lab.clock)
    (agent,) = await lab.rows("SELECT id FROM members WHERE player = 'agent'")
    for member_id in (*first, agent.id):
        await database.transact(partial(leave, member_id=member_id, lab=lab))
    await lab.drain()
    (room,) = await lab.rows("SELECT groups, arms_left FROM rooms")
    (running,) = await lab.rows("SELECT status FROM experiments")

    await gather_people(lab, experiment_id, people=6)
    await make_groups(database, lab.clock)

    found = await matches(lab, experiment_id)
    assert (room.groups, len(room.arms_left), running.status) == (0, 2, "running")
    assert [match.given_back_at is not None for match in found] == [True, False, False]
    assert sorted(match.arm for match in found[1:]) == ["a", "b"]
    assert [match.path for match in found] == ["c1", "c2", "c3"]
