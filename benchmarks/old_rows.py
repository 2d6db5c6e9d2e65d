"""Fills a database with what a lab has gathered over the years: copies of an experiment that has ended."""

import psycopg
from psycopg import sql
from sqlalchemy import Uuid
from sqlalchemy.types import ARRAY

from parley_lab.store.tables import metadata

_OF_AN_EXPERIMENT = {"experiment_id", "cohort_id", "thread_id", "member_id", "draft_id"}
"""A table with one of these columns has rows of experiments."""
_NOT_OF_AN_EXPERIMENT = {"owner_id", "experimenter_id", "lease_owner"}
_SMALL = {("model_calls", "prompt"): "CAST('[]' AS jsonb)", ("model_calls", "prompt_pieces"): "NULL"}
"""Prompts are left out: they would take most of the disk, and no statement of a run looks at old ones."""


def fill(database_url: str, rows: int, *, of: str = "messages") -> dict[str, int]:
    """Copy every row that is there, with ids of its own for each copy, until this table has so many.

    Returns the number of rows by table, of those that have a thousand.
    """
    with psycopg.connect(database_url, autocommit=True) as connection:
        counted = connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(of)))
        (there,) = counted.fetchone() or (0,)
        copies = max(1, round(rows / max(1, there)) - 1)
        # Copies refer to each other as the rows do that they are of.
        connection.execute("SET session_replication_role = replica")
        for table in metadata.sorted_tables:
            if table.name == "experiments" or (_OF_AN_EXPERIMENT & {*table.columns.keys()}):
                columns = [one for one in table.columns if one.identity is None]
                names = sql.SQL(", ").join(sql.Identifier(one.name) for one in columns)
                values = sql.SQL(", ").join(sql.SQL(_copied(table.name, one.name, one.type)) for one in columns)
                statement = sql.SQL("INSERT INTO {} ({}) SELECT {} FROM {} t, generate_series(1, {}) AS copy(n)")
                name = sql.Identifier(table.name)
                connection.execute(statement.format(name, names, values, name, sql.Literal(copies)))
        connection.execute("VACUUM ANALYZE")
        counts = {
            table.name: (connection.execute(sql.SQL("SELECT count(*) FROM {}").format(sql.Identifier(table.name))))
            for table in metadata.sorted_tables
        }
        return {name: row[0] for name, found in counts.items() if (row := found.fetchone()) and row[0] >= 1_000}


def _copied(table: str, column: str, kind: object) -> str:
    """The term for a column of a copy: another id for each copy, and everything else as it was."""
    if (table, column) in _SMALL:
        return _SMALL[table, column]
    if column in _NOT_OF_AN_EXPERIMENT:
        return f't."{column}"'
    if isinstance(kind, ARRAY) and isinstance(kind.item_type, Uuid):
        copied = f'ARRAY(SELECT CAST(md5(CAST(o AS text) || copy.n) AS uuid) FROM unnest(t."{column}") o)'  # noqa: S608
        return f'CASE WHEN t."{column}" IS NOT NULL THEN {copied} END'
    if isinstance(kind, Uuid):
        return f'CAST(md5(CAST(t."{column}" AS text) || copy.n) AS uuid)'
    if column in ("token_hash", "join_code", "code"):
        return f't."{column}" || copy.n'
    return f't."{column}"'
