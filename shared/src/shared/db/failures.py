"""How a database that is away, silent or too busy is noticed.

The kernel notices a machine that acknowledges nothing, by keepalives. Where something on the way still acknowledges,
such as a proxy, only an answer that does not come tells.
"""

import asyncio
import os
import socket
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import structlog
from psycopg import AsyncConnection
from psycopg import Error as DriverError
from psycopg import InterfaceError as DriverInterfaceError
from psycopg import OperationalError as DriverOperationalError
from psycopg.errors import LockNotAvailable as LockNotAvailable
from sqlalchemy.exc import DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from shared.db.turnstile import NoPlace
from shared.errors import Unavailable

log = structlog.get_logger(__name__)

NOTICES_SILENCE: Final[dict[str, Any]] = {
    "connect_timeout": 5,
    "keepalives_idle": 5,
    "keepalives_interval": 2,
    "keepalives_count": 3,
    "tcp_user_timeout": 10_000,
}
"""Parameters of a connection by which the kernel notices within about ten seconds that the server is gone."""


class Silence:
    """Shuts the socket of a connection down when `seconds` have passed since it began."""

    def __init__(self, connection: AsyncConnection[Any], seconds: float) -> None:
        self._connection = connection
        self._seconds = seconds
        self._timer = self._begin()

    def begin_again(self) -> None:
        """The server has answered, and the next answer is waited for."""
        self._timer.cancel()
        self._timer = self._begin()

    def end(self) -> None:
        self._timer.cancel()

    def _begin(self) -> asyncio.TimerHandle:
        return asyncio.get_running_loop().call_later(self._seconds, self._hang_up)

    def _hang_up(self) -> None:
        # A cancellation would not do: the driver asks the server to cancel and waits for its answer.
        log.warning("database.silent", seconds=self._seconds)
        if not self._connection.closed:
            with socket.socket(fileno=os.dup(self._connection.fileno())) as line:
                line.shutdown(socket.SHUT_RDWR)


@contextmanager
def hang_up_after(connection: AsyncConnection[Any], seconds: float) -> Iterator[Silence]:
    """Whatever the block awaits of this connection fails with OperationalError after so many seconds."""
    silence = Silence(connection, seconds)
    try:
        yield silence
    finally:
        silence.end()


@contextmanager
def told_apart() -> Iterator[None]:
    """Turns what the driver says of a database that is away, or too busy, into Unavailable."""
    try:
        yield
    except (PoolTimeout, NoPlace) as error:
        raise Unavailable("The database is busy: no connection was free in time. Try again.") from error
    except (DBAPIError, DriverError) as error:
        if is_connection_problem(error):
            raise Unavailable("The database cannot be reached. Nothing was lost; try again.") from error
        if _state_of(error) == _LOCK_TIMEOUT:
            raise Unavailable("Somebody else is at work on this; it took too long. Try again.") from error
        raise


def is_connection_problem(error: BaseException) -> bool:
    """Whether Postgres is away, as opposed to refusing what was asked."""
    original = error.orig if isinstance(error, DBAPIError) else error
    if isinstance(original, DriverInterfaceError) or (isinstance(error, DBAPIError) and error.connection_invalidated):
        return True
    state = _state_of(error)
    return state in _SHUTDOWN_STATES or (state is None and isinstance(original, DriverOperationalError))


_SHUTDOWN_STATES = ("57P01", "57P02", "57P03", "57P05", "53300", "08000", "08001", "08003", "08006")
_LOCK_TIMEOUT = "55P03"
_TRY_AGAIN_STATES = ("40P01", "40001")


def _state_of(error: BaseException) -> str | None:
    return getattr(getattr(error, "orig", error), "sqlstate", None)


def is_deadlock(error: BaseException) -> bool:
    """Whether trying the whole transaction again is the right answer (deadlock, serialization failure)."""
    return _state_of(error) in _TRY_AGAIN_STATES
