"""Steps and answers that follow from the same cause share a transaction, and come to the same as one by one."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.agent_worker import answering, steps
from parley_lab.agent_worker.steps import take_step, take_steps
from parley_lab.agent_worker.worker import Stepping
from parley_lab.answers.advancing import wake_agents
from parley_lab.base.logs import correlation
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR
from parley_lab.members.standing import Standing
from parley_lab.members.standings import lock_standings
from parley_lab.orchestrator.settling import settle
from parley_lab.settle import unsettled
from parley_lab.store.facts import Event
from parley_lab.store.session import Database, Session
from parley_lab.testing.statements import counted
from tests.flows.drain import DrainLab, all_but_one, empty
from tests.flows.test_deadlocks import someone_waits_for_a_lock
from tests.flows.test_statements import only_steps

pytestmark = pytest.mark.postgres

PAGES: Final = """
parley: 1
name: Pages
seed: 0
personas: [{id: ada}]
stages:
  - {id: one, kind: info, lines: [One.]}
  - {id: two, kind: survey, questions: [{id: q, kind: text, title: Q}]}
  - {id: three, kind: ranking, rank: items, items: [{id: a, text: A}, {id: b, text: B}]}
  - {id: four, kind: info, lines: [Four.]}
cohorts: [{seats: [{persona: ada, count: 8}]}]
"""
TALK: Final = """
parley: 1
name: A talk after a page
seed: 0
personas: [{id: ada, chat: {max_responses: 1}}]
stages:
  - {id: welcome, kind: info, lines: [Welcome.]}
  - {id: talk, kind: group_chat}
  - {id: after, kind: survey, questions: [{id: q, kind: text, title: Q}]}
