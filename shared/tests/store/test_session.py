"""Connections: what goes back to the pool is clean, and what is broken does not."""

import asyncio
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from typing import Any
from unittest.mock import patch
from uuid import uuid4

import pytest
from psycopg import AsyncCursor, DataError
from psycopg.pq import PipelineStatus
from sqlalchemy import text

from parley_lab.base.errors import Unavailable
from parley_lab.base.urgency import Urgency, urgency
from parley_lab.contracts.hints import Hint
from parley_lab.data import exports
from parley_lab.data.export_sections import SECTIONS
from parley_lab.store import tables
from parley_lab.store.databases import connect
from parley_lab.store.facts import FLUSH, Event
from parley_lab.store.session import Database, Session
from parley_lab.store.statements import Row, compiled

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
PID = text("SELECT pg_backend_pid() AS pid")
NAMES = text("SELECT count(*) AS n FROM experimenters WHERE name = 'Ada'")
NUMBERS = text("SELECT n FROM generate_series(1, 1000) AS n")
IS_CONNECTED = text("SELECT 1 FROM pg_stat_activity WHERE pid = :pid")


async def add_ada(session: Session) -> None:
    await session.insert(tables.experimenters, [{"id": uuid4(), "name": "Ada", "created_at": NOW}])


async def pid_of(database: Database) -> int:
    async with database.transaction() as session:
        return int((await session.one(PID)).pid)


async def names(database: Database) -> int:
    async with database.transaction() as session:
        return int((await session.one(NAMES)).n)


async def adds_ada_and_runs(database: Database, statement: str) -> None:
    async with database.transaction() as session:
        await add_ada(session)
        await session.run(text(statement))


async def adds_ada_and_fails(database: Database) -> None:
    async with database.transaction() as session:
        await add_ada(session)
        raise ZeroDivisionError


def event_nowhere() -> Event:
    return Event(uuid4(), uuid4(), "member.joined", "c1/m1", "request", "c1/m1", NOW)


async def adds_ada_and_records_nowhere(database: Database) -> None:
    async with database.transaction() as session:
        await add_ada(session)
        session.record(event_nowhere())


async def records_beside_the_statement(database: Database) -> None:
    async with database.autocommit() as session:
        session.record(event_nowhere())


async def forgets_all_and_fails(database: Database) -> None:
    async with database.transaction() as session:
        await session.run(text("DELETE FROM experimenters"))
        raise ZeroDivisionError


async def someone_sleeps(database: Database) -> None:
    asleep = text("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'")
    async with asyncio.timeout(10), database.read() as session:
        while await session.first(asleep) is None:
            pass


async def is_gone(elsewhere: Database, pid: int) -> None:
    """Return when the server has no such connection any more."""
    async with asyncio.timeout(10), elsewhere.read() as session:
        while await session.first(IS_CONNECTED, {"pid": pid}) is not None:
            pass


async def test_a_transaction_that_fails_leaves_nothing_and_its_connection_is_used_again(database: Database) -> None:
    pid = await pid_of(database)

    with pytest.raises(ZeroDivisionError):
        await adds_ada_and_fails(database)

    assert await names(database) == 0
    assert await pid_of(database) == pid


async def test_a_statement_that_fails_does_the_same(database: Database) -> None:
    pid = await pid_of(database)

    with pytest.raises(Exception, match="division by zero"):
        await adds_ada_and_runs(database, "SELECT 1 / 0")

    assert await names(database) == 0
    assert await pid_of(database) == pid


async def test_after_a_cancellation_nothing_is_locked_and_the_connection_is_not_used_again(database: Database) -> None:
    pid = await pid_of(database)

    async def hold() -> None:
        async with database.transaction() as session:
            await session.run(text("LOCK TABLE experimenters"))
            await session.run(text("SELECT pg_sleep(60)"))

    holder = asyncio.create_task(hold())
    await someone_sleeps(database)
    holder.cancel()
    with pytest.raises(asyncio.CancelledError):
        await holder

    async with database.transaction() as session:
        await session.run(text("SET LOCAL lock_timeout = '5s'"))
        await add_ada(session)
    assert await names(database) == 1
    assert await pid_of(database) != pid


async def test_connections_to_a_server_that_went_away_are_given_up_together(database: Database) -> None:
    async with database.transaction() as one, database.transaction() as other:
        pids = [(await session.one(PID)).pid for session in (one, other)]
    elsewhere = connect(database.url, pool_size=1)
    async with elsewhere.transaction() as session:
        await session.all(text("SELECT pg_terminate_backend(pid) FROM unnest(:pids) pid"), {"pids": pids})
    await elsewhere.close()

    with pytest.raises(Unavailable):
        await pid_of(database)

    assert await pid_of(database) not in pids


