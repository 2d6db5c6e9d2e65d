"""A migration beside services that go on: it holds up nobody for long, and takes only a database that is the lab's."""

import time
import uuid
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psycopg
import pytest
from alembic import command

from parley_lab.base.errors import SettingsInvalid, Unavailable
from parley_lab.store import databases, migrate, schema
from parley_lab.store.session import Database
from parley_lab.testing.next_migration import NEXT, with_next
from parley_lab.testing.services import Server

# Only a deadlock ends its waiting, and it is the first to see it.
TWO_TABLES = """
from alembic import op
revision = "{next}"
down_revision = "{newest}"

def upgrade():
    op.execute("SET LOCAL lock_timeout = 0")
    op.execute("SET LOCAL deadlock_timeout = '10ms'")
    op.execute("ALTER TABLE messages ADD COLUMN first_of_two text")
    op.execute("SELECT pg_advisory_xact_lock(1)")
    op.execute("ALTER TABLE members ADD COLUMN second_of_two text")
"""
WITHOUT_A_LOCK = """
from alembic import op
revision = "{next}"
down_revision = "{newest}"

def upgrade():
    with op.get_context().autocommit_block():
        op.create_index("ix_built_beside_others", "messages", ["text"], postgresql_concurrently=True)
"""


@pytest.fixture
def empty_url(postgres_server: Server) -> Iterator[str]:
    name = f"parley_empty_{uuid.uuid4().hex[:16]}"
    yield databases.create_database(postgres_server.url, name)
    databases.drop_database(postgres_server.url, name)


@contextmanager
def holding(url: str, statement: str) -> Iterator[psycopg.Connection]:
    """A transaction with the locks of this statement, until the block ends."""
    with psycopg.connect(url) as connection:
        connection.execute(statement)
        yield connection
        connection.rollback()


def read_messages(url: str) -> float:
    """How many seconds a statement that needs the table of messages takes."""
    began = time.monotonic()
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute("SELECT count(*) FROM messages")
    return time.monotonic() - began


def wait_for(url: str, condition: str) -> None:
    with psycopg.connect(url, autocommit=True) as connection:
        until = time.monotonic() + 30
        while not connection.execute(condition).fetchall():
            assert time.monotonic() < until, condition
            time.sleep(0.02)


WAITS = "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"


@pytest.mark.race
def test_a_migration_that_waits_for_a_lock_lets_others_pass_and_is_done_in_the_end(
    database_url: str, tmp_path: Path
) -> None:
    migrations = with_next(tmp_path / "next")
    with ThreadPoolExecutor() as pool:
        with holding(database_url, "LOCK TABLE messages IN ROW EXCLUSIVE MODE"):
            migrating = pool.submit(migrate.upgrade, database_url, migrations=migrations)
            wait_for(database_url, WAITS)
            slowest = max(read_messages(database_url) for _ in range(20))
            # It has asked for the lock in vain once, and goes on asking.
            with pytest.raises(TimeoutError):
                migrating.result(timeout=1.5)

        assert migrating.result(timeout=60).after == NEXT
    assert slowest < 5


@pytest.mark.race
def test_a_migration_that_ran_into_a_deadlock_begins_anew(database_url: str, tmp_path: Path) -> None:
    migrations = with_next(tmp_path / "next", TWO_TABLES)
    with ThreadPoolExecutor() as pool, holding(database_url, "LOCK TABLE members IN SHARE MODE") as other:
        other.execute("SET deadlock_timeout = '10min'")
        with holding(database_url, "SELECT pg_advisory_xact_lock(1)"):
            migrating = pool.submit(migrate.upgrade, database_url, migrations=migrations)
            wait_for(database_url, f"{WAITS} AND wait_event = 'advisory'")
            locking = pool.submit(other.execute, "LOCK TABLE messages IN SHARE MODE")
            wait_for(database_url, f"{WAITS} AND wait_event = 'relation'")
        locking.result(timeout=60)
        other.commit()

        assert migrating.result(timeout=60).after == NEXT


@pytest.mark.race
def test_moves_in_place_are_no_deadlock_for_who_has_read_members_and_writes_them(database_url: str) -> None:
    with migrate._connect(database_url) as connection:
        command.downgrade(migrate._config(connection, migrate.OURS), "0006")
        connection.commit()
    with ThreadPoolExecutor() as pool, psycopg.connect(database_url) as other:
        other.execute("SELECT count(*) FROM members")
        migrating = pool.submit(migrate.upgrade, database_url)
        wait_for(database_url, WAITS)
        other.execute("UPDATE members SET version = version + 1")
        other.commit()

        assert migrating.result(timeout=60).after == migrate.HEAD


