"""Keys as their owners and operators see them, their end, and what was done with them."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import NotFound
from parley_lab.store.session import ReadSession, Session


@dataclass(frozen=True, slots=True)
class StoredKey:
    """A key without its secret; `prefix` is how it begins."""

    id: UUID
    prefix: str
    experimenter: str
    label: str
    scopes: Sequence[str]
    created_at: datetime
    expires_at: datetime | None
    last_used_at: datetime | None
    revoked_at: datetime | None


@dataclass(frozen=True, slots=True)
class Deed:
    """A request that changed something: method and path, by whom, with which key; or a command, which has no key."""

    at: datetime
    experimenter: str
    key_id: UUID | None
    deed: str
    correlation: str
    experiment_id: UUID | None
    """The experiment that it changed, where it is known."""
    reason: str


_LIST = text(
    """
    SELECT k.id, k.prefix, x.name AS experimenter, k.label, k.scopes, k.created_at, k.expires_at, k.last_used_at,
        k.revoked_at
    FROM api_keys k JOIN experimenters x ON x.id = k.experimenter_id
    WHERE CAST(:owner_id AS uuid) IS NULL OR x.id = :owner_id
    ORDER BY k.created_at, k.id
    """
)
_REVOKE = text(
    """
    UPDATE api_keys SET revoked_at = coalesce(revoked_at, :now)
    WHERE id = :key_id AND (CAST(:owner_id AS uuid) IS NULL OR experimenter_id = :owner_id)
    """
)
# Which of the keys of an experimenter has made a token is not kept: all of theirs end, and are asked for anew.
_END_VIEWS = text(
    """
    UPDATE view_tokens v SET expires_at = :now FROM api_keys k JOIN experimenters x ON x.id = k.experimenter_id
    WHERE k.id = :key_id AND v.opened_by = x.name AND v.expires_at > :now
    """
)
# Services of versions before read an id in every row.
_NO_KEY: Final = UUID(int=0)
_COMMAND = text(
    """
    INSERT INTO deeds (id, experimenter_id, key_id, deed, correlation, at)
    VALUES (gen_random_uuid(), :experimenter_id, :no_key, :deed, '', :now)
    """
)
_DEEDS = text(
    """
    SELECT d.at, x.name AS experimenter, nullif(d.key_id, :no_key) AS key_id, d.deed, d.correlation,
        d.experiment_id, d.reason
    FROM deeds d JOIN experimenters x ON x.id = d.experimenter_id
    WHERE (CAST(:owner_id AS uuid) IS NULL OR x.id = :owner_id)
        AND (CAST(:experiment_id AS uuid) IS NULL OR d.experiment_id = :experiment_id)
        AND (CAST(:before AS timestamptz) IS NULL OR d.at < :before)
    ORDER BY d.at DESC, d.id LIMIT :most
    """
)


async def keys_of(session: ReadSession, owner_id: UUID | None) -> list[StoredKey]:
    """The keys of an experimenter, or of everybody (None), the oldest first; ended ones included."""
    return [StoredKey(**row._asdict()) for row in await session.all(_LIST, {"owner_id": owner_id})]


async def revoke(session: Session, key_id: UUID, owner_id: UUID | None, now: datetime) -> None:
    """End a key of this experimenter, or of anybody (None), and the tokens with which its owner looks on. Idempotent.

    Raises:
        NotFound: there is no such key, or it is another's.
    """
    if not await session.run(_REVOKE, {"key_id": key_id, "owner_id": owner_id, "now": now}):
        raise NotFound("There is no such API key.")
    await session.run(_END_VIEWS, {"key_id": key_id, "now": now})


async def deeds(
    session: ReadSession,
    owner_id: UUID | None,
    *,
    before: datetime | None,
    most: int,
    experiment_id: UUID | None = None,
) -> list[Deed]:
    """The deeds of this experimenter, or of all (None), over REST and by commands, the latest first."""
    which = {"owner_id": owner_id, "experiment_id": experiment_id}
    params = {**which, "before": before, "most": most, "no_key": _NO_KEY}
    return [Deed(**row._asdict()) for row in await session.all(_DEEDS, params)]


async def note_command(session: Session, experimenter_id: UUID, deed: str, now: datetime) -> None:
    """Keep that a command that changes something was given, as `parley end 0a1b2c3d`."""
    params = {"experimenter_id": experimenter_id, "deed": deed, "now": now, "no_key": _NO_KEY}
    await session.run(_COMMAND, params)
