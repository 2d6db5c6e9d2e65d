"""Rows of a table that no statement can change for a while."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import UUID

from sqlalchemy import text

from parley_lab.store.session import Database

_FUNCTION = text(
    "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'out of order'; END $$"
)


@asynccontextmanager
async def failing(database: Database, table: str, column: str, row_id: UUID) -> AsyncIterator[None]:
    """Every change of the rows with this value fails until the block ends."""
    trigger = f"""
        CREATE TRIGGER fails BEFORE INSERT OR UPDATE ON {table} FOR EACH ROW
            WHEN (NEW.{column} = '{row_id}') EXECUTE FUNCTION fail()
    """
    async with database.transaction() as session:
        await session.run(_FUNCTION)
        await session.run(text(trigger))
    try:
        yield
    finally:
        async with database.transaction() as session:
            await session.run(text(f"DROP TRIGGER fails ON {table}"))
            await session.run(text("DROP FUNCTION fail"))
