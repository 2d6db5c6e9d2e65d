"""Deleting an experiment takes all that there is of it, in every table of the database, and nothing of another one."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import ARRAY, CheckConstraint, Column, Table, text

from parley_lab.base.errors import HalfDone
from parley_lab.experiments import ending
from parley_lab.store.session import Database
from parley_lab.store.tables import metadata

pytestmark = pytest.mark.postgres

NOW = datetime(2026, 3, 1, tzinfo=UTC)
OF_THE_LAB = {
    "api_keys",
    "deeds",
    "experimenters",
    "gates",
    "gateways",
    "kept_answers",
    "lab",
    "lacks",
    "limits",
    "outbox",
    "personas",
    "request_limits",
    "sign_in_codes",
    "sign_ins",
    "stream_tickets",
    "workers",
}
"""Tables whose rows belong to no experiment. Uploaded `files` do, while only one shows them."""
FITTING: Mapping[str, Mapping[str, object]] = {
    "experiment_source_files": {"content": None},
    "experiments": {"status": "running", "paused_at": None, "pause_reason": None, "ended_at": None},
    "members": {"agent_config": None, "paused_at": None},
    "messages": {"author_kind": "person"},
    "drafts": {"ask_id": None, "lease_owner": None, "message_id": None},
    "prompt_pieces": {"parts": None},
}
"""What the constraints of a table allow, where a value for each column is too much."""


async def in_the_catalogue(database: Database) -> set[str]:
    tables = "SELECT tablename FROM pg_tables WHERE schemaname = 'public' AND tablename <> 'alembic_version'"
    async with database.read() as session:
        return {row.tablename for row in await session.all(text(tables))}


async def plant(
    database: Database, *, beside: Mapping[str, Mapping[str, Any]] | None = None
) -> dict[str, dict[str, Any]]:
    """One row in every table, all of one experiment. `beside`: another's rows, whose lab this one shares."""
    rows: dict[str, dict[str, Any]] = {}
    async with database.transaction() as session:
        for table in metadata.sorted_tables:
            if beside is not None and table.name in OF_THE_LAB:
                rows[table.name] = dict(beside[table.name])
                continue
            row = {
                column.name: planted(table, column, rows)
                for column in table.columns
                if column.identity is None and column.name != "only"
            }
            rows[table.name] = {**row, **FITTING.get(table.name, {})}
            await session.insert(table, [rows[table.name]])
    return rows


def planted(table: Table, column: Column[Any], rows: Mapping[str, Mapping[str, Any]]) -> object:
    for key in column.foreign_keys:
        return rows[key.column.table.name][key.column.name]
    for check in table.constraints:
        if isinstance(check, CheckConstraint) and (
            one := re.match(rf"{column.name} IN \('(\w[^']*)'", str(check.sqltext))
        ):
            return one[1]
    if isinstance(column.type, ARRAY):
        return []
    kind = column.type.python_type
    values = {bool: True, int: 1, datetime: NOW, bytes: r"\x70", dict: {}, UUID: uuid4(), str: f"planted {uuid4()}"}
    return values.get(kind, 1)


async def rows_of(database: Database) -> dict[str, list[str]]:
    async with database.read() as session:
        return {
            name: [row.row for row in await session.all(text(f"SELECT CAST(t AS text) AS row FROM {name} t"))]  # noqa: S608
            for name in sorted(metadata.tables)
        }


async def test_an_experiment_with_a_row_in_every_table_is_deleted_whole(database: Database) -> None:
    assert await in_the_catalogue(database) == set(metadata.tables)
    other = await plant(database)
    before = await rows_of(database)
    planted_rows = await plant(database, beside=other)
    experiment_id = planted_rows["experiments"]["id"]
    assert {name for name, found in (await rows_of(database)).items() if found == before[name]} == OF_THE_LAB

    await ending.delete(database, experiment_id, NOW)

    assert await rows_of(database) == before


async def test_a_deletion_that_fails_after_it_has_ended_a_run_says_that_it_has(database: Database) -> None:
    experiment_id = (await plant(database))["experiments"]["id"]
    async with database.transaction() as session:
        await session.run(text("CREATE TABLE notes_of_others (about uuid REFERENCES experiments (id))"))
        await session.run(text("INSERT INTO notes_of_others VALUES (:id)"), {"id": experiment_id})
    try:
        with pytest.raises(HalfDone, match="has been ended, and could not be deleted"):
            await ending.delete(database, experiment_id, NOW)
        async with database.read() as session:
            left = await session.one(text("SELECT status FROM experiments WHERE id = :id"), {"id": experiment_id})
    finally:
        async with database.transaction() as session:
            await session.run(text("DROP TABLE notes_of_others"))

    assert left.status == "ended"
    await ending.delete(database, experiment_id, NOW)
