"""The connections of one process to Postgres: lent one by one, and replaced when the server is lost."""

from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from types import TracebackType
from typing import Any, Self

from psycopg import AsyncConnection
from sqlalchemy.ext.asyncio import AsyncEngine

from parley_lab.store.failures import can_only_read, is_undone, told_apart
from parley_lab.store.turnstile import Turnstile


class Loan:
    """A connection that is borrowed when it is first needed, and given back when the block ends or before."""

    def __init__(self, lend: Callable[[], AbstractAsyncContextManager[AsyncConnection[Any]]]) -> None:
        self._lend = lend
        self._held: AbstractAsyncContextManager[AsyncConnection[Any]] | None = None
        self._driver: AsyncConnection[Any] | None = None

    async def begin(self) -> None:
        """Borrow a connection, unless there is one."""
        if self._driver is None:
            held = self._lend()
            self._driver = await held.__aenter__()
            self._held = held

    async def end(self) -> None:
        """Give the connection back, if there is one. Only where no transaction is open; `begin` borrows another."""
        await self.__aexit__(None, None, None)

    @property
    def driver(self) -> AsyncConnection[Any]:
        assert self._driver is not None  # every way to a statement leads through `begin`
        return self._driver

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        held, self._held, self._driver = self._held, None, None
        if held is not None:
            await held.__aexit__(kind, error, trace)


class Connections:
    """The driver's own connections: SQLAlchemy pools them, but its wrapping takes longer than a statement."""

    def __init__(self, engine: AsyncEngine, turnstile: Turnstile, statement_seconds: float) -> None:
        self._engine = engine
        self._turnstile = turnstile
        self._statement_seconds = statement_seconds

    @asynccontextmanager
    async def lent(self) -> AsyncIterator[AsyncConnection[Any]]:
        """A connection of the pool, until the block ends; the more urgent work gets the next one that is free.

        Raises:
            Unavailable: Postgres cannot be reached, here or in the block, or no connection was free in time.
        """
        with told_apart():
            async with self._turnstile.passed(), self._borrow() as driver:
                yield driver

    @asynccontextmanager
    async def autocommitting(self) -> AsyncIterator[AsyncConnection[Any]]:
        """The same; each statement is a transaction of its own."""
        async with self.lent() as driver:
            await driver.set_autocommit(True)
            yield driver
            await driver.set_autocommit(False)

    @asynccontextmanager
    async def _borrow(self) -> AsyncIterator[AsyncConnection[Any]]:
        pool = self._engine.pool
        borrowed = await self._engine.raw_connection()
        driver: AsyncConnection[Any] = borrowed.driver_connection  # type: ignore[assignment]  # it has one
        is_clean = is_useless = False
        try:
            yield driver
            is_clean = True
        except Exception as error:
            is_clean = await is_undone(driver, self._statement_seconds)
            is_useless = can_only_read(error)
            raise
        finally:
            is_useless = is_useless or driver.broken
            # After a cancellation the state of the connection is unknown; connections of a replaced pool are not kept.
            if not is_clean or is_useless or self._engine.pool is not pool:
                await driver.close()
                borrowed.invalidate(soft=True)
            borrowed.close()
            # All connections to a server that is lost, or that only reads, are useless.
            if is_useless and self._engine.pool is pool:
                await self._engine.dispose()
