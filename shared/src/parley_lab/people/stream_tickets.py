"""Tickets for live streams: for clients that cannot send a header with a request, as EventSource of browsers cannot.

A ticket is part of an address, and addresses get about: it opens one stream, once, within a minute.
"""

from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Final

from sqlalchemy import text

from parley_lab.base.errors import Conflict, NotSignedIn
from parley_lab.contracts.lives import OUT
from parley_lab.store.keys import VALID
from parley_lab.store.session import Session

LASTS: Final = timedelta(seconds=60)

_ISSUE: Final = text(
    f"""
    WITH forgotten AS (
        DELETE FROM stream_tickets WHERE expires_at <= :now
    )
    INSERT INTO stream_tickets (ticket_hash, bearer_hash, expires_at)
    SELECT :ticket_hash, :hash, :expires_at
    WHERE EXISTS (SELECT FROM members WHERE token_hash = :hash AND status <> ALL(:out)) OR EXISTS ({VALID})
    """  # noqa: S608 - put together from constants
)
_IS_MEMBER: Final = text("SELECT FROM members WHERE token_hash = :bearer_hash")


async def issue(session: Session, bearer_hash: str, now: datetime) -> tuple[str, datetime]:
    """A new ticket for the one who has this token or key, and until when it can be used; it is shown this once.

    Raises:
        NotSignedIn: there is no such token or key, or it is not valid any more.
        Conflict: the participant is out, and is told nothing more.
    """
    ticket, until = token_urlsafe(32), now + LASTS
    row = {"ticket_hash": _hash(ticket), "hash": bearer_hash, "expires_at": until, "now": now, "out": list(OUT)}
    if not await session.run(_ISSUE, row):
        if await session.first(_IS_MEMBER, {"bearer_hash": bearer_hash}) is not None:
            raise Conflict("You are not taking part any more.", reason="not_in_progress")
        raise NotSignedIn("This token or key is not valid.")
    return ticket, until


_REDEEM: Final = text(
    "DELETE FROM stream_tickets WHERE ticket_hash = :ticket_hash AND expires_at > :now RETURNING bearer_hash"
)


async def redeem(session: Session, ticket: str, now: datetime) -> str:
    """The hash of the token or key that the ticket stands for, once: of two who use it one gets it.

    Raises:
        NotSignedIn: there is no such ticket, its time is over, or it was used.
    """
    row = await session.first(_REDEEM, {"ticket_hash": _hash(ticket), "now": now})
    if row is None:
        raise NotSignedIn("This ticket is not valid any more. Ask for a new one: POST /v1/stream-tickets.")
    bearer_hash: str = row.bearer_hash
    return bearer_hash


def _hash(ticket: str) -> str:
    return sha256(ticket.encode("utf-8", "surrogatepass")).hexdigest()
