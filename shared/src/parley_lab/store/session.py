"""Transactions: what one writes, the events that record it and the hints that announce it."""

from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Hashable, Iterable, Sequence
from contextlib import AbstractContextManager, asynccontextmanager, suppress
from itertools import islice
from typing import Any, TypeVar
from uuid import UUID

import structlog
from psycopg import AsyncConnection as AsyncDriverConnection
from psycopg import AsyncCursor, AsyncRawCursor, AsyncRawServerCursor, AsyncServerCursor
from psycopg.rows import namedtuple_row
from sqlalchemy import Table, TextClause, text
from sqlalchemy.ext.asyncio import AsyncEngine

from parley_lab.base.failpoints import failpoint
from parley_lab.contracts.hints import Hint
from parley_lab.store.batches import Batches, ReadForMany
from parley_lab.store.bulk import CopyLine, copied, insert_into
from parley_lab.store.connections import Connections, Loan
from parley_lab.store.facts import FLUSH, FLUSH_MANY, LOCK_COUNTERS, Counted, Event, hint_rows, ranked
from parley_lab.store.failures import Silence, StaleRead, hang_up_after, retry_deadlocks
from parley_lab.store.statements import Params, Row, as_json, compiled, in_order
from parley_lab.store.turnstile import Turnstile

log = structlog.get_logger(__name__)
ResultT = TypeVar("ResultT")
_LINES_AT_ONCE = 2_000
STATEMENT_SECONDS = 10.0
"""The time-out of a statement, after which its connection is given up."""
WHOLE_EXPERIMENT_SECONDS = 300.0
"""The same where a whole experiment is read or written at once."""
Committed = Sequence[tuple[int, Hint]]
"""Hints to publish now, with their rows in the outbox."""


class ReadSession:
    """Statements that read. Functions that only read take one; a `Session` is also one.

    mypy refuses functions that record, announce or change something on it (`shared/tests/store/test_session.py`).
    """

    def __init__(self, loan: Loan, statement_seconds: float, batches: Batches | None = None) -> None:
        self._loan = loan
        self._statement_seconds = statement_seconds
        self._batches = batches

    async def connect(self) -> None:
        """Borrow a connection now; the first statement does it, too, and what goes with those of others needs none."""
        await self._loan.begin()

    @property
    def _driver(self) -> AsyncDriverConnection[Any]:
        return self._loan.driver

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

    async def first_for_many(self, read: ReadForMany, params: Params) -> Row | None:
        """The same; outside of a transaction the row is read together with those that others want at this moment."""
        if self._batches is None:
            return await self.first(read.one, params)
        return await self._for_many(self._batches, read.many, params)

    async def _for_many(
        self, batches: Batches, statement: TextClause, params: Params, key: Hashable | None = None
    ) -> Row | None:
        # The batch needs a connection, too: kept by all who wait for it, the last ones would be missing.
        await self._loan.end()
        return await batches.do(statement, params, key=key)

    async def _execute(self, statement: TextClause, params: Params | None) -> AsyncCursor[Row]:
        await self.connect()
        # On the driver's own cursor, which takes half of SQLAlchemy's CPU time; texts need nothing of SQLAlchemy.
        with self._answered_in_time():
            return await self._send(statement, params)

    async def _send(self, statement: TextClause, params: Params | None) -> AsyncCursor[Row]:
        query, names = compiled(statement)
        return await AsyncRawCursor(self._driver, row_factory=namedtuple_row).execute(query, in_order(names, params))

    def _answered_in_time(self) -> AbstractContextManager[Silence]:
        return hang_up_after(self._driver, self._statement_seconds)


