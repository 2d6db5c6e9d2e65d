"""Limits that workers share: one row per limit, taken in blocks. Never taken while another lock is held."""

from collections.abc import Sequence

from sqlalchemy import text

from shared.db.session import Session, as_json
from shared.limits import Grant, Limit, Wish, exchange

_HELD = text(
    """
    WITH made AS (INSERT INTO limits (name) VALUES (:name) ON CONFLICT DO NOTHING)
    SELECT state FROM limits WHERE name = :name FOR UPDATE
    """
)
_KEEP = text("UPDATE limits SET state = CAST(:state AS jsonb) WHERE name = :name")
_EVERYTHING = text("SELECT name, state FROM limits ORDER BY name")


async def take(session: Session, name: str, limit: Limit, wish: Wish, now: float) -> Grant:
    """Meet a worker's wish as far as the limit allows; holds the limit's row until the commit, and no other lock.

    Two statements for a block, whatever its size. now: seconds since the epoch, by the clock of the workers.
    """
    held = await session.first(_HELD, {"name": name})
    if held is None:
        # The row was made by this very statement, which cannot see it yet.
        held = await session.one(_HELD, {"name": name})
    state, grant = exchange(held.state, limit, wish, now)
    await session.run(_KEEP, {"name": name, "state": as_json(state)})
    return grant


async def states(session: Session) -> Sequence[tuple[str, object]]:
    """Every limit with who holds what, for operators and tests."""
    return [(row.name, row.state) for row in await session.all(_EVERYTHING)]
