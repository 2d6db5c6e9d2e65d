"""Migrates a database to the newest schema, and compares a database with `parley_lab.store.tables`.

A change of `parley_lab.store.tables` needs a migration in the same commit. On a database at the newest revision,
`python -m parley_lab.store.migrate --new "What it adds"` writes it into `migrations/versions`; read and tidy it, then
run `ruff format` on it. A test compares the result of all migrations with `parley_lab.store.tables`, and so does
`--check`.

A migration that is on the main branch is not written anew: databases have it already. A test keeps the hash of each.

Services go on while a migration runs, and those of the commit before run on what it makes, until they are replaced.
So it adds: tables, columns that may be NULL or have a default, indexes. A later commit removes what no code
reads. A migration is a transaction. It waits for each lock for 0.2 s at most, since all statements that come later
wait behind it, then begins anew; after a deadlock, too. An index on a big table is built without a lock, in a
migration of its own:

    with op.get_context().autocommit_block():
        op.execute("DROP INDEX CONCURRENTLY IF EXISTS ix_messages_seen")  # what an attempt that failed has left
        op.create_index("ix_messages_seen", "messages", ["seen_at"], postgresql_concurrently=True)
"""

import argparse
import hashlib
import os
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog
from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.exc import DBAPIError, OperationalError

from parley_lab.base.errors import ParleyError, SettingsInvalid, Unavailable
from parley_lab.contracts.secret_files import read_secret_files
from parley_lab.store import schema
from parley_lab.store.databases import as_sqlalchemy_url
from parley_lab.store.failures import is_deadlock, is_lock_timeout
from parley_lab.store.schema import HEAD as HEAD
from parley_lab.store.tables import metadata

if TYPE_CHECKING:
    from alembic.config import Config

log = structlog.get_logger(__name__)

_ONE_AT_A_TIME = 0x7061726C6579  # "parley"
_LOOK_SECONDS: Final = 0.1
_EXPECTED = "parley_expected"
_LOCK_SECONDS: Final = 0.2
"""How long a migration waits for a lock; everybody who comes later for the same table waits as long.

Postgres looks for deadlocks after a second of waiting and ends who looks first: a migration has given up by then.
"""
_PAUSE_SECONDS: Final = 2.0
"""How long the others have the tables for themselves, before a migration asks for its locks again."""
_PATIENCE_SECONDS: Final = 600.0


@dataclass(frozen=True, slots=True)
class Migrations:
    """The migrations of a folder, as alembic wants it."""

    folder: Path

    @property
    def newest(self) -> str:
        return schema.files_of(self.folder)[-1].name[1:5]

    @property
    def digest(self) -> str:
        """The hash of all migrations, stored with the tables; it differs if one was written anew."""
        return hashlib.sha256(b"".join(path.read_bytes() for path in schema.files_of(self.folder))).hexdigest()


OURS: Final = Migrations(schema.MIGRATIONS)


class OtherTables(SettingsInvalid):
    """The database was made by a version of Parley with other tables under the same revision."""


@dataclass(frozen=True, slots=True)
class Migrated:
    """The revision before, None for a database without tables, and after."""

    before: str | None
    after: str

    def __str__(self) -> str:
        if self.before == self.after:
            return f"The database is at revision {self.after}, the newest; nothing to do."
        return f"The database went from {self.before or 'no tables'} to revision {self.after}."


def upgrade(url: str, *, migrations: Migrations = OURS, patience_seconds: float = _PATIENCE_SECONDS) -> Migrated:
    """Apply the missing migrations. Several processes may call it at once: one works, the others wait.

    Raises:
        SettingsInvalid: the database is newer than this code, or another program's.
        OtherTables: it has this code's newest revision, and other tables.
        Unavailable: others held locks for `patience_seconds`. Each migration was done whole or not at all.
    """
    newest = migrations.newest
    with _connect(url, lock_seconds=_LOCK_SECONDS) as connection:
        _wait_for_others(connection)
        before = _revision(connection)
        schema.require_own(before, [] if before else _present(connection))
        connection.commit()
        if before is not None and before > newest:
            raise SettingsInvalid(
                f"The database is at revision {before}, this version of Parley knows revisions up to {newest}. "
                "Start a newer Parley, or point PARLEY_DATABASE_URL at another database."
            )
        if before != newest:
            _apply(connection, migrations, patience_seconds)
        _see_who_made_them(connection, migrations, url, is_new=before != newest)
        return Migrated(before, newest)


