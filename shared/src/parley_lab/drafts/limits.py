"""Limits of a provider's key or model, which workers share in blocks; and limits of an experiment's calls."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import Conflict
from parley_lab.contracts.limits import Demand, Grant, Limit, exchange
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import as_json

_HELD = text(
    """
    WITH made AS (INSERT INTO limits (name) VALUES (:name) ON CONFLICT DO NOTHING)
    SELECT state FROM limits WHERE name = :name FOR UPDATE
    """
)
_KEEP = text("UPDATE limits SET state = CAST(:state AS jsonb) WHERE name = :name")
_EVERYTHING = text("SELECT name, state FROM limits ORDER BY name")


async def take(session: Session, name: str, limit: Limit, demand: Demand, now: float) -> Grant:
    """Meet a worker's demand as far as the limit allows; locks the limit's row until the commit, and nothing else.

    Two statements for a block of any size. now: seconds since the epoch, by the clock of the workers.
    """
    held = await session.first(_HELD, {"name": name})
    if held is None:
        # The row was created by this very statement, which cannot see it yet.
        held = await session.one(_HELD, {"name": name})
    state, grant = exchange(held.state, limit, demand, now)
    await session.run(_KEEP, {"name": name, "state": as_json(state)})
    return grant


async def states(session: ReadSession) -> Sequence[tuple[str, object]]:
    """Every limit with its leases by worker, for operators and tests."""
    return [(row.name, row.state) for row in await session.all(_EVERYTHING)]


@dataclass(frozen=True, slots=True)
class CallLimit:
    """The limit of real calls of an experiment: `taken` of at most `most` were made, or are being made.

    Each call is counted before it is made, so that there is never one too many.
    """

    most: int
    taken: int

    @property
    def is_reached(self) -> bool:
        return self.taken >= self.most


# Calls before there was a limit count; calls in flight at that moment come on top.
_MADE: Final = """
    SELECT count(*)::int AS n FROM model_calls x JOIN drafts d ON d.id = x.draft_id JOIN cohorts c ON c.id = d.cohort_id
    WHERE c.experiment_id = :id AND x.model_mode = 'real' AND x.provider <> 'mock'
"""
_COUNT: Final = text(_MADE)
_SET: Final = text(
    """
    INSERT INTO call_limits (experiment_id, most, taken)
    SELECT CAST(:id AS uuid), CAST(:most AS int), made.n FROM ({made}) made WHERE made.n < :most
    ON CONFLICT (experiment_id) DO UPDATE SET most = excluded.most WHERE call_limits.taken < excluded.most
    RETURNING most
    """.replace("{made}", _MADE)
)
_FIND: Final = text("SELECT most, taken FROM call_limits WHERE experiment_id = :id")
# One row for the calls of all workers: it is locked for this statement only, and nothing else is.
_TAKE: Final = text(
    "UPDATE call_limits SET taken = taken + 1 WHERE experiment_id = :id AND taken < most RETURNING taken"
)


async def set_most_calls(session: Session, experiment_id: UUID, most: int) -> None:
    """Limit the calls of an experiment, past calls included.

    Raises:
        Conflict: it has made as many already.
    """
    if await session.first(_SET, {"id": experiment_id, "most": most}) is None:
        found = await call_limit(session, experiment_id)
        taken = found.taken if found is not None else (await session.one(_COUNT, {"id": experiment_id})).n
        raise Conflict(
            f"The experiment has made {taken} calls of models already: a limit of {most} lets it make none. "
            f"Name more than {taken}.",
            reason="calls_spent",
        )


async def call_limit(session: ReadSession, experiment_id: UUID) -> CallLimit | None:
    """The limit of this experiment and its use; None without a limit."""
    row = await session.first(_FIND, {"id": experiment_id})
    return None if row is None else CallLimit(row.most, row.taken)


async def calls_made(session: ReadSession, experiment_id: UUID) -> int:
    """How many calls of real models this experiment has made; with a limit those in flight count, too."""
    limit = await call_limit(session, experiment_id)
    made: int = (await session.one(_COUNT, {"id": experiment_id})).n if limit is None else limit.taken
    return made


async def spent_limit(session: ReadSession, experiment_id: UUID, most: int | None) -> CallLimit | None:
    """The limit that stops an experiment with at most so many calls; None: it may make more.

    most: None for the experiment's own limit.
    """
    limit = await call_limit(session, experiment_id)
    if limit is None and most is None:
        return None
    taken = limit.taken if limit is not None else (await session.one(_COUNT, {"id": experiment_id})).n
    wanted = CallLimit(most if most is not None else limit.most if limit is not None else 0, taken)
    return wanted if wanted.is_reached else None


async def take_call(session: Session, experiment_id: UUID) -> bool:
    """Take one call of the limit; False when none is left. Only one of two simultaneous takers gets the last call."""
    return await session.first(_TAKE, {"id": experiment_id}) is not None
