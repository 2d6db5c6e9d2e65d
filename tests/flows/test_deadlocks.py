"""Who waits for whom: deadlocks that Postgres breaks off cost nothing, and others are kept from coming about."""

import asyncio
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text
from structlog.testing import capture_logs

from parley_lab.base.errors import Paused
from parley_lab.contracts.experiment import Profile
from parley_lab.drafts import drafts
from parley_lab.experiments import pausing
from parley_lab.orchestrator.settling import fire_due_timers, settle
from parley_lab.people.adding import Addition, add_agent
from parley_lab.people.joining import join
from parley_lab.people.own_arms import lock_draws
from parley_lab.store.session import Database
from parley_lab.talk import end
from parley_lab.talk.scenes import lock_scene
from parley_lab.talk.stored_changes import write
from tests.flows.drain import DrainLab
from tests.flows.test_adversity import PEOPLE, ROOM, Model, recorded_calls, something_to_say, states
from tests.flows.test_statements import only_steps

_REMOVED = text("UPDATE members SET status = 'removed' WHERE id = :id")


async def someone_waits_for_a_lock(database: Database) -> None:
    waiting = text(
        """
        SELECT EXISTS (SELECT FROM pg_stat_activity
            WHERE datname = current_database() AND wait_event_type = 'Lock') AS is_so
        """
    )
    async with asyncio.timeout(10), database.read() as session:
        while not (await session.one(waiting)).is_so:
            pass


async def test_a_deadlock_while_a_reply_is_saved_costs_no_second_call(database: Database) -> None:
    model = Model(something_to_say())
    lab = DrainLab(database, models={"mock": model})
    await lab.start(ROOM)
    await only_steps(lab)
    draft_id = UUID(lab.next_hints()[0].id)
    ((thread_id,),) = await lab.rows("SELECT id FROM threads")

    with capture_logs() as logs:
        async with database.transaction() as session:
            # So that it is the saving of the reply that Postgres breaks off.
            await session.run(text("SET LOCAL deadlock_timeout = '9s'"))
            await lock_scene(session, thread_id, lab.clock.now())
            work = asyncio.create_task(lab.thinker.work_on(draft_id))
            await someone_waits_for_a_lock(database)
            await session.run(text("SELECT FROM drafts WHERE id = :id FOR UPDATE"), {"id": draft_id})
        await work

    assert "deadlock.retried" in [entry["event"] for entry in logs]
    assert [row.state for row in await lab.rows("SELECT state FROM drafts WHERE id = :id", id=draft_id)] == ["ready"]
    assert model.calls == await recorded_calls(lab) == 1


