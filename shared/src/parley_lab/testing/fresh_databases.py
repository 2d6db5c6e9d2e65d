"""Empty databases for tests: what a test has used is emptied for the next, since a copy costs twenty times as much.

A test that asks for the address gets a name that no other had: a process that outlives its test finds no database at
its address any more. One that asks for a `Database` alone gets connections that know the statements of the lab from
tests before: half of what PostgreSQL does for a short test is to read and plan them.
"""

from collections.abc import AsyncIterator, Collection, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from time import sleep
from typing import Any, Final, LiteralString
from uuid import uuid4

import psycopg
from psycopg import sql
from sqlalchemy import event
from sqlalchemy.ext.asyncio import AsyncEngine

from parley_lab.store.databases import (
    PATIENCE_SECONDS,
    POOL_SIZE,
    copy_database,
    drop_database,
    engine_of,
    with_name,
)
from parley_lab.store.session import Database
from parley_lab.store.turnstile import Turnstile

_GROWTH_BYTES: Final = 8_000_000
"""A database whose tables take more is dropped: deleted rows keep their place, and later tests would read past them."""

_TABLES: Final = "SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
# By the sizes of files, without opening the tables: a new connection takes longer to open all than for all the rest.
_WRITTEN: Final = """
    SELECT relname, pg_total_relation_size(oid) FROM pg_class
    WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND (pg_stat_file(pg_relation_filepath(oid))).size > 0
"""
# PostgreSQL itself would look every 100 ms whether they are gone.
_CUT_OFF_OTHERS: Final = """
    SELECT pg_terminate_backend(pid) FROM pg_stat_get_activity(NULL)
    WHERE datid = (SELECT oid FROM pg_database WHERE datname = current_database())
        AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND pid <> ALL(%s)
"""
_LOOKS: Final = 5_000
_MOST_KEPT: Final = 4
"""So many connections go on: a server has a hundred for all processes of a run."""
_FIRST_NUMBERS: Final = "SELECT setval(seqrelid::regclass, seqstart, false) FROM pg_sequence"
# A copy has the rows of its template's catalogs, with the transactions that wrote them.
_SHAPE: Final = """
    SELECT sum(hashtextextended(part, 0)) FROM (
        SELECT concat('class ', oid, ' ', xmin) AS part FROM pg_class WHERE oid >= 16384
        UNION ALL SELECT concat('column ', attrelid, ' ', attnum, ' ', xmin) FROM pg_attribute WHERE attrelid >= 16384
        UNION ALL SELECT concat('default ', oid, ' ', xmin) FROM pg_attrdef
        UNION ALL SELECT concat('constraint ', oid, ' ', xmin) FROM pg_constraint
        UNION ALL SELECT concat('trigger ', oid, ' ', xmin) FROM pg_trigger
        UNION ALL SELECT concat('function ', oid, ' ', xmin) FROM pg_proc WHERE oid >= 16384
        UNION ALL SELECT concat('schema ', oid, ' ', xmin) FROM pg_namespace
        UNION ALL SELECT concat('extension ', oid, ' ', xmin) FROM pg_extension
        UNION ALL SELECT concat('comment ', objoid, ' ', objsubid, ' ', xmin) FROM pg_description WHERE objoid >= 16384
        UNION ALL SELECT concat('setting ', setrole, ' ', setconfig) FROM pg_db_role_setting
        WHERE setdatabase = (SELECT oid FROM pg_database WHERE datname = current_database())
    ) AS parts
"""


@dataclass(frozen=True, slots=True)
class _Fresh:
    """A database as it is copied."""

    shape: int
    empty: tuple[str, ...]
    """The tables without rows."""
    kept: tuple[tuple[str, str], ...]
    """The other tables, such as the revision of the schema, each with all of its rows."""


@dataclass(slots=True)
class _Kept:
    """A database with connections that stay open from test to test."""

    name: str
    engine: AsyncEngine
    emptying: psycopg.Connection
    drivers: list[psycopg.AsyncConnection[Any]] = field(default_factory=list)
    """All that the engine has opened; some may be closed."""

    def __post_init__(self) -> None:
        @event.listens_for(self.engine.sync_engine, "connect")
        def note(connection: Any, _record: object) -> None:
            self.drivers.append(connection.driver_connection)

    def open_ones(self) -> list[int]:
        """The processes of the server behind the connections that are open."""
        self.drivers = [driver for driver in self.drivers if not driver.closed]
        return [driver.info.backend_pid for driver in self.drivers]

    def close(self) -> None:
        for driver in self.drivers:
            driver.pgconn.finish()
        self.emptying.close()


