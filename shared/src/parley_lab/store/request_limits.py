"""How many requests a token, a key or an address may make, counted for all gateways together.

A gateway takes requests in blocks, and counts what is left of a block in memory: most requests cost no statement.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from sqlalchemy import text

from parley_lab.store.session import ReadSession

_FORGOTTEN_AFTER: Final = timedelta(hours=1)


@dataclass(frozen=True, slots=True)
class RequestLimit:
    """At most so many requests in each window of `seconds`, taken in blocks.

    What is left of a block is good for `kept_seconds` at least: of a short window one statement serves several.
    """

    name: str
    most: int
    seconds: int
    block: int
    kept_seconds: int = 0
    is_of_bearer: bool = False
    """Whether it is of tokens and keys: there is a row for each that the lab has given, and none for invented ones."""


@dataclass(frozen=True, slots=True)
class Block:
    """So many requests of a window, which ends then; none is granted when it is used up."""

    granted: int
    window_ends_at: datetime


# One statement: of several gateways at once each waits for the row, and no request is granted twice.
_IS_OVER: Final = "r.began_at <= :window_before"
_TAKE: Final = text(
    f"""
    WITH forgotten AS (
        DELETE FROM request_limits WHERE name IN (
            SELECT name FROM request_limits WHERE began_at < :forgotten_before AND name <> :name
            LIMIT 100 FOR UPDATE SKIP LOCKED)
    )
    INSERT INTO request_limits AS r (name, began_at, taken, granted)
    SELECT :name, :now, least(CAST(:block AS int), :most), least(CAST(:block AS int), :most)
    WHERE CAST(:bearer AS text) IS NULL OR EXISTS (SELECT FROM members WHERE token_hash = :bearer)
        OR EXISTS (SELECT FROM api_keys WHERE hash = :bearer)
        OR EXISTS (SELECT FROM sign_ins WHERE token_hash = :bearer)
        OR EXISTS (SELECT FROM view_tokens WHERE token_hash = :bearer)
        OR EXISTS (SELECT FROM sittings WHERE token_hash = :bearer)
    ON CONFLICT (name) DO UPDATE SET
        began_at = CASE WHEN {_IS_OVER} THEN excluded.began_at ELSE r.began_at END,
        taken = CASE WHEN {_IS_OVER} THEN excluded.taken ELSE least(:most, r.taken + CAST(:block AS int)) END,
        granted = CASE WHEN {_IS_OVER} THEN excluded.granted ELSE least(CAST(:block AS int), :most - r.taken) END
    RETURNING granted, began_at
    """  # noqa: S608 - put together from constants
)


async def take(session: ReadSession, limit: RequestLimit, who: str, now: datetime) -> Block | None:
    """Take a block of this limit, as far as the window has one. One statement, which commits by itself.

    who: a hash or an address; it says whose limit it is. None: the token or key was never given to anyone.
    """
    window = timedelta(seconds=limit.seconds)
    params = {
        "name": f"{limit.name}:{who}",
        "most": limit.most,
        "block": limit.block,
        "bearer": who if limit.is_of_bearer else None,
        "now": now,
        "window_before": now - window,
        "forgotten_before": now - max(window, _FORGOTTEN_AFTER),
    }
    row = await session.first(_TAKE, params)
    return None if row is None else Block(row.granted, row.began_at + window)
