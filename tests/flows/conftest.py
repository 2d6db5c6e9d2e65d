"""Fixtures of the flows."""

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime

import httpx2
import pytest

from parley_lab.base.settings import ServerSettings
from parley_lab.bus.in_process import InProcessBus
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, provider_queue
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.store.session import Database
from parley_lab.testing.buses import RabbitBroker
from parley_lab.testing.fake_clock import FakeClock
from parley_lab.testing.fresh_databases import FreshDatabases

# The rows check pages; a failure shows what was compared.
pytest.register_assert_rewrite("tests.flows.looking_back")


_OVER_RABBITMQ = ("test_moving_agents.py", "test_speaking.py", "test_turns.py")
"""The modules whose first flow over RabbitMQ is for every run."""


# First, so that `-m "not long"` sees the marker.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Leave all but a few flows over RabbitMQ to `make faults`: the buses keep one contract."""
    seen = set()
    for item in items:
        if isinstance(item, pytest.Function) and _bus_of(item) == "rabbitmq":
            if item.path in seen or item.path.name not in _OVER_RABBITMQ:
                item.add_marker("long")
            seen.add(item.path)


def _bus_of(item: pytest.Function) -> object:
    """The parameter of the fixture `servers`."""
    return item.callspec.params.get("servers") if hasattr(item, "callspec") else None


@pytest.fixture
def second_database_url(fresh_databases: FreshDatabases) -> Iterator[str]:
    """Another migrated, empty database."""
    with fresh_databases.one() as url:
        yield url


@pytest.fixture
async def gateway(database: Database) -> AsyncIterator[httpx2.AsyncClient]:
    """The REST API on the database of the test."""
    bus = InProcessBus()
    app = create_app(database, bus, FakeClock(datetime(2026, 1, 1, tzinfo=UTC)), GatewaySettings(), environ={})
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://gateway") as client:
        yield client
    await bus.close()


@pytest.fixture(params=["in process", pytest.param("rabbitmq", marks=pytest.mark.rabbitmq)])
async def servers(request: pytest.FixtureRequest, database_url: str) -> AsyncIterator[ServerSettings]:
    """A database of the test's own, with either bus."""
    if request.param == "in process":
        yield ServerSettings(database_url=database_url)
        return
    amqp_url = request.getfixturevalue("amqp_url")
    broker = RabbitBroker(amqp_url, queues=[ORCHESTRATOR, AGENT_STEPS, *map(provider_queue, ("mock", "openai"))])
    yield ServerSettings(database_url=database_url, amqp_url=amqp_url, amqp_prefix=broker.prefix)
    await broker.close()
