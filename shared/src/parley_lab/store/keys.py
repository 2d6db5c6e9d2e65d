"""API keys of experimenters: made once, stored as a hash, resolved in the transaction that does the work."""

from collections.abc import Sequence
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import datetime, timedelta
from hashlib import sha256
from secrets import token_urlsafe
from typing import Final, Literal
from uuid import UUID, uuid4

from sqlalchemy import text

from parley_lab.base.errors import NotAllowed, NotSignedIn, SettingsInvalid
from parley_lab.base.logs import correlation
from parley_lab.store.session import ReadSession, Session

Scope = Literal["read", "write", "admin"]
ALL_SCOPES: Final[tuple[Scope, ...]] = ("read", "write")
"""The scopes that an experimenter needs for their own work."""
OPERATORS_SCOPES: Final[tuple[Scope, ...]] = (*ALL_SCOPES, "admin")
"""With `admin` one makes, sees and revokes the keys of everybody, and reads what everybody did."""

SHORTEST_KEY: Final = 16
_BEGINNING: Final = "parley_"
_PREFIX_LENGTH: Final = 12
_USE_IS_NOTED_EVERY: Final = timedelta(minutes=1)


@dataclass(frozen=True, slots=True)
class Experimenter:
    """The owner of the key."""

    id: UUID
    name: str
    scopes: frozenset[str]
    key_id: UUID
    expires_at: datetime | None
    """When the key ends."""
    sign_in_id: UUID | None = None
    """The sign-in that the request came with, if it did not come with the key itself."""

    @property
    def is_admin(self) -> bool:
        return "admin" in self.scopes


_EXPERIMENTER = text(
    """
    INSERT INTO experimenters (id, name, created_at) VALUES (:id, :name, :now)
    ON CONFLICT (name) DO UPDATE SET name = excluded.name
    RETURNING id
    """
)

_STORE = text(
    """
    INSERT INTO api_keys (hash, prefix, experimenter_id, scopes, created_at, expires_at, label, is_bootstrap)
    VALUES (:hash, :prefix, :experimenter_id, :scopes, :now, :expires_at, :label, :is_bootstrap)
    ON CONFLICT (hash) DO UPDATE SET is_bootstrap = true, revoked_at = NULL, scopes = excluded.scopes
        WHERE excluded.is_bootstrap
    """
)
_REPLACE_BOOTSTRAP = text(
    "UPDATE api_keys SET revoked_at = :now WHERE is_bootstrap AND revoked_at IS NULL AND hash <> :hash"
)

_NOTE: Final = text("UPDATE deeds SET experiment_id = :experiment_id, reason = :reason WHERE id = :id")


def note(session: Session, experiment_id: UUID, reason: str = "") -> None:
    """Keep with the deed of this request which experiment it changed, and why."""
    if (doing := request.get()) is not None:
        session.later(_NOTE, {"id": doing.id, "experiment_id": experiment_id, "reason": reason})


_BEARER: Final = """
    SELECT k.id AS key_id, CAST(NULL AS uuid) AS sign_in_id FROM api_keys k WHERE k.hash = :hash
    UNION ALL
    SELECT s.key_id, s.id FROM sign_ins s
    WHERE s.token_hash = :hash AND s.expires_at > :now AND s.used_at + make_interval(secs => s.idle_seconds) > :now
"""
_IS_OPEN: Final = "(k.expires_at IS NULL OR k.expires_at > :now) AND k.revoked_at IS NULL"
# The use of a key is recorded once a minute, so that most requests only read; what changes something, with its work.
_FIND = text(
    f"""
    WITH bearer AS ({_BEARER}), used AS (
        UPDATE api_keys k SET last_used_at = :now FROM bearer b
        WHERE k.id = b.key_id AND (k.last_used_at IS NULL OR k.last_used_at < :noted_before) AND {_IS_OPEN}
    ), seen AS (
        UPDATE sign_ins s SET used_at = :now FROM bearer b JOIN api_keys k ON k.id = b.key_id
        WHERE s.id = b.sign_in_id AND s.used_at < :noted_before AND {_IS_OPEN}
    ), done AS (
        INSERT INTO deeds (id, experimenter_id, key_id, deed, correlation, at)
        SELECT CAST(:request_id AS uuid), k.experimenter_id, k.id, :deed, :correlation, :now
        FROM bearer b JOIN api_keys k ON k.id = b.key_id
        WHERE {_IS_OPEN} AND :scope = ANY(k.scopes) AND CAST(:request_id AS uuid) IS NOT NULL
        ON CONFLICT DO NOTHING
    )
    SELECT x.id, x.name, k.scopes, k.expires_at, k.revoked_at, k.id AS key_id, b.sign_in_id
    FROM bearer b JOIN api_keys k ON k.id = b.key_id JOIN experimenters x ON x.id = k.experimenter_id
    """  # noqa: S608 - put together from constants
)


@dataclass(frozen=True, slots=True)
class Request:
    """One request with a key: what it is kept as when it changes something."""

    id: UUID
    deed: str


