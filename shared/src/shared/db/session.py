"""One transaction, one decision: what it writes, the events that record it and the hints that announce it."""

import re
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, asynccontextmanager
from functools import cache, lru_cache
from itertools import islice
from typing import Any
from uuid import UUID

import orjson
import structlog
from psycopg import AsyncConnection as AsyncDriverConnection
from psycopg import AsyncCursor, AsyncServerCursor
from psycopg import Error as DriverError
from psycopg.rows import namedtuple_row
from sqlalchemy import Table, TextClause, text
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg
from sqlalchemy.ext.asyncio import AsyncEngine

from shared.checkpoints import reached
from shared.contracts.hints import FACTS, Hint
from shared.db.facts import FLUSH_ALONE, Event, ranked
from shared.db.failures import Silence, hang_up_after, told_apart
from shared.db.turnstile import Turnstile
from shared.logs import correlation
from shared.urgency import is_urgent

log = structlog.get_logger(__name__)
Params = Mapping[str, Any]
Row = Any
"""A named tuple of the columns."""
_LINES_AT_ONCE = 2_000
STATEMENT_SECONDS = 10.0
"""How long a statement may go without an answer before its connection is given up."""
WHOLE_EXPERIMENT_SECONDS = 300.0
"""The same for statements that read or write a whole experiment at once."""
_DIALECT = PGDialect_psycopg()  # type: ignore[no-untyped-call]  # SQLAlchemy says nothing of its arguments
CopyLine = Sequence[str | None]
"""The values of one row, as text, in the order of the columns that a COPY names."""
Committed = Sequence[tuple[int | None, Hint]]
"""What is to be published now: hints with their outbox rows, and facts, which have none."""


@lru_cache(maxsize=4096)
def as_uuid(text: str) -> UUID:
    """An id as it stands in JSON; the ids of members come again with each of their answers."""
    return UUID(text)


def as_json(value: Any) -> str:
    """JSON text for a `CAST(:name AS jsonb)` parameter."""
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


@cache
def _as_driver_sql(statement: TextClause) -> str:
    """The statement with the driver's placeholders. Statements are constants, so each is compiled once."""
    return str(statement.compile(dialect=_DIALECT))


@cache
def _insert_into(table: str, columns: Sequence[str]) -> TextClause:
    names = ", ".join(columns)
    rows = f"jsonb_populate_recordset(CAST(NULL AS {table}), CAST(:rows AS jsonb))"
    return text(f"INSERT INTO {table} ({names}) SELECT {names} FROM {rows}")  # noqa: S608 - names of shared.db.tables


