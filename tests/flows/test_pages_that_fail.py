"""Agents whose answers, each taken by itself, make no page that their stage takes."""

import pytest
from sqlalchemy import text

from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.flows.test_statements import only_steps

pytestmark = pytest.mark.postgres

PAGES = """
parley: 1
name: Pages
seed: 0
personas: [{id: ada}, {id: bob}]
stages:
  - {id: one, kind: survey, ask: sequential, questions: [{id: why, kind: text, min_chars: 5, title: Why}]}
  - {id: two, kind: info, lines: [Two.], progress: {wait_for_all: true}}
cohorts: [{seats: [{persona: ada}, {persona: bob}]}]
"""
# As a lab with other rules may have stored it.
_TAKEN = text(
    """
    INSERT INTO answers (member_id, stage_id, key, cohort_id, value, written_at)
    SELECT id, 'one', 'question:why', cohort_id, '"No."', now() FROM members WHERE path = 'c1/m1'
    """
)


async def test_an_agent_whose_answers_make_no_page_is_out_and_the_others_go_on(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(PAGES)
    await only_steps(lab)
    async with database.transaction() as session:
        await session.run(_TAKEN, {})
    ((ada,),) = await lab.rows("SELECT id FROM members WHERE path = 'c1/m1'")

    await lab.step(ada)
    await lab.drain()

    members = {row.path: row for row in await lab.rows("SELECT path, status, status_reason FROM members")}
    assert members["c1/m1"].status == "failed"
    assert members["c1/m1"].status_reason == "its answers make no page of the stage one: why"
    assert members["c1/m2"].status == "completed"
    alerts = await lab.rows("SELECT type, text FROM alerts")
    assert [tuple(one) for one in alerts] == [
        ("work_failed", "The agent c1/m1 is out: its answers make no page of the stage one: why.")
    ]
