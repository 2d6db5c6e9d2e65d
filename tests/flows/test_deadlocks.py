"""Who waits for whom: deadlocks that Postgres breaks off cost nothing, and others are kept from coming about."""

import asyncio
from uuid import UUID, uuid4

from sqlalchemy import text
from structlog.testing import capture_logs

from parley_lab.drafts import drafts
from parley_lab.orchestrator.settling import fire_due_timers
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
