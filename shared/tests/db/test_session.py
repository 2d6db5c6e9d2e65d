"""Connections: what goes back to the pool is clean, and what is broken does not."""

import asyncio
from datetime import UTC, datetime
from uuid import uuid4

import pytest
from sqlalchemy import text

from shared.db import tables
from shared.db.session import Database, Session, connect
from shared.errors import Unavailable

NOW = datetime(2026, 5, 1, 12, tzinfo=UTC)
PID = text("SELECT pg_backend_pid() AS pid")
NAMES = text("SELECT count(*) AS n FROM experimenters WHERE name = 'Ada'")


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


async def forgets_all_and_fails(database: Database) -> None:
    async with database.transaction() as session:
        await session.run(text("DELETE FROM experimenters"))
        raise ZeroDivisionError


async def somebody_sleeps(database: Database) -> None:
    asleep = text("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'")
    async with asyncio.timeout(10), database.looking() as session:
        while await session.first(asleep) is None:
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
    await somebody_sleeps(database)
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


async def test_whoever_looks_sees_each_moment_and_the_next_transaction_is_one_again(database: Database) -> None:
    async with database.looking() as looking:
        before = (await looking.one(NAMES)).n
        await adds_ada_and_runs(database, "SELECT 1")
        after = (await looking.one(NAMES)).n
        pid = (await looking.one(PID)).pid

    assert (before, after) == (0, 1)
    with pytest.raises(ZeroDivisionError):
        await forgets_all_and_fails(database)
    assert await pid_of(database) == pid
    assert await names(database) == 1


async def test_when_all_connections_are_in_use_others_wait_and_are_told_to_try_again(database: Database) -> None:
    narrow = connect(database.url, pool_size=1, patience_seconds=0.05)

    async with narrow.transaction():
        with pytest.raises(Unavailable, match="busy"):
            await pid_of(narrow)

    assert await pid_of(narrow)
    await narrow.close()


async def test_a_database_that_is_not_there_is_unavailable_at_once() -> None:
    nowhere = connect("postgresql://postgres@127.0.0.1:1/postgres")

    with pytest.raises(Unavailable, match="cannot be reached"):
        await pid_of(nowhere)

    await nowhere.close()
