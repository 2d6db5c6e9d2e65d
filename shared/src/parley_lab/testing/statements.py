"""Counts the statements that a test sends to Postgres, at the driver's cursor."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

from psycopg import AsyncCursor


@contextmanager
def counted() -> Iterator[list[str]]:
    """The statements of this block, without BEGIN and COMMIT."""
    sent: list[str] = []
    execute = AsyncCursor.execute

    async def counting(cursor: AsyncCursor[Any], query: Any, *arguments: Any, **options: Any) -> AsyncCursor[Any]:
        statement = query.decode() if isinstance(query, bytes) else str(query)
        if statement != "COMMIT":
            sent.append(statement)
        return await execute(cursor, query, *arguments, **options)

    with patch.object(AsyncCursor, "execute", counting):
        yield sent
