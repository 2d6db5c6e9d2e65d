"""API keys of experimenters: made once, stored as a hash, resolved in the transaction that does the work."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Final, Literal
from uuid import UUID, uuid4

from sqlalchemy import text

from shared.db.session import Session
from shared.errors import NotAllowed, NotSignedIn, SettingsInvalid

Scope = Literal["read", "write"]
ALL_SCOPES: Final[tuple[Scope, ...]] = ("read", "write")

SHORTEST_KEY: Final = 16
_PREFIX_LENGTH: Final = 8
_USE_IS_NOTED_EVERY: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Experimenter:
    """Who is asking, as the key says."""

    id: UUID
    name: str
    scopes: frozenset[str]


_EXPERIMENTER = text(
    """
    INSERT INTO experimenters (id, name, created_at) VALUES (:id, :name, :now)
    ON CONFLICT (name) DO UPDATE SET name = excluded.name
    RETURNING id
    """
)

_STORE = text(
    """
    INSERT INTO api_keys (hash, prefix, experimenter_id, scopes, created_at, expires_at)
    VALUES (:hash, :prefix, :experimenter_id, :scopes, :now, :expires_at)
    ON CONFLICT (hash) DO NOTHING
    """
)

# That a key was used is noted once a minute, so that reading stays reading.
_FIND = text(
    """
    WITH used AS (
        UPDATE api_keys SET last_used_at = :now
        WHERE hash = :hash AND (last_used_at IS NULL OR last_used_at < :noted_before)
            AND (expires_at IS NULL OR expires_at > :now)
    )
    SELECT x.id, x.name, k.scopes, k.expires_at
    FROM api_keys k JOIN experimenters x ON x.id = k.experimenter_id
    WHERE k.hash = :hash
    """
)


async def experimenter_named(session: Session, name: str, now: datetime) -> UUID:
    """The id of the experimenter of this name, who is created when there is none."""
    row = await session.one(_EXPERIMENTER, {"id": uuid4(), "name": name, "now": now})
    found: UUID = row.id
    return found


async def create_key(
    session: Session,
    name: str,
    now: datetime,
    *,
    scopes: Sequence[Scope] = ALL_SCOPES,
    expires_at: datetime | None = None,
) -> str:
    """A new key of the experimenter of this name. It is shown this once: only its hash is kept."""
    key = f"parley_{token_urlsafe(32)}"
    await store_key(session, key, name, now, scopes=scopes, expires_at=expires_at)
    return key


async def store_key(
    session: Session,
    key: str,
    name: str,
    now: datetime,
    *,
    scopes: Sequence[Scope] = ALL_SCOPES,
    expires_at: datetime | None = None,
) -> UUID:
    """Make a key that somebody chose work for the experimenter of this name; twice is once.

    Raises:
        SettingsInvalid: the key is too short to be a secret.
    """
    if len(key) < SHORTEST_KEY:
        raise SettingsInvalid(f"An API key has at least {SHORTEST_KEY} characters.")
    experimenter_id = await experimenter_named(session, name, now)
    await session.run(
        _STORE,
        {
            "hash": hash_key(key),
            "prefix": key[:_PREFIX_LENGTH],
            "experimenter_id": experimenter_id,
            "scopes": list(scopes),
            "now": now,
            "expires_at": expires_at,
        },
    )
    return experimenter_id


async def sign_in(session: Session, key: str, now: datetime, *, scope: Scope) -> Experimenter:
    """The experimenter whose key this is.

    Raises:
        NotSignedIn: nobody has this key, or it has expired.
        NotAllowed: the key is not good for `scope`.
    """
    row = await session.first(_FIND, {"hash": hash_key(key), "now": now, "noted_before": now - _USE_IS_NOTED_EVERY})
    if row is None:
        raise NotSignedIn("This API key is not valid.")
    if row.expires_at is not None and row.expires_at <= now:
        raise NotSignedIn("This API key has expired. Ask for a new one.")
    if scope not in row.scopes:
        raise NotAllowed(f"This API key does not have the scope {scope!r}.")
    return Experimenter(row.id, row.name, frozenset(row.scopes))


def hash_key(key: str) -> str:
    """How a key is stored: keys are long and random, so a plain hash is enough."""
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
