"""What one more member of a cohort costs does not depend on how many there are."""

import asyncio
from collections.abc import Sequence
from unittest.mock import patch

import pytest
from sqlalchemy import text

from parley_lab.agent_worker.steps import take_step
from parley_lab.answers.advancing import mark_stepped
from parley_lab.bus.in_process import InProcessBus
from parley_lab.contracts.hints import ORCHESTRATOR, Hint
from parley_lab.drafts.context import prompt_context
from parley_lab.members.standings import lock_standing
from parley_lab.orchestrator import service
from parley_lab.orchestrator.service import Orchestrator
from parley_lab.orchestrator.settling import settle
from parley_lab.store.session import Database
from parley_lab.store.statements import Row
from parley_lab.testing.quick import quick_first
from parley_lab.testing.statements import counted
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

PAGES = """
parley: 1
name: Pages
seed: 0
pace: fast
personas: [{{id: ada}}]
stages:
  - {{id: one, kind: info, lines: [One.]}}
  - {{id: two, kind: survey, questions: [{{id: q, kind: text, title: Q}}]}}
cohorts: [{{seats: [{{persona: ada, count: {members}}}]}}]
"""
TALKS = """
parley: 1
name: Talks
seed: 0
pace: fast
personas: [{{id: ada}}, {{id: host}}]
stages: [{{id: talk, kind: private_chat, max_turns: 2}}]
cohorts: [{{seats: [{{persona: ada, count: {members}}}], mediators: [host]}}]
"""
FEW, MANY = 4, 24
DRAFTS = """
    SELECT d.id FROM drafts d JOIN members m ON m.id = d.member_id
    WHERE m.experiment_id = :experiment_id ORDER BY m.path
"""
MEMBERS_READ = text(
    """
    SELECT seq_tup_read + coalesce(idx_tup_fetch, 0) AS n FROM pg_stat_xact_user_tables WHERE relname = 'members'
    """
)


async def statements_per_member(database: Database, document: str, members: int) -> float:
    lab = DrainLab(database, together=members)
    with counted() as sent:
        await lab.start(document.format(members=members))
        await lab.drain()
    assert {row.status for row in await lab.rows("SELECT status FROM experiments")} == {"ended"}
    return len(sent) / members


@pytest.mark.parametrize("document", quick_first([PAGES, TALKS], 1))
async def test_the_statements_of_one_member_do_not_grow_with_the_cohort(database: Database, document: str) -> None:
    few = await statements_per_member(database, document, FEW)
    many = await statements_per_member(database, document, MANY)

    assert many <= few


async def test_settling_goes_only_into_the_private_talks_of_those_to_whom_something_happened(
    database: Database,
) -> None:
    lab = DrainLab(database)
    await lab.start(TALKS.format(members=MANY))
    (cohort,) = await lab.rows("SELECT id, experiment_id FROM cohorts")
    await settle(database, cohort.id, lab.clock.now())
    async with database.transaction() as session:
        for row in await session.all(text("SELECT id FROM members WHERE kind = 'participant'")):
            await take_step(session, row.id, lab.clock.now())
    await settle(database, cohort.id, lab.clock.now())
    lab.hints.clear()
    await _something_happens_to(database, "c1/m3")

    with counted() as sent:
        await settle(database, cohort.id, lab.clock.now())

    assert sum("FOR NO KEY UPDATE OF t" in statement for statement in sent) == 1


async def _something_happens_to(database: Database, path: str) -> None:
    happened = text(
        """
        WITH counted AS (UPDATE streams SET last = last + 1, unsettled = last + 1 RETURNING cohort_id, last)
        INSERT INTO events (experiment_id, cohort_id, stream_seq, type, actor, cause, subject, payload, at)
        SELECT c.experiment_id, c.id, counted.last, 'member.paused', 'lab', 'test', :path, '{}', now()
        FROM counted JOIN cohorts c ON c.id = counted.cohort_id
        """
    )
    async with database.transaction() as session:
        await session.run(happened, {"path": path})


