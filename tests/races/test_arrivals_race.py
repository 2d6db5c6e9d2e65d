"""Simultaneous joins: values that follow arrival are assigned as if people had come in turn."""

import pytest

from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.races.test_joining_race import crowd

DOCUMENT = """
parley: 1
name: A crowd
seed: 7
pace: live
stages: [{{id: page, kind: info, lines: ["{{{{word}}}}"]}}]
assigned: [{{id: word, kind: balanced, values: [A, B], weights: [2, 1], across: {across}}}]
cohorts: [{{count: 3, seats: [{{open: true, count: 6}}]}}]
"""
_GIVEN = """
    SELECT c.path AS cohort, m.assigned -> 'word' ->> 'value' AS word,
        CAST(substring(m.assigned -> 'word' ->> 'draw' FROM '[0-9]+$') AS int) AS place
    FROM members m JOIN cohorts c ON c.id = m.cohort_id WHERE m.status = 'in_progress' ORDER BY c.path, place
"""


@pytest.mark.race
@pytest.mark.parametrize("people", [6, 18])
async def test_six_who_join_at_once_have_a_a_b_a_a_b(database: Database, database_url: str, people: int) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(DOCUMENT.format(across="experiment"))

    outcomes = await crowd(database_url, experiment_id, lab.clock.now(), people=people)

    rows = sorted(await lab.rows(_GIVEN), key=lambda row: row.place)
    assert outcomes == ["seated"] * people
    assert [row.place for row in rows] == [*range(1, people + 1)]
    assert "".join(row.word for row in rows) == "AAB" * (people // 3)


@pytest.mark.race
async def test_counted_across_a_cohort_each_begins_anew(database: Database, database_url: str) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(DOCUMENT.format(across="cohort"))
    cohorts = await lab.rows("SELECT id FROM cohorts ORDER BY path")
    named = {number: cohorts[number % 3].id for number in range(18)}

    await crowd(database_url, experiment_id, lab.clock.now(), people=18, named=named)

    rows = await lab.rows(_GIVEN)
    for path in ("c1", "c2", "c3"):
        assert "".join(row.word for row in rows if row.cohort == path) == "AABAAB"


@pytest.mark.race
async def test_who_finds_no_seat_is_not_counted(database: Database, database_url: str) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(DOCUMENT.format(across="experiment"))

    outcomes = await crowd(database_url, experiment_id, lab.clock.now(), people=24)

    (row,) = await lab.rows("SELECT counted FROM arrivals")
    assert (outcomes.count("full"), row.counted) == (6, 18)