async def test_a_timer_that_was_undone_by_a_deadlock_fires_all_the_same(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(PEOPLE)
    await lab.join(experiment_id)
    await lab.drain()
    ((timer_id, thread_id),) = await lab.rows("SELECT id, thread_id FROM timers WHERE thread_id IS NOT NULL")
    lab.clock.advance(61)

    with capture_logs() as logs:
        async with database.transaction() as session:
            # So that it is the timer that Postgres breaks off.
            await session.run(text("SET LOCAL deadlock_timeout = '9s'"))
            await session.run(text("SELECT FROM timers WHERE id = :id FOR UPDATE"), {"id": timer_id})
            work = asyncio.create_task(fire_due_timers(database, lab.clock.now()))
            await someone_waits_for_a_lock(database)
            await lock_scene(session, thread_id, lab.clock.now())
        fired = await work

    assert "deadlock.retried" in [entry["event"] for entry in logs]
    assert fired == 1
    assert [row.end_reason for row in await lab.rows("SELECT end_reason FROM threads")] == ["time limit"]


async def test_a_cohort_is_settled_again_after_a_deadlock(database: Database) -> None:
    lab = DrainLab(database)
    await lab.start(ROOM)
    await only_steps(lab)
    ((thread_id, cohort_id),) = await lab.rows("SELECT id, cohort_id FROM threads")

    with capture_logs() as logs:
        async with database.transaction() as session:
            # So that it is the settling that Postgres breaks off.
            await session.run(text("SET LOCAL deadlock_timeout = '9s'"))
            await lock_scene(session, thread_id, lab.clock.now())
            work = asyncio.create_task(settle(database, cohort_id, lab.clock.now()))
            await someone_waits_for_a_lock(database)
            await session.run(text("SELECT FROM cohorts WHERE id = :id FOR NO KEY UPDATE"), {"id": cohort_id})
        members = await work

    assert "deadlock.retried" in [entry["event"] for entry in logs]
    assert members == 2


async def test_a_conversation_that_ends_never_waits_for_a_reply_that_is_being_saved(database: Database) -> None:
    model = Model(something_to_say())
    lab = DrainLab(database, models={"mock": model})
    await lab.start(ROOM)
    await only_steps(lab)
    draft_id = UUID(lab.next_hints()[0].id)
    ((thread_id,),) = await lab.rows("SELECT id FROM threads")

    with capture_logs() as logs:
        async with database.transaction() as session:
            # The end is decided while the draft is wanted, and written when it is taken and its reply waits.
            scene = await lock_scene(session, thread_id, lab.clock.now())
            work = asyncio.create_task(lab.thinker.work_on(draft_id))
            await someone_waits_for_a_lock(database)
            await write(session, scene, end(scene, "time is up"), "test")
        await work

    assert "deadlock.retried" not in [entry["event"] for entry in logs]
    assert not await lab.rows("SELECT 1 FROM messages WHERE author_kind = 'agent'")
    assert model.calls == await recorded_calls(lab) == 1


async def test_a_change_that_closes_drafts_locks_the_streams_counter_after_them(database: Database) -> None:
    model = Model(something_to_say())
    lab = DrainLab(database, models={"mock": model})
    await lab.start(ROOM.replace("name: A room", "name: A room\npace: live"))
    await only_steps(lab)
    ada, bob = await lab.rows(
        "SELECT d.id, d.member_id FROM drafts d JOIN members m ON m.id = d.member_id ORDER BY m.path"
    )
    async with database.transaction() as session:
        await session.run(_REMOVED, {"id": bob.member_id})

    with capture_logs() as logs:
        async with database.transaction() as session:
            # Closes bob's draft, as the reply of ada does, and asks for the counter when it commits.
            assert await drafts.lease(session, bob.id, uuid4(), lab.clock.now(), lab.clock.now()) is None
            work = asyncio.create_task(lab.thinker.work_on(ada.id))
            await someone_waits_for_a_lock(database)
        await work

    assert "deadlock.retried" not in [entry["event"] for entry in logs]
    assert await states(lab) == ["published", "cancelled"]
    assert model.calls == await recorded_calls(lab) == 1


ON_ARRIVAL = """
parley: 1
name: A group on arrival
pace: live
seat_again: [before_first_answer]
treatments: [{id: a}, {id: b}]
stages: [{id: page, kind: info, lines: [Hello]}]
cohorts: [{made: on_arrival, count: 2, seats: [{open: true}]}]
"""


async def test_a_pause_and_a_join_that_frees_a_seat_and_makes_a_group_wait_for_each_other_in_one_order(
    database: Database,
) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(ON_ARRIVAL)
    await lab.join(experiment_id)
    await lab.rows("INSERT INTO presence (member_id, gone_at) SELECT id, now() FROM members RETURNING 1")

    with capture_logs() as logs:
        async with database.transaction() as session:
            await pausing.lock(session, experiment_id)
            # Its arm is the other one, so that it is to make a group.
            coming = asyncio.create_task(
                database.transact(
                    lambda own: join(own, experiment_id, lab.clock.now(), cohort_id=None, profile=Profile(name="Ben"))
                )
            )
            await someone_waits_for_a_lock(database)
            await pausing.pause(session, experiment_id, lab.clock.now())
        with pytest.raises(Paused):
            await coming

    assert "deadlock.retried" not in [entry["event"] for entry in logs]
    assert [row.status for row in await lab.rows("SELECT status FROM members")] == ["in_progress"]


BY_PARTICIPANT = """
parley: 1
name: Arms of participants
allocation: {by: participant}
treatments: [{id: a}, {id: b}]
personas: [{id: ana, model: {provider: mock, model: mock, temperature: 0}}]
stages: [{id: page, kind: info, lines: [Hello]}]
pace: live
cohorts: [{seats: [{persona: ana}, {open: true}]}]
"""


async def test_an_agent_that_is_added_holds_no_cohort_while_it_waits_for_the_draws(database: Database) -> None:
    lab = DrainLab(database)
    experiment_id = await lab.start(BY_PARTICIPANT)
    ((cohort_id,),) = await lab.rows("SELECT id FROM cohorts")
    wanted = Addition("ana", "participant")

    async with database.transaction() as session:
        await lock_draws(session, experiment_id)
        adding = asyncio.create_task(
            database.transact(lambda own: add_agent(own, cohort_id, wanted, lab.clock.now(), actor="Ellen"))
        )
        await someone_waits_for_a_lock(database)
        await session.run(text("SELECT FROM cohorts WHERE id = :id FOR NO KEY UPDATE NOWAIT"), {"id": cohort_id})

    await adding
    assert [row.added_by for row in await lab.rows("SELECT added_by FROM members WHERE path = 'c1/m3'")] == ["Ellen"]