class FreshDatabases:
    """Databases on the server of `url` like `template`: all tables, without the rows of any other test."""

    def __init__(self, url: str, template: str) -> None:
        self._url = url
        self._template = template
        self._fresh: _Fresh | None = None
        self._emptied: list[str] = []
        self._kept: list[_Kept] = []
        self._renaming: psycopg.Connection | None = None

    @contextmanager
    def one(self) -> Iterator[str]:
        """The URL of a database for one test."""
        name = f"parley_test_{uuid4().hex[:16]}"
        if self._emptied:
            self._rename(self._emptied.pop(), name)
        else:
            copy_database(self._url, self._template, name)
        url = with_name(self._url, name)
        if self._fresh is None:
            self._fresh = look_at(url)
        try:
            yield url
        finally:
            if _is_emptied_anew(url, self._fresh):
                self._emptied.append(name)
            else:
                drop_database(self._url, name)

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Database]:
        """A database for one test, in which connections of tests before may go on, in another event loop."""
        kept = self._kept.pop() if self._kept else self._new()
        assert self._fresh is not None
        try:
            yield Database(kept.engine, Turnstile(POOL_SIZE, PATIENCE_SECONDS))
        finally:
            is_at_rest = kept.engine.pool.checkedout() == 0  # type: ignore[attr-defined]  # it is a QueuePool
            if is_at_rest and len(kept.open_ones()) > _MOST_KEPT:
                await kept.engine.dispose()
            if is_at_rest and is_emptied(kept.emptying, self._fresh, kept.open_ones()):
                self._kept.append(kept)
            else:
                kept.close()
                await kept.engine.dispose()
                drop_database(self._url, kept.name)

    def _new(self) -> _Kept:
        name = f"parley_kept_{uuid4().hex[:16]}"
        copy_database(self._url, self._template, name)
        url = with_name(self._url, name)
        if self._fresh is None:
            self._fresh = look_at(url)
        return _Kept(name, engine_of(url), psycopg.connect(url, autocommit=True))

    def close(self) -> None:
        for kept in self._kept:
            kept.close()
            drop_database(self._url, kept.name)
        self._kept.clear()
        if self._renaming is not None:
            self._renaming.close()
        for name in self._emptied:
            drop_database(self._url, name)
        self._emptied.clear()

    def _rename(self, name: str, to: str) -> None:
        if self._renaming is None:
            self._renaming = psycopg.connect(self._url, autocommit=True)
            self._renaming.execute("SET synchronous_commit = off")
        self._renaming.execute(sql.SQL("ALTER DATABASE {} RENAME TO {}").format(*map(sql.Identifier, (name, to))))


def look_at(url: str) -> _Fresh:
    """The database as it is now, before its first test."""
    with psycopg.connect(url, autocommit=True) as connection:
        tables = [name for (name,) in connection.execute(_TABLES)]
        kept = tuple((table, rows) for table in tables if (rows := _rows(connection, table)))
        empty = tuple(table for table in tables if table not in dict(kept))
        return _Fresh(_value(connection, _SHAPE), empty, kept)


def _is_emptied_anew(url: str, fresh: _Fresh) -> bool:
    try:
        with psycopg.connect(url, autocommit=True) as connection:
            return is_emptied(connection, fresh, ())
    except psycopg.Error:
        return False


def is_emptied(connection: psycopg.Connection, fresh: _Fresh, staying: Collection[int]) -> bool:
    """Whether the database is as it was, but for the rows of the test, which are deleted.

    `staying`: processes of the server whose connections stay open.
    """
    try:
        if not _are_cut_off(connection, staying):
            return False
        # No foreign keys are looked after meanwhile.
        connection.execute("SET session_replication_role = replica")
        written = {table: size for table, size in connection.execute(_WRITTEN) if table in fresh.empty}
        for table in written:
            connection.execute(sql.SQL("DELETE FROM {}").format(sql.Identifier(table)))
        connection.execute(_FIRST_NUMBERS)
        return (
            _value(connection, _SHAPE) == fresh.shape
            and sum(written.values()) <= _GROWTH_BYTES
            and all(_rows(connection, table) == rows for table, rows in fresh.kept)
        )
    except psycopg.Error:
        return False


def _are_cut_off(connection: psycopg.Connection, staying: Collection[int]) -> bool:
    """End all other connections; False if some do not go."""
    for _ in range(_LOOKS):
        if not connection.execute(_CUT_OFF_OTHERS, (list(staying),)).fetchall():
            return True
        sleep(0.001)
    return False


def _rows(connection: psycopg.Connection, table: str) -> str:
    query = sql.SQL("SELECT coalesce(string_agg(t::text, ' ' ORDER BY t::text), '') FROM {} AS t")
    return str(_value(connection, query.format(sql.Identifier(table))))


def _value(connection: psycopg.Connection, query: sql.Composed | LiteralString) -> Any:
    row = connection.execute(query).fetchone()
    return row and row[0]
