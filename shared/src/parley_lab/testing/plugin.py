"""A pytest plugin: fixtures for all rooms, and the rule that no test reaches the network.

Each fixture imports the heavy modules that it needs: tests without a server start at once, and the plugin also loads in
the environment of CrewAI.
"""

import gc
import uuid
import warnings
from collections.abc import AsyncIterator, Generator, Iterator
from typing import TYPE_CHECKING

import pytest
import structlog

from parley_lab.testing import services
from parley_lab.testing.fake_clock import FakeClock
from parley_lab.testing.network import NetworkGuard
from parley_lab.testing.run_servers import Asking, Keeper, RunServers

if TYPE_CHECKING:
    from parley_lab.store.session import Database
    from parley_lab.testing.fresh_databases import FreshDatabases

_POSTGRES_FIXTURES = (
    "postgres_server",
    "template_database",
    "fresh_databases",
    "database_url",
    "database",
    "shared_database",
)
_NEEDS = {"postgres": frozenset(_POSTGRES_FIXTURES), "rabbitmq": frozenset(["rabbitmq_server", "amqp_url"])}
_WITHOUT_SERVERS = "not services"
_LEFT_OPEN = r"unclosed <socket\.socket fd=\d+, family=1,"

_sources = pytest.StashKey[dict[str, str]]()
_guard = pytest.StashKey[NetworkGuard]()
_servers = pytest.StashKey[RunServers]()


def pytest_configure(config: pytest.Config) -> None:
    # The Docker client leaves its sockets open, and some later test would be blamed for it.
    config.addinivalue_line("filterwarnings", f"ignore:{_LEFT_OPEN}:ResourceWarning")
    config.stash[_sources] = {}
    config.stash[_guard] = NetworkGuard()
    config.stash[_guard].install()
    config.stash[_servers] = _servers_of(config)
    _log_errors_plainly()


def _servers_of(config: pytest.Config) -> RunServers:
    """Under xdist the process that prints keeps the servers of all."""
    address = getattr(config, "workerinput", {}).get("parley_servers")
    return Keeper() if address is None else Asking(address)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: object) -> None:
    """Tell a process of xdist where it gets its servers."""
    keeper = node.config.stash[_servers]  # type: ignore[attr-defined]  # xdist need not be installed
    node.workerinput["parley_servers"] = keeper.address()  # type: ignore[attr-defined]


@pytest.hookimpl(tryfirst=True)
def pytest_sessionstart(session: pytest.Session) -> None:
    """Stop at once where a server is named that does not answer: every test of it would wait for it."""
    config = session.config
    may_need_servers = isinstance(config.stash[_servers], Keeper) and _WITHOUT_SERVERS not in config.option.markexpr
    if may_need_servers and (complaints := services.silent()):
        pytest.exit("\n".join(complaints), returncode=pytest.ExitCode.USAGE_ERROR)


# Before pytest looks for such complaints a last time, when the filter of the tests is gone.
@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure(config: pytest.Config) -> None:
    if isinstance(keeper := config.stash[_servers], Keeper):
        keeper.close()
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


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect no garbage while tests are collected: the more there are, the longer each look takes."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(trylast=True)
def pytest_collection_finish() -> None:
    """Let the collector of garbage pass over modules and thousands of tests, which stay to the end."""
    gc.freeze()


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
def postgres_server(pytestconfig: pytest.Config) -> services.Server:
    """A PostgreSQL from PARLEY_TEST_DATABASE_URL, else from Docker, else embedded; one for the whole run."""
    return _server(pytestconfig, "PostgreSQL")


def _server(config: pytest.Config, name: str) -> services.Server:
    server = config.stash[_servers].get(name)
    config.stash[_sources][name] = server.source
    config.stash[_guard].allow(server.url)
    return server


@pytest.fixture(scope="session")
def template_database(postgres_server: services.Server) -> str:
    """The name of a database with all tables and no rows, without connections."""
    return postgres_server.template


@pytest.fixture(scope="session")
def fresh_databases(postgres_server: services.Server, template_database: str) -> "Iterator[FreshDatabases]":
    from parley_lab.testing.fresh_databases import FreshDatabases

    found = FreshDatabases(postgres_server.url, template_database)
    yield found
    found.close()


@pytest.fixture
def database_url(fresh_databases: "FreshDatabases") -> Iterator[str]:
    """An empty, migrated database for this test. For tests that commit and count rows."""
    with fresh_databases.one() as url:
        yield url


@pytest.fixture
async def database(request: pytest.FixtureRequest, fresh_databases: "FreshDatabases") -> "AsyncIterator[Database]":
    """An empty, migrated database: that of `database_url` in a test that asks for it, too."""
    if "database_url" not in request.fixturenames:
        async with fresh_databases.lend() as database:
            yield database
        return
    from parley_lab.store import databases

    database = databases.connect(request.getfixturevalue("database_url"))
    yield database
    await database.close()


@pytest.fixture(scope="session")
def _shared_database_url(postgres_server: services.Server) -> Iterator[str]:
    from parley_lab.store import databases

    name = _database_name("shared")
    yield databases.copy_database(postgres_server.url, postgres_server.template, name)
    databases.drop_database(postgres_server.url, name)


@pytest.fixture
async def shared_database(_shared_database_url: str) -> "AsyncIterator[Database]":
    """A database with the rows of other tests, which saves the 50 ms for a new one."""
    from parley_lab.store import databases

    database = databases.connect(_shared_database_url)
    yield database
    await database.close()


@pytest.fixture(scope="session")
def rabbitmq_server(pytestconfig: pytest.Config) -> services.Server:
    """A RabbitMQ from PARLEY_TEST_AMQP_URL, else a node of this run, else from Docker; else the test is skipped."""
    try:
        return _server(pytestconfig, "RabbitMQ")
    except services.NoServer as error:
        pytest.skip(f"no RabbitMQ: no rabbitmq-server is on the PATH, {services.AMQP_VARIABLE} is not set, and {error}")


@pytest.fixture(scope="session")
def amqp_url(rabbitmq_server: services.Server) -> str:
    return rabbitmq_server.url


@pytest.fixture
def fake_clock() -> FakeClock:
    return FakeClock()


@pytest.fixture(autouse=True)
def _keep_logs() -> Iterator[None]:
    """Log after a test as before it: a test that sends logs to a file of its own closes that file."""
    before = structlog.get_config()
    yield
    structlog.configure(**before)


def _log_errors_plainly() -> None:
    """Log as structlog does by itself, but errors without their frames, which take half a second each to draw."""
    *before, _ = structlog.get_config()["processors"]
    plain = structlog.dev.ConsoleRenderer(colors=False, exception_formatter=structlog.dev.plain_traceback)
    structlog.configure(processors=[*before, plain])


def _database_name(purpose: str) -> str:
    return f"parley_{purpose}_{uuid.uuid4().hex[:16]}"
