"""How much work is in the tables, for operators; locks nothing."""

from dataclasses import dataclass
from datetime import datetime

from sqlalchemy import text

from parley_lab.store.session import ReadSession

_WANTED = text("SELECT provider, count(*) AS drafts FROM drafts WHERE state = 'wanted' GROUP BY provider")
# The database's clock wrote created_at.
_OLDEST_HINT = text(
    """
    SELECT coalesce(extract(epoch FROM statement_timestamp() - min(created_at)), 0) AS seconds FROM outbox
    """
)
_OPEN_ASKS = text("SELECT count(*) AS asks FROM asks WHERE state = 'open'")
# The last event that calls for a look says for how long; the index ix_streams_unsettled finds the cohorts.
_STUCK = text(
    """
    SELECT count(*) AS cohorts FROM streams s
        JOIN cohorts c ON c.id = s.cohort_id JOIN experiments e ON e.id = c.experiment_id
        JOIN events v ON v.cohort_id = s.cohort_id AND v.stream_seq = s.unsettled
    WHERE s.settled < s.unsettled AND e.status = 'running' AND v.at < :before
    """
)


_SERVER = text(
    """
    SELECT clock_timestamp() AS now, CAST(current_setting('max_connections') AS int) AS most,
        (SELECT count(*) FROM pg_stat_activity WHERE backend_type = 'client backend') AS used,
        CAST(current_setting('autovacuum') AS boolean) AND CAST(current_setting('track_counts') AS boolean) AS vacuums
    """
)


@dataclass(frozen=True, slots=True)
class ServerState:
    """What PostgreSQL says of itself: its clock, its connections (those that it allows, and has), its autovacuum."""

    now: datetime
    most_connections: int
    connections: int
    has_autovacuum: bool


async def server_state(session: ReadSession) -> ServerState:
    row = await session.one(_SERVER)
    return ServerState(row.now, row.most, row.used, row.vacuums)


async def wanted(session: ReadSession) -> dict[str, int]:
    """How many drafts of each provider wait to be taken, those that are not due yet included."""
    return {row.provider: row.drafts for row in await session.all(_WANTED)}


async def oldest_hint_seconds(session: ReadSession) -> float:
    """The age of the oldest row of the outbox; 0 when it is empty."""
    return max(0.0, float((await session.one(_OLDEST_HINT)).seconds))


async def open_asks(session: ReadSession) -> int:
    """How many questions to agents and people are not answered."""
    count: int = (await session.one(_OPEN_ASKS)).asks
    return count


async def stuck_cohorts(session: ReadSession, before: datetime) -> int:
    """How many cohorts of running experiments have something to look at that happened before `before`."""
    count: int = (await session.one(_STUCK, {"before": before})).cohorts
    return count
