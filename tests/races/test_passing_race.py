"""Asks of a member who has gone are answered by the lab only while the member is gone, even in a race with the
return."""

import asyncio
from collections.abc import Iterator

import pytest
from sqlalchemy import text

from parley_lab.answers.advancing import end_member
from parley_lab.members.standings import sign_in
from parley_lab.orchestrator.settling import settle
from parley_lab.store.session import Database
from parley_lab.testing.rounds import rounds_for_info
from tests.flows.drain import DrainLab
from tests.flows.test_deadlocks import someone_waits_for_a_lock
from tests.flows.test_shared_asks import WITH_A_PERSON

pytestmark = pytest.mark.postgres

RETURN = text("UPDATE members SET status = 'in_progress', ended_at = NULL WHERE id = :id")


@pytest.fixture(autouse=True)
def _game() -> Iterator[None]:
    with rounds_for_info():
        yield


@pytest.mark.parametrize("returns", [True, False])
async def test_who_is_back_before_the_pass_is_stored_is_waited_for(database: Database, returns: bool) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(WITH_A_PERSON)
    member_id, token = await lab.join(experiment_id)
    await lab.drain()
    async with database.transaction() as session:
        standing = await sign_in(session, token, lock=True)
        await end_member(session, standing, "left", "left", lab.clock.now(), cause="test")

    async with database.transaction() as returning:
        if returns:
            await returning.run(RETURN, {"id": member_id})
        settling = asyncio.create_task(settle(database, standing.cohort_id, lab.clock.now()))
        if returns:
            await someone_waits_for_a_lock(database)
    await settling

    passed = await lab.rows("SELECT key FROM answers WHERE member_id = :m AND passed", m=member_id)
    assert [row.key for row in passed] == ([] if returns else ["round:1/number", "round:2/number"])
