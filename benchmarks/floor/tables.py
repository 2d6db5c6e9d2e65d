"""The floor's three tables, and the least that several tasks need to share connections."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any, Self

from psycopg import AsyncConnection

SCHEMA = """
CREATE TABLE messages (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread_id uuid NOT NULL,
    author text NOT NULL,
    text text NOT NULL,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX ON messages (thread_id, id);
CREATE TABLE model_calls (
    id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    thread_id uuid NOT NULL,
    trigger_key text NOT NULL,
    reply text NOT NULL,
    tokens_in int,
    tokens_out int,
    created_at timestamptz NOT NULL DEFAULT now()
);
CREATE TABLE trigger_log (
    thread_id uuid NOT NULL,
    trigger_key text NOT NULL,
    message_id bigint NOT NULL,
    PRIMARY KEY (thread_id, trigger_key)
);
"""

Connection = AsyncConnection[tuple[Any, ...]]


class Pool:
    """A fixed number of open connections; the one returned last is lent first."""

    def __init__(self, connections: list[Connection]) -> None:
        self._free: asyncio.LifoQueue[Connection] = asyncio.LifoQueue()
        for connection in connections:
            self._free.put_nowait(connection)

    @classmethod
    async def open(cls, url: str, size: int) -> Self:
        return cls([await AsyncConnection.connect(url, autocommit=True) for _ in range(size)])

    @asynccontextmanager
    async def lend(self) -> AsyncIterator[Connection]:
        connection = await self._free.get()
        try:
            yield connection
        finally:
            self._free.put_nowait(connection)