class Session(ReadSession):
    """An open transaction. Statements and acts take one; only `Database` commits it."""

    def __init__(self, loan: Loan, statement_seconds: float, batches: Batches | None = None) -> None:
        super().__init__(loan, statement_seconds, batches)
        self._events: list[Event] = []
        self._hints: dict[Hint, None] = {}
        self._told: dict[UUID, None] = {}
        self._settled: tuple[UUID, int] | None = None
        self._later: list[tuple[TextClause, Params]] = []
        self._stream: AsyncServerCursor[Row] | None = None
        self._committed: list[tuple[int, Hint]] = []
        self.counted: list[Counted] = []
        """The numbers that its events have got, once they are written."""

    async def run(self, statement: TextClause, params: Params | None = None) -> int:
        """Execute it and return the number of affected rows."""
        return (await self._execute(statement, params)).rowcount

    def later(self, statement: TextClause, params: Params) -> None:
        """Send this together with the next statement or the commit, for what needs no answer."""
        self._later.append((statement, params))

    async def all_of_each(self, *statements: tuple[TextClause, Params]) -> list[Sequence[Row]]:
        """The rows of each of these statements, which are sent together and see what was committed before each."""
        await self.connect()
        with self._answered_in_time():
            async with self._together():
                cursors = [await self._send(statement, params) for statement, params in statements]
            return [await cursor.fetchall() for cursor in cursors]

    async def _execute(self, statement: TextClause, params: Params | None) -> AsyncCursor[Row]:
        if not self._later:
            return await super()._execute(statement, params)
        await self.connect()
        with self._answered_in_time():
            async with self._together():
                return await self._send(statement, params)

    @asynccontextmanager
    async def _together(self) -> AsyncIterator[None]:
        """Send what is to be done later, and the statements of the block; all have their results after it."""
        later, self._later = self._later, []
        async with self._driver.pipeline():
            for statement, params in later:
                await self._send(statement, params)
            yield

    async def insert(self, table: Table, rows: Sequence[Params]) -> None:
        """Insert rows with the same columns; values are JSON values, ids and times."""
        for first in range(0, len(rows), _LINES_AT_ONCE):
            batch = rows[first : first + _LINES_AT_ONCE]
            await self.run(insert_into(table.name, tuple(batch[0])), {"rows": as_json(batch)})

    async def stream(self, statement: TextClause, params: Params, *, at_once: int) -> AsyncGenerator[Row, None]:
        """The rows of a statement, so many at a time in memory; one stream at a time, ended by the transaction."""
        await self._catch_up()
        query, names = compiled(statement)
        async with AsyncRawServerCursor(self._driver, "stream", row_factory=namedtuple_row) as self._stream:
            with self._answered_in_time():
                await self._stream.execute(query, in_order(names, params))
            while rows := await self._next_rows(self._stream, at_once):
                for row in rows:
                    yield row

    async def _next_rows(self, stream: AsyncServerCursor[Row], at_once: int) -> Sequence[Row]:
        with self._answered_in_time():
            return await stream.fetchmany(at_once)

    async def close_stream(self) -> None:
        """Close a stream that was not read to its end; `Database.transaction` calls it.

        Closed later, by the interpreter, it would use a connection that belongs to another session.
        """
        if self._stream is not None:
            with self._answered_in_time():
                await self._stream.close()

    async def copy(self, statement: str, lines: Iterable[CopyLine]) -> None:
        """Run a `COPY ... FROM STDIN`: the cheapest way to write many rows, all of them or none."""
        await self._catch_up()
        with self._answered_in_time() as silence:
            async with self._driver.cursor().copy(statement.encode()) as target:
                remaining = iter(lines)
                while batch := list(islice(remaining, _LINES_AT_ONCE)):
                    await target.write("".join(map(copied, batch)))
                    silence.begin_again()

    async def _catch_up(self) -> None:
        """Do now what was to be done later."""
        await self.connect()
        if self._later:
            with self._answered_in_time():
                async with self._together():
                    pass

    def record(self, event: Event) -> None:
        """Write this event with the commit."""
        self._events.append(event)

    def announce(self, hint: Hint) -> None:
        """Publish this hint after the commit; equal hints of a transaction are sent once."""
        self._hints[hint] = None

    def tell(self, cohort_id: UUID) -> None:
        """Wake those who follow the cohort: Postgres notifies them with the commit (`parley_lab.talk.streams`)."""
        self._told[cohort_id] = None

    def settle(self, cohort_id: UUID, as_of: int) -> None:
        """Record with the commit that this cohort is settled up to this number of its events."""
        self._settled = cohort_id, as_of

    @property
    def has_pending(self) -> bool:
        """Whether events, hints, settles or changes are not written yet."""
        return bool(self._events or self._hints or self._told or self._settled or self._later)

    @property
    def committed(self) -> Committed:
        """The hints to publish after the commit."""
        return self._committed

    async def commit(self) -> Committed:
        """Write events and hints, commit, and return what is to be published.

        `Database.transaction` calls it. The cohort's counter is locked from the last statement to the commit, so both
        are sent together: any other work of this process in between would delay the whole cohort.
        """
        cohorts = self._counters()
        if len(cohorts) > 1:
            self.later(LOCK_COUNTERS, {"cohort_ids": cohorts})
        with self._answered_in_time():
            if not self.has_pending:
                await self._driver.commit()
                return self._committed
            async with self._together():
                flushed = await self._send(FLUSH_MANY if len(cohorts) > 1 else FLUSH, self._flush_params())
                await self._send(_COMMIT, None)
        self._keep(await flushed.fetchone())
        return self._committed

    async def flush_with(self, statement: TextClause, params: Params) -> Row:
        """Write the pending events together with a change, by a statement that ends with FLUSH_WITH; returns its row.

        They are of one cohort. When the statement's condition is not met, they are dropped with the change.
        """
        if len(self._counters()) > 1:
            raise LookupError("only what is pending of one cohort can be written with a change")
        row = await self.one(statement, {**params, **self._flush_params()})
        self._keep(row)
        return row

    async def write_for_many(self, statement: TextClause, key: Hashable, params: Params) -> Row | None:
        """Change something by a statement that serves several (`Batches.do`); the row of this change.

        Only outside of a transaction (`Database.autocommit`). None: it was not made. It waits for no lock: what another
        transaction holds is left as it is, and so is what another change of the same batch changes by the same `key`.
        """
        if self._batches is None:
            raise LookupError("in a transaction a statement goes alone")
        return await self._for_many(self._batches, statement, params, key)

    async def flush_for_many(self, statement: TextClause, params: Params) -> Row | None:
        """Write the pending events, which are of one cohort, with a change of the row `id`, in the same way.

        The statement ends with EVENTS_OF_MANY. When the change is not made, they are dropped with it.
        """
        if self._hints or self._settled or self._later or len(self._counters()) != 1:
            raise LookupError("only events of one cohort go together with those of others")
        row = await self.write_for_many(statement, params["id"], {**params, "events": self._event_rows()})
        if row is not None:
            self.counted.append((str(params["cohort_id"]), row.before, row.last))
        self._events, self._told = [], {}
        return row

    def _flush_params(self) -> Params:
        return {
            "events": as_json(self._event_rows()),
            "hints": as_json(hint_rows(self._hints)),
            "facts": [str(cohort_id) for cohort_id in self._told],
            "counter_id": next(iter(self._counters()), None),
        }

    def _counters(self) -> list[UUID]:
        """The cohorts whose counters change with the pending events, each once."""
        settled = () if self._settled is None else (self._settled[0],)
        return list(dict.fromkeys((*(event.cohort_id for event in self._events), *settled)))

    def _keep(self, row: Row) -> None:
        """Keep the rows that a statement ending with FLUSH_WITH has written."""
        if row.passed:
            self._committed += [
                (row_id, Hint(queue, hint_type, subject_id, correlated, urgent))
                for row_id, queue, hint_type, subject_id, correlated, urgent in row.announced or ()
            ]
            self.counted += row.counted or ()
        self._events, self._hints, self._told, self._settled = [], {}, {}, None

    def _event_rows(self) -> list[dict[str, Any]]:
        """The events; and without a rank, because these are none, the numbers up to which cohorts are settled."""
        rows = ranked(self._events)
        if self._settled is not None:
            cohort_id, as_of = self._settled
            rows.append({"cohort_id": cohort_id, "settled": as_of})
        return rows


