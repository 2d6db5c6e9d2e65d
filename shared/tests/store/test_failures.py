"""A server that is gone without a word: its connections are given up in time, and new ones are made."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager, suppress

import pytest
from sqlalchemy import text

from parley_lab.base.errors import Unavailable
from parley_lab.store import lab
from parley_lab.store.databases import connect
from parley_lab.store.session import Database
from parley_lab.talk import streams
from parley_lab.testing.tcp_proxy import TcpProxy, before_postgres, through

pytestmark = [pytest.mark.fault, pytest.mark.timeout(60)]

ONE = text("SELECT 1 AS one")
SLOW = text("SELECT pg_sleep(0.5)")
ENDLESS = text("SELECT pg_sleep(600)")
# Other tests use other databases of the same server, and locks of this kind, too.
END_THOSE_WITH_LOCKS = text(
    """
    SELECT pg_terminate_backend(k.pid) FROM pg_locks k JOIN pg_database d ON d.oid = k.database
    WHERE k.locktype = 'advisory' AND d.datname = current_database()
    """
)
ASLEEP = text("SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'PgSleep'")


@asynccontextmanager
async def behind_a_proxy(database: Database) -> AsyncIterator[tuple[Database, TcpProxy]]:
    """The same database by way of a proxy, with the limit of a statement at 0.2 s."""
    async with before_postgres(database.url) as proxy:
        proxied = connect(through(proxy, database.url), statement_seconds=0.2)
        try:
            yield proxied, proxy
        finally:
            await proxied.close()


async def asks(database: Database) -> None:
    async with database.transaction() as session:
        await session.one(ONE)


async def looks(database: Database) -> None:
    async with database.read() as session:
        await session.one(ONE)


async def reads_a_stream(database: Database) -> None:
    async with database.transaction() as session:
        assert len([row async for row in session.stream(ONE, {}, at_once=10)]) == 1


async def copies(database: Database) -> None:
    async with database.transaction() as session:
        await session.copy("COPY workers FROM STDIN", [])


async def holds_connections(database: Database, count: int) -> None:
    """Give so many connections back to the pool, used."""
    async with AsyncExitStack() as stack:
        for session in [await stack.enter_async_context(database.read()) for _ in range(count)]:
            await session.one(ONE)


@pytest.mark.parametrize("work", [asks, looks, reads_a_stream, copies])
async def test_a_server_that_does_not_answer_any_more_is_given_up_in_time(
    database: Database, work: Callable[[Database], Awaitable[None]]
) -> None:
    async with behind_a_proxy(database) as (proxied, proxy):
        await work(proxied)
        proxy.swallow()

        with pytest.raises(Unavailable, match="cannot be reached"):
            await work(proxied)

        await work(proxied)


async def test_all_older_connections_are_replaced_when_one_goes_unanswered(database: Database) -> None:
    async with behind_a_proxy(database) as (proxied, proxy):
        await holds_connections(proxied, 5)
        proxy.swallow()

        with pytest.raises(Unavailable):
            await asks(proxied)

        for _ in range(5):
            await asks(proxied)


async def test_who_is_cancelled_while_the_server_is_silent_ends_in_time(database: Database) -> None:
    async with behind_a_proxy(database) as (proxied, proxy):
        await holds_connections(proxied, 5)
        proxy.swallow()
        asking = asyncio.create_task(asks(proxied))
        await asyncio.sleep(0.05)
        asking.cancel()

        with pytest.raises(asyncio.CancelledError):
            await asyncio.wait_for(asking, 5)

        for _ in range(5):
            await asks(proxied)


async def test_who_declares_a_longer_limit_gets_it(database: Database) -> None:
    async with behind_a_proxy(database) as (proxied, _):
        async with proxied.transaction(statement_seconds=30) as session:
            await session.run(SLOW)

        with pytest.raises(Unavailable):
            async with proxied.transaction() as session:
                await session.run(SLOW)


async def test_the_server_ends_a_statement_whose_client_has_hung_up(database: Database) -> None:
    async with behind_a_proxy(database) as (proxied, _):
        with pytest.raises(Unavailable):
            async with proxied.transaction() as session:
                await session.run(ENDLESS)

        async with asyncio.timeout(20), database.read() as session:
            while await session.first(ASLEEP) is not None:
                pass


async def test_the_right_to_the_lab_is_taken_again_after_a_silent_failover(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lab, "STATEMENT_SECONDS", 0.2)
    async with behind_a_proxy(database) as (proxied, proxy):
        claim = await lab.claim_lab(proxied.url, "in-process")
        proxy.swallow()
        # The old server is gone, and its lock with it.
        async with database.read() as session:
            await session.all(END_THOSE_WITH_LOCKS)

        await asyncio.wait_for(claim.renew(), 10)

        await claim.renew()
        await claim.close()


async def test_facts_are_heard_again_after_a_silent_failover(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(streams, "STATEMENT_SECONDS", 0.2)
    monkeypatch.setattr(streams, "_SILENCE_SECONDS", 0.1)
    monkeypatch.setattr(streams, "_AGAIN_SECONDS", 0.01)
    heard: asyncio.Queue[str] = asyncio.Queue()
    connected = asyncio.Event()
    async with before_postgres(database.url) as proxy, asyncio.timeout(20):
        hearing = asyncio.create_task(streams.hear_facts(through(proxy, database.url), heard.put_nowait, connected.set))
        await connected.wait()
        connected.clear()
        proxy.swallow()

        await connected.wait()
        async with database.transaction() as session:
            await session.run(text("SELECT pg_notify('parley_facts', 'one')"))

        assert await heard.get() == "one"
        hearing.cancel()
        with suppress(asyncio.CancelledError):
            await hearing