async def test_a_connection_in_use_while_others_broke_is_closed_after_its_transaction(database: Database) -> None:
    elsewhere = connect(database.url, pool_size=1)
    async with database.transaction() as going_on:
        pid = (await going_on.one(PID)).pid
        broken = await pid_of(database)
        async with elsewhere.transaction() as session:
            await session.all(text("SELECT pg_terminate_backend(:pid)"), {"pid": broken})
        with pytest.raises(Unavailable):
            await pid_of(database)
        await add_ada(going_on)

    await is_gone(elsewhere, pid)
    assert await names(database) == 1
    await elsewhere.close()


async def test_when_the_server_has_closed_an_idle_connection_others_are_told_to_try_again(database: Database) -> None:
    elsewhere = connect(database.url, pool_size=1)
    async with database.transaction() as session:
        pid = (await session.one(PID)).pid
        await session.run(text("SET idle_session_timeout = 1"))
    await is_gone(elsewhere, pid)

    with pytest.raises(Unavailable):
        await pid_of(database)

    assert await pid_of(database) != pid
    await elsewhere.close()


async def test_a_cancellation_while_a_failure_is_undone_spoils_nothing_for_others(database: Database) -> None:
    failing = asyncio.Event()

    async def fail() -> None:
        async with database.transaction() as session:
            await add_ada(session)
            failing.set()
            raise ZeroDivisionError

    task = asyncio.create_task(fail())
    await failing.wait()
    while not task.done():
        task.cancel()
        await asyncio.sleep(0)

    assert task.cancelled()
    assert await names(database) == 0


async def test_a_stream_that_is_left_in_its_middle_ends_with_its_transaction(database: Database) -> None:
    left: list[AsyncGenerator[Row, None]] = []

    async def leave() -> None:
        async with database.transaction() as session:
            left.append(session.stream(NUMBERS, {}, at_once=10))
            async for _ in left[0]:
                raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await leave()

    async with database.transaction() as session:
        await session.one(PID)
        # As the interpreter does, sooner or later, with a generator that has no references any more.
        await left[0].aclose()
        assert len([row async for row in session.stream(NUMBERS, {}, at_once=10)]) == 1000


async def test_a_reader_sees_each_moment_and_the_next_transaction_is_one_again(database: Database) -> None:
    async with database.read() as session:
        before = (await session.one(NAMES)).n
        await adds_ada_and_runs(database, "SELECT 1")
        after = (await session.one(NAMES)).n
        pid = (await session.one(PID)).pid

    assert (before, after) == (0, 1)
    with pytest.raises(ZeroDivisionError):
        await forgets_all_and_fails(database)
    assert await pid_of(database) == pid
    assert await names(database) == 1


async def test_recording_while_reading_is_refused_before_it_runs(database: Database) -> None:
    """mypy reads the tests, too, and says so once one of these is allowed and its ignore has nothing to ignore."""
    hint = Hint("orchestrator", "cohort.unsettled", str(uuid4()))

    async with database.read() as session:
        with pytest.raises(AttributeError):
            session.record(event_nowhere())  # type: ignore[attr-defined]
        with pytest.raises(AttributeError):
            session.announce(hint)  # type: ignore[attr-defined]
        with pytest.raises(AttributeError):
            session.settle(uuid4(), 1)  # type: ignore[attr-defined]
        with pytest.raises(AttributeError):
            await session.run(PID)  # type: ignore[attr-defined]
        with pytest.raises(AttributeError):
            await add_ada(session)  # type: ignore[arg-type]


async def test_what_is_recorded_beside_the_one_statement_is_refused(database: Database) -> None:
    with pytest.raises(LookupError, match="with the statement"):
        await records_beside_the_statement(database)


async def test_when_all_connections_are_in_use_others_wait_and_are_told_to_try_again(database: Database) -> None:
    narrow = connect(database.url, pool_size=1, patience_seconds=0.05)

    urgency.set(Urgency.REQUEST)
    async with narrow.transaction():
        with pytest.raises(Unavailable, match="busy"):
            await pid_of(narrow)

    assert await pid_of(narrow)
    await narrow.close()


