"""Cohorts whose rules fail: an open alert holds their clocks, until they are settled again."""

from collections.abc import Sequence
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.members.guarding import COHORT_HELD
from parley_lab.store.session import ReadSession, Session

IS_HELD: Final = f"""
    EXISTS (SELECT FROM alerts h WHERE h.cohort_id = t.cohort_id AND h.type = '{COHORT_HELD}' AND h.resolved_at IS NULL)
"""
"""Whether the clocks of the cohort of a timer `t` wait."""
_SETTLED: Final = text(
    f"""
    SELECT a.cohort_id FROM alerts a JOIN streams s ON s.cohort_id = a.cohort_id
    WHERE a.type = '{COHORT_HELD}' AND a.resolved_at IS NULL AND s.settled >= s.unsettled
    """  # noqa: S608 - put together from constants
)
_RELEASE: Final = text(
    f"""
    WITH released AS (
        UPDATE alerts SET resolved_at = :now
        WHERE cohort_id = :cohort_id AND type = '{COHORT_HELD}' AND resolved_at IS NULL
        RETURNING cohort_id, created_at
    )
    UPDATE timers t SET due_at = t.due_at + (CAST(:now AS timestamptz) - r.created_at)
    FROM released r WHERE t.cohort_id = r.cohort_id AND t.state = 'armed'
    """  # noqa: S608 - put together from constants
)


async def settled_again(session: ReadSession) -> Sequence[UUID]:
    """Cohorts that are still held, and have been settled since."""
    return [row.cohort_id for row in await session.all(_SETTLED)]


async def release(session: Session, cohort_id: UUID, now: datetime) -> None:
    """Let the clocks of a cohort go on, each with the time that it had left. Idempotent."""
    await session.run(_RELEASE, {"cohort_id": cohort_id, "now": now})
