"""Waiting rooms in a whole lab: agents that take empty seats go through the study as all others do."""

import httpx2
import pytest

from parley_lab.settle.watch import find_stuck
from parley_lab.store import keys
from parley_lab.store.session import Database
from parley_lab.testing.quick import quick_first
from tests.flows.drain import DrainLab
from tests.flows.people import begin, join, statuses

pytestmark = pytest.mark.postgres

STUDY = """
parley: 1
name: Nobody comes
seed: 4
pace: {pace}
personas:
  - {{id: ada, profile: {{name: Ada}}, pages: &quick {{reading_words_per_minute: 0, writing_words_per_minute: 0}}}}
  - {{id: helper, profile: {{name: Helper}}, pages: *quick}}
stages:
  - {{id: before, kind: survey, questions: [{{id: why, kind: text, title: Why}}]}}
  - {{id: talk, kind: group_chat, time_limit_seconds: 60, progress: {{at_most_seconds: 100, {rule}}}}}
  - {{id: after, kind: info, lines: [Bye], progress: {{wait_for_all: true}}}}
cohorts: [{{seats: [{{open: true, count: 3}}, {{persona: ada}}]}}]
"""


async def pass_time(lab: DrainLab, seconds: float) -> None:
    lab.clock.advance(seconds)
    await lab.fire_timers()
    await lab.drain()


@pytest.mark.parametrize("pace", quick_first(["live", "fast"], 1))
@pytest.mark.parametrize(
    ("rule", "ends"),
    [
        ("then: fill, fill_with: helper", ["completed", "completed", "completed", "completed"]),
        ("then: go_on, min_participants: 2", ["completed", "removed", "removed", "completed"]),
        ("then: go_on, min_participants: 3", ["released", "removed", "removed", "released"]),
        ("then: release", ["released", "removed", "removed", "released"]),
    ],
)
async def test_a_group_to_which_no_one_comes_gets_to_its_end(
    gateway: httpx2.AsyncClient, database: Database, pace: str, rule: str, ends: list[str]
) -> None:
    lab = DrainLab(database)
    async with database.transaction() as session:
        key = await keys.create_key(session, "Ellen", lab.clock.now())
    gateway.headers["Authorization"] = f"Bearer {key}"
    experiment_id = await begin(gateway, lab, STUDY.format(pace=pace, rule=rule))
    pia = await join(gateway, lab, experiment_id)
    await pia.advance("before", {"why": "So."})

    await pass_time(lab, 99)
    before = await pia.status()
    await pass_time(lab, 1)
    if (await pia.status()) == "in_progress":
        await pass_time(lab, 60)
        await pia.advance("talk")
        await pia.advance("after")

    assert before == "in_progress"
    assert list((await statuses(lab)).values()) == ends
    assert await lab.rows("SELECT 1 AS one FROM experiments WHERE status = 'ended'")
    answered = await lab.rows(
        "SELECT 1 AS one FROM answers a JOIN members m ON m.id = a.member_id WHERE valid "
        "AND a.stage_id = 'before' AND m.player = 'agent'"
    )
    assert len(answered) == (3 if "fill" in rule else 1)
    async with database.transaction() as session:
        assert await find_stuck(session, (await lab.rows("SELECT id FROM experiments"))[0].id) == ()


async def test_an_agent_that_waits_for_people_who_cannot_come_is_released_and_the_run_ends(
    gateway: httpx2.AsyncClient, database: Database
) -> None:
    lab = DrainLab(database)
    async with database.transaction() as session:
        key = await keys.create_key(session, "Ellen", lab.clock.now())
    gateway.headers["Authorization"] = f"Bearer {key}"
    study = STUDY.replace("at_most_seconds: 100, {rule}", "min_participants: 2").replace("count: 3", "count: 1")
    experiment_id = await begin(gateway, lab, study.format(pace="live"))
    pia = await join(gateway, lab, experiment_id)
    before = await lab.rows("SELECT status FROM experiments")

    await pia.post("/v1/me/leave", {})
    gone = await statuses(lab)
    (free,) = [path for path, status in gone.items() if status == "expected"]
    member = (await lab.rows("SELECT id FROM members WHERE path = :path", path=free))[0].id
    await gateway.post(f"/v1/members/{member}/remove", json={"reason": "nobody comes"})
    await lab.drain()

    assert [row.status for row in before] == ["running"]
    assert sorted((await statuses(lab)).values()) == ["left", "released", "removed"]
    assert await lab.rows("SELECT 1 AS one FROM experiments WHERE status = 'ended'")
