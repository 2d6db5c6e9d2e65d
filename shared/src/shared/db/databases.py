"""Databases as a whole: making, copying and dropping them on a server."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from time import monotonic, sleep
from urllib.parse import urlsplit

import psycopg
from psycopg import sql

from shared.errors import Unavailable


def with_name(url: str, name: str) -> str:
    """The URL of another database on the same server."""
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def create_database(url: str, name: str) -> str:
    """Create the database unless it is there, on the server that `url` leads to; returns its URL."""
    with _connected(url) as connection, suppress(psycopg.errors.DuplicateDatabase):
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    return with_name(url, name)


def copy_database(url: str, template: str, name: str) -> str:
    """Create a database as a copy of `template`, to which nobody may be connected; returns its URL."""
    statement = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
    with _connected(url) as connection:
        connection.execute(statement.format(sql.Identifier(name), sql.Identifier(template)))
    return with_name(url, name)


def drop_database(url: str, name: str) -> None:
    """Drop the database if it is there, and cut off whoever is connected to it."""
    with _connected(url) as connection:
        connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


def cut_off_everybody(url: str) -> None:
    """End all connections of clients to the server.

    Raises:
        Unavailable: it does not answer.
    """
    try:
        with _connected(url) as connection:
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
            with _connected(url):
                return
        except psycopg.OperationalError as error:
            if monotonic() > deadline:
                raise Unavailable(f"The database did not answer within {seconds:.0f} s: {error}") from error
            sleep(0.1)


@contextmanager
def _connected(url: str) -> Iterator[psycopg.Connection]:
    with psycopg.connect(url, autocommit=True, connect_timeout=5) as connection:
        yield connection
