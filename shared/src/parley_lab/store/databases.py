"""Databases: creates, copies and drops them, and connects a process to one."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from urllib.parse import urlsplit

import orjson
import psycopg
from psycopg import sql
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

from parley_lab.base.errors import Unavailable
from parley_lab.store.failures import NOTICES_SILENCE
from parley_lab.store.session import STATEMENT_SECONDS, WHOLE_EXPERIMENT_SECONDS, Database
from parley_lab.store.turnstile import Turnstile


def with_name(url: str, name: str) -> str:
    """The URL of another database on the same server."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def create_database(url: str, name: str) -> str:
    """Create the database if it does not exist, on the server of `url`; returns its URL."""
    with _connect(url) as connection, suppress(psycopg.errors.DuplicateDatabase):
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return with_name(url, name)


def copy_database(url: str, template: str, name: str) -> str:
    """Create a database for a test as a copy of `template`, which may have no connections; returns its URL.

    Its commits do not wait for the disk: they survive whatever becomes of a lab, but not the end of the server itself.
    """
    create = sql.SQL("CREATE DATABASE {} TEMPLATE {}").format(sql.Identifier(name), sql.Identifier(template))
    hurry = sql.SQL("ALTER DATABASE {} SET synchronous_commit = off").format(sql.Identifier(name))
    with _connect(url) as connection:
        connection.execute(create)
        connection.execute(hurry)
    return with_name(url, name)


def drop_database(url: str, name: str) -> None:
    """Drop the database if it exists, and close its connections."""
    with _connect(url) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def cut_off_everybody(url: str) -> None:
    """Close all client connections of the server.

    Raises:
        Unavailable: it does not answer.
    """
    try:
        with _connect(url) as connection:
            connection.execute(
                "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity "
                "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
            )
    except psycopg.OperationalError as error:
        raise Unavailable(f"The database does not answer: {error}") from error


def wait_until_ready(url: str, *, seconds: float) -> None:
    """Wait for a server that is starting.

    Raises:
        Unavailable: it did not answer in this time.
    """
    deadline = monotonic() + seconds
    while True:
        try:
            with _connect(url):
                return
        except psycopg.OperationalError as error:
            if monotonic() > deadline:
                raise Unavailable(f"The database did not answer within {seconds:.0f} s: {error}") from error
            sleep(0.1)


@contextmanager
def _connect(url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
        yield connection


# Shorter than STATEMENT_SECONDS, so that a lock held by another session is distinguished from a silent server.
_LOCK_TIMEOUT_MS = 8_000


POOL_SIZE = 20
PATIENCE_SECONDS = 10.0


def connect(
    url: str,
    *,
    pool_size: int = POOL_SIZE,
    patience_seconds: float = PATIENCE_SECONDS,
    statement_seconds: float = STATEMENT_SECONDS,
) -> Database:
    """A database for this process; `url` is `postgresql://...`. Connects on first use.

    When all connections are in use, transactions wait for one: urgent ones come first, and requests wait at most
    `patience_seconds`.
    """
    engine = engine_of(url, pool_size=pool_size, patience_seconds=patience_seconds)
    return Database(engine, Turnstile(pool_size, patience_seconds), statement_seconds=statement_seconds)


def engine_of(url: str, *, pool_size: int = POOL_SIZE, patience_seconds: float = PATIENCE_SECONDS) -> AsyncEngine:
    """The pool of connections under a `Database`; connects on first use."""
    return create_async_engine(
        as_sqlalchemy_url(url),
        pool_size=pool_size,
        max_overflow=0,
        pool_timeout=patience_seconds,
        # The connection that was used last has its statements prepared.
        pool_use_lifo=True,
        # The session that borrows a connection ends its transaction.
        pool_reset_on_return=None,
        connect_args={
            "options": _OPTIONS,
            "prepare_threshold": 0,
            **NOTICES_SILENCE,
        },
        json_deserializer=orjson.loads,
        # Texts of people and models must not reach a log inside an error message.
        hide_parameters=True,
    )


# The server cancels a statement whose client has hung up, and releases the locks of a client that has vanished.
_OPTIONS = (
    f"-c timezone=UTC -c lock_timeout={_LOCK_TIMEOUT_MS} -c jit=off -c plan_cache_mode=force_generic_plan "
    "-c client_connection_check_interval=5000 -c tcp_keepalives_idle=5 -c tcp_keepalives_interval=2 "
    "-c tcp_keepalives_count=3 -c tcp_user_timeout=10000 "
    f"-c idle_in_transaction_session_timeout={int(WHOLE_EXPERIMENT_SECONDS * 1000)}"
)


def as_sqlalchemy_url(url: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme.split("+")[0] not in ("postgresql", "postgres"):
        raise ValueError("the database URL must start with postgresql://")
    return f"postgresql+psycopg://{rest}"
