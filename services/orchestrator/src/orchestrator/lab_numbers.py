"""The numbers of the whole lab, read when Prometheus asks: what waits, for how long, and what is stuck."""

import asyncio
import math
from collections.abc import Iterable
from datetime import datetime, timedelta
from typing import Final

import structlog

from orchestrator.settings import OrchestratorSettings
from shared.bus import Bus
from shared.clock import Clock
from shared.contracts.hints import AGENT_STEPS, ORCHESTRATOR, provider_queue
from shared.contracts.providers import MOCK_PROVIDER
from shared.db import due_drafts, standing_work, workers
from shared.db.session import Database
from shared.errors import Unavailable
from shared.metrics import DEAD, OPEN_ASKS, OUTBOX_AGE, OVERDUE, READY, STUCK, WANTED

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
