"""A gateway on a real Postgres and the bus of one process, with an experimenter who has a key."""

from collections.abc import AsyncIterator, Iterator

import httpx2
import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from gateway.app import create_app
from gateway.settings import GatewaySettings
from gateway.testing import Api, served
from orchestrator.settling import settle
from shared.bus.in_process import InProcessBus
from shared.db import keys
from shared.db.session import Database
from shared.testing.fake_clock import FakeClock


@pytest.fixture(autouse=True)
def logged() -> Iterator[list[EventDict]]:
    """What the gateway has logged."""
    with capture_logs() as entries:
        yield entries


@pytest.fixture
async def bus() -> AsyncIterator[InProcessBus]:
    bus = InProcessBus()
    yield bus
    await bus.close()


@pytest.fixture
def max_body_bytes() -> int:
    return 64 * 1024


@pytest.fixture
async def api(database: Database, bus: InProcessBus, fake_clock: FakeClock, max_body_bytes: int) -> AsyncIterator[Api]:
    """A gateway that is called without a network."""
    settings = GatewaySettings(max_body_bytes=max_body_bytes, stream_look_seconds=0.1, stream_ping_seconds=0.2)
    app = create_app(database, bus, fake_clock, settings, environ={})
    async with database.transaction() as session:
        key = await keys.create_key(session, "Ellen", fake_clock.now())
    transport = httpx2.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://gateway") as client,
    ):
        yield Api(client, key, database, fake_clock, app, settle)


@pytest.fixture
async def address(api: Api) -> AsyncIterator[str]:
    """The same gateway on a real socket, for what streams."""
    async with served(api.app) as found:
        yield found