request: ContextVar[Request | None] = ContextVar("request", default=None)
"""The request that this context serves; None outside of one, where nothing is kept."""


async def experimenter_named(session: Session, name: str, now: datetime) -> UUID:
    """The id of the experimenter with this name, who is created if missing."""
    row = await session.one(_EXPERIMENTER, {"id": uuid4(), "name": name, "now": now})
    found: UUID = row.id
    return found


def is_made_key(secret: str) -> bool:
    """Whether this has the form of a key that the lab has made; a key that an operator has chosen may not have it."""
    return secret.startswith(_BEGINNING)


async def create_key(
    session: Session,
    name: str,
    now: datetime,
    *,
    scopes: Sequence[Scope] = ALL_SCOPES,
    expires_at: datetime | None = None,
    label: str = "",
) -> str:
    """A new key for the experimenter with this name. It is shown only once: only its hash is stored."""
    key = f"{_BEGINNING}{token_urlsafe(32)}"
    await _store(session, key, name, now, scopes=scopes, expires_at=expires_at, label=label)
    return key


async def store_bootstrap_key(session: Session, key: str, name: str, now: datetime) -> UUID:
    """Store a chosen key for the operator with this name; the one that was chosen before is revoked. Idempotent.

    Raises:
        SettingsInvalid: the key is too short to be a secret.
    """
    if len(key) < SHORTEST_KEY:
        raise SettingsInvalid(f"An API key has at least {SHORTEST_KEY} characters.")
    experimenter_id = await _store(
        session, key, name, now, scopes=OPERATORS_SCOPES, label="the first key", is_bootstrap=True
    )
    await session.run(_REPLACE_BOOTSTRAP, {"hash": hash_key(key), "now": now})
    return experimenter_id


async def _store(
    session: Session,
    key: str,
    name: str,
    now: datetime,
    *,
    scopes: Sequence[Scope],
    expires_at: datetime | None = None,
    label: str,
    is_bootstrap: bool = False,
) -> UUID:
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
            "label": label,
            "is_bootstrap": is_bootstrap,
        },
    )
    return experimenter_id


async def sign_in(session: Session, key: str, now: datetime, *, scope: Scope, is_deed: bool = False) -> Experimenter:
    """The experimenter who owns this key, or has signed in with it and got this token.

    `is_deed`: the request is kept although it only reads.

    Raises:
        NotSignedIn: the key is unknown, revoked or has expired; or the sign-in has ended.
        NotAllowed: the key does not have the scope.
    """
    return await sign_in_by_hash(session, hash_key(key), now, scope=scope, is_deed=is_deed)


async def require_scope(session: Session, key: str, now: datetime, scope: Scope) -> Experimenter:
    """`sign_in` for a request that has changed nothing yet: no deed is kept.

    The transaction that changes something signs in by itself.
    """
    return await _find(session, hash_key(key), now, scope, None)


async def sign_in_by_hash(
    session: Session, key_hash: str, now: datetime, *, scope: Scope, is_deed: bool = False
) -> Experimenter:
    """`sign_in` with the stored form of the key or token."""
    return await _find(session, key_hash, now, scope, request.get() if scope != "read" or is_deed else None)


async def _find(session: Session, key_hash: str, now: datetime, scope: Scope, doing: Request | None) -> Experimenter:
    params = {
        "hash": key_hash,
        "now": now,
        "noted_before": now - _USE_IS_NOTED_EVERY,
        "scope": scope,
        "request_id": doing and doing.id,
        "deed": doing and doing.deed,
        "correlation": correlation.get(),
    }
    row = await session.first(_FIND, params)
    if row is None:
        raise NotSignedIn("This API key is not valid, or this sign-in has ended. Sign in again.")
    if row.revoked_at is not None:
        raise NotSignedIn("This API key was revoked. Ask for a new one.")
    if row.expires_at is not None and row.expires_at <= now:
        raise NotSignedIn("This API key has expired. Ask for a new one.")
    if scope not in row.scopes:
        raise NotAllowed(f"This API key does not have the scope {scope!r}.")
    return Experimenter(row.id, row.name, frozenset(row.scopes), row.key_id, row.expires_at, row.sign_in_id)


VALID: Final = f"SELECT FROM ({_BEARER}) b JOIN api_keys k ON k.id = b.key_id WHERE {_IS_OPEN}"
"""In SQL: a row where the key or the sign-in with the hash `:hash` opens something at `:now`."""
_IS_VALID: Final = text(VALID)


async def is_valid(session: ReadSession, key_hash: str, now: datetime) -> bool:
    """Whether the key or the sign-in opens anything still; that is no use of it."""
    return await session.first(_IS_VALID, {"hash": key_hash, "now": now}) is not None


def hash_key(key: str) -> str:
    """The stored form of a key: keys are long and random, so a plain hash is enough."""
    return sha256(key.encode("utf-8", "surrogatepass")).hexdigest()
