"""A pytest plugin: fixtures for all rooms, and the rule that no test reaches the network.

Each fixture imports the heavy modules that it needs: tests without a server start at once, and the plugin also loads in
the environment of CrewAI.
"""

import gc
import uuid
import warnings
from collections.abc import AsyncIterator, Iterator
from typing import TYPE_CHECKING

import pytest
import structlog

from shared.testing import services
from shared.testing.fake_clock import FakeClock
from shared.testing.network import NetworkGuard

if TYPE_CHECKING:
    from shared.db.session import Database
    from shared.testing.fresh_databases import FreshDatabases

_POSTGRES_FIXTURES = (
    "postgres_server",
    "template_database",
    "fresh_databases",
    "database_url",
    "database",
    "shared_database",
)
_NEEDS = {"postgres": frozenset(_POSTGRES_FIXTURES), "rabbitmq": frozenset(["rabbitmq_server", "amqp_url"])}
_LEFT_OPEN = r"unclosed <socket\.socket fd=\d+, family=1,"

_sources = pytest.StashKey[dict[str, str]]()
_guard = pytest.StashKey[NetworkGuard]()


def pytest_configure(config: pytest.Config) -> None:
    # The Docker client leaves its sockets open, and some later test would be blamed for it.
    config.addinivalue_line("filterwarnings", f"ignore:{_LEFT_OPEN}:ResourceWarning")
    config.stash[_sources] = {}
    config.stash[_guard] = NetworkGuard()
    config.stash[_guard].install()
    _log_errors_plainly()


# Before pytest looks for such complaints a last time, when the filter of the tests is gone.
@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    config.stash[_guard].remove()
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", _LEFT_OPEN, ResourceWarning)
        gc.collect()


# First, so that `-m "not postgres"` sees the markers.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests that use a server, by their fixtures."""
    for item in items:
        for marker, fixtures in _NEEDS.items():
            if fixtures.intersection(getattr(item, "fixturenames", ())):
                item.add_marker(marker)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Iterator[None]:
    """Fail a test that tried to reach the network, even if it swallowed the error."""
    guard = item.config.stash[_guard]
    guard.attempts.clear()
    yield
    if guard.attempts:
        pytest.fail(f"The test tried to reach {', '.join(guard.attempts)}. No test may use the network.")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    for name, source in config.stash[_sources].items():
        terminalreporter.line(f"{name}: {source}")


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: object) -> None:
    """The printing process reports which servers a process of xdist used."""
    told = getattr(node, "workeroutput", {}).get("parley_sources", {})
    config: pytest.Config = node.config  # type: ignore[attr-defined]  # xdist need not be installed
    config.stash[_sources].update(told)


def pytest_sessionfinish(session: pytest.Session) -> None:
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput["parley_sources"] = session.config.stash[_sources]


@pytest.fixture
def network_guard(pytestconfig: pytest.Config) -> NetworkGuard:
    """For tests that start a server of their own on another machine."""
    return pytestconfig.stash[_guard]


@pytest.fixture(scope="session")
def postgres_server(pytestconfig: pytest.Config) -> Iterator[services.Server]:
    """A PostgreSQL from PARLEY_TEST_DATABASE_URL, else from Docker, else embedded."""
    with services.postgres() as server:
        pytestconfig.stash[_sources]["PostgreSQL"] = server.source
        pytestconfig.stash[_guard].allow(server.url)
        yield server


@pytest.fixture(scope="session")
def template_database(postgres_server: services.Server) -> Iterator[str]:
    """The name of a database with all tables and no rows, without connections; one for each process of xdist."""
    from shared.db import databases, migrate

    name = _database_name("template")
    migrate.upgrade(databases.create_database(postgres_server.url, name))
    yield name
    databases.drop_database(postgres_server.url, name)


@pytest.fixture(scope="session")
def fresh_databases(postgres_server: services.Server, template_database: str) -> "Iterator[FreshDatabases]":
    from shared.testing.fresh_databases import FreshDatabases

    found = FreshDatabases(postgres_server.url, template_database)
    yield found
    found.close()


@pytest.fixture
def database_url(fresh_databases: "FreshDatabases") -> Iterator[str]:
    """An empty, migrated database for this test. For tests that commit and count rows."""
    with fresh_databases.one() as url:
        yield url


@pytest.fixture
async def database(database_url: str) -> "AsyncIterator[Database]":
    """Connected to `database_url`."""
    from shared.db import databases

    database = databases.connect(database_url)
    yield database
    await database.close()


@pytest.fixture(scope="session")
def _shared_database_url(postgres_server: services.Server, template_database: str) -> Iterator[str]:
    from shared.db import databases

    name = _database_name("shared")
    yield databases.copy_database(postgres_server.url, template_database, name)
    databases.drop_database(postgres_server.url, name)


@pytest.fixture
async def shared_database(_shared_database_url: str) -> "AsyncIterator[Database]":
    """A database with the rows of other tests, which saves the 50 ms for a new one."""
    from shared.db import databases

    database = databases.connect(_shared_database_url)
    yield database
    await database.close()


@pytest.fixture(scope="session")
def rabbitmq_server(pytestconfig: pytest.Config) -> Iterator[services.Server]:
    """A RabbitMQ from PARLEY_TEST_AMQP_URL, else from Docker; else the test is skipped."""
    try:
        way = services.rabbitmq()
        server = way.__enter__()
    except services.NoServer as error:
        pytest.skip(f"no RabbitMQ: {services.AMQP_VARIABLE} is not set and {error}")
    pytestconfig.stash[_sources]["RabbitMQ"] = server.source
    pytestconfig.stash[_guard].allow(server.url)
    yield server
    way.__exit__(None, None, None)


@pytest.fixture(scope="session")
def amqp_url(rabbitmq_server: services.Server) -> str:
    return rabbitmq_server.url


@pytest.fixture
def fake_clock() -> FakeClock:
    return FakeClock()


def _log_errors_plainly() -> None:
    """Log as structlog does by itself, but errors without their frames, which take half a second each to draw."""
    *before, _ = structlog.get_config()["processors"]
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*before, plain])


def _database_name(purpose: str) -> str:
    return f"parley_{purpose}_{uuid.uuid4().hex[:16]}"