class Session:
    """An open transaction. Functions of `shared.acts` and `shared.db` take one; only `Database` commits it."""

    def __init__(self, driver: AsyncDriverConnection[Any], statement_seconds: float) -> None:
        self._driver = driver
        self._statement_seconds = statement_seconds
        self._events: list[Event] = []
        self._hints: dict[Hint, None] = {}
        self._settled: tuple[UUID, int] | None = None
        self._stream: AsyncServerCursor[Row] | None = None
        self._committed: list[tuple[int | None, Hint]] = []

    async def all(self, statement: TextClause, params: Params | None = None) -> Sequence[Row]:
        return await (await self._execute(statement, params)).fetchall()

    async def one(self, statement: TextClause, params: Params | None = None) -> Row:
        """The first row of a statement that always has one."""
        row = await self.first(statement, params)
        if row is None:
            raise LookupError("a statement that always has a row had none")
        return row

    async def first(self, statement: TextClause, params: Params | None = None) -> Row | None:
        return await (await self._execute(statement, params)).fetchone()

    async def run(self, statement: TextClause, params: Params | None = None) -> int:
        """Execute and return the number of rows that were touched."""
        return (await self._execute(statement, params)).rowcount

    async def insert(self, table: Table, rows: Sequence[Params]) -> None:
        """Insert rows that all name the same columns; values are such as JSON can say, and ids and times."""
        for first in range(0, len(rows), _LINES_AT_ONCE):
            batch = rows[first : first + _LINES_AT_ONCE]
            await self.run(_insert_into(table.name, tuple(batch[0])), {"rows": as_json(batch)})

    async def stream(self, statement: TextClause, params: Params, *, at_once: int) -> AsyncGenerator[Row, None]:
        """The rows of a statement, so many at a time in memory; one after another, not two streams at once.

        It ends with the transaction at the latest, whoever may still hold it.
        """
        async with self._driver.cursor("stream", row_factory=namedtuple_row) as self._stream:
            with self._answered_in_time():
                await self._stream.execute(_as_driver_sql(statement), params)
            while rows := await self._next_rows(self._stream, at_once):
                for row in rows:
                    yield row

    async def _next_rows(self, stream: AsyncServerCursor[Row], at_once: int) -> Sequence[Row]:
        with self._answered_in_time():
            return await stream.fetchmany(at_once)

    async def close_stream(self) -> None:
        """Close a stream that was not read to its end; `Database.transaction` calls it.

        Later, when the interpreter gets to it, the connection would be somebody else's.
        """
        if self._stream is not None:
            with self._answered_in_time():
                await self._stream.close()

    async def copy(self, statement: str, lines: Iterable[CopyLine]) -> None:
        """Run a `COPY ... FROM STDIN`: the cheapest way to write many rows, all of them or none."""
        with self._answered_in_time() as silence:
            async with self._driver.cursor().copy(statement.encode()) as target:
                remaining = iter(lines)
                while batch := list(islice(remaining, _LINES_AT_ONCE)):
                    await target.write("".join(map(_copied, batch)))
                    silence.begin_again()

    async def _execute(self, statement: TextClause, params: Params | None) -> AsyncCursor[Row]:
        # On the driver's own cursor: half of the CPU time of SQLAlchemy's, which has nothing to add to text.
        cursor = self._driver.cursor(row_factory=namedtuple_row)
        with self._answered_in_time():
            return await cursor.execute(_as_driver_sql(statement), params)

    def _answered_in_time(self) -> AbstractContextManager[Silence]:
        return hang_up_after(self._driver, self._statement_seconds)

    def record(self, event: Event) -> None:
        """Write this event with the commit."""
        self._events.append(event)

    def announce(self, hint: Hint) -> None:
        """Publish this hint after the commit; the same hint twice in a transaction is sent once.

        A fact needs no row in the outbox: it wakes readers, who look by themselves every few seconds. Postgres tells
        those who listen to it (`shared.db.streams`) with the commit, the bus tells the others.
        """
        self._hints[hint] = None

    def settle(self, cohort_id: UUID, as_of: int) -> None:
        """Say with the commit that this cohort is settled up to that number of its events."""
        self._settled = cohort_id, as_of

    @property
    def has_pending(self) -> bool:
        """Whether something was recorded, announced or settled that is not written yet."""
        return bool(self._events or self._hints or self._settled)

    @property
    def committed(self) -> Committed:
        """What is to be published once this has been committed."""
        return self._committed

    async def commit(self) -> Committed:
        """Write what was recorded and announced, commit, and tell what is to be published.

        `Database.transaction` calls it. The cohort's counter is locked from the last statement to the commit, so both
        travel together: what else this process has to do in between would keep everybody in the cohort waiting.
        """
        with self._answered_in_time():
            if not self.has_pending:
                await self._driver.commit()
                return self._committed
            async with self._driver.pipeline():
                flushed = await self._execute(FLUSH_ALONE, self._flush_params())
                await self._execute(_COMMIT, None)
        self._keep(await flushed.fetchone())
        return self._committed

    async def flush_with(self, statement: TextClause, params: Params) -> Row:
        """Write what is pending together with a change, by a statement built from FLUSH; returns its row.

        When the statement's condition lets nothing through, what is pending is dropped with the change.
        """
        row = await self.one(statement, {**params, **self._flush_params()})
        self._keep(row)
        return row

    def _flush_params(self) -> Params:
        facts = [hint.id for hint in self._hints if hint.queue == FACTS]
        return {"events": as_json(self._event_rows()), "hints": as_json(self._hint_rows()), "facts": facts}

    def _keep(self, row: Row) -> None:
        """Remember what a statement built from FLUSH has written."""
        if row.passed:
            self._committed += [
                (row_id, Hint(queue, hint_type, subject_id, correlated, urgent))
                for row_id, queue, hint_type, subject_id, correlated, urgent in row.announced or ()
            ]
            self._committed += ((None, hint) for hint in self._hints if hint.queue == FACTS)
        self._events, self._hints, self._settled = [], {}, None

    def _event_rows(self) -> list[dict[str, Any]]:
        """The events; and without a rank, because it is none, up to where a cohort is settled."""
        rows = ranked(self._events)
        if self._settled is not None:
            cohort_id, as_of = self._settled
            rows.append({"cohort_id": cohort_id, "settled": as_of})
        return rows

    def _hint_rows(self) -> list[dict[str, Any]]:
        return [
            {
                "queue": hint.queue,
                "type": hint.type,
                "subject_id": hint.id,
                "correlation": hint.correlation or correlation.get(),
                "urgent": hint.urgent or is_urgent(),
            }
            for hint in self._hints
            if hint.queue != FACTS
        ]


