"""An ask takes one answer, and a member goes on from a stage once."""

import pytest
from psycopg import DataError

from parley_lab.answers.advancing import move_on
from parley_lab.answers.answering import answer
from parley_lab.members.standings import lock_standing
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.flows.test_statements import only_steps

SURVEY = """
parley: 1
name: A survey
seed: 0
personas: [{id: ada}]
stages:
  - {id: q, kind: survey, questions: [{id: why, kind: text, title: Why}]}
  - {id: r, kind: survey, questions: [{id: why, kind: text, title: Why}]}
  - {id: s, kind: survey, questions: [{id: why, kind: text, title: Why}]}
cohorts: [{seats: [{persona: ada}]}]
"""


async def test_an_ask_takes_one_answer(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(SURVEY)
    await only_steps(lab)
    (ask,) = await lab.rows("SELECT id FROM asks")

    passed = []
    for value in ("The first.", "The second."):
        async with database.transaction() as session:
            passed.append(await answer(session, ask.id, {"why": value}, lab.clock.now()))

    assert passed == [True, False]
    assert [row.value for row in await lab.rows("SELECT value FROM answers")] == [{"why": "The first."}]


async def test_a_member_goes_one_stage_further_from_where_it_was_seen(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(SURVEY)
    await only_steps(lab)
    (member,) = await lab.rows("SELECT id FROM members")
    async with database.transaction() as session:
        seen = await lock_standing(session, member.id)
        await move_on(session, seen, lab.clock.now(), cause="test")

    with pytest.raises(DataError, match="no more where it was"):
        async with database.transaction() as session:
            await move_on(session, seen, lab.clock.now(), cause="test")

    assert [row.position for row in await lab.rows("SELECT position FROM members")] == [1]
