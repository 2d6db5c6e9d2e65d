"""Registrations of agent workers: which providers each serves, and until when."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.store.session import ReadSession, Session

_FORGOTTEN_AFTER: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class AtWork:
    """A registered worker. `name` identifies its process for operators."""

    name: str
    providers: tuple[str, ...]
    started_at: datetime
    seen_at: datetime


_ANNOUNCE = text(
    """
    WITH forgotten AS (DELETE FROM workers WHERE believed_until < :forgotten AND id <> :id)
    INSERT INTO workers (id, name, providers, started_at, seen_at, believed_until)
    VALUES (:id, :name, :providers, :now, :now, :until)
    ON CONFLICT (id) DO UPDATE SET providers = excluded.providers, seen_at = excluded.seen_at,
        believed_until = excluded.believed_until
    """
)
_RETIRE = text("DELETE FROM workers WHERE id = :id")
_AT_WORK = text(
    "SELECT name, providers, started_at, seen_at FROM workers WHERE believed_until > :now ORDER BY started_at, id"
)


async def announce(
    session: Session, worker_id: UUID, name: str, providers: Collection[str], now: datetime, until: datetime
) -> None:
    """Register this worker for these providers, or renew its registration, which expires at `until`."""
    await session.run(
        _ANNOUNCE,
        {
            "id": worker_id,
            "name": name,
            "providers": sorted(providers),
            "now": now,
            "until": until,
            "forgotten": now - _FORGOTTEN_AFTER,
        },
    )


async def retire(session: Session, worker_id: UUID) -> None:
    """Remove the registration of a stopped worker. Idempotent."""
    await session.run(_RETIRE, {"id": worker_id})


async def at_work(session: ReadSession, now: datetime) -> Sequence[AtWork]:
    """The workers with a valid registration, the oldest first."""
    rows = await session.all(_AT_WORK, {"now": now})
    return [AtWork(row.name, tuple(row.providers), row.started_at, row.seen_at) for row in rows]


async def served_providers(session: ReadSession, now: datetime) -> frozenset[str]:
    """The providers that some worker serves now."""
    return frozenset(name for worker in await at_work(session, now) for name in worker.providers)
