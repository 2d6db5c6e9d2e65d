"""How many calls of real models an experiment may make: counted before each call, so that it is never one too many."""

from dataclasses import dataclass
from typing import Final
from uuid import UUID

from sqlalchemy import text

from shared.db.session import Session
from shared.errors import Conflict


@dataclass(frozen=True, slots=True)
class CallLimit:
    """`taken` of at most `most` calls were made, or are being made."""

    most: int
    taken: int

    @property
    def is_reached(self) -> bool:
        return self.taken >= self.most


# What was made before there was a limit; calls that are in flight at that moment come on top.
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
# One row for the calls of all workers: its lock lasts for this statement, and nothing else is locked in between.
_TAKE: Final = text(
    "UPDATE call_limits SET taken = taken + 1 WHERE experiment_id = :id AND taken < most RETURNING taken"
)


async def set_most_calls(session: Session, experiment_id: UUID, most: int) -> None:
    """Limit the calls of an experiment, those that it has made included.

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


async def call_limit(session: Session, experiment_id: UUID) -> CallLimit | None:
    """The limit of this experiment and how far it is used; None when there is none."""
    row = await session.first(_FIND, {"id": experiment_id})
    return None if row is None else CallLimit(row.most, row.taken)


async def spent_limit(session: Session, experiment_id: UUID, most: int | None) -> CallLimit | None:
    """The limit by which an experiment may make no more calls, if it was at most so many; None: it may make some.

    most: None for the limit that the experiment has.
    """
    limit = await call_limit(session, experiment_id)
    if limit is None and most is None:
        return None
    taken = limit.taken if limit is not None else (await session.one(_COUNT, {"id": experiment_id})).n
    wanted = CallLimit(most if most is not None else limit.most if limit is not None else 0, taken)
    return wanted if wanted.is_reached else None


async def take_call(session: Session, experiment_id: UUID) -> bool:
    """Take one call of the limit; False when there is none left. Of two who take the last one at once one gets it."""
    return await session.first(_TAKE, {"id": experiment_id}) is not None
