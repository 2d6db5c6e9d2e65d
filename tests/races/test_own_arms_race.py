"""Simultaneous joins where each participant has an own arm: the quotas hold as if people had come in turn."""

from collections import Counter

import pytest

from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab
from tests.races.test_joining_race import crowd

DOCUMENT = """
parley: 1
name: Two to one, each for themselves
seed: 7
pace: live
stages: [{{ id: page, kind: info, lines: [Hello] }}]
treatments: [{{ id: a }}, {{ id: b }}]
allocation: {{ by: participant, method: {method}, weights: {{ a: 2 }}, block_cycles: {cycles} }}
cohorts: [{{ {cohorts} }}]
"""
AHEAD = "count: 30, seats: [{ open: true, count: 2 }]"
ON_ARRIVAL = "count: 30, made: on_arrival, seats: [{ open: true, count: 2 }]"


@pytest.mark.race
@pytest.mark.parametrize(
    ("method", "cycles", "cohorts"),
    quick_first([("complete", 1, ON_ARRIVAL), ("blocked", 2, AHEAD), ("complete", 1, AHEAD)], 2),
)
async def test_sixty_who_join_at_once_are_forty_and_twenty(
    database: Database, database_url: str, method: str, cycles: int, cohorts: str
) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(DOCUMENT.format(method=method, cycles=cycles, cohorts=cohorts))

    outcomes = await crowd(database_url, experiment_id, lab.clock.now(), people=64)

    assert Counter(outcomes) == {"seated": 60, "full": 4}
    rows = await lab.rows(
        "SELECT treatment_id AS arm, allocated, joining ->> 'rule' AS rule FROM members"
        " ORDER BY (allocated ->> 'draw')::int"
    )
    assert Counter(row.arm for row in rows) == {"a": 40, "b": 20}
    assert [row.allocated["draw"] for row in rows] == list(range(1, 61))
    size = 3 * cycles
    for begin in range(0, 60, size):
        block = rows[begin : begin + size]
        assert Counter(row.arm for row in block) == {"a": 2 * cycles, "b": cycles}
        assert len({row.allocated["block"] for row in block}) == 1
        for place, row in enumerate(block):
            left = Counter(one.arm for one in block[place:])
            assert row.allocated["probability"] == left[row.arm] / left.total()
    assert {row.rule for row in rows} == {"one_arm"}


@pytest.mark.race
async def test_a_simple_draw_is_made_for_each(database: Database, database_url: str) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(DOCUMENT.format(method="simple", cycles=1, cohorts=AHEAD))

    await crowd(database_url, experiment_id, lab.clock.now(), people=60)

    rows = await lab.rows("SELECT treatment_id AS arm, allocated FROM members")
    assert {(row.arm, row.allocated["probability"]) for row in rows} == {("a", 2 / 3), ("b", 1 / 3)}
    assert all("block" not in row.allocated for row in rows)
