"""Migrates a database to the newest schema, and compares a database with `shared.db.tables`.

A change of `shared.db.tables` needs a migration in the same commit. On a database at the newest revision,
`python -m shared.db.migrate --new "What it adds"` writes it into `migrations/versions`; read and tidy it, then run
`ruff format` on it. A test compares the result of all migrations with `shared.db.tables`, and so does `--check`.

A migration that is on the main branch is not written anew: databases have it already. The services of the commit before
run on what it makes.
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
from typing import TYPE_CHECKING

from sqlalchemy import Connection, NullPool, create_engine, text
from sqlalchemy.exc import OperationalError

from shared.contracts.secret_files import read_secret_files
from shared.db.databases import as_sqlalchemy_url
from shared.db.session import ReadSession
from shared.db.tables import metadata
from shared.errors import ParleyError, SettingsInvalid

if TYPE_CHECKING:
    from alembic.config import Config

_MIGRATIONS = Path(__file__).parent / "migrations"
_FILES = sorted(file.name for file in (_MIGRATIONS / "versions").glob("r[0-9]*.py"))

HEAD = _FILES[-1][1:5] if _FILES else ""
"""The newest revision, which this code needs. Revisions and their files are numbered."""

_ONE_AT_A_TIME = 0x7061726C6579  # "parley"
_EXPECTED = "parley_expected"


_MADE_BY = hashlib.sha256(b"".join((_MIGRATIONS / "versions" / name).read_bytes() for name in _FILES)).hexdigest()
"""The hash of the migrations, stored with the tables that they made: a migration may have been written anew."""


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


def upgrade(url: str) -> Migrated:
    """Apply the missing migrations. Several processes may call it at once: one works, the others wait.

    Raises:
        SettingsInvalid: the database is newer than this code.
        OtherTables: it has this code's newest revision, and other tables.
    """
    with _connected(url) as connection:
        # A lock of the session, not of the transaction, so that a migration may commit in between.
        connection.execute(text("SELECT pg_advisory_lock(:key)"), {"key": _ONE_AT_A_TIME})
        before = _revision(connection)
        connection.commit()
        if before is not None and before > HEAD:
            raise SettingsInvalid(
                f"The database is at revision {before}, this version of Parley knows revisions up to {HEAD}. "
                "Start a newer Parley, or point PARLEY_DATABASE_URL at another database."
            )
        if before != HEAD:
            # Imported here: most starts find nothing to migrate.
            from alembic import command

            command.upgrade(_config(connection), "head")
            connection.commit()
        if connection.scalar(_MAKER) != _MADE_BY:
            # A comparison of all tables takes a moment, so it is done only when their origin is unknown.
            if before == HEAD and differences(url):
                raise OtherTables(
                    "The tables of this database were made by another version of Parley, and this one cannot read "
                    "them. Nothing is lost: export what you need with the version that made them, then point "
                    "PARLEY_DATABASE_URL at an empty database."
                )
            connection.execute(text(f"COMMENT ON TABLE alembic_version IS '{_MADE_BY}'"))
            connection.commit()
        return Migrated(before, HEAD)


def current_revision(url: str) -> str | None:
    """The revision of a database, None when it has no tables of ours."""
    with _connected(url) as connection:
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


async def read_revision(session: ReadSession) -> str | None:
    """The revision, for a process that is connected already."""
    if (await session.one(_HAS_TABLE)).name is None:
        return None
    row = await session.first(_REVISION)
    return None if row is None else str(row.version_num)


def differences(url: str) -> list[str]:
    """The differences between the database (`-`) and the tables here (`+`): tables, columns, defaults, constraints and
    indexes, as Postgres prints them. Empty when they agree. Writes nothing."""
    with _connected(url) as connection:
        present = _described(connection, "public")
        connection.execute(text(f"CREATE SCHEMA {_EXPECTED}"))
        connection.execute(text(f"SET LOCAL search_path = {_EXPECTED}"))
        metadata.create_all(connection, checkfirst=False)
        expected = _described(connection, _EXPECTED)
        connection.rollback()
    return [
        *(f"- {line}" for line in sorted(present - expected)),
        *(f"+ {line}" for line in sorted(expected - present)),
    ]


def new_revision(url: str, message: str) -> None:
    """Write the migration from the database, which is at the newest revision, to `shared.db.tables`."""
    from alembic import command
    from alembic.script import Script

    with _connected(url) as connection:
        script = command.revision(_config(connection), message, autogenerate=True, rev_id=f"{int(HEAD or 0) + 1:04}")
    assert isinstance(script, Script)
    path = Path(script.path)
    path.write_text(_tidied(path.read_text()))


def _tidied(source: str) -> str:
    lines = [line for line in source.splitlines(keepends=True) if not line.lstrip().startswith("# ###")]
    return "".join(lines).replace("JSONB(astext_type=sa.Text())", "JSONB()")


def _config(connection: Connection) -> "Config":
    from alembic.config import Config

    config = Config(attributes={"connection": connection})
    config.set_main_option("script_location", str(_MIGRATIONS).replace("%", "%%"))
    config.set_main_option("file_template", "r%%(rev)s_%%(slug)s")
    config.set_main_option("path_separator", "os")
    return config


@contextmanager
def _connected(url: str) -> Iterator[Connection]:
    engine = create_engine(as_sqlalchemy_url(url), poolclass=NullPool, connect_args={"connect_timeout": 5})
    with engine.connect() as connection:
        yield connection


_HAS_TABLE = text("SELECT CAST(to_regclass('alembic_version') AS text) AS name")
_REVISION = text("SELECT version_num FROM alembic_version")
_MAKER = text("SELECT obj_description(to_regclass('alembic_version'), 'pg_class')")


def _revision(connection: Connection) -> str | None:
    if connection.scalar(_HAS_TABLE) is None:
        return None
    revision: str | None = connection.scalar(_REVISION)
    return revision


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


def _described(connection: Connection, schema: str) -> set[str]:
    statements = (_COLUMNS, _CONSTRAINTS, _INDEXES)
    return {line for statement in statements for line in connection.scalars(statement, {"schema": schema})}


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        prog="python -m shared.db.migrate",
        description="Bring the database at PARLEY_DATABASE_URL to the newest schema.",
    )
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument(
        "--check", action="store_true", help="change nothing; say how the database and the tables here differ"
    )
    mode.add_argument("--wait", action="store_true", help="change nothing; wait until another process has migrated it")
    mode.add_argument("--new", metavar="MESSAGE", help="write a migration for what changed in shared.db.tables")
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
    print(upgrade(url))
    return 0


def _check(url: str) -> int:
    found = current_revision(url)
    if found != HEAD:
        print(f"The database is at {found or 'no revision'}; the newest is {HEAD}. Migrate it first.")
        return 1
    lines = differences(url)
    print("\n".join(lines) if lines else f"The database is at revision {HEAD} and matches shared.db.tables.")
    return 1 if lines else 0


def _url() -> str:
    url = os.environ.get("PARLEY_DATABASE_URL", "")
    if not url:
        raise SettingsInvalid("PARLEY_DATABASE_URL is not set. Example: postgresql://user@127.0.0.1:5432/parley")
    return url


if __name__ == "__main__":
    sys.exit(main())
