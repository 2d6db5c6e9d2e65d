"""Workers register their providers; an experiment without a worker for its provider is not started."""

from collections.abc import AsyncIterator
from dataclasses import replace
from uuid import UUID, uuid4

import httpx2
import pytest

from parley_lab.agent_worker.models.mock import MockModel
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.worker import Worker
from parley_lab.bus.in_process import InProcessBus
from parley_lab.contracts.endpoints import read_endpoints
from parley_lab.drafts import workers
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import FILE, Api
from parley_lab.orchestrator.settling import settle
from parley_lab.store import keys
from parley_lab.store.session import Database
from parley_lab.testing.fake_clock import FakeClock
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

AGENT = {"id": "ann", "model": {"provider": "openai", "model": "gpt-4.1-mini"}}
REAL = {**FILE, "model_mode": "real", "personas": [AGENT], "cohorts": [{"seats": [{"persona": "ann"}]}]}


@pytest.fixture
async def bus() -> AsyncIterator[InProcessBus]:
    bus = InProcessBus()
    yield bus
    await bus.close()


@pytest.fixture
async def paid(database: Database, bus: InProcessBus, fake_clock: FakeClock) -> AsyncIterator[Api]:
    """A gateway of a distributed lab whose environment allows real models."""
    app = create_app(database, bus, fake_clock, GatewaySettings(), environ={"OPENAI_API_KEY": "any text"})
    async with database.transaction() as session:
        key = await keys.create_key(session, "Ellen", fake_clock.now())
    client = httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://gateway")
    async with app.router.lifespan_context(app), client:
        yield Api(client, key, database, fake_clock, app, settle)


def a_worker(api: Api, bus: InProcessBus, *providers: str) -> Worker:
    return Worker(
        database=api.database,
        bus=bus,
        models={name: MockModel() for name in providers},
        prompts=DrainLab(api.database).prompts,
        clock=api.clock,
        settings=WorkerSettings(presence_seconds=30),
    )


async def started(api: Api) -> int:
    created = await api.experimenter("POST", "/v1/experiments", json=REAL)
    answer = await api.experimenter("POST", f"/v1/experiments/{created.json()['id']}/start")
    if answer.status_code == 409:
        assert "No worker of this lab serves the models of provider 'openai'" in answer.json()["detail"]
    return answer.status_code


async def counts(api: Api) -> dict[str, int]:
    answer = await api.experimenter("GET", "/v1/providers")
    assert answer.status_code == 200, answer.text
    return {each["provider"]: each["workers"] for each in answer.json()["providers"]}


async def test_an_experiment_starts_when_a_worker_serves_its_provider(paid: Api, bus: InProcessBus) -> None:
    other = a_worker(paid, bus, "mock")
    await other.start()
    assert await started(paid) == 409

    worker = a_worker(paid, bus, "mock", "openai")
    await worker.start()

    assert await started(paid) == 200
    assert await counts(paid) == {"mock": 2, "openai": 1, "crewai": 0}
    await worker.stop()
    assert await started(paid) == 409
    assert await counts(paid) == {"mock": 1, "openai": 0, "crewai": 0}
    await other.stop()


async def test_a_worker_that_died_is_not_believed_for_longer_than_it_said(paid: Api, bus: InProcessBus) -> None:
    dead, alive = a_worker(paid, bus, "openai"), a_worker(paid, bus, "openai")
    await dead.announce()
    paid.clock.advance(20)
    await alive.announce()

    paid.clock.advance(20)

    assert (await counts(paid))["openai"] == 1
    await alive.announce()
    paid.clock.advance(29)
    assert await started(paid) == 200
    paid.clock.advance(2)
    assert await started(paid) == 409


async def test_what_operators_see_names_the_workers_and_needs_a_key(paid: Api, bus: InProcessBus) -> None:
    worker = a_worker(paid, bus, "mock", "openai")
    await worker.announce()

    (seen,) = (await paid.experimenter("GET", "/v1/providers")).json()["workers"]
    stranger = await paid.client.get("/v1/providers")

    assert seen["providers"] == ["mock", "openai"]
    assert seen["name"].startswith("process ")
    assert stranger.status_code == 401


async def test_rows_of_workers_that_have_long_gone_are_deleted(paid: Api) -> None:
    async def announce(worker_id: UUID) -> None:
        now = paid.clock.now()
        async with paid.database.transaction() as session:
            await workers.announce(session, worker_id, "a worker", ["mock"], now, now)

    await announce(uuid4())
    paid.clock.advance(2 * 3600)
    await announce(uuid4())

    lab = DrainLab(paid.database)
    assert len(await lab.rows("SELECT 1 FROM workers")) == 1


async def test_an_experiment_that_names_an_address_of_its_own_is_refused_with_the_persona(paid: Api) -> None:
    state = paid.app.state
    endpoints = read_endpoints({"PARLEY_ALLOWED_BASE_URLS": "https://models.example.org"}, is_open=False)
    state.context = replace(state.context, endpoints=endpoints, served_providers=["openai"])
    inside = {"id": "ann", "model": {"base_url": "http://169.254.169.254/v1"}}
    allowed = {"id": "bob", "model": {"base_url": "https://models.example.org/v1"}}
    free = {"id": "cleo", "model": {"provider": "mock", "base_url": "http://127.0.0.1:1/v1"}}
    seats = [{"persona": "ann"}, {"persona": "bob"}, {"persona": "cleo"}]
    document = {**REAL, "personas": [inside, allowed, free], "cohorts": [{"seats": seats}]}
    created = await paid.experimenter("POST", "/v1/experiments", json=document)

    refused = await paid.experimenter("POST", f"/v1/experiments/{created.json()['id']}/start")
    await paid.experimenter("PATCH", f"/v1/experiments/{created.json()['id']}", json={"model_mode": "mock"})
    rehearsed = await paid.experimenter("POST", f"/v1/experiments/{created.json()['id']}/start")

    assert (refused.status_code, refused.json()["reason"]) == (409, "real_models_refused")
    said = refused.json()["detail"]
    assert "'ann'" in said
    assert "model.base_url" in said
    assert "PARLEY_ALLOWED_BASE_URLS" in said
    assert "'bob'" not in said
    assert "'cleo'" not in said
    assert rehearsed.status_code == 200


async def test_an_address_is_refused_while_the_key_that_is_kept_for_it_is_not_there(paid: Api) -> None:
    environ = {"PARLEY_ENDPOINT_KEYS": '{"https://models.example.org": "TEAM_KEY"}', "OPENAI_API_KEY": "any text"}
    endpoints = read_endpoints(environ, is_open=False)
    state = paid.app.state
    state.context = replace(state.context, endpoints=endpoints, environ=environ, served_providers=["openai"])
    ann = {"id": "ann", "model": {"base_url": "https://models.example.org/v1"}}
    document = {**REAL, "personas": [ann], "cohorts": [{"seats": [{"persona": "ann"}]}]}
    created = await paid.experimenter("POST", "/v1/experiments", json=document)

    refused = await paid.experimenter("POST", f"/v1/experiments/{created.json()['id']}/start")
    state.context = replace(state.context, environ={**environ, "TEAM_KEY": "any text"})
    started = await paid.experimenter("POST", f"/v1/experiments/{created.json()['id']}/start")

    assert refused.status_code == 409
    assert "TEAM_KEY is not set" in refused.json()["detail"]
    assert started.status_code == 200
