"""Notices a server that is gone without a word: a failover whose packets are dropped, a network that swallows them.

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
