"""A database belongs to one lab with one bus; only one process at a time may be its in-process bus.

With hints on two buses, each half of a lab would miss the hints of the other.
"""

import os
import socket
from typing import Literal

import psycopg
from sqlalchemy import text

from parley_lab.base.errors import SettingsInvalid
from parley_lab.store.failures import NOTICES_SILENCE, hang_up_after
from parley_lab.store.session import STATEMENT_SECONDS, ReadSession

Bus = Literal["in-process", "rabbitmq"]

_LOCK = 0x6C6162  # "lab"
# The lock of a killed process ends when Postgres notices, which is at once on one machine.
_PATIENCE_SECONDS = 3
# Releases the lock of a machine that has vanished within a minute.
_OPTIONS = (
    f"-c lock_timeout={_PATIENCE_SECONDS}s -c idle_session_timeout=0 "
    "-c tcp_keepalives_idle=30 -c tcp_keepalives_interval=10 -c tcp_keepalives_count=3"
)


class LabClaim:
    """The right of this process to be part of the lab; for the in-process bus a lock, on a connection of its own."""

    def __init__(self, url: str, connection: psycopg.AsyncConnection | None) -> None:
        self._url = url
        self._connection = connection

    async def renew(self) -> None:
        """Take the lock again if the connection broke (Postgres was restarted); otherwise one round trip.

        Raises:
            SettingsInvalid: another process took it in between; this one must stop.
            psycopg.OperationalError: Postgres is away; try again.
        """
        if self._connection is None:
            return
        try:
            with hang_up_after(self._connection, STATEMENT_SECONDS):
                await self._connection.execute("SELECT 1")
        except psycopg.OperationalError:
            await self._connection.close()
            self._connection = await _lock(self._url)

    async def close(self) -> None:
        """Release the claim; idempotent."""
        if self._connection is not None:
            await self._connection.close()


async def claim_lab(url: str, bus: Bus) -> LabClaim:
    """Record the bus of this database if it has none; if `bus` is the in-process bus, lock its place.

    Keep the result for the life of the process, then close it.

    Raises:
        SettingsInvalid: the database belongs to the other bus, or another process is its in-process bus.
    """
    connection = await _connect(url)
    async with connection:
        recorded = await _read_bus(connection)
        # A server that only reads for now has been claimed before.
        if recorded is None:
            await connection.execute("INSERT INTO lab (bus) VALUES (%s) ON CONFLICT DO NOTHING", (bus,))
            recorded = await _read_bus(connection)
    assert recorded is not None
    if recorded[0] != bus:
        raise SettingsInvalid(_OTHER_BUS[bus])
    return LabClaim(url, await _lock(url) if bus == "in-process" else None)


async def _read_bus(connection: psycopg.AsyncConnection) -> tuple[str] | None:
    found: tuple[str] | None = await (await connection.execute("SELECT bus FROM lab")).fetchone()
    return found


_IS_RUNNING = text(
    """
    SELECT bus = 'rabbitmq' OR EXISTS (
        SELECT FROM pg_locks l WHERE l.locktype = 'advisory' AND l.granted AND l.objid = :lock AND l.classid = 0
            AND l.objsubid = 1 AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ) AS is_running FROM lab
    """
)


async def is_running(session: ReadSession) -> bool:
    """Whether a lab is running on this database; a distributed one is taken to be running."""
    row = await session.first(_IS_RUNNING, {"lock": _LOCK})
    return row is not None and bool(row.is_running)


_OTHER_BUS: dict[Bus, str] = {
    "in-process": (
        "This database belongs to a lab on RabbitMQ. Set PARLEY_AMQP_URL to its broker, or PARLEY_DATABASE_URL to "
        "another database."
    ),
    "rabbitmq": (
        "This database belongs to an embedded lab, whose bus is in-process. Start it without PARLEY_AMQP_URL, or set "
        "PARLEY_DATABASE_URL to another database."
    ),
}


async def _lock(url: str) -> psycopg.AsyncConnection:
    connection = await _connect(url)
    try:
        await connection.execute("SELECT pg_advisory_lock(%s)", (_LOCK,))
    except psycopg.errors.LockNotAvailable as error:
        holder = await _holder(connection)
        await connection.close()
        raise SettingsInvalid(
            f"Another lab is running on this database: {holder}. "
            "Stop it, or set PARLEY_DATABASE_URL to another database."
        ) from error
    except BaseException:
        await connection.close()
        raise
    return connection


async def _holder(connection: psycopg.AsyncConnection) -> str:
    found = await connection.execute(
        """
        SELECT a.application_name, coalesce(host(a.client_addr), 'this machine'), a.pid,
            to_char(a.backend_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS')
        FROM pg_locks l JOIN pg_stat_activity a USING (pid)
        WHERE l.locktype = 'advisory' AND l.granted AND l.objid = %s AND l.classid = 0 AND l.objsubid = 1
            AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
        """,
        (_LOCK,),
    )
    row = await found.fetchone()
    if row is None:
        return "one that has just stopped"
    name, address, backend, since = row
    return f"{name or 'a process without a name'}, from {address}, since {since} UTC (PostgreSQL process {backend})"


async def _connect(url: str) -> psycopg.AsyncConnection:
    return await psycopg.AsyncConnection.connect(
        url, autocommit=True, options=_OPTIONS, application_name=_process_name(), **NOTICES_SILENCE
    )


def _process_name() -> str:
    """The name, cut to the 63 bytes that Postgres stores."""
    return f"parley, process {os.getpid()} on {socket.gethostname()}"[:63]
