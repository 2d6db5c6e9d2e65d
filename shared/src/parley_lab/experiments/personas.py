"""The persona library of an experimenter: personas that experiments may name without defining them."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Literal
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import ChangedMeanwhile, NotFound
from parley_lab.contracts.experiment import Persona
from parley_lab.design.personas import as_written
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row, as_json

Outcome = Literal["created", "replaced", "unchanged"]


@dataclass(frozen=True, slots=True)
class StoredPersona:
    """A persona of the library; `version` counts its changes, from 1."""

    persona: Persona
    version: int
    created_at: datetime
    updated_at: datetime


# In the order of ids, so that simultaneous imports cannot deadlock.
_PUT = text(
    """
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(CAST(:personas AS jsonb)) AS g(id text, document jsonb)
    ), stored AS (
        INSERT INTO personas (owner_id, id, document, created_at, updated_at)
        SELECT :owner_id, g.id, g.document, :now, :now FROM given g ORDER BY g.id
        ON CONFLICT (owner_id, id) DO UPDATE
            SET document = excluded.document, version = personas.version + 1, updated_at = excluded.updated_at
            WHERE personas.document <> excluded.document
        RETURNING id, version
    )
    SELECT g.id, s.version FROM given g LEFT JOIN stored s USING (id)
    """
)


async def put(session: Session, owner_id: UUID, personas: Sequence[Persona], now: datetime) -> dict[str, Outcome]:
    """Create or replace these personas, all or none. Idempotent.

    personas: each id once.
    """
    given = [{"id": persona.id, "document": as_written(persona)} for persona in personas]
    rows = await session.all(_PUT, {"owner_id": owner_id, "personas": as_json(given), "now": now})
    return {row.id: _outcome(row.version) for row in rows}


_LOCK = text("SELECT version, updated_at FROM personas WHERE owner_id = :owner_id AND id = :id FOR UPDATE")


async def require_version(session: Session, owner_id: UUID, persona_id: str, version: int) -> None:
    """Refuse to save over a newer persona; it is locked until the transaction ends.

    Raises:
        ChangedMeanwhile: it was saved since, or deleted; with the version and when.
    """
    row = await session.first(_LOCK, {"owner_id": owner_id, "id": persona_id})
    if row is None:
        raise ChangedMeanwhile("This persona has no such version.", params={"version": 0, "saved_at": None})
    if row.version != version:
        when = row.updated_at.isoformat().replace("+00:00", "Z")
        said = "This persona was saved meanwhile. Nothing was stored: read it, and save again."
        raise ChangedMeanwhile(said, params={"version": row.version, "saved_at": when})


def _outcome(version: int | None) -> Outcome:
    if version is None:
        return "unchanged"
    return "created" if version == 1 else "replaced"


_LIST = text(
    """
    SELECT id, document, version, created_at, updated_at FROM personas
    WHERE owner_id = :owner_id AND id COLLATE "C" > :after
    ORDER BY id COLLATE "C" LIMIT CAST(:most AS bigint)
    """
)
_SOME = text(
    """
    SELECT id, document, version, created_at, updated_at FROM personas WHERE owner_id = :owner_id AND id = ANY(:ids)
    """
)
_DELETE = text("DELETE FROM personas WHERE owner_id = :owner_id AND id = :id")


async def list_of(
    session: ReadSession, owner_id: UUID, *, after: str = "", most: int | None = None
) -> list[StoredPersona]:
    """The personas of this experimenter by id, after `after`; all of them without a limit."""
    return [_stored(row) for row in await session.all(_LIST, {"owner_id": owner_id, "after": after, "most": most})]


async def find(session: ReadSession, owner_id: UUID, persona_id: str) -> StoredPersona:
    """One persona of this experimenter.

    Raises:
        NotFound: the library has no persona with this id.
    """
    row = await session.first(_SOME, {"owner_id": owner_id, "ids": [persona_id]})
    if row is None:
        raise NotFound(f"The persona library has no {persona_id!r}.")
    return _stored(row)


async def find_some(session: ReadSession, owner_id: UUID, ids: Iterable[str]) -> dict[str, Persona]:
    """The named personas that are in the library, by id."""
    wanted = list(ids)
    if not wanted:
        return {}
    rows = await session.all(_SOME, {"owner_id": owner_id, "ids": wanted})
    return {row.id: _stored(row).persona for row in rows}


async def delete(session: Session, owner_id: UUID, persona_id: str) -> None:
    """Delete a persona of the library; experiments that have used it keep their copies.

    Raises:
        NotFound: the library has no persona with this id.
    """
    if not await session.run(_DELETE, {"owner_id": owner_id, "id": persona_id}):
        raise NotFound(f"The persona library has no {persona_id!r}.")


def _stored(row: Row) -> StoredPersona:
    return StoredPersona(Persona.model_validate(row.document), row.version, row.created_at, row.updated_at)