def _copied(line: CopyLine) -> str:
    return "\t".join(map(_field, line)) + "\n"


@lru_cache(maxsize=4096)
def _field(value: str | None) -> str:
    """A value as COPY reads it; most come again in the next line."""
    if value is None:
        return r"\N"
    return value.translate(_ESCAPED) if _SPECIAL.search(value) else value


_SPECIAL = re.compile(r"[\\\t\n\r]")
_ESCAPED = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
_COMMIT = text("COMMIT")


def _nobody(_: Committed) -> None:
    """Nobody listens: the outbox's sweep finds the rows."""


class Database:
    """The way into Postgres for one process: its connections, and whoever wants to hear of committed outbox rows."""

    def __init__(
        self, engine: AsyncEngine, turnstile: Turnstile, *, statement_seconds: float = STATEMENT_SECONDS
    ) -> None:
        self._engine = engine
        self._turnstile = turnstile
        self._statement_seconds = statement_seconds
        self.on_commit: Callable[[Committed], None] = _nobody

    @property
    def url(self) -> str:
        """Where the database is, with the password."""
        return self._engine.url.set(drivername="postgresql").render_as_string(hide_password=False)

    @asynccontextmanager
    async def transaction(self, *, statement_seconds: float | None = None) -> AsyncIterator[Session]:
        """Commit on success, roll back otherwise; hand what must be published to `on_commit`.

        A statement that has no answer after `statement_seconds` breaks its connection, and all others of the pool are
        replaced: the server may be gone without a word. Say WHOLE_EXPERIMENT_SECONDS where statements may take long.

        Raises:
            Unavailable: Postgres cannot be reached; nothing is stored, unless the connection broke in the commit.
        """
        async with self._driver() as driver:
            session = Session(driver, statement_seconds or self._statement_seconds)
            try:
                yield session
                committed = await session.commit()
            finally:
                await session.close_stream()
        await self._tell(committed)

    @asynccontextmanager
    async def looking(self) -> AsyncIterator[Session]:
        """For reading only: every statement sees the state of its own moment, and there is nothing to commit.

        Raises:
            Unavailable: Postgres cannot be reached.
        """
        async with self._driver() as driver:
            await driver.set_autocommit(True)
            yield Session(driver, self._statement_seconds)
            await driver.set_autocommit(False)

    @asynccontextmanager
    async def deciding(self) -> AsyncIterator[Session]:
        """A transaction of one statement, which begins and commits by itself; its events and hints go with it.

        Raises:
            Unavailable: Postgres cannot be reached; nothing is stored, unless the connection broke in the commit.
        """
        async with self.looking() as session:
            yield session
            if session.has_pending:
                raise LookupError("what was recorded or announced must be written with the statement")
        await self._tell(session.committed)

    async def _tell(self, committed: Committed) -> None:
        await reached("transaction.committed")
        if committed:
            self.on_commit(committed)

    @asynccontextmanager
    async def _driver(self) -> AsyncIterator[AsyncDriverConnection[Any]]:
        """A connection of the pool, without what SQLAlchemy puts around it: that takes longer than a statement."""
        with told_apart():
            async with self._turnstile.passed(), self._borrowed() as driver:
                yield driver

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[AsyncDriverConnection[Any]]:
        pool = self._engine.pool
        borrowed = await self._engine.raw_connection()
        driver: AsyncDriverConnection[Any] = borrowed.driver_connection  # type: ignore[assignment]  # it has one
        is_clean = False
        try:
            yield driver
            is_clean = True
        except Exception:
            is_clean = await _is_undone(driver, self._statement_seconds)
            raise
        finally:
            is_broken = driver.broken
            # After a cancellation nobody knows what the server has done; and a pool that was given up is not kept.
            if not is_clean or self._engine.pool is not pool:
                await driver.close()
                borrowed.invalidate(soft=True)
            borrowed.close()
            # Whatever was connected to a server that is gone is of no use any more.
            if is_broken and self._engine.pool is pool:
                await self._engine.dispose()

    async def close(self) -> None:
        await self._engine.dispose()


async def _is_undone(driver: AsyncDriverConnection[Any], statement_seconds: float) -> bool:
    """Whether the connection could be made as new after an error."""
    try:
        with hang_up_after(driver, statement_seconds):
            await driver.rollback()
        await driver.set_autocommit(False)
    except DriverError as failure:
        log.debug("connection.not_rolled_back", reason=str(failure))
        return False
    return True