cohorts: [{seats: [{persona: ada, count: 4}]}]
"""
OPEN_TALK: Final = (
    TALK.replace("seed: 0", "seed: 0\npace: live")
    .replace("{id: ada, ", "{id: ada, pages: {reading_words_per_minute: 0, writing_words_per_minute: 0}, ")
    .replace("kind: group_chat", "kind: group_chat, progress: {wait_for_all: false}")
)
WAY: Final = """
parley: 1
name: A way of pages
seed: 0
personas: [{id: ada}]
stages: [{id: one, kind: info, lines: [One.]}, {id: two, kind: info, lines: [Two.], progress: {min_participants: 2}}]
cohorts: [{seats: [{persona: ada, count: 4}]}]
"""
_HOLD: Final = text("SELECT FROM members WHERE id = :id FOR NO KEY UPDATE")


async def waiting(lab: DrainLab) -> list[UUID]:
    """The members whose steps are announced when only the lab has acted."""
    found: dict[UUID, None] = {}
    while lab.hints:
        hints = lab.next_hints()
        found |= {UUID(hint.id): None for hint in hints if hint.queue == AGENT_STEPS}
        await lab.deliver([hint for hint in hints if hint.queue == ORCHESTRATOR])
    return list(found)


async def data(lab: DrainLab) -> Sequence[Any]:
    """What is stored of the members, without what depends on the order in which they were handled."""
    members = await lab.rows("SELECT path, status, position FROM members ORDER BY path")
    answers = await lab.rows(
        "SELECT m.path, a.stage_id, a.key, a.value FROM answers a JOIN members m ON m.id = a.member_id ORDER BY 1, 2, 3"
    )
    events = await lab.rows("SELECT type, subject, payload FROM events WHERE subject LIKE '%/%'")
    return members, answers, Counter((row.type, row.subject, str(row.payload)) for row in events)


async def test_members_of_one_cause_step_in_one_transaction(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(PAGES)
    members = await waiting(lab)
    assert len(members) == 8

    with counted() as alone:
        await lab.step(members[0])
    with counted() as together:
        await asyncio.gather(*map(lab.step, members[1:]))

    assert {row.position for row in await lab.rows("SELECT position FROM members")} == {1}
    # A transaction writes its events and hints with one statement.
    assert [sum("INSERT INTO outbox" in statement for statement in sent) for sent in (alone, together)] == [1, 1]
    assert len(together) < 4 * len(alone)


async def test_steps_and_answers_together_come_to_the_same_as_one_by_one(database: Database) -> None:
    one_by_one = DrainLab(database)
    await one_by_one.start(PAGES)
    await one_by_one.drain()
    expected = await data(one_by_one)
    await empty(database)
    lab = DrainLab(database, together=24, deliveries=2)

    await lab.start(PAGES)
    await lab.drain()

    assert await data(lab) == expected


async def test_members_who_step_into_a_conversation_together_come_to_its_end(database: Database) -> None:
    lab = DrainLab(database, together=24, deliveries=2)

    await lab.start(TALK)
    await lab.drain()

    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}
    said = await lab.rows("SELECT member_id FROM messages WHERE member_id IS NOT NULL")
    assert sorted(Counter(row.member_id for row in said).values()) == [1, 1, 1, 1]


@pytest.mark.parametrize("first", ["kind: info, lines: [Welcome.]", "kind: profile, set: animals"])
async def test_a_step_into_a_conversation_is_left_to_a_transaction_of_its_own(database: Database, first: str) -> None:
    lab = DrainLab(database)
    await lab.start(OPEN_TALK.replace("kind: info, lines: [Welcome.]", first))
    members = await waiting(lab)
    lab.hints = []
    async with database.transaction() as session:
        await session.run(text("DELETE FROM outbox"))

    async with database.transaction() as session:
        alone = await take_steps(session, members, lab.clock.now())

    # All have left the first page; what they do next is announced, and is not lost with this process.
    assert not alone
    assert {row.position for row in await lab.rows("SELECT position FROM members")} == {1}
    announced = await lab.rows("SELECT subject_id FROM outbox WHERE queue = :queue", queue=AGENT_STEPS)
    assert {UUID(row.subject_id) for row in announced} == {*members}
    # Nor with its hint: the watchdog finds whose last update has led to no step.
    async with database.transaction() as session:
        await session.run(text("DELETE FROM outbox"))
        assert {UUID(hint.id) for hint in await unsettled.unstepped(session)} == {*members}
    assert not await lab.rows("SELECT 1 FROM messages WHERE member_id IS NOT NULL")

    async with database.transaction() as session:
        alone = await take_steps(session, members, lab.clock.now())

    assert {*alone} == {*members}


async def test_one_member_whose_step_fails_does_not_hold_up_the_others(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    lab = DrainLab(database)
    await lab.start(PAGES)
    members = await waiting(lab)
    act = steps._act

    async def fail_one(session: Session, standing: Standing, *others: Any) -> Standing | None:
        if standing.member.id == members[3]:
            raise ZeroDivisionError
        return await act(session, standing, *others)

    monkeypatch.setattr(steps, "_act", fail_one)

    results = await asyncio.gather(*map(lab.step, members), return_exceptions=True)

    assert [type(result) for result in results].count(ZeroDivisionError) == 1
    positions = await lab.rows("SELECT id, position FROM members")
    assert {row.id for row in positions if row.position == 0} == {members[3]}


async def test_different_causes_are_not_mixed(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(PAGES)
    members = await waiting(lab)

    async def step(member_id: UUID, cause: str) -> None:
        correlation.set(cause)
        await lab.step(member_id)

    await asyncio.gather(*(step(one, f"cause {number % 2}") for number, one in enumerate(members)))

    drafts = await lab.rows("SELECT member_id, correlation FROM drafts")
    assert {row.member_id: row.correlation for row in drafts} == {
        one: f"cause {number % 2}" for number, one in enumerate(members)
    }


async def test_two_processes_that_take_the_same_members_in_any_order_do_not_block_each_other(
    database: Database,
) -> None:
    lab = DrainLab(database)
    await lab.start(PAGES.replace("count: 8", "count: 32"))
    members = await waiting(lab)
    one, other = Stepping(database, lab.clock), Stepping(database, lab.clock)

    await asyncio.gather(
        *(one.take(each, None) for each in members), *(other.take(each, None) for each in reversed(members))
    )

    assert {row.position for row in await lab.rows("SELECT position FROM members")} == {1}
    moved = await lab.rows("SELECT subject FROM events WHERE type = 'member.moved'")
    assert sorted(Counter(row.subject for row in moved).values()) == [1] * 32
    assert len(await lab.rows("SELECT id FROM drafts")) == 32


async def test_steps_taken_together_never_wait_for_a_member_whom_another_transaction_holds(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(PAGES)
    members = await waiting(lab)
    free, held = sorted(members)[:2]

    async with database.transaction() as session:
        # As a settle does, which has answered for one member and now wakes another.
        await session.run(_HOLD, {"id": held})
        async with asyncio.timeout(10), database.transaction() as other:
            alone = await take_steps(other, [free, held], lab.clock.now())
            work = asyncio.create_task(wake_agents(session, [free]))
            await someone_waits_for_a_lock(database)
        await work
    stepping = Stepping(database, lab.clock)
    await asyncio.gather(*(stepping.take(each, None) for each in (free, held)))

    assert set(alone) == {held}
    at = {row.id: row.position for row in await lab.rows("SELECT id, position FROM members")}
    assert (at[free], at[held]) == (1, 1)


async def test_answers_stored_together_never_wait_for_a_member_whom_another_transaction_holds(
    database: Database,
) -> None:
    lab = DrainLab(database)
    await lab.start(PAGES)
    await only_steps(lab)
    await lab.rows("UPDATE drafts SET correlation = 'one' RETURNING id")
    drafts = await lab.rows("SELECT id, member_id FROM drafts ORDER BY member_id")
    held = drafts[-1].member_id

    async with database.transaction() as session:
        await session.run(_HOLD, {"id": held})
        works = [asyncio.create_task(lab.thinker.work_on(draft.id)) for draft in drafts]
        async with asyncio.timeout(10):
            await all_but_one(works)
    await asyncio.gather(*works)

    assert {row.state for row in await lab.rows("SELECT state FROM drafts")} == {"answered"}
    assert {row.position for row in await lab.rows("SELECT position FROM members")} == {2}


async def test_standings_come_in_the_order_asked_for_and_without_those_who_are_unknown(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(PAGES)
    members = (await waiting(lab))[::-1]
    unknown = UUID(int=1)

    async with database.transaction() as session:
        found = await lock_standings(session, [members[0], unknown, *members[1:]], drawn_on=())
        no_one = await lock_standings(session, [unknown], drawn_on=())

    assert list(found) == members
    assert not no_one


@pytest.mark.parametrize("together", [1, 2])
async def test_a_stage_that_opens_while_someone_is_on_the_way_to_it_is_open_to_them(
    database: Database, together: int
) -> None:
    lab = DrainLab(database)
    await lab.start(WAY)
    first, second, *others = await waiting(lab)
    await lab.step(first)
    await lab.step(second)

    async with database.transaction() as session:
        if together == 1:
            await take_step(session, others[0], lab.clock.now())
        else:
            await take_steps(session, others, lab.clock.now())
        # Two have gone on, so the stage is opened now; those on the way do not see it, and are not seen.
        assert await lab.rows("SELECT stage_id FROM cohort_stages") == [("one",)]
        ((cohort_id,),) = await lab.rows("SELECT id FROM cohorts")
        await settle(database, cohort_id, lab.clock.now())
        assert len(await lab.rows("SELECT stage_id FROM cohort_stages")) == 2
    for member_id in others[together:]:
        await lab.step(member_id)
    await lab.drain()

    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}


READS: Final = """
parley: 1
name: A page that opens when an earlier one is over
seed: 0
personas: [{id: ada}]
stages:
  - {id: one, kind: survey, questions: [{id: q, kind: number, minimum: 0, maximum: 9, title: Q}]}
  - {id: two, kind: survey, questions: [{id: q, kind: number, minimum: 0, maximum: 9, title: Q}]}
  - {id: three, kind: reveal, items: [{stage: one, audience: all}]}
