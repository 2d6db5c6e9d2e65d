"""Databases of tests: each is as empty as the first, and no test finds that of another."""

from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import psycopg
import pytest
from sqlalchemy import text

from parley_lab.store.session import Database
from parley_lab.testing.fresh_databases import FreshDatabases, is_emptied, look_at
from parley_lab.testing.services import Server

ADD = "INSERT INTO experimenters (id, name, created_at) VALUES (gen_random_uuid(), 'Ada', now())"
COUNT = "SELECT count(*) FROM experimenters"
OID = "SELECT oid FROM pg_database WHERE datname = current_database()"
REVISION = "SELECT version_num FROM alembic_version"


@pytest.fixture
def fresh(postgres_server: Server, template_database: str) -> Iterator[FreshDatabases]:
    found = FreshDatabases(postgres_server.url, template_database)
    yield found
    found.close()


def said(url: str, query: str) -> Any:
    with psycopg.connect(url, autocommit=True) as connection:
        answer = connection.execute(query.encode())
        row = answer.fetchone() if answer.description else None
        return row and row[0]


def test_a_used_database_is_emptied_and_has_another_name(fresh: FreshDatabases) -> None:
    with fresh.one() as first:
        said(first, ADD)
        was = said(first, OID)
        assert said(first, "SELECT nextval('outbox_id_seq')") == 1
    with fresh.one() as second:
        assert second != first
        assert said(second, OID) == was
        assert said(second, COUNT) == 0
        assert said(second, "SELECT nextval('outbox_id_seq')") == 1


def test_who_is_still_connected_is_cut_off_and_does_not_find_it_again(fresh: FreshDatabases) -> None:
    with fresh.one() as first:
        late = psycopg.connect(first, autocommit=True)
        late.execute("BEGIN")
        late.execute(ADD)
    with fresh.one() as second:
        assert said(second, COUNT) == 0
        with pytest.raises(psycopg.OperationalError):
            late.execute(ADD)
        with pytest.raises(psycopg.OperationalError, match="does not exist"):
            psycopg.connect(first)
    late.close()


CHANGES = (
    "ALTER TABLE experimenters ADD COLUMN more text",
    "ALTER TABLE experimenters ALTER COLUMN name DROP NOT NULL",
    "ALTER TABLE experimenters ALTER COLUMN name SET DEFAULT 'x'",
    "CREATE TABLE more (id int)",
    "CREATE FUNCTION more() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "CREATE SCHEMA more",
    "DROP TABLE members CASCADE",
    "UPDATE alembic_version SET version_num = '0000'",
    "DO $$ BEGIN EXECUTE format('ALTER DATABASE %I SET work_mem = 64', current_database()); END $$",
)


def test_a_database_that_is_not_as_it_was_is_given_to_no_other_test(fresh: FreshDatabases) -> None:
    with fresh.one() as first:
        was, revision = said(first, OID), said(first, REVISION)
        said(first, CHANGES[0])
    with fresh.one() as second:
        assert said(second, OID) != was
        assert said(second, REVISION) == revision


def test_each_change_is_seen_that_emptying_does_not_take_back(database_url: str) -> None:
    as_copied = look_at(database_url)
    with psycopg.connect(database_url, autocommit=True) as connection:
        for change in ("SELECT 1", *CHANGES):
            with connection.transaction(force_rollback=True):
                connection.execute(change.encode())
                assert is_emptied(connection, as_copied, ()) == (change == "SELECT 1"), change


def test_a_database_that_has_grown_is_given_to_no_other_test(fresh: FreshDatabases) -> None:
    with fresh.one() as first:
        was = said(first, OID)
        said(first, ADD.replace("VALUES (gen_random_uuid(), 'Ada', now())", MANY))
    with fresh.one() as second:
        assert said(second, OID) != was


MANY = "SELECT gen_random_uuid(), repeat('Ada', 100) || n, now() FROM generate_series(1, 20000) AS n"


NAME = "SELECT current_database()"


def test_a_database_that_a_test_has_dropped_is_missed_by_no_other(
    fresh: FreshDatabases, postgres_server: Server
) -> None:
    with fresh.one() as first:
        said(postgres_server.url, f'DROP DATABASE "{said(first, NAME)}"')
    with fresh.one() as second:
        assert said(second, COUNT) == 0


async def ask(database: Database, query: str) -> Any:
    async with database.transaction() as session:
        return (await session.one(text(f"SELECT ({query}) AS found"))).found


BACKEND = "SELECT pg_backend_pid()"


async def test_connections_go_on_from_test_to_test_and_rows_do_not(fresh: FreshDatabases) -> None:
    async with fresh.lend() as first:
        backend = await ask(first, BACKEND)
        async with first.transaction() as session:
            await session.run(text(ADD))
        assert await ask(first, "SELECT nextval('outbox_id_seq')") == 1
    async with fresh.lend() as second:
        assert second is not first
        assert await ask(second, BACKEND) == backend
        assert await ask(second, COUNT) == 0
        assert await ask(second, "SELECT nextval('outbox_id_seq')") == 1


async def test_only_connections_of_its_own_go_on(fresh: FreshDatabases) -> None:
    async with fresh.lend() as first:
        backend = await ask(first, BACKEND)
        late = psycopg.connect(first.url, autocommit=True)
        late.execute("BEGIN")
        late.execute(ADD)
    async with fresh.lend() as second:
        assert await ask(second, BACKEND) == backend
        assert await ask(second, COUNT) == 0
        with pytest.raises(psycopg.OperationalError):
            late.execute(ADD)
    late.close()


async def test_two_at_once_have_a_database_each(fresh: FreshDatabases) -> None:
    async with fresh.lend() as first, fresh.lend() as second:
        assert await ask(first, OID) != await ask(second, OID)


async def test_of_many_connections_none_goes_on(fresh: FreshDatabases) -> None:
    async with fresh.lend() as first, AsyncExitStack() as at_once:
        was = await ask(first, OID)
        sessions = [await at_once.enter_async_context(first.transaction()) for _ in range(6)]
        backends = {(await session.one(text(BACKEND))).pg_backend_pid for session in sessions}
    async with fresh.lend() as second:
        assert await ask(second, OID) == was
        assert await ask(second, BACKEND) not in backends


async def test_a_database_whose_tables_have_changed_does_not_go_on(fresh: FreshDatabases) -> None:
    async with fresh.lend() as first:
        was = await ask(first, OID)
        async with first.transaction() as session:
            await session.run(text("ALTER TABLE experimenters ADD COLUMN more text"))
    async with fresh.lend() as second:
        assert await ask(second, OID) != was


async def test_a_database_in_which_a_transaction_is_open_does_not_go_on(fresh: FreshDatabases) -> None:
    async with fresh.lend() as first:
        was = await ask(first, OID)
        session = first.transaction()
        await session.__aenter__()
    async with fresh.lend() as second:
        assert await ask(second, OID) != was
    with pytest.raises(Exception):  # noqa: B017, PT011 - its connection is closed
        await session.__aexit__(None, None, None)
