"""The PostgreSQL and the RabbitMQ that a benchmark uses, and what it makes for itself on them."""

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from shutil import which
from urllib.parse import urlsplit
from uuid import uuid4

import psycopg
from psycopg import sql

from benchmarks.load import OBSERVER

_POSTGRES = "postgresql://postgres@127.0.0.1:5432/postgres"
_AMQP = "amqp://guest:guest@127.0.0.1:5672/"


def postgres_url() -> str:
    return os.environ.get("PARLEY_DATABASE_URL") or _POSTGRES


def amqp_url() -> str:
    return os.environ.get("PARLEY_AMQP_URL") or _AMQP


@contextmanager
def own_database(purpose: str) -> Iterator[str]:
    """The URL of a new database, which is gone after the block."""
    name = f"bench_{purpose}_{uuid4().hex[:8]}"
    with psycopg.connect(postgres_url(), autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    try:
        yield urlsplit(postgres_url())._replace(path=f"/{name}").geturl()
    finally:
        with psycopg.connect(postgres_url(), autocommit=True) as connection:
            connection.execute(sql.SQL("DROP DATABASE IF EXISTS {} WITH (FORCE)").format(sql.Identifier(name)))


@contextmanager
def own_broker_corner() -> Iterator[str]:
    """The URL of a new virtual host where `rabbitmqctl` can make one, else the broker's URL as it is given.

    A virtual host takes all of its queues along when it goes.
    """
    name = f"bench-{uuid4().hex[:8]}"
    if not _control("add_vhost", name):
        yield amqp_url()
        return
    try:
        user = urlsplit(amqp_url()).username or "guest"
        _control("set_permissions", "-p", name, user, ".*", ".*", ".*")
        yield urlsplit(amqp_url())._replace(path=f"/{name}").geturl()
    finally:
        _control("delete_vhost", name)


def _control(*arguments: str) -> bool:
    if which("rabbitmqctl") is None:
        return False
    return subprocess.run(["rabbitmqctl", *arguments], capture_output=True, check=False).returncode == 0


def backends(database_url: str) -> list[int]:
    """The process ids of the server's side of a contestant's connections; empty when the server runs elsewhere."""
    if urlsplit(database_url).hostname not in ("127.0.0.1", "localhost"):
        return []
    with psycopg.connect(database_url) as connection:
        rows = connection.execute(
            "SELECT pid FROM pg_stat_activity WHERE datname = current_database() AND application_name <> %s"
            " AND pid <> pg_backend_pid()",
            (OBSERVER,),
        ).fetchall()
    return [row[0] for row in rows]


def through(url: str, port: int) -> str:
    """The same address, at a port of this machine."""
    parts = urlsplit(url)
    user, _, _ = parts.netloc.rpartition("@")
    return parts._replace(netloc=f"{user}@127.0.0.1:{port}" if user else f"127.0.0.1:{port}").geturl()