async def test_who_goes_through_pages_alone_is_read_without_the_others(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(PAGES.format(members=MANY))
    while not (drafts := await lab.rows("SELECT id FROM drafts")):
        await lab.deliver(lab.next_hints())

    async with database.read() as session:
        context = await prompt_context(session, drafts[0].id)

    assert [one.id for one in context.facts.people.rows] == [context.author.id]


async def members_read_for_a_prompt(database: Database, document: str, cohorts: int) -> int:
    """How many rows of members Postgres reads for one prompt, by the plan that it makes for big tables."""
    lab = DrainLab(database)
    content = document.format(members=2).replace("cohorts: [{", f"cohorts: [{{count: {cohorts}, ")
    experiment_id = await lab.start(content)
    drafts: Sequence[Row] = []
    while not drafts:
        await lab.deliver(lab.next_hints())
        drafts = await lab.rows(DRAFTS, experiment_id=experiment_id)
    async with database.transaction() as session:
        await session.run(text("ANALYZE"))
    async with database.transaction() as session:
        await session.run(text("SET LOCAL enable_seqscan = off"))
        await session.run(text("SET LOCAL random_page_cost = 0"))
        before: int = (await session.one(MEMBERS_READ)).n
        await prompt_context(session, drafts[0].id)
        after: int = (await session.one(MEMBERS_READ)).n
    return after - before


@pytest.mark.parametrize("document", [PAGES, TALKS])
async def test_a_prompt_is_made_without_the_members_of_other_cohorts(database: Database, document: str) -> None:
    few = await members_read_for_a_prompt(database, document, 10)
    many = await members_read_for_a_prompt(database, document, 40)

    # Equal plans may read one member of the cohort or both, some times each; those of others would be sixty more.
    assert 0 < many < few + 10


async def test_a_big_cohort_rests_after_a_look_and_is_looked_at_once_for_all_that_happens_meanwhile(
    database: Database,
) -> None:
    lab = DrainLab(database)
    await lab.start(PAGES.format(members=40))
    (cohort,) = await lab.rows("SELECT id FROM cohorts")
    orchestrator = Orchestrator(database=database, bus=InProcessBus(), clock=lab.clock)
    hint = Hint(ORCHESTRATOR, "cohort.unsettled", str(cohort.id))

    with counted() as sent, patch.object(service, "_REST_SECONDS_PER_MEMBER", 0.025):
        await orchestrator.on_unsettled(hint)
        for _ in range(5):
            await _something_happens_to(database, "c1/m3")
            await orchestrator.on_unsettled(hint)
        async with asyncio.timeout(10):
            while (await lab.rows("SELECT settled < unsettled AS so FROM streams"))[0].so:
                pass
    await orchestrator.stop()

    assert sum("FOR NO KEY UPDATE OF c NOWAIT" in statement for statement in sent) == 2


async def test_an_agent_that_looked_before_a_stage_opened_is_woken_though_its_step_was_under_way(
    database: Database,
) -> None:
    lab = DrainLab(database)
    await lab.start(PAGES.format(members=1))
    ((cohort_id,),) = await lab.rows("SELECT id FROM cohorts")
    ((member_id,),) = await lab.rows("SELECT id FROM members")

    async with database.transaction() as session:
        standing = await lock_standing(session, member_id)
        settling = asyncio.create_task(settle(database, cohort_id, lab.clock.now()))
        await _someone_waits_for_a_lock(database)
        mark_stepped(session, member_id)
    await settling

    assert standing.is_locked
    ((stepped, version),) = await lab.rows("SELECT stepped_version, version FROM members")
    assert stepped < version


async def _someone_waits_for_a_lock(database: Database) -> None:
    waiting = text(
        "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' LIMIT 1"
    )
    async with asyncio.timeout(10), database.read() as session:
        while await session.first(waiting) is None:
            pass
