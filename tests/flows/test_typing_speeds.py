"""Typing speeds in pace live: an agent whose file has none does not win every race."""

import pytest

from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

ROOM = """
parley: 1
name: A room
seed: 0
pace: {pace}
personas:
  - {{id: ada, chat: {{words_per_minute: 40, max_responses: 3}}}}
  - {{id: bob, chat: {{words_per_minute: 80, max_responses: 3}}}}
  - {{id: cid, chat: {{max_responses: 3}}}}
  - {{id: dan, chat: {{words_per_minute: 0, max_responses: 3}}}}
stages: [{{id: talk, kind: group_chat}}]
cohorts:
  - seats: [{{persona: ada}}, {{persona: bob}}, {{persona: cid}}, {{persona: dan}}]
  - seats: [{{persona: cid, count: 2}}]
"""


async def speeds(database: Database, pace: str) -> dict[str, float | None]:
    lab = DrainLab(database)
    await lab.start(ROOM.format(pace=pace))
    rows = await lab.rows("SELECT path, agent_config -> 'chat' -> 'words_per_minute' AS speed FROM members")
    return {row.path: row.speed for row in rows}


async def test_in_pace_live_who_has_no_speed_types_like_the_others_of_the_cohort(database: Database) -> None:
    assert await speeds(database, "live") == {
        "c1/m1": 40,
        "c1/m2": 80,
        "c1/m3": 60,
        "c1/m4": 0,
        "c2/m1": None,
        "c2/m2": None,
    }


async def test_in_pace_fast_speeds_are_what_the_file_says(database: Database) -> None:
    found = await speeds(database, "fast")

    assert (found["c1/m3"], found["c1/m4"]) == (None, 0)