def _wait_for_others(connection: Connection) -> None:
    """Take the lock of those who migrate: one of the session, because a migration commits.

    It is asked for again and again: an index that is built without a lock waits for all statements that go on.
    """
    while not connection.scalar(text("SELECT pg_try_advisory_lock(:key)"), {"key": _ONE_AT_A_TIME}):
        connection.commit()
        time.sleep(_LOOK_SECONDS)


def _apply(connection: Connection, migrations: Migrations, patience_seconds: float) -> None:
    # Imported here: most starts find nothing to migrate.
    from alembic import command

    until = time.monotonic() + patience_seconds
    while True:
        try:
            command.upgrade(_config(connection, migrations), "head")
            connection.commit()
            return
        except DBAPIError as error:
            connection.rollback()
            if not (is_lock_timeout(error) or is_deadlock(error)):
                raise
            if time.monotonic() > until:
                raise Unavailable(_HELD_UP.format(_revision(connection) or "no revision")) from error
            log.warning("migration.waits", for_lock=is_lock_timeout(error))
        time.sleep(_PAUSE_SECONDS)


_HELD_UP: Final = (
    "The database is at {} and goes no further: others hold locks that the next migration needs. Nothing is half done. "
    "See in pg_stat_activity whose transaction began long ago (xact_start), end it, and migrate again."
)


def _see_who_made_them(connection: Connection, migrations: Migrations, url: str, *, is_new: bool) -> None:
    digest = migrations.digest
    if connection.scalar(_MAKER) == digest:
        return
    # A comparison of all tables takes a moment, so it is done only when their origin is unknown.
    if not is_new and differences(url):
        raise OtherTables(
            "The tables of this database were made by another version of Parley, and this one cannot read "
            "them. Nothing is lost: export what you need with the version that made them, then point "
            "PARLEY_DATABASE_URL at an empty database."
        )
    connection.execute(text(f"COMMENT ON TABLE alembic_version IS '{digest}'"))
    connection.commit()


def newer_that_will_do(url: str) -> str | None:
    """The revision of a database that is newer than this code and has all that it needs; writes nothing.

    Raises:
        SettingsInvalid: it is newer, and has not.
    """
    with _connect(url) as connection:
        found = _revision(connection)
        schema.require_own(found, [])
        if found is None or found <= HEAD:
            return None
        schema.require_enough(found, _present(connection))
        return found


def current_revision(url: str) -> str | None:
    """The revision of a database, None when it has no tables of ours."""
    with _connect(url) as connection:
        return _revision(connection)


def wait_until_migrated(url: str, *, look_seconds: float = 2.0) -> str:
    """Return the revision of the database once this code can work with it; writes nothing.

    Waits without limit for a database that is away or has not been migrated.
    """
    while (found := _revision_if_there(url)) is None or found < HEAD:
        time.sleep(look_seconds)
    return found


def _revision_if_there(url: str) -> str | None:
    try:
        return current_revision(url)
    except OperationalError:
        return None


def differences(url: str) -> list[str]:
    """The differences between the database (`-`) and the tables here (`+`): tables, columns, defaults, constraints and
    indexes, as Postgres prints them. Empty when they agree. Writes nothing."""
    with _connect(url) as connection:
        present = _describe(connection, "public")
        connection.execute(text(f"CREATE SCHEMA {_EXPECTED}"))
        connection.execute(text(f"SET LOCAL search_path = {_EXPECTED}"))
        metadata.create_all(connection, checkfirst=False)
        expected = _describe(connection, _EXPECTED)
        connection.rollback()
    return [
        *(f"- {line}" for line in sorted(present - expected)),
        *(f"+ {line}" for line in sorted(expected - present)),
    ]


def new_revision(url: str, message: str) -> None:
    """Write the migration from the database, which is at the newest revision, to `parley_lab.store.tables`."""
    from alembic import command
    from alembic.script import Script

    with _connect(url) as connection:
        script = command.revision(_config(connection, OURS), message, autogenerate=True, rev_id=f"{int(HEAD) + 1:04}")
    assert isinstance(script, Script)
    path = Path(script.path)
    path.write_text(_tidy(path.read_text()))


def _tidy(source: str) -> str:
    lines = [line for line in source.splitlines(keepends=True) if not line.lstrip().startswith("# ###")]
    return "".join(lines).replace("JSONB(astext_type=sa.Text())", "JSONB()")


