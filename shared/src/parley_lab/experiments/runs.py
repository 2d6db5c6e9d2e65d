"""The experiments that were started in a lab, with their progress and cost."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import InvalidInput, NotFound
from parley_lab.people.rooms import PLACES
from parley_lab.store.session import ReadSession
from parley_lab.store.statements import Row


@dataclass(frozen=True, slots=True)
class KnownRun:
    """An experiment that was started. `cost` is in US dollars, as far as prices are known."""

    id: UUID
    name: str
    status: str
    pause_reason: str | None
    model_mode: str
    started_at: datetime
    cohorts: int
    cohorts_ended: int
    open_seats: int
    calls: int
    cost: Decimal | None


_RUNS: Final = f"""
    SELECT e.id, e.name, e.status, e.pause_reason, e.model_mode, e.started_at, c.cohorts, c.cohorts_ended,
        (SELECT count(*) FROM members m WHERE m.experiment_id = e.id AND m.status = 'expected')
            + (SELECT coalesce(sum(p.people), 0) FROM planned_cohorts p WHERE p.experiment_id = e.id)
            + {PLACES.format(experiment="e.id")} AS open_seats,
        k.calls, k.cost
    FROM experiments e
        CROSS JOIN LATERAL (SELECT count(*) AS cohorts, count(*) FILTER (WHERE status = 'ended') AS cohorts_ended
            FROM cohorts WHERE experiment_id = e.id AND NOT alone) c
        CROSS JOIN LATERAL (SELECT count(*) AS calls, sum(x.cost) AS cost
            FROM model_calls x JOIN drafts d ON d.id = x.draft_id JOIN cohorts o ON o.id = d.cohort_id
            WHERE o.experiment_id = e.id) k
    WHERE e.status = ANY(:statuses) AND NOT EXISTS (SELECT FROM persona_chats p WHERE p.experiment_id = e.id)
    ORDER BY e.started_at, e.id
"""  # noqa: S608 - put together from constants
_KNOWN: Final = text(_RUNS)
_UNFINISHED: Final = ("running", "paused")
_BY_PREFIX: Final = text(
    """
    SELECT e.id, e.name, e.status, e.started_at, e.join_code FROM experiments e
    WHERE replace(CAST(e.id AS text), '-', '') LIKE :prefix || '%'
        AND NOT EXISTS (SELECT FROM persona_chats p WHERE p.experiment_id = e.id)
    ORDER BY e.id LIMIT 2
    """
)


async def known_runs(session: ReadSession, *, with_ended: bool) -> Sequence[KnownRun]:
    """The experiments of all owners, without test chats, the oldest first."""
    statuses = [*_UNFINISHED, *(["ended"] if with_ended else [])]
    return [KnownRun(**row._asdict()) for row in await session.all(_KNOWN, {"statuses": statuses})]


_SPENT: Final = text(
    """
    SELECT count(*) AS calls, sum(x.cost) AS cost
    FROM model_calls x JOIN drafts d ON d.id = x.draft_id JOIN cohorts o ON o.id = d.cohort_id
    WHERE o.experiment_id = :id
    """
)


async def spent(session: ReadSession, experiment_id: UUID) -> tuple[int, Decimal | None]:
    """The number of an experiment's model calls, and their cost in US dollars, as far as prices are known."""
    row = await session.one(_SPENT, {"id": experiment_id})
    return row.calls, row.cost


async def run_of(session: ReadSession, prefix: str) -> Any:
    """The experiment whose id begins with `prefix`: its id, name, status, start and join code.

    Raises:
        NotFound: there is none.
        InvalidInput: the prefix is no beginning of an id, or of more than one.
    """
    digits = prefix.replace("-", "").lower()
    if not digits or set(digits) - set("0123456789abcdef"):
        raise InvalidInput(f"{prefix!r} is no id of a run. `parley runs` shows the ids.")
    rows = await session.all(_BY_PREFIX, {"prefix": digits})
    if not rows:
        raise NotFound(f"This lab has no run {prefix!r}. `parley runs` shows those it has.")
    if len(rows) > 1:
        raise InvalidInput(f"More than one run begins with {prefix!r}. Type more of the id.")
    return rows[0]


_CONTINUABLE: Final = text(
    """
    SELECT id FROM experiments e WHERE status = 'paused' AND pause_reason = 'lab_stopped'
        AND model_mode = ANY(:modes) AND NOT EXISTS (SELECT FROM persona_chats p WHERE p.experiment_id = e.id)
    ORDER BY started_at, id
    """
)


async def left_by_labs(session: ReadSession, modes: Sequence[str]) -> Sequence[UUID]:
    """The experiments in these model modes that were running when their lab was stopped, without those paused by
    users."""
    return [row.id for row in await session.all(_CONTINUABLE, {"modes": list(modes)})]


_MOVED: Final = text(
    """
    SELECT e.id, e.name, e.status, e.started_at FROM experiments e
    WHERE (e.status = 'running' OR greatest(e.started_at, e.resumed_at, e.paused_at, e.ended_at) >= :since)
        AND e.status <> 'draft' AND NOT EXISTS (SELECT FROM persona_chats p WHERE p.experiment_id = e.id)
    ORDER BY e.started_at, e.id
    """
)


async def moved_since(session: ReadSession, since: datetime) -> Sequence[Row]:
    """The experiments that may have changed since then, without test chats: id, name, status and start."""
    return await session.all(_MOVED, {"since": since})


_SEAT: Final = text("SELECT id, status FROM members WHERE experiment_id = :id AND path = :path")


async def seat_of(session: ReadSession, experiment_id: UUID, path: str) -> Any:
    """The member at this path: its id and status.

    Raises:
        NotFound: there is none.
    """
    row = await session.first(_SEAT, {"id": experiment_id, "path": path})
    if row is None:
        raise NotFound(f"This run has no seat {path!r}. A path is like c1/m2: the second seat of the first cohort.")
    return row
