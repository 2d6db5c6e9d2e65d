"""Detects a database that is away, silent or too busy, and retries.

With keepalives the kernel detects a machine that acknowledges nothing. When something in between still acknowledges,
such as a proxy, only the missing answer shows it.
"""

import asyncio
import os
import socket
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from time import perf_counter
from typing import Any, Final, TypeVar

import structlog
from psycopg import AsyncConnection
from psycopg import Error as DriverError
from psycopg import InterfaceError as DriverInterfaceError
from psycopg import OperationalError as DriverOperationalError
from psycopg.errors import DeadlockDetected as DeadlockDetected
from psycopg.errors import LockNotAvailable as LockNotAvailable
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from parley_lab.base.errors import GivenUp, Unavailable
from parley_lab.base.metrics import STATEMENT_SECONDS
from parley_lab.store.turnstile import NoPlace

log = structlog.get_logger(__name__)

ResultT = TypeVar("ResultT")

NOTICES_SILENCE: Final[dict[str, Any]] = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""Connection parameters with which the kernel detects a lost server within about ten seconds."""


class StaleRead(Exception):
    """A row that was read without a lock has changed: nothing was written; read it again, under the lock."""


class Silence:
    """Shuts the socket of a connection down `seconds` after it began."""

    def __init__(self, connection: AsyncConnection[Any], seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds
        self._timer = self._begin()

    def begin_again(self) -> None:
        """Restart the time: the server has answered, and the next answer is awaited."""
        self._timer.cancel()
        self._timer = self._begin()

    def end(self) -> None:
        self._timer.cancel()

    def _begin(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._seconds, self._hang_up)

    def _hang_up(self) -> None:
        # A cancellation would not help: the driver asks the server to cancel, and waits for its answer.
        log.warning("database.silent", seconds=self._seconds)
        if not self._connection.closed:
            with socket.socket(fileno=os.dup(self._connection.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)


@contextmanager
def hang_up_after(connection: AsyncConnection[Any], seconds: float) -> Iterator[Silence]:
    """Fail awaits of this connection in the block with OperationalError after so many seconds, and note its time."""
    silence = Silence(connection, seconds)
    began = perf_counter()
    try:
        yield silence
    finally:
        silence.end()
        STATEMENT_SECONDS.observe(perf_counter() - began)


async def is_undone(driver: AsyncConnection[Any], statement_seconds: float) -> bool:
    """Whether the connection could be reset after an error."""
    try:
        with hang_up_after(driver, statement_seconds):
            await driver.rollback()
        await driver.set_autocommit(False)
    except DriverError as failure:
        log.debug("connection.not_rolled_back", reason=str(failure))
        return False
    return True


@contextmanager
def told_apart() -> Iterator[None]:
    """Turn the driver's errors about a database that is away, or too busy, into Unavailable."""
    try:
        yield
    except (PoolTimeout, NoPlace) as error:
        raise Unavailable("The database is busy: no connection was free in time. Try again.") from error
    except (DBAPIError, DriverError) as error:
        if is_connection_problem(error):
            raise Unavailable("The database cannot be reached. Nothing was lost; try again.") from error
        if can_only_read(error):
            raise Unavailable("The database can only be read for now. Nothing was stored; try again.") from error
        if _state_of(error) in _HAS_NO_ROOM_STATES:
            raise Unavailable("The database cannot store anything for now. Try again.") from error
        if _state_of(error) in _GIVEN_UP_STATES:
            raise GivenUp("The database gave up what was asked of it. Try again.") from error
        if is_lock_timeout(error):
            raise Unavailable("Another request holds a lock on this, and waiting took too long. Try again.") from error
        raise


def cause_of(error: BaseException) -> str:
    """What the server or the driver said about a connection that failed, in one line without a password.

    Takes an `Unavailable`, too; empty where nothing was said.
    """
    cause = error.__cause__ if isinstance(error, Unavailable) else error
    said = str(cause.orig if isinstance(cause, DBAPIError) else cause or "").strip()
    return " ".join(said.splitlines()[0].split()) if said else ""


def is_refused(error: BaseException) -> bool:
    """Whether a server answered and did not let us in: a wrong password, a database that is not there."""
    return "FATAL:" in cause_of(error)


def is_connection_problem(error: BaseException) -> bool:
    """Whether Postgres is away, as opposed to refusing the statement."""
    original = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(original, DriverInterfaceError) or (isinstance(error, DBAPIError) and error.connection_invalidated):
        return True
    state = _state_of(error)
    return state in _SHUTDOWN_STATES or (state is None and isinstance(original, DriverOperationalError))


_SHUTDOWN_STATES = ("57P01", "57P02", "57P03", "57P05", "53300", "08000", "08001", "08003", "08006")
_ONLY_READS_STATE = "25006"
_HAS_NO_ROOM_STATES = ("53000", "53100", "58000", "58030")
"""A full disk, or one that fails: all that writes has to wait."""
_GIVEN_UP_STATES = ("53200", "53400", "57014")
"""Out of memory, over a limit, cancelled: the next statement may go through."""
_LOCK_TIMEOUT = "55P03"
_TRY_AGAIN_STATES = ("40P01", "40001")


def _state_of(error: BaseException) -> str | None:
    return getattr(getattr(error, "orig", error), "sqlstate", None)


def can_only_read(error: BaseException) -> bool:
    """Whether the connection leads to a server that only reads, such as a standby; a new one may lead to its primary.

    The server decides it when a transaction begins, so a connection that could only read once may go on so for good.
    """
    return _state_of(error) == _ONLY_READS_STATE


def is_lock_timeout(error: BaseException) -> bool:
    """Whether another transaction held a lock for longer than the statement waits."""
    return _state_of(error) == _LOCK_TIMEOUT


def is_deadlock(error: BaseException) -> bool:
    """Whether the whole transaction should be tried again (deadlock, serialization failure)."""
    return _state_of(error) in _TRY_AGAIN_STATES


_AFTER_DEADLOCK_SECONDS: Final = 0.05
"""The other side has yet to wake and take its lock: work that is repeated at once can be first, and both wait again."""


async def retry_deadlocks(work: Callable[[], Awaitable[ResultT]], *, tries: int = 2) -> ResultT:
    """The result of `work`, which is repeated from its beginning after a deadlock, which Postgres has rolled back."""
    for _ in range(tries - 1):
        try:
            return await work()
        except Exception as error:
            if not is_deadlock(error):
                raise
            log.warning("deadlock.retried")
        await asyncio.sleep(_AFTER_DEADLOCK_SECONDS)
    return await work()


_FIRST_PAUSE_SECONDS: Final = 0.1
_LONGEST_PAUSE_SECONDS: Final = 2.0
MOST_GIVEN_UP: Final = 10
"""How often one piece of work is tried that Postgres gives up, about a quarter of a minute."""


async def retry_until_done(work: Callable[[], Awaitable[ResultT]]) -> ResultT:
    """The result of `work`, repeated while Postgres is away or in a deadlock: paid replies must be stored.

    Raises:
        GivenUp: Postgres has given it up as often as it may.
    """
    pause, given_up = _FIRST_PAUSE_SECONDS, 0
    while True:
        try:
            return await work()
        except GivenUp as error:
            given_up += 1
            if given_up == MOST_GIVEN_UP:
                raise
            log.warning("statement.given_up", cause=cause_of(error))
        except Unavailable as error:
            log.warning("database.waited_for", reason=error.message, cause=cause_of(error))
        except Exception as error:
            if not is_deadlock(error):
                raise
            log.warning("deadlock.retried")
        await asyncio.sleep(pause)
        pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)
