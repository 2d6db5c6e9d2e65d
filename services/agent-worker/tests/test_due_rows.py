"""A due answer or reply that cannot be stored holds up no other, and is tried again after a pause."""

from typing import Any
from uuid import UUID

import pytest

from parley_lab.agent_worker.worker import Worker
from parley_lab.bus.in_process import InProcessBus
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.flows.failing_rows import failing

pytestmark = pytest.mark.postgres

PAGES = """
parley: 1
name: Two who write
seed: 3
pace: live
personas: [{id: ada, pages: {reading_words_per_minute: 0, writing_words_per_minute: 30}}]
stages: [{id: page, kind: survey, questions: [{id: why, kind: text, title: "Why?"}]}]
cohorts: [{count: 2, seats: [{persona: ada}]}]
"""
ROOMS = """
parley: 1
name: Two rooms
seed: 3
pace: live
personas: [{id: ada, chat: {words_per_minute: 40, max_responses: 1}, mock: {silence: 0}}]
stages: [{id: talk, kind: group_chat}]
cohorts: [{count: 2, seats: [{persona: ada}]}]
"""


async def two_that_are_due(lab: DrainLab, document: str) -> list[Any]:
    """The drafts of the two agents; each has a reply, and its time has come."""
    await lab.start(document)
    while lab.hints:
        await lab.deliver(lab.next_hints())
    lab.later.clear()
    lab.clock.advance(3600)
    drafts = await lab.rows("SELECT id, member_id, thread_id FROM drafts WHERE state = 'ready' ORDER BY path")
    assert len(drafts) == 2
    return drafts


async def looks(lab: DrainLab, worker: Worker, times: int = 1) -> list[UUID]:
    """The members whose drafts are closed after so many looks of a worker."""
    for _ in range(times):
        await worker.publish_what_is_due()
    closed = await lab.rows("SELECT member_id FROM drafts WHERE state IN ('answered', 'published')")
    return [row.member_id for row in closed]


@pytest.mark.parametrize(
    ("document", "table", "column"), [(PAGES, "answers", "member_id"), (ROOMS, "messages", "thread_id")]
)
async def test_of_two_that_are_due_the_other_is_stored(
    database: Database, document: str, table: str, column: str
) -> None:
    lab = DrainLab(database)
    one, other = await two_that_are_due(lab, document)
    worker = Worker(database=database, bus=InProcessBus(), models={}, prompts=lab.prompts, clock=lab.clock)

    async with failing(database, table, column, getattr(one, column)):
        while_it_fails = await looks(lab, worker, times=3)
    lab.clock.advance(2)
    afterwards = await looks(lab, worker)
    await worker.stop()

    assert while_it_fails == [other.member_id]
    assert set(afterwards) == {one.member_id, other.member_id}
    assert [row.type for row in await lab.rows("SELECT type FROM alerts")] == ["work_failed"]
