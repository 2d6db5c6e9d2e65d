"""The embedded lab: PostgreSQL from a wheel, a bus in memory and all four services in one process and one event loop.

With servers of one's own in the settings the same lab runs on those instead.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Coroutine, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

import httpx2
import structlog

from agent_worker.models import Model, build_models, served_providers
from agent_worker.settings import WorkerSettings
from agent_worker.worker import Worker
from gateway.app import create_app
from gateway.previews import PreviewClient
from gateway.server import listening, serving
from gateway.settings import GatewaySettings
from orchestrator.service import Orchestrator
from parley.experiment_file import problems_of
from parley.lab_database import OPERATOR, LabDatabase
from prompt_builder.app import PromptBuilder
from prompt_builder.app import create_app as create_prompt_builder
from shared.acts import called_keys, drafts, pausing
from shared.bus import Bus
from shared.bus.in_process import InProcessBus
from shared.bus.publisher import OutboxPublisher
from shared.bus.rabbit import RabbitBus
from shared.clock import Clock
from shared.contracts.endpoints import read_endpoints
from shared.contracts.experiment import ModelMode
from shared.contracts.providers import MOCK_PROVIDER, USE_MOCK_VARIABLE
from shared.db import experiments, keys
from shared.db.lab import LabClaim, claim_lab
from shared.db.outbox import Outbox
from shared.db.runs import left_by_labs
from shared.db.session import WHOLE_EXPERIMENT_SECONDS, Database
from shared.errors import SettingsInvalid, Unavailable
from shared.experiment import Experiment
from shared.limits import read_limits
from shared.process import collect_garbage_rarely
from shared.settings import ServerSettings, read_settings

log = structlog.get_logger(__name__)

HOST: Final = "127.0.0.1"
"""The API of an embedded lab is for this machine only."""

_CLAIM_LOOK_SECONDS: Final = 5.0
_ALONE_AGE_SECONDS: Final = 1.0
"""Where no other process publishes, what lies in the outbox for longer was left by one that is gone."""


@dataclass(frozen=True, slots=True)
class Continued:
    """How many runs go on, and why others may not, by their ids and names."""

    runs: int
    refused: Mapping[str, Sequence[str]]


class EmbeddedLab(LabDatabase):
    """A whole lab for as long as the block lasts.

    `port` None: without the REST API; 0: on any free port. `mock_only`: no real model can be called, whoever asks.
    `first_calls_alone`: the first call with each key and model is waited for before others go out.

    Raises on entering:
        SettingsInvalid: a busy port, another lab on the directory or database, data of another version.
        Unavailable: PostgreSQL does not start or does not answer.
    """

    def __init__(
        self,
        data_dir: Path,
        *,
        servers: ServerSettings,
        environ: Mapping[str, str],
        port: int | None,
        mock_only: bool = False,
        first_calls_alone: bool = False,
        clock: Clock | None = None,
    ) -> None:
        super().__init__(data_dir, servers=servers, clock=clock)
        self._environ = {**environ, USE_MOCK_VARIABLE: "true"} if mock_only else environ
        self._endpoints = read_endpoints(environ, is_open=True)
        self._limits = read_limits(environ)
        self._port = port
        self._mock_only = mock_only
        self._first_calls_alone = first_calls_alone
        self._at_work = AsyncExitStack()
        self.url: str | None = None
        self.is_lost = asyncio.Event()
        """Set when another lab has taken the database over: this one must stop."""

    @property
    def served_modes(self) -> tuple[ModelMode, ...]:
        """The model modes of the experiments that go on in this lab."""
        return ("mock",) if self._mock_only else ("mock", "real")

    async def _start(self, stack: AsyncExitStack) -> None:
        stack.enter_context(self.directory.held())
        listener = stack.enter_context(listening(HOST, self._port)) if self._port is not None else None
        url = await self._database_url(stack)
        await self._migrate(url)
        claim = await _claimed(stack, url, self._servers.amqp_url)
        database = await self._connected(stack, url)
        await self._prepare(database)
        self._at_work = at_work = await stack.enter_async_context(AsyncExitStack())
        at_work.push_async_callback(self._leave, database)
        bus = await _bus(at_work, self._servers)
        await at_work.enter_async_context(_publishing(database, bus, is_alone=self._servers.amqp_url is None))
        await self._start_services(at_work, database, bus)
        await at_work.enter_async_context(_in_background(self._keep_claim(claim)))
        if listener is not None:
            await self._serve(at_work, listener, database, bus)
        collect_garbage_rarely()

    async def come_to_rest(self) -> None:
        """Finish what is in hand and stop all services; the database stays open. Repeats safely."""
        await self._at_work.aclose()

    async def continue_all(self) -> Continued:
        """Go on with everything that was running when a lab on this database was stopped, except runs of real models
        that this environment does not let through: they stay as they are."""
        refused = dict[str, Sequence[str]]()
        continued = 0
        async with self.database.transaction() as session:
            left = await left_by_labs(session, self.served_modes)
        for experiment_id in left:
            async with self.database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
                row = await experiments.find(session, experiment_id)
                experiment = Experiment.model_validate(row.document)
                problems = problems_of(row.model_mode, experiment, self._environ, requested_real=False, is_draft=False)
                if problems:
                    refused[f"{experiment_id.hex[:8]} {row.name}"] = problems
                    continue
                await pausing.resume(session, experiment_id, self.clock.now(), cause="lab")
                continued += 1
        return Continued(continued, refused)

    async def _leave(self, database: Database) -> None:
        """What nobody is at work on any more is paused: it does not go on by itself when the next lab starts.

        On RabbitMQ others go on with it; and what another lab has taken over is that lab's.
        """
        if self._servers.amqp_url is not None or self.is_lost.is_set():
            return
        try:
            await pausing.pause_left_behind(database, self.clock.now())
        except Unavailable as error:
            # The next lab does it when it starts.
            log.warning("lab.left_running", reason=error.message)

    async def _prepare(self, database: Database) -> None:
        now = self.clock.now()
        async with database.transaction() as session:
            self._operator_id = await keys.store_key(session, self.directory.local_key(), OPERATOR, now)
        # On a bus in this process nobody else can be at work: what is leased was leased by a process that is gone, and
        # what is running was left behind by it.
        if self._servers.amqp_url is None:
            async with database.transaction() as session:
                await called_keys.forget(session, now)
                voided = await drafts.void_leases(session, now)
            left = await pausing.pause_left_behind(database, now)
            log.info("lab.took_over", leases=voided, experiments=left)

    async def _start_services(self, stack: AsyncExitStack, database: Database, bus: Bus) -> None:
        orchestrator = Orchestrator(database=database, bus=bus, clock=self.clock)
        worker = Worker(
            database=database,
            bus=bus,
            models=self._models(),
            # HTTP, even without a socket, would cost as much as the prompt itself.
            prompts=PromptBuilder(database),
            clock=self.clock,
            limits=self._limits,
            settings=WorkerSettings(first_calls_alone=self._first_calls_alone),
        )
        for service in (orchestrator, worker):
            await stack.enter_async_context(_running(service))

    def _models(self) -> Mapping[str, Model]:
        models = build_models(self._environ, endpoints=self._endpoints)
        return {MOCK_PROVIDER: models[MOCK_PROVIDER]} if self._mock_only else models

    async def _serve(self, stack: AsyncExitStack, listener: socket.socket, database: Database, bus: Bus) -> None:
        port = listener.getsockname()[1]
        settings = read_settings(GatewaySettings).model_copy(update={"host": HOST, "port": port})
        previews = PreviewClient(_prompt_builder(database))
        stack.push_async_callback(previews.aclose)
        app = create_app(
            database,
            bus,
            self.clock,
            settings,
            environ=self._environ,
            served_providers=served_providers(self._environ),
            endpoints=self._endpoints,
            previews=previews,
        )
        await stack.enter_async_context(serving(app, settings, listener))
        self.url = f"http://{HOST}:{port}"

    async def _keep_claim(self, claim: LabClaim) -> None:
        """A restart of PostgreSQL takes our place away: take it again before somebody else does."""
        while True:
            await asyncio.sleep(_CLAIM_LOOK_SECONDS)
            try:
                await claim.renew()
            except SettingsInvalid as error:
                log.error("lab.lost", reason=error.message)
                self.is_lost.set()
                return
            except Exception as error:  # noqa: BLE001 - PostgreSQL is away, as its driver says it
                log.warning("lab.claim_unknown", reason=str(error))


def _prompt_builder(database: Database) -> httpx2.AsyncClient:
    """The prompt builder in this process, as its clients see it."""
    transport = httpx2.ASGITransport(app=create_prompt_builder(database))
    return httpx2.AsyncClient(transport=transport, base_url="http://prompt-builder")


class _Service(Protocol):
    async def start(self) -> None: ...

    async def stop(self) -> None: ...


@asynccontextmanager
async def _running(service: _Service) -> AsyncIterator[None]:
    await service.start()
    try:
        yield
    finally:
        await service.stop()


async def _claimed(stack: AsyncExitStack, url: str, amqp_url: str | None) -> LabClaim:
    claim = await claim_lab(url, "in-process" if amqp_url is None else "rabbitmq")
    stack.push_async_callback(claim.close)
    return claim


async def _bus(stack: AsyncExitStack, servers: ServerSettings) -> Bus:
    bus = InProcessBus() if servers.amqp_url is None else RabbitBus(servers.amqp_url, prefix=servers.amqp_prefix)
    stack.push_async_callback(bus.close)
    return bus


@asynccontextmanager
async def _publishing(database: Database, bus: Bus, *, is_alone: bool) -> AsyncIterator[None]:
    outbox = Outbox(database, age_seconds=_ALONE_AGE_SECONDS) if is_alone else Outbox(database)
    publisher = OutboxPublisher(bus, delete=outbox.delete, leftover=outbox.leftover)
    database.on_commit = publisher.offer
    publisher.start()
    try:
        yield
    finally:
        await publisher.stop()


@asynccontextmanager
async def _in_background(work: Coroutine[None, None, None]) -> AsyncIterator[None]:
    task = asyncio.create_task(work)
    try:
        yield
    finally:
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task
