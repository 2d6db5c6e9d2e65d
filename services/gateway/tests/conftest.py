"""A gateway on a real Postgres and the bus of one process, with an experimenter who has a key."""

from collections.abc import AsyncIterator, Iterator
from dataclasses import replace

import httpx2
import pytest
from structlog.testing import capture_logs
from structlog.typing import EventDict

from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import Api, served
from parley_lab.kinds import Done
from parley_lab.members.moved import after_going_on
from parley_lab.members.standing import Standing
from parley_lab.members.standings import standing_of
from parley_lab.orchestrator.settling import settle
from parley_lab.store import keys
from parley_lab.store.session import Database, Session
from parley_lab.testing.fake_clock import FakeClock


@pytest.fixture(autouse=True)
def logged() -> Iterator[list[EventDict]]:
    """What the gateway has logged."""
    with capture_logs() as entries:
        yield entries


@pytest.fixture(autouse=True)
def what_follows_is_what_is_stored(monkeypatch: pytest.MonkeyPatch) -> None:
    """In any test, what is known without looking of a person who goes on is what a look finds."""

    async def compared(session: Session, standing: Standing, done: Done) -> Standing:
        found = await after_going_on(session, standing, done)
        assert found == replace(await standing_of(session, found.member.id), cursor=found.cursor)
        return found

    monkeypatch.setattr("parley_lab.gateway.routes.participants.after_going_on", compared)


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
    settings = GatewaySettings(
        max_body_bytes=max_body_bytes, stream_look_seconds=0.1, stream_ping_seconds=0.2, board_tick_seconds=0.05
    )
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
