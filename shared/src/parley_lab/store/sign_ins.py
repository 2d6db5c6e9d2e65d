"""Sign-ins of experimenters: a browser gets a token of its own for a key, or for a code that a terminal shows.

A sign-in can do what its key can, and ends with it; `keys.sign_in` resolves its token as it resolves a key.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from secrets import token_urlsafe
from typing import Final
from uuid import UUID, uuid4

from sqlalchemy import text

from parley_lab.base.errors import NotFound, NotSignedIn
from parley_lab.store.keys import Experimenter, hash_key
from parley_lab.store.session import ReadSession, Session

PREFIX: Final = "signin."
"""The beginning of a sign-in's token; no key that the lab makes has a full stop."""
CODE_LASTS: Final = timedelta(minutes=10)
_CODE_BYTES: Final = 16


@dataclass(frozen=True, slots=True)
class Lifetime:
    """How long a sign-in lasts: in all, and without a request."""

    most: timedelta = timedelta(hours=24)
    idle: timedelta = timedelta(hours=8)


@dataclass(frozen=True, slots=True)
class SignIn:
    """A browser in which an experimenter is signed in; it ends at `expires_at`, or `idle_seconds` after `used_at`."""

    id: UUID
    begun_at: datetime
    used_at: datetime
    expires_at: datetime
    idle_seconds: int
    key_prefix: str
    key_label: str


def is_sign_in(secret: str) -> bool:
    """Whether this has the form of a sign-in's token."""
    return secret.startswith(PREFIX)


_STORE_CODE: Final = text(
    """
    WITH forgotten AS (
        DELETE FROM sign_in_codes WHERE expires_at <= :now
    )
    INSERT INTO sign_in_codes (code_hash, key_id, expires_at)
    SELECT :code_hash, k.id, :expires_at FROM api_keys k JOIN experimenters x ON x.id = k.experimenter_id
    WHERE x.name = :name AND k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > :now)
    ORDER BY cardinality(k.scopes) DESC, k.expires_at DESC NULLS FIRST, k.created_at DESC LIMIT 1
    """
)


async def make_code(session: Session, name: str, now: datetime) -> str:
    """A code with which the experimenter with this name signs in, once within ten minutes; it is shown this once.

    The sign-in belongs to their key that can do most and is valid longest.

    Raises:
        NotFound: they have no key that is valid.
    """
    code = token_urlsafe(_CODE_BYTES)
    row = {"code_hash": hash_key(code), "name": name, "now": now, "expires_at": now + CODE_LASTS}
    if not await session.run(_STORE_CODE, row):
        raise NotFound(f"There is no experimenter {name!r} with a valid key. Make one: parley keys create {name}")
    return code


_REDEEM: Final = text(
    """
    WITH code AS (
        DELETE FROM sign_in_codes WHERE code_hash = :code_hash AND expires_at > :now RETURNING key_id
    )
    SELECT x.id, x.name, k.scopes, k.id AS key_id, k.expires_at
    FROM code JOIN api_keys k ON k.id = code.key_id JOIN experimenters x ON x.id = k.experimenter_id
    WHERE k.revoked_at IS NULL AND (k.expires_at IS NULL OR k.expires_at > :now)
    """
)


async def redeem(session: Session, code: str, now: datetime) -> Experimenter:
    """Whose code this is, once: of two who use it at the same time one gets an answer.

    Raises:
        NotSignedIn: there is no such code, its time is over, it was used, or its key has ended.
    """
    row = await session.first(_REDEEM, {"code_hash": hash_key(code), "now": now})
    if row is None:
        raise NotSignedIn("This code is not valid any more. Get a new address: parley console")
    return Experimenter(row.id, row.name, frozenset(row.scopes), row.key_id, row.expires_at)


_BEGIN: Final = text(
    """
    WITH forgotten AS (
        DELETE FROM sign_ins WHERE expires_at <= :now
    )
    INSERT INTO sign_ins (id, token_hash, key_id, begun_at, used_at, expires_at, idle_seconds)
    VALUES (:id, :token_hash, :key_id, :now, :now, :expires_at, :idle_seconds)
    """
)


async def begin(session: Session, owner: Experimenter, now: datetime, lifetime: Lifetime) -> tuple[str, SignIn]:
    """A new sign-in with the key that `owner` came with, and its token, which is shown this once."""
    token, sign_in_id = f"{PREFIX}{token_urlsafe(32)}", uuid4()
    ends_at = now + lifetime.most if owner.expires_at is None else min(owner.expires_at, now + lifetime.most)
    row = {
        "id": sign_in_id,
        "token_hash": hash_key(token),
        "key_id": owner.key_id,
        "now": now,
        "expires_at": ends_at,
        "idle_seconds": int(lifetime.idle.total_seconds()),
    }
    await session.run(_BEGIN, row)
    return token, await find(session, sign_in_id)


_COLUMNS: Final = """
    SELECT s.id, s.begun_at, s.used_at, s.expires_at, s.idle_seconds, k.prefix AS key_prefix, k.label AS key_label
    FROM sign_ins s JOIN api_keys k ON k.id = s.key_id
"""
_ONE: Final = text(f"{_COLUMNS} WHERE s.id = :id")
_OPEN: Final = text(
    f"""
    {_COLUMNS}
    WHERE k.experimenter_id = :owner_id AND s.expires_at > :now AND k.revoked_at IS NULL
        AND (k.expires_at IS NULL OR k.expires_at > :now)
        AND s.used_at + make_interval(secs => s.idle_seconds) > :now
    ORDER BY s.begun_at DESC, s.id
    """
)
_END: Final = text(
    """
    DELETE FROM sign_ins s USING api_keys k WHERE s.id = :id AND k.id = s.key_id AND k.experimenter_id = :owner_id
    """
)


async def find(session: ReadSession, sign_in_id: UUID) -> SignIn:
    """One sign-in, which must be there."""
    return SignIn(**(await session.one(_ONE, {"id": sign_in_id}))._asdict())


async def open_of(session: ReadSession, owner_id: UUID, now: datetime) -> Sequence[SignIn]:
    """The sign-ins of this experimenter that have not ended, the latest first."""
    return [SignIn(**row._asdict()) for row in await session.all(_OPEN, {"owner_id": owner_id, "now": now})]


async def end(session: Session, sign_in_id: UUID, owner_id: UUID) -> None:
    """Sign a browser out: its token is refused from now on.

    Raises:
        NotFound: there is no such sign-in, or it is another's.
    """
    if not await session.run(_END, {"id": sign_in_id, "owner_id": owner_id}):
        raise NotFound("There is no such sign-in.")
