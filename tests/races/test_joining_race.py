"""Simultaneous joins: blocks, capacity and filling hold as if people had come in turn."""

import asyncio
from collections import Counter
from datetime import datetime
from itertools import groupby
from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.base.errors import Conflict, Paused, Unavailable
from parley_lab.experiments import pausing
from parley_lab.people.joining import join
from parley_lab.store.databases import connect
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

DOCUMENT = """
parley: 1
name: A crowd
seed: 7
pace: live
{rule}
stages: [{{id: page, kind: info, lines: [Hello]}}]
treatments: [{{id: a}}, {{id: b}}, {{id: c}}]
cohorts: [{{count: 12, seats: [{{open: true, count: 2}}]}}]
"""
WEIGHTED = """
parley: 1
name: Two to one
seed: 7
pace: live
stages: [{id: page, kind: info, lines: [Hello]}]
treatments: [{id: a}, {id: b}]
allocation: { weights: { a: 2 } }
cohorts: [{count: 30, seats: [{open: true, count: 2}]}]
"""
SEATS = 24
LABS = 3
POOL = 10
MOST_TRIES = 3
"""Connections of each; a server has 100, and other tests use it meanwhile."""


async def crowd(
    url: str, experiment_id: UUID, now: datetime, *, people: int, named: dict[int, UUID] | None = None
) -> list[str]:
    """Let all join at once, over the pools of several processes; returns the outcome of each.

    A person who has waited too long on a busy machine tries again, as a page does, and not without an end.
    """
    databases = [connect(url, pool_size=POOL) for _ in range(LABS)]

    async def one(number: int) -> str:
        for _ in range(MOST_TRIES):
            try:
                async with databases[number % LABS].transaction() as session:
                    await join(session, experiment_id, now, cohort_id=(named or {}).get(number), profile=None)
            except Conflict as refused:
                return refused.reason
            except Unavailable:
                continue
            return "seated"
        raise Unavailable("no seat, and no refusal either")

    try:
        return await asyncio.gather(*(one(number) for number in range(people)))
    finally:
        for database in databases:
            await database.close()


async def seated(lab: DrainLab) -> list[Any]:
    """Who sits where, in the order of the draws."""
    return list(
        await lab.rows(
            "SELECT m.path, m.joining, c.path AS cohort, c.treatment_id AS arm FROM members m"
            " JOIN cohorts c ON c.id = m.cohort_id WHERE m.status = 'in_progress'"
            " ORDER BY (m.joining ->> 'draw')::int, length(m.path), m.path"
        )
    )


@pytest.mark.race
@pytest.mark.parametrize("people", [10, SEATS, SEATS + 16])
async def test_a_crowd_draws_in_permuted_blocks_and_fills_one_cohort_of_an_arm_after_another(
    database: Database, database_url: str, people: int
) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(DOCUMENT.format(rule=""))

    outcomes = await crowd(database_url, experiment_id, lab.clock.now(), people=people)

    assert Counter(outcomes) == Counter(seated=min(people, SEATS), full=max(0, people - SEATS)) - Counter()
    rows = await seated(lab)
    assert [row.joining["draw"] for row in rows] == list(range(1, min(people, SEATS) + 1))
    for _, group in groupby(rows, key=lambda row: row.joining["block"]):
        block = list(group)
        assert len({row.arm for row in block}) == len(block)
        assert [row.joining["probability"] for row in block] == [1 / 3, 1 / 2, 1][: len(block)]
    for arm in "abc":
        filled = Counter(row.cohort for row in rows if row.arm == arm)
        assert sum(number < 2 for number in filled.values()) <= 1
    if people >= SEATS:
        assert Counter(row.arm for row in rows) == dict.fromkeys("abc", SEATS // 3)


@pytest.mark.race
async def test_people_who_name_a_cohort_take_no_place_that_was_drawn(database: Database, database_url: str) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(DOCUMENT.format(rule=""))
    cohorts = await lab.rows("SELECT id FROM cohorts ORDER BY length(path), path")
    named = {number: cohorts[number % 4].id for number in range(0, 40, 2)}

    outcomes = await crowd(database_url, experiment_id, lab.clock.now(), people=40, named=named)

    rows = await seated(lab)
    rules = Counter(row.joining["rule"] for row in rows)
    assert Counter(outcomes)["seated"] == len(rows) == len({row.path for row in rows})
    assert rules["drawn"] + rules["named"] == len(rows)
    drawn = [row for row in rows if row.joining["rule"] == "drawn"]
    for _, group in groupby(drawn, key=lambda row: row.joining["block"]):
        block = [row.arm for row in group]
        assert len(set(block)) == len(block)


@pytest.mark.race
async def test_by_arrival_fills_the_cohorts_in_the_order_of_the_file(database: Database, database_url: str) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(DOCUMENT.format(rule="joining: by_arrival"))

    outcomes = await crowd(database_url, experiment_id, lab.clock.now(), people=21)

    assert Counter(outcomes) == {"seated": 21}
    rows = await seated(lab)
    assert {tuple(row.joining.items()) for row in rows} == {(("rule", "by_arrival"),)}
    assert Counter(row.cohort for row in rows) == {**{f"c{number}": 2 for number in range(1, 11)}, "c11": 1}


@pytest.mark.race
async def test_sixty_who_join_at_once_are_forty_and_twenty_by_weights_of_two_and_one(
    database: Database, database_url: str
) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(WEIGHTED)

    outcomes = await crowd(database_url, experiment_id, lab.clock.now(), people=60)

    rows = await seated(lab)
    assert Counter(outcomes) == {"seated": 60}
    assert Counter(row.arm for row in rows) == {"a": 40, "b": 20}
    for _, group in groupby(rows, key=lambda row: row.joining["block"]):
        assert sorted(row.arm for row in group) == ["a", "a", "b"]


@pytest.mark.race
@pytest.mark.parametrize("rule", ["joining: drawn", "joining: by_arrival"])
async def test_seats_that_someone_holds_for_a_moment_are_waited_for(
    database: Database, database_url: str, rule: str
) -> None:
    """A pause locks every seat before it writes; no one is told meanwhile that the study is full."""
    lab = DrainLab(database)
    experiment_id = await lab.start(DOCUMENT.format(rule=rule))
    async with database.transaction() as session:
        await session.all(text("SELECT 1 FROM members ORDER BY id FOR NO KEY UPDATE"))
        coming = asyncio.create_task(crowd(database_url, experiment_id, lab.clock.now(), people=SEATS + 2))
        await asyncio.wait([coming], timeout=0.5)
        assert not coming.done()

    assert Counter(await coming) == {"seated": SEATS, "full": 2}


async def test_who_comes_while_the_study_is_being_paused_is_told_of_the_pause(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(DOCUMENT.format(rule="joining: by_arrival"))

    async def come() -> None:
        async with database.transaction() as session:
            await join(session, experiment_id, lab.clock.now(), cohort_id=None, profile=None)

    async with database.transaction() as session:
        await pausing.pause(session, experiment_id, lab.clock.now())
        coming = asyncio.create_task(come())
        await asyncio.wait([coming], timeout=0.5)
        assert not coming.done()

    with pytest.raises(Paused):
        await coming
    assert await seated(lab) == []