@pytest.mark.race
def test_a_migration_gives_up_in_the_end_and_says_what_to_do(database_url: str, tmp_path: Path) -> None:
    migrations = with_next(tmp_path / "next")

    with (
        holding(database_url, "LOCK TABLE messages IN ROW EXCLUSIVE MODE"),
        pytest.raises(Unavailable, match="in pg_stat_activity whose transaction"),
    ):
        migrate.upgrade(database_url, migrations=migrations, patience_seconds=0)

    assert migrate.current_revision(database_url) == migrate.HEAD
    assert migrate.differences(database_url) == []


@pytest.mark.race
def test_an_index_is_built_without_a_lock_although_others_wait_to_migrate(database_url: str, tmp_path: Path) -> None:
    migrations = with_next(tmp_path / "next", WITHOUT_A_LOCK)
    with ThreadPoolExecutor() as pool:
        outcomes = list(pool.map(lambda _: migrate.upgrade(database_url, migrations=migrations), range(3)))

    assert sorted(one.before or "" for one in outcomes) == [migrate.HEAD, NEXT, NEXT]


def test_tables_of_another_program_are_refused_and_left_as_they_are(
    empty_url: str, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("PARLEY_DATABASE_URL", empty_url)
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE messages (body text)")

    assert migrate.main([]) == 2

    told = capsys.readouterr().err
    assert "has tables with names that the lab uses (messages)" in told
    assert "point PARLEY_DATABASE_URL at it" in told
    with psycopg.connect(empty_url) as connection:
        tables = connection.execute("SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace")
        assert tables.fetchall() == [("messages",)]


def test_the_migrations_of_another_program_are_told_from_ours(empty_url: str) -> None:
    with psycopg.connect(empty_url, autocommit=True) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num text)")
        connection.execute("INSERT INTO alembic_version VALUES ('8f3c1a2b9d04')")

    with pytest.raises(SettingsInvalid, match="belongs to another program: its revision is 8f3c1a2b9d04"):
        migrate.upgrade(empty_url)


async def refused(database: Database) -> str:
    """What a service says at its start."""
    with pytest.raises(SettingsInvalid) as caught:
        async with database.read() as session:
            await schema.require_schema(session)
    return caught.value.message


async def change(database: Database, statement: str) -> None:
    with psycopg.connect(database.url, autocommit=True) as connection:
        connection.execute(statement)


async def test_a_service_starts_on_the_tables_of_the_next_version(database: Database, tmp_path: Path) -> None:
    migrate.upgrade(database.url, migrations=with_next(tmp_path / "next"))

    async with database.read() as session:
        assert await schema.require_schema(session) == NEXT


async def test_a_service_refuses_newer_tables_that_have_lost_what_it_needs(database: Database) -> None:
    await change(database, "UPDATE alembic_version SET version_num = '9999'")
    await change(database, "ALTER TABLE messages DROP COLUMN line")

    assert "needs what is no longer there: messages.line. Start a newer Parley" in await refused(database)


async def test_a_service_refuses_older_tables_and_says_what_to_do(database: Database) -> None:
    await change(database, "UPDATE alembic_version SET version_num = '0001'")

    assert "is at revision 0001, this service needs" in await refused(database)


async def test_a_service_refuses_what_another_program_has_made(database: Database) -> None:
    await change(database, "DROP TABLE alembic_version")

    assert "Make a database for the lab alone" in await refused(database)


def test_the_version_before_has_nothing_to_migrate_when_someone_goes_back_to_it(
    database_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    migrate.upgrade(database_url, migrations=with_next(tmp_path / "next"))
    monkeypatch.setenv("PARLEY_DATABASE_URL", database_url)

    assert migrate.main([]) == 0
    assert f"at revision {NEXT}, newer than this version ({migrate.HEAD})" in capsys.readouterr().out

    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("ALTER TABLE alerts DROP COLUMN resolved_at")
    assert migrate.main([]) == 2
    assert "needs what is no longer there: alerts.resolved_at" in capsys.readouterr().err