async def test_a_connection_goes_first_to_what_a_participant_waits_for_and_the_background_is_not_turned_away(
    database: Database,
) -> None:
    narrow = connect(database.url, pool_size=1, patience_seconds=10)
    order: list[Urgency] = []

    async def use(how_urgent: Urgency) -> None:
        urgency.set(how_urgent)
        async with narrow.transaction():
            order.append(how_urgent)

    async with narrow.transaction():
        users = [asyncio.create_task(use(each)) for each in (Urgency.BACKGROUND, Urgency.REQUEST, Urgency.PERSON) * 2]
        await asyncio.sleep(0)
        users[0].cancel()
    await asyncio.gather(*users, return_exceptions=True)

    assert order == [Urgency.PERSON] * 2 + [Urgency.REQUEST] * 2 + [Urgency.BACKGROUND]
    assert await pid_of(narrow)
    await narrow.close()


async def test_a_database_that_is_not_there_is_unavailable_at_once() -> None:
    nowhere = connect("postgresql://postgres@127.0.0.1:1/postgres")

    with pytest.raises(Unavailable, match="cannot be reached"):
        await pid_of(nowhere)

    await nowhere.close()


async def test_reading_data_again_adds_nothing_to_the_statements_that_are_kept(database: Database) -> None:
    async def read() -> int:
        async with exports.snapshot(database) as session:
            for name in SECTIONS:
                assert not [row async for row in exports.section(session, name, uuid4())]
        return compiled.cache_info().currsize

    assert await read() == await read()


async def test_what_was_recorded_travels_together_with_the_commit(database: Database) -> None:
    sent: list[tuple[bytes, bool]] = []
    execute = AsyncCursor.execute

    async def watching(cursor: AsyncCursor[Any], query: Any, *arguments: Any, **options: Any) -> AsyncCursor[Any]:
        sent.append((query, cursor.connection.pgconn.pipeline_status == PipelineStatus.ON))
        return await execute(cursor, query, *arguments, **options)

    with patch.object(AsyncCursor, "execute", watching):
        async with database.transaction() as session:
            await add_ada(session)
            session.announce(Hint("orchestrator", "cohort.unsettled", str(uuid4())))

    (_, flush), (query, commit) = sent[-2:]
    assert (flush, query, commit) == (True, b"COMMIT", True)
    async with database.read() as reader:
        assert (await reader.one(text("SELECT count(*) AS n FROM outbox"))).n == 1


async def test_an_event_of_a_cohort_that_is_not_there_leaves_nothing(database: Database) -> None:
    pid = await pid_of(database)

    with pytest.raises(DataError, match="no stream"):
        await adds_ada_and_records_nowhere(database)

    assert await names(database) == 0
    assert await pid_of(database) == pid


ADD_BOB = text("INSERT INTO experimenters (id, name, created_at) VALUES (:id, 'Bob', :now)")
RENAME_BOB = text("UPDATE experimenters SET name = 'Ada' WHERE name = 'Bob'")


async def test_what_is_pending_of_two_cohorts_is_not_written_with_a_change(database: Database) -> None:
    async with database.read() as reading:
        session = Session(reading._loan, 10)
        session.record(event_nowhere())
        session.settle(uuid4(), 1)
        with pytest.raises(LookupError, match="one cohort"):
            await session.flush_with(FLUSH, {})


async def test_what_is_to_be_done_later_is_done_in_its_order_before_the_next_statement(database: Database) -> None:
    async with database.transaction() as session:
        session.later(ADD_BOB, {"id": uuid4(), "now": NOW})
        session.later(RENAME_BOB, {})

        assert (await session.one(NAMES)).n == 1


async def test_what_is_to_be_done_later_is_done_before_a_first_statement_that_commits_by_itself(
    database: Database,
) -> None:
    async with database.autocommit() as session:
        session.later(ADD_BOB, {"id": uuid4(), "now": NOW})

        assert await session.run(RENAME_BOB) == 1


async def test_what_is_to_be_done_later_is_done_with_the_commit(database: Database) -> None:
    async with database.transaction() as session:
        session.later(ADD_BOB, {"id": uuid4(), "now": NOW})
        session.later(RENAME_BOB, {})

    assert await names(database) == 1


async def does_later_what_fails(database: Database) -> None:
    async with database.transaction() as session:
        await add_ada(session)
        session.later(text("SELECT 1 / 0 AS problem"), {})


async def test_a_transaction_fails_whose_later_statement_fails(database: Database) -> None:
    with pytest.raises(DataError, match="zero"):
        await does_later_what_fails(database)

    assert await names(database) == 0
