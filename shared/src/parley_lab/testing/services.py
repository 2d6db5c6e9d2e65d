"""PostgreSQL and RabbitMQ for tests: from the environment, else of the program or wheel that is here, or in Docker."""

import gc
import os
import signal
import warnings
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from uuid import uuid4

from parley_lab.testing.rabbitmq_node import RabbitNode, programs, speaks_amqp

if TYPE_CHECKING:
    from testcontainers.core.container import DockerContainer

DATABASE_VARIABLE = "PARLEY_TEST_DATABASE_URL"
AMQP_VARIABLE = "PARLEY_TEST_AMQP_URL"
EMBEDDED = "embedded"

POSTGRES_IMAGE = "postgres:15"
RABBITMQ_IMAGE = "rabbitmq:3.13"


@dataclass(frozen=True, slots=True)
class Server:
    """A server that tests may use; `source` says where it came from."""

    url: str
    source: str
    template: str = ""
    """Of PostgreSQL: the name of a database with all tables and no rows, without connections."""


class NoServer(Exception):
    """No such server is available here; the message says what was tried."""


@contextmanager
def postgres() -> Iterator[Server]:
    """A PostgreSQL. PARLEY_TEST_DATABASE_URL=embedded takes the embedded one even if Docker answers."""
    given = os.environ.get(DATABASE_VARIABLE, "")
    if given and given != EMBEDDED:
        yield Server(given, f"{DATABASE_VARIABLE} ({urlsplit(given).hostname})")
        return
    with ExitStack() as stack:
        yield _postgres_without_environment(stack, wanted_embedded=given == EMBEDDED)


def _postgres_without_environment(stack: ExitStack, *, wanted_embedded: bool) -> Server:
    why = f"{DATABASE_VARIABLE}={EMBEDDED}"
    if not wanted_embedded:
        try:
            return stack.enter_context(_postgres_in_docker())
        except NoServer as error:
            why = str(error)
    folder = Path(stack.enter_context(TemporaryDirectory(prefix="parley-test-", ignore_cleanup_errors=True)))
    return stack.enter_context(_embedded_postgres(folder / "postgres", why))


@contextmanager
def _embedded_postgres(folder: Path, why: str) -> Iterator[Server]:
    from parley_lab.store import embedded_postgres

    server = embedded_postgres.start(folder, fast=True)
    try:
        yield Server(server.url, f"embedded ({why})")
    finally:
        server.stop()


@contextmanager
def migrated_postgres() -> Iterator[Server]:
    """A PostgreSQL with a `template`."""
    from parley_lab.store import databases, migrate

    with postgres() as server:
        name = f"parley_template_{uuid4().hex[:16]}"
        migrate.upgrade(databases.create_database(server.url, name))
        try:
            yield Server(server.url, server.source, name)
        finally:
            databases.drop_database(server.url, name)


@contextmanager
def rabbitmq_of_a_run() -> Iterator[Server]:
    """The RabbitMQ that the environment names, else a node of the program that is installed, else one in Docker.

    Raises:
        NoServer: none of these is here.
    """
    if os.environ.get(AMQP_VARIABLE) or programs() is None:
        with rabbitmq() as server:
            yield server
        return
    with TemporaryDirectory(prefix="parley-test-", ignore_cleanup_errors=True) as folder:
        node = RabbitNode(Path(folder) / "rabbitmq")
        try:
            node.start()
            yield Server(node.url, "a node of this run")
        finally:
            node.end(signal.SIGKILL)


def silent() -> list[str]:
    """Complaints about servers that the environment names and that do not answer."""
    found = []
    database_url, amqp_url = os.environ.get(DATABASE_VARIABLE, ""), os.environ.get(AMQP_VARIABLE, "")
    if database_url and database_url != EMBEDDED and not _answers(database_url):
        found.append(_silent(DATABASE_VARIABLE, database_url, "PostgreSQL"))
    if amqp_url and not speaks_amqp(amqp_url):
        found.append(_silent(AMQP_VARIABLE, amqp_url, "RabbitMQ"))
    return found


