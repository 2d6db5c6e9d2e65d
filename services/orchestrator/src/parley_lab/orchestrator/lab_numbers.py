"""The numbers of the whole lab, read when Prometheus asks: what waits, for how long, and what is stuck."""

import asyncio
import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import structlog

from parley_lab.base.clock import Clock
from parley_lab.base.errors import Unavailable
from parley_lab.base.metrics import DEAD, OPEN_ASKS, OUTBOX_AGE, OVERDUE, READY, STUCK, WANTED
from parley_lab.bus import Bus
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, provider_queue
from parley_lab.contracts.providers import MOCK_PROVIDER
from parley_lab.drafts import due_drafts, workers
from parley_lab.orchestrator.settings import OrchestratorSettings
from parley_lab.settle import standing_work
from parley_lab.store.session import Database

log = structlog.get_logger(__name__)

_MOST_SECONDS: Final = 4.0
STUCK_AFTER_SECONDS: Final = 60.0
"""A cohort is stuck when something happened in it so long ago without a look; as a rule that takes a second."""


async def look(database: Database, bus: Bus, clock: Clock, settings: OrchestratorSettings) -> None:
    """Set the gauges of the lab. Those whose source is away become NaN or go, so that no old number looks new."""
    for one in (OUTBOX_AGE, OPEN_ASKS, STUCK):
        one.set(math.nan)
    for labelled in (WANTED, OVERDUE, READY, DEAD):
        labelled.clear()
    try:
        async with asyncio.timeout(_MOST_SECONDS):
            providers = await _read_database(database, clock.now(), settings)
            await _ask_broker(bus, providers)
    except (Unavailable, TimeoutError) as error:
        log.warning("numbers.incomplete", reason=str(error) or "no answer in time")


async def _read_database(database: Database, now: datetime, settings: OrchestratorSettings) -> Iterable[str]:
    """Returns the providers that anybody serves or waits for."""
    before = now - timedelta(seconds=settings.overdue_seconds)
    async with database.read() as session:
        wanted = await standing_work.wanted(session)
        overdue = await due_drafts.overdue(session, now, before)
        served = await workers.served_providers(session, now)
        OUTBOX_AGE.set(await standing_work.oldest_hint_seconds(session))
        OPEN_ASKS.set(await standing_work.open_asks(session))
        STUCK.set(await standing_work.stuck_cohorts(session, now - timedelta(seconds=STUCK_AFTER_SECONDS)))
    providers = {MOCK_PROVIDER, *wanted, *overdue, *served}
    for provider in providers:
        WANTED.labels(provider).set(wanted.get(provider, 0))
        OVERDUE.labels(provider).set(overdue.get(provider, 0))
    return providers


async def _ask_broker(bus: Bus, providers: Iterable[str]) -> None:
    for queue in (ORCHESTRATOR, AGENT_STEPS, *map(provider_queue, sorted(providers))):
        READY.labels(queue).set(await bus.waiting(queue))
        DEAD.labels(queue).set(await bus.dead(queue))
