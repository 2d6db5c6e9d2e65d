"""PostgreSQL and RabbitMQ for tests: from the environment, else in Docker, else embedded."""

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from secrets import token_hex
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

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
    from shared import embedded_postgres

    server = embedded_postgres.start(folder, fast=True)
    try:
        yield Server(server.url, f"embedded ({why})")
    finally:
        server.stop()


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

    from shared.db import databases

    image = os.environ.get("POSTGRES_IMAGE", POSTGRES_IMAGE)
    # Docker publishes the port to the network.
    password = token_hex(8)
    container = (
        DockerContainer(image)
        .with_env("POSTGRES_PASSWORD", password)
        .with_exposed_ports(5432)
        # Its data need not survive, so it does not wait for the disk.
        .with_command("postgres -c fsync=off -c max_connections=300")
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
    try:
        import docker  # type: ignore[import-untyped]
    except ImportError as error:
        raise NoServer("the Docker client is not installed") from error
    try:
        client = docker.from_env(timeout=5)
    except docker.errors.DockerException as error:
        raise NoServer("no Docker engine answers") from error
    try:
        client.ping()
    except (docker.errors.DockerException, OSError) as error:
        raise NoServer("no Docker engine answers") from error
    finally:
        client.close()