cohorts: [{seats: [{persona: ada, count: 4}]}]
"""


@pytest.mark.parametrize("together", [1, 2])
async def test_a_stage_that_reads_others_opens_while_someone_is_on_the_way_to_it(
    database: Database, monkeypatch: pytest.MonkeyPatch, together: int
) -> None:
    another_process = DrainLab(database).thinker
    lab = DrainLab(database, together=together)
    await lab.start(READS)
    last, *others = await waiting(lab)
    ((cohort_id,),) = await lab.rows("SELECT id FROM cohorts")
    await asyncio.gather(*map(lab.step, [last, *others]))
    for member_id in others:
        await lab.thinker.work_on(await draft_of(lab, member_id, "one"))
    await settle(database, cohort_id, lab.clock.now())
    act_on, seen = answering.act_on, []

    async def let_the_last_leave(session: Session, standing: Standing, answered: Any, *more: Any) -> None:
        """Between looking and committing: the last leaves the first page, and the cohort is settled."""
        await act_on(session, standing, answered, *more)
        if answered[0][0].id == "two":
            seen.append(standing.member.id)
            if len(seen) == together:
                await another_process.work_on(await draft_of(lab, last, "one"))
                await settle(database, cohort_id, lab.clock.now())
                assert "three" in {row.stage_id for row in await lab.rows("SELECT stage_id FROM cohort_stages")}

    monkeypatch.setattr(answering, "act_on", let_the_last_leave)
    drafts = [await draft_of(lab, member_id, "two") for member_id in others[:together]]
    await asyncio.gather(*map(lab.thinker.work_on, drafts))
    monkeypatch.setattr(answering, "act_on", act_on)
    await lab.drain()

    assert len(seen) >= together
    assert {row.status for row in await lab.rows("SELECT status FROM members")} == {"completed"}


async def draft_of(lab: DrainLab, member_id: UUID, stage_id: str) -> UUID:
    rows = await lab.rows("SELECT id FROM drafts WHERE member_id = :m AND stage_id = :s", m=member_id, s=stage_id)
    found: UUID = rows[0].id
    return found


async def test_batches_take_the_counters_of_several_cohorts_in_one_order(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(WAY.replace("cohorts: [{", "cohorts: [{count: 60, "))
    await waiting(lab)
    in_heap = [row.cohort_id for row in await lab.rows("SELECT cohort_id FROM streams ORDER BY ctid")]
    first, second, third = in_heap[0], in_heap[20], in_heap[10]

    def told(cohort_id: UUID) -> Event:
        return Event(experiment_id, cohort_id, "x", "x", "x", "x", lab.clock.now())

    async def batch(*cohorts: UUID) -> None:
        async with database.transaction() as session:
            for cohort_id in cohorts:
                session.record(told(cohort_id))

    held = text("UPDATE streams SET last = last WHERE cohort_id = :id")
    async with database.transaction() as blocking:
        await blocking.run(held, {"id": third})
        async with database.transaction() as moving:
            # The new version of its row lies behind the others.
            await moving.run(held, {"id": first})
            one = asyncio.create_task(batch(first, second, third))
            await someone_waits_for_a_lock(database)
        await asyncio.sleep(0.2)
        other = asyncio.create_task(batch(first, second))
        await asyncio.sleep(0.2)
    await asyncio.gather(one, other)