def _answers(database_url: str) -> bool:
    from parley_lab.base.errors import Unavailable
    from parley_lab.store import databases

    try:
        databases.wait_until_ready(database_url, seconds=1)
    except Unavailable:
        return False
    return True


def _silent(variable: str, url: str, what: str) -> str:
    parts = urlsplit(url)
    return (
        f"No {what} answers at {parts.hostname}:{parts.port or ''}, which {variable} names. "
        f"Start it, or unset {variable}: the tests then start one themselves."
    )


@contextmanager
def rabbitmq() -> Iterator[Server]:
    """A RabbitMQ.

    Raises:
        NoServer: the environment names none, and Docker cannot start one.
    """
    given = os.environ.get(AMQP_VARIABLE, "")
    if given:
        yield Server(given, f"{AMQP_VARIABLE} ({urlsplit(given).hostname})")
        return
    with _rabbitmq_in_docker() as server:
        yield server


@contextmanager
def _postgres_in_docker() -> Iterator[Server]:
    require_docker()
    from testcontainers.core.container import DockerContainer

    from parley_lab.store import databases

    image = os.environ.get("POSTGRES_IMAGE", POSTGRES_IMAGE)
    # Docker publishes the port to the network.
    password = token_hex(8)
    container = (
        DockerContainer(image)
        .with_env("POSTGRES_PASSWORD", password)
        .with_exposed_ports(5432)
        # Its data need not survive, so it does not wait for the disk.
        .with_command("postgres -c fsync=off -c max_connections=600")
    )
    with _started(container, image, 5432) as address:
        url = f"postgresql://postgres:{password}@{address}/postgres"
        # Not with a command in the container, for which the Docker client leaves a socket open.
        databases.wait_until_ready(url, seconds=60)
        yield Server(url, f"Docker ({image})")


@contextmanager
def _rabbitmq_in_docker() -> Iterator[Server]:
    require_docker()
    from testcontainers.core.container import DockerContainer
    from testcontainers.core.wait_strategies import LogMessageWaitStrategy

    image = os.environ.get("RABBITMQ_IMAGE", RABBITMQ_IMAGE)
    password = token_hex(8)
    container = (
        DockerContainer(image)
        .with_env("RABBITMQ_DEFAULT_USER", "test")
        .with_env("RABBITMQ_DEFAULT_PASS", password)
        .with_exposed_ports(5672)
        # Not `rabbitmq-diagnostics`, which as root reads another cookie than the server.
        .waiting_for(LogMessageWaitStrategy("Server startup complete"))
    )
    with _started(container, image, 5672) as address:
        yield Server(f"amqp://test:{password}@{address}/", f"Docker ({image})")


@contextmanager
def _started(container: "DockerContainer", image: str, port: int) -> Iterator[str]:
    """Run the container; yields the host and port at which its port is reached."""
    from docker.errors import DockerException  # type: ignore[import-untyped]

    try:
        container.start()
        address = f"{container.get_container_host_ip()}:{container.get_exposed_port(port)}"
    except BaseException as error:
        container.stop()
        if not isinstance(error, DockerException | OSError | RuntimeError):
            raise
        raise NoServer(f"Docker cannot start {image}: {str(error).splitlines()[0]}") from error
    try:
        yield address
    finally:
        container.stop()


def require_docker() -> None:
    """Check that a Docker engine answers.

    Raises:
        NoServer: none does.
    """
    if problem := _problem_with_docker():
        # The client leaves its socket open, and some later step of the run would be blamed for it.
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ResourceWarning)
            gc.collect()
        raise NoServer(problem)


def _problem_with_docker() -> str | None:
    # Where the client would ask; it is slow to import, and leaves a socket open when nothing answers.
    if not os.environ.get("DOCKER_HOST") and not Path("/var/run/docker.sock").exists():
        return "no Docker engine answers"
    try:
        import docker  # type: ignore[import-untyped]
    except ImportError:
        return "the Docker client is not installed"
    try:
        client = docker.from_env(timeout=5)
    except docker.errors.DockerException:
        return "no Docker engine answers"
    try:
        client.ping()
    except (docker.errors.DockerException, OSError):
        return "no Docker engine answers"
    finally:
        client.close()
    return None
