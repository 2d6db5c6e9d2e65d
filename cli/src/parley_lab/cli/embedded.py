"""The embedded lab: PostgreSQL from a wheel, a bus in memory and all four services in one process and one event loop.

Settings can name servers to use in their place.
"""

import asyncio
import socket
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final, Protocol

import structlog

from parley_lab.agent_worker.models import MockModel, Model, build_models, served_providers
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.worker import Worker
from parley_lab.base.background import Background
from parley_lab.base.clock import Clock
from parley_lab.base.errors import SettingsInvalid, Unavailable
from parley_lab.base.settings import ServerSettings, read_settings
from parley_lab.bus import Bus
from parley_lab.bus.in_process import InProcessBus
from parley_lab.bus.publisher import OutboxPublisher
from parley_lab.bus.rabbit import RabbitBus
from parley_lab.cli.experiment_file import problems_of
from parley_lab.cli.lab_database import OPERATOR, LabDatabase
from parley_lab.contracts.endpoints import read_endpoints
from parley_lab.contracts.experiment import ModelMode
from parley_lab.contracts.limits import read_limits
from parley_lab.contracts.providers import MOCK_PROVIDER, USE_MOCK_VARIABLE
from parley_lab.design import Experiment
from parley_lab.drafts import called_keys, drafts
from parley_lab.drafts.lacks import forget_usual_lacks
from parley_lab.experiments import experiments, pausing
from parley_lab.experiments.following import seats_of_people
from parley_lab.experiments.runs import left_by_labs
from parley_lab.orchestrator.service import Orchestrator
from parley_lab.orchestrator.settings import OrchestratorSettings
from parley_lab.prompt_builder.builder import PromptBuilder
from parley_lab.services.process import collect_garbage_rarely
from parley_lab.store import keys
from parley_lab.store.lab import LabClaim, claim_lab
from parley_lab.store.outbox import Outbox
from parley_lab.store.session import WHOLE_EXPERIMENT_SECONDS, Database

log = structlog.get_logger(__name__)

HOST: Final = "127.0.0.1"
"""The API of an embedded lab listens on this machine only."""

_CLAIM_LOOK_SECONDS: Final = 5.0
_ALONE_AGE_SECONDS: Final = 1.0
"""Where no other process publishes, an outbox row older than this was left by a process that died."""


@dataclass(frozen=True, slots=True)
class Continued:
    """The runs that continue, and why others may not, by id and name."""

    runs: Mapping[str, str]
    """The code of the link by which people join, or come back; empty where no one does."""
    refused: Mapping[str, Sequence[str]]