_COMMIT = text("COMMIT")


def _no_listener(_: Committed) -> None:
    """No listener: the outbox's sweep finds the rows."""


class Database:
    """The connections of one process to Postgres, and the callback for committed outbox rows.

    Connections come from SQLAlchemy's pool, and statements run on psycopg's cursor: that takes half the CPU (0.09 ms
    instead of 0.19). Each text is compiled once, and plans are generic, because every statement finds its rows by key.
    Code that borrows a connection ends its transaction and its streams. A lease does not wait for the disk: forgotten
    in a crash, it costs one repeated call.
    """

    def __init__(
        self, engine: AsyncEngine, turnstile: Turnstile, *, statement_seconds: float = STATEMENT_SECONDS
    ) -> None:
        self._engine = engine
        self._connections = Connections(engine, turnstile, statement_seconds)
        self._statement_seconds = statement_seconds
        self.on_commit: Callable[[Committed], None] = _no_listener
        self._batches = Batches(self.autocommit, patience_seconds=turnstile.patience_seconds)

    @property
    def url(self) -> str:
        """The address of the database, with the password."""
        return self._engine.url.set(drivername="postgresql").render_as_string(hide_password=False)

    async def transact(
        self,
        work: Callable[[Session], Awaitable[ResultT]],
        *,
        quick: Callable[[], Awaitable[ResultT | None]] | None = None,
        statement_seconds: float | None = None,
    ) -> ResultT:
        """The result of `work`, committed; after a deadlock it is repeated once, in a new `transaction`.

        quick: does the same without a lock (`autocommit`), and is tried first. If it returns None or raises
        StaleRead, it has stored nothing, and `work` is done.
        """
        if quick is not None:
            with suppress(StaleRead):
                result = await quick()
                if result is not None:
                    return result

        async def once() -> ResultT:
            async with self.transaction(statement_seconds=statement_seconds) as session:
                return await work(session)

        return await retry_deadlocks(once)

    @asynccontextmanager
    async def transaction(self, *, statement_seconds: float | None = None) -> AsyncIterator[Session]:
        """Commit on success, roll back otherwise; pass what must be published to `on_commit`.

        A statement without an answer after `statement_seconds` breaks its connection, and all others of the pool are
        replaced, because the server may be gone silently. Pass WHOLE_EXPERIMENT_SECONDS for slow statements.

        Raises:
            Unavailable: Postgres cannot be reached; nothing is stored, unless the connection broke in the commit.
        """
        async with Loan(self._connections.lent) as loan:
            session = Session(loan, statement_seconds or self._statement_seconds)
            await session.connect()
            try:
                yield session
                committed = await session.commit()
            finally:
                await session.close_stream()
        await self._tell(committed)

    @asynccontextmanager
    async def read(self) -> AsyncIterator[ReadSession]:
        """For reading only: every statement sees the state at its own time, and there is nothing to commit.

        Raises:
            Unavailable: Postgres cannot be reached.
        """
        async with Loan(self._connections.autocommitting) as loan:
            yield ReadSession(loan, self._statement_seconds, self._batches)

    @asynccontextmanager
    async def autocommit(self) -> AsyncIterator[Session]:
        """A transaction of one statement, which begins and commits by itself, with its events and hints.

        Raises:
            Unavailable: Postgres cannot be reached; nothing is stored, unless the connection broke in the commit.
        """
        async with Loan(self._connections.autocommitting) as loan:
            session = Session(loan, self._statement_seconds, self._batches)
            yield session
            if session.has_pending:
                raise LookupError("what was recorded or announced must be written with the statement")
        await self._tell(session.committed)

    async def _tell(self, committed: Committed) -> None:
        await failpoint("transaction.committed")
        if committed:
            self.on_commit(committed)

    async def close(self) -> None:
        await self._engine.dispose()
