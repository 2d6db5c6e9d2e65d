"""Looking on: a token with which lab staff read what one participant can read, for a while, and do nothing else.

Its row says who asked for it, and how often and when last it was used.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_urlsafe
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import record_member
from parley_lab.base.errors import Conflict, NotSignedIn
from parley_lab.members.standing import Standing
from parley_lab.members.standings import hash_token
from parley_lab.store import tables
from parley_lab.store.session import ReadSession, Session

PREFIX: Final = "view."
"""The beginning of such a token; the tokens of participants have no full stop."""


@dataclass(frozen=True, slots=True)
class OpenedView:
    """Whose pages a token shows, and until when."""

    member_id: UUID
    expires_at: datetime


def is_view_token(token: str) -> bool:
    return token.startswith(PREFIX)


async def open_view(
    session: Session, standing: Standing, now: datetime, *, seconds: float, actor: str
) -> tuple[str, datetime]:
    """A new token that shows what this participant sees, and until when; it is shown this once.

    Raises:
        Conflict: the member has no pages: a mediator, or a seat that no person has taken yet.
    """
    if standing.member.kind != "participant":
        raise Conflict("Only participants have pages.", reason="not_a_participant")
    if standing.status == "expected":
        raise Conflict("Nobody has taken this seat yet.", reason="not_joined")
    token, until = f"{PREFIX}{token_urlsafe(32)}", now + timedelta(seconds=seconds)
    whose = {"member_id": standing.member.id, "opened_by": actor}
    row = {"token_hash": hash_token(token), **whose, "created_at": now, "expires_at": until}
    await session.insert(tables.view_tokens, [row])
    where = standing.experiment_id, standing.cohort_id, standing.member.id, standing.member.path
    payload = {"expires_at": until.isoformat().replace("+00:00", "Z")}
    record_member(session, *where, "member.viewed", payload, now, cause="request", actor=actor, audience=[])
    return token, until


_USE: Final = text(
    """
    UPDATE view_tokens SET uses = uses + 1, used_at = :now WHERE token_hash = :token_hash AND expires_at > :now
    RETURNING member_id, expires_at
    """
)


_IS_VALID: Final = text("SELECT FROM view_tokens WHERE token_hash = :token_hash AND expires_at > :now")


async def is_valid(session: ReadSession, token_hash: str, now: datetime) -> bool:
    """Whether the token still shows anything; that is no use of it."""
    return await session.first(_IS_VALID, {"token_hash": token_hash, "now": now}) is not None


async def use_view(session: Session, token: str, now: datetime) -> OpenedView:
    """Whom the token shows; the use is counted.

    Raises:
        NotSignedIn: there is no such token, or its time is over.
    """
    row = await session.first(_USE, {"token_hash": hash_token(token), "now": now})
    if row is None:
        raise NotSignedIn("This token for looking on is not valid any more. Ask for a new one.")
    return OpenedView(row.member_id, row.expires_at)