class EmbeddedLab(LabDatabase):
    """A whole lab, running until the block ends.

    `port` None: without the REST API; 0: on any free port. `mock_only`: no request can make it call a real model.
    `first_calls_alone`: the first call with each key and model goes out before any other.

    Raises:
        SettingsInvalid: a variable of a service is wrong.
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
        self._worker_settings = read_settings(WorkerSettings).model_copy(
            update={"first_calls_alone": first_calls_alone}
        )
        self._orchestrator_settings = read_settings(OrchestratorSettings)
        self._at_work = AsyncExitStack()
        self.url: str | None = None
        self.is_lost = asyncio.Event()
        """Set when another lab has taken over the database: this lab must stop."""

    @property
    def served_modes(self) -> tuple[ModelMode, ...]:
        """The model modes of experiments that this lab runs."""
        return ("mock",) if self._mock_only else ("mock", "real")

    async def _start(self, stack: AsyncExitStack) -> None:
        stack.enter_context(self.directory.held())
        listener = self._listen(stack)
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
        background = Background()
        at_work.push_async_callback(background.stop)
        background.repeat(partial(self._renew, claim), every_seconds=_CLAIM_LOOK_SECONDS)
        if listener is not None:
            await self._serve(at_work, listener, database, bus)
        collect_garbage_rarely()

    async def come_to_rest(self) -> None:
        """Finish the work in hand and stop all services; the database stays open. Idempotent."""
        await self._at_work.aclose()

    async def continue_all(self) -> Continued:
        """Continue all runs that were running when a lab on this database was stopped, except runs of real models that
        this environment does not allow: they stay paused."""
        refused = dict[str, Sequence[str]]()
        continued = dict[str, str]()
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
                has_people = await seats_of_people(session, experiment_id) > 0
                continued[f"{experiment_id.hex[:8]}  {row.name}"] = row.join_code if has_people else ""
        return Continued(continued, refused)

    async def _leave(self, database: Database) -> None:
        """Pause the runs that no process works on any more: the next lab does not continue them by itself.

        On RabbitMQ other processes continue them, and a lab that has taken over the database owns its runs.
        """
        if self._servers.amqp_url is not None or self.is_lost.is_set():
            return
        try:
            await pausing.pause_left_behind(database, self.clock.now())
        except Unavailable as error:
            # The next lab pauses them when it starts.
            log.warning("lab.left_running", reason=error.message)

    async def _prepare(self, database: Database) -> None:
        now = self.clock.now()
        async with database.transaction() as session:
            self._operator_id = await keys.store_bootstrap_key(session, self.directory.local_key(), OPERATOR, now)
        # No other process can work on a bus in memory: every lease belongs to a process that is gone, and so does every
        # run that is still running.
        if self._servers.amqp_url is None:
            async with database.transaction() as session:
                await called_keys.forget(session, now)
                await forget_usual_lacks(session)
                voided = await drafts.void_leases(session, now)
            left = await pausing.pause_left_behind(database, now)
            log.info("lab.took_over", leases=voided, experiments=left)

    async def _start_services(self, stack: AsyncExitStack, database: Database, bus: Bus) -> None:
        orchestrator = Orchestrator(database=database, bus=bus, clock=self.clock, settings=self._orchestrator_settings)
        worker = Worker(
            database=database,
            bus=bus,
            models=self._models(),
            # A request over HTTP, even without a socket, would cost as much as the prompt.
            prompts=PromptBuilder(database),
            clock=self.clock,
            limits=self._limits,
            settings=self._worker_settings,
        )
        for service in (orchestrator, worker):
            await stack.enter_async_context(_running(service))

    def _listen(self, stack: AsyncExitStack) -> socket.socket | None:
        if self._port is None:
            # A lab before this one may have served.
            self.directory.note_address("")
            return None
        # Imported here, because loading the gateway takes a third of the start of a lab.
        from parley_lab.gateway.server import listening

        return stack.enter_context(listening(HOST, self._port))

    def _models(self) -> Mapping[str, Model]:
        if self._mock_only:
            return {MOCK_PROVIDER: MockModel()}
        longest = self._worker_settings.longest_reply_bytes
        return build_models(self._environ, endpoints=self._endpoints, longest_reply_bytes=longest)

    async def _serve(self, stack: AsyncExitStack, listener: socket.socket, database: Database, bus: Bus) -> None:
        from parley_lab.gateway.app import create_app
        from parley_lab.gateway.server import serving
        from parley_lab.gateway.settings import GatewaySettings

        port = listener.getsockname()[1]
        settings = read_settings(GatewaySettings).model_copy(update={"host": HOST, "port": port})
        app = create_app(
            database,
            bus,
            self.clock,
            settings,
            environ=self._environ,
            served_providers=served_providers(self._environ),
            endpoints=self._endpoints,
            prompt_builder=PromptBuilder(database),
        )
        await stack.enter_async_context(serving(app, settings, listener))
        self.url = f"http://{HOST}:{port}"
        self.directory.note_address(self.url)

    async def _renew(self, claim: LabClaim) -> None:
        """A restart of PostgreSQL releases the claim: take it again before another lab does."""
        if self.is_lost.is_set():
            return
        try:
            await claim.renew()
        except SettingsInvalid as error:
            log.error("lab.lost", reason=error.message)
            self.is_lost.set()
        except Exception as error:  # noqa: BLE001 - PostgreSQL is away, as its driver says it
            log.warning("lab.claim_unknown", reason=str(error))


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