def _config(connection: Connection, migrations: Migrations) -> "Config":
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(migrations.folder).replace("%", "%%"))
    config.set_main_option("file_template", "r%%(rev)s_%%(slug)s")
    config.set_main_option("path_separator", "os")
    return config


@contextmanager
def _connect(url: str, *, lock_seconds: float = 0) -> Iterator[Connection]:
    """`lock_seconds`: how long a statement waits for a lock; 0: without end."""
    arguments = {"connect_timeout": 5, "options": f"-c lock_timeout={int(lock_seconds * 1000)}"}
    engine = create_engine(as_sqlalchemy_url(url), poolclass=NullPool, connect_args=arguments)
    with engine.connect() as connection:
        yield connection


_MAKER = text("SELECT obj_description(to_regclass('alembic_version'), 'pg_class')")


def _revision(connection: Connection) -> str | None:
    if connection.scalar(schema.HAS_REVISION) is None:
        return None
    revision: str | None = connection.scalar(schema.REVISION)
    return revision


def _present(connection: Connection) -> list[tuple[str, str]]:
    rows = connection.execute(schema.PRESENT, {"tables": schema.tables_of_ours()})
    return [(row.of_table, row.name) for row in rows]


_COLUMNS = text(
    """
    SELECT format('%s.%s %s%s%s%s', c.relname, a.attname, format_type(a.atttypid, a.atttypmod),
        CASE WHEN a.attnotnull THEN ' not null' END,
        ' default ' || pg_get_expr(d.adbin, d.adrelid),
        CASE WHEN a.attidentity <> '' THEN ' identity ' || CAST(a.attidentity AS text) END)
    FROM pg_class c
    JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
    WHERE c.relnamespace = CAST(:schema AS regnamespace) AND c.relkind IN ('r', 'p', 'v')
        AND c.relname <> 'alembic_version'
    """
)
_CONSTRAINTS = text(
    """
    SELECT format('%s constraint %s %s', c.relname, k.conname, pg_get_constraintdef(k.oid))
    FROM pg_constraint k JOIN pg_class c ON c.oid = k.conrelid
    WHERE c.relnamespace = CAST(:schema AS regnamespace) AND c.relname <> 'alembic_version'
    """
)
_INDEXES = text(
    """
    SELECT replace(pg_get_indexdef(i.indexrelid), ' ON ' || CAST(:schema AS text) || '.', ' ON ')
    FROM pg_index i JOIN pg_class c ON c.oid = i.indrelid
    WHERE c.relnamespace = CAST(:schema AS regnamespace) AND c.relname <> 'alembic_version'
    """
)


def _describe(connection: Connection, schema: str) -> set[str]:
    statements = (_COLUMNS, _CONSTRAINTS, _INDEXES)
    return {line for statement in statements for line in connection.scalars(statement, {"schema": schema})}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m parley_lab.store.migrate",
        description="Bring the database at PARLEY_DATABASE_URL to the newest schema.",
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--check", action="store_true", help="change nothing; say how the database and the tables here differ"
    )
    mode.add_argument("--wait", action="store_true", help="change nothing; wait until another process has migrated it")
    mode.add_argument("--new", metavar="MESSAGE", help="write a migration for what changed in parley_lab.store.tables")
    options = parser.parse_args(arguments)
    try:
        read_secret_files(os.environ)
        return _run(_url(), options)
    except ParleyError as error:
        print(error, file=sys.stderr)
        return 2


def _run(url: str, options: argparse.Namespace) -> int:
    if options.check:
        return _check(url)
    if options.wait:
        print(f"The database is at revision {wait_until_migrated(url)}.")
        return 0
    if options.new:
        new_revision(url, options.new)
        return 0
    newer = newer_that_will_do(url)
    print(
        upgrade(url)
        if newer is None
        else f"The database is at revision {newer}, newer than this version ({HEAD}), and has all that it needs; "
        "nothing to do."
    )
    return 0


def _check(url: str) -> int:
    found = current_revision(url)
    if found != HEAD:
        print(f"The database is at {found or 'no revision'}; the newest is {HEAD}. Migrate it first.")
        return 1
    lines = differences(url)
    print("\n".join(lines) if lines else f"The database is at revision {HEAD} and matches parley_lab.store.tables.")
    return 1 if lines else 0


def _url() -> str:
    url = os.environ.get("PARLEY_DATABASE_URL", "")
    if not url:
        raise SettingsInvalid("PARLEY_DATABASE_URL is not set. Example: postgresql://user@127.0.0.1:5432/parley")
    return url


if __name__ == "__main__":
    sys.exit(main())
