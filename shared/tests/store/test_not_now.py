"""What Postgres cannot do now: told apart from what it never does, and over as soon as it can again."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, contextmanager
from urllib.parse import urlsplit

import psycopg
import pytest
from psycopg import sql
from sqlalchemy import text

from parley_lab.base.errors import GivenUp, Unavailable
from parley_lab.drafts.context import check_reachable
from parley_lab.store import lab
from parley_lab.store.databases import connect
from parley_lab.store.failures import MOST_GIVEN_UP, retry_deadlocks, retry_until_done
from parley_lab.store.session import Database

pytestmark = [pytest.mark.postgres, pytest.mark.timeout(60)]

WRITE = text("INSERT INTO limits (name) VALUES (CAST(gen_random_uuid() AS text))")
OTHERS = (
    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
    "WHERE datname = current_database() AND pid <> pg_backend_pid()"
)


@contextmanager
def only_reads(url: str) -> Iterator[None]:
    """All connections are made anew and can only read. After the block new ones can write, and those do not."""
    name = sql.Identifier(urlsplit(url).path.removeprefix("/"))
    with psycopg.connect(url, autocommit=True, options="-c default_transaction_read_only=off") as connection:
        connection.execute(sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name))
        connection.execute(OTHERS)
        try:
            yield
        finally:
            connection.execute(sql.SQL("ALTER DATABASE {} RESET default_transaction_read_only").format(name))


@pytest.fixture
async def pooled(database_url: str) -> AsyncIterator[Database]:
    database = connect(database_url, pool_size=5)
    yield database
    await database.close()


async def writes(database: Database) -> None:
    async with database.transaction() as session:
        await session.run(WRITE)


async def has_written(database: Database) -> bool:
    try:
        await writes(database)
    except Unavailable:
        return False
    return True


async def fills_the_pool(database: Database) -> None:
    async with AsyncExitStack() as stack:
        for session in [await stack.enter_async_context(database.read()) for _ in range(5)]:
            await session.one(text("SELECT 1"))


async def test_nothing_is_written_to_a_server_that_only_reads_and_all_is_well_right_after(pooled: Database) -> None:
    await writes(pooled)

    with only_reads(pooled.url):
        refused = [await has_written(pooled) for _ in range(3)]
        with pytest.raises(Unavailable, match="only be read"):
            await check_reachable(pooled)
        await fills_the_pool(pooled)
    first = await has_written(pooled)
    then = await asyncio.gather(*(has_written(pooled) for _ in range(5)))

    # The first is the one by which the pool learns that its connections can only read.
    assert (refused, first, then) == ([False] * 3, False, [True] * 5)
    await check_reachable(pooled)


async def test_a_look_whether_the_server_can_write_is_enough_to_get_connections_that_can(pooled: Database) -> None:
    with only_reads(pooled.url):
        await fills_the_pool(pooled)
    with pytest.raises(Unavailable):
        await check_reachable(pooled)

    await check_reachable(pooled)
    assert await has_written(pooled)


async def test_a_part_of_the_lab_may_start_while_the_server_only_reads(database: Database) -> None:
    await (await lab.claim_lab(database.url, "rabbitmq")).close()

    with only_reads(database.url):
        claim = await lab.claim_lab(database.url, "rabbitmq")
        await claim.close()


@pytest.mark.parametrize("state", ["25006", "53000", "53100", "53200", "53300", "53400", "57014", "57P01", "58030"])
@pytest.mark.parametrize("how", ["transaction", "autocommit", "read"])
async def test_what_cannot_be_done_now_is_no_error_of_ours(pooled: Database, state: str, how: str) -> None:
    raising = text(f"DO $$ BEGIN RAISE EXCEPTION 'not now' USING ERRCODE = '{state}'; END $$")

    with pytest.raises(Unavailable):
        async with getattr(pooled, how)() as session:
            await session._execute(raising, None)

    assert await has_written(pooled)


async def test_what_is_wrong_stays_an_error(pooled: Database) -> None:
    with pytest.raises(psycopg.errors.UndefinedTable):
        async with pooled.transaction() as session:
            await session.run(text("DELETE FROM nothing_of_this_name"))


async def test_what_the_server_gives_up_each_time_is_not_tried_without_end(
    pooled: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley_lab.store.failures._FIRST_PAUSE_SECONDS", 0)
    tries: list[None] = []

    async def give_up() -> None:
        tries.append(None)
        async with pooled.transaction() as session:
            await session.run(text("SET LOCAL statement_timeout = 10"))
            await session.run(text("SELECT pg_sleep(5)"))

    with pytest.raises(GivenUp):
        await retry_until_done(give_up)

    assert len(tries) == MOST_GIVEN_UP


async def test_the_other_side_of_a_deadlock_has_a_moment_for_its_lock_before_the_work_is_repeated() -> None:
    tries: list[None] = []
    has_its_lock = asyncio.Event()

    async def work() -> bool:
        tries.append(None)
        if len(tries) == 1:
            asyncio.get_running_loop().call_later(0.01, has_its_lock.set)
            raise psycopg.errors.DeadlockDetected
        return has_its_lock.is_set()

    assert await retry_deadlocks(work)
