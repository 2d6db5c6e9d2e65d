"""Whether this code can work with the tables of a database: whose they are, and at which revision.

Revisions are numbered. A newer one will do as long as it has all columns that this code knows: migrations add first, so
that services of the version before go on, and may be started again, until they are replaced.
"""

import re
from collections.abc import Collection
from pathlib import Path
from typing import Final

from sqlalchemy import text

from parley_lab.base.errors import SettingsInvalid
from parley_lab.store.session import ReadSession
from parley_lab.store.tables import metadata

MIGRATIONS: Final = Path(__file__).parent / "migrations"
_FILE_NAME: Final = re.compile(r"r(\d{4})_\w+\.py")
_REVISION_OF_OURS: Final = re.compile(r"\d{4}")

HAS_REVISION: Final = text("SELECT CAST(to_regclass('alembic_version') AS text) AS name")
REVISION: Final = text("SELECT version_num FROM alembic_version")
PRESENT: Final = text(
    """
    SELECT c.relname AS of_table, a.attname AS name
    FROM pg_class c LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
    WHERE c.relname = ANY(CAST(:tables AS text[])) AND pg_table_is_visible(c.oid)
    """
)
"""The columns of those of these tables that the database has."""


def files_of(folder: Path) -> list[Path]:
    """The migrations of a folder in their order."""
    return sorted(path for path in (folder / "versions").iterdir() if _FILE_NAME.fullmatch(path.name))


HEAD: Final = files_of(MIGRATIONS)[-1].name[1:5]
"""The newest revision, which this code needs."""


def tables_of_ours() -> list[str]:
    """The names of all tables that this code knows."""
    return list(metadata.tables)


def lacking(present: Collection[tuple[str, str]]) -> list[str]:
    """The columns that this code knows and the database has not."""
    known = {(table.name, column.name) for table in metadata.tables.values() for column in table.columns}
    return sorted(f"{table}.{column}" for table, column in known - set(present))


def require_own(revision: str | None, present: Collection[tuple[str, str]]) -> None:
    """Refuse what another program has made; `present` are the columns in tables with names of ours.

    Raises:
        SettingsInvalid: with what to do.
    """
    if revision is not None and not _REVISION_OF_OURS.fullmatch(revision):
        raise SettingsInvalid(
            f"The database at PARLEY_DATABASE_URL belongs to another program: its revision is {revision}, and those of "
            f"Parley are numbers. {_OF_ITS_OWN}"
        )
    if revision is None and present:
        names = ", ".join(sorted({table for table, _ in present})[:3])
        raise SettingsInvalid(
            f"The database at PARLEY_DATABASE_URL has tables with names that the lab uses ({names}), and nothing says "
            f"that Parley made them: they are another program's, or a dump went in by halves. {_OF_ITS_OWN}"
        )


_OF_ITS_OWN: Final = (
    "Nothing was changed. Make a database for the lab alone (createdb parley), and point PARLEY_DATABASE_URL at it."
)


def require_enough(revision: str, present: Collection[tuple[str, str]]) -> None:
    """Refuse a database that is newer than this code and has lost what it reads or writes.

    Raises:
        SettingsInvalid: with what to do.
    """
    if missing := lacking(present):
        raise SettingsInvalid(
            f"The database is at revision {revision}, this version of Parley knows revisions up to {HEAD}, and needs "
            f"what is no longer there: {', '.join(missing[:3])}. Start a newer Parley, or restore a dump of before."
        )


async def read_revision(session: ReadSession) -> str | None:
    """The revision, for a process that is connected already; None without tables of a program that has any."""
    if (await session.one(HAS_REVISION)).name is None:
        return None
    row = await session.first(REVISION)
    return None if row is None else str(row.version_num)


async def require_schema(session: ReadSession) -> str:
    """The revision of the database, with which this code can work.

    Raises:
        SettingsInvalid: it cannot: the database is older, has lost what this code needs, or is another program's.
    """
    revision = await read_revision(session)
    if revision == HEAD:
        return revision
    rows = await session.all(PRESENT, {"tables": tables_of_ours()})
    present = [(row.of_table, row.name) for row in rows]
    require_own(revision, present)
    if revision is None or revision < HEAD:
        raise SettingsInvalid(
            f"The database at PARLEY_DATABASE_URL is at {f'revision {revision}' if revision else 'no revision'}, this "
            f"service needs {HEAD}. Run first: python -m parley_lab.store.migrate"
        )
    require_enough(revision, present)
    return revision
