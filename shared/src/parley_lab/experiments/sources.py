"""The text of an experiment's file as its author wrote it, with its comments; and its problems, if it has any."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import yaml
from sqlalchemy import text

from parley_lab.base.errors import ChangedMeanwhile, Conflict
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import as_json

YAML: Final = "application/yaml"


@dataclass(frozen=True, slots=True)
class Source:
    """`version` grows with each save; 0: no text was stored, and `text` is the document as YAML."""

    text: str
    media_type: str
    version: int
    saved_at: datetime | None
    saved_by: str | None
    problems: Sequence[Mapping[str, Any]]


_FIND: Final = text(
    """
    SELECT text, media_type, version, saved_at, saved_by, problems FROM experiment_sources WHERE experiment_id = :id
    """
)
_LOCK: Final = text("SELECT id FROM experiments WHERE id = :id FOR NO KEY UPDATE")


async def find(session: ReadSession, experiment_id: UUID, document: Mapping[str, Any]) -> Source:
    """The text of this experiment; without a stored one its `document` as YAML."""
    row = await session.first(_FIND, {"id": experiment_id})
    if row is None:
        written = yaml.safe_dump(dict(document), sort_keys=False, allow_unicode=True)
        return Source(written, YAML, 0, None, None, ())
    return Source(row.text, row.media_type, row.version, row.saved_at, row.saved_by, row.problems or ())


async def require_version(session: Session, experiment_id: UUID, version: int) -> None:
    """Refuse to save over a newer text; the experiment is locked until the transaction ends.

    Raises:
        ChangedMeanwhile: another one has saved it since; with the version, who and when.
    """
    await session.first(_LOCK, {"id": experiment_id})
    row = await session.first(_FIND, {"id": experiment_id})
    if row is not None and row.version != version:
        when = row.saved_at.isoformat().replace("+00:00", "Z")
        said = f"{row.saved_by} has saved this file meanwhile. Nothing was stored: read it, and save again."
        raise ChangedMeanwhile(said, params={"version": row.version, "saved_by": row.saved_by, "saved_at": when})
    if row is None and version != 0:
        none = {"version": 0, "saved_by": None, "saved_at": None}
        raise ChangedMeanwhile("This file has no such version.", params=none)


_SAVE: Final = text(
    """
    INSERT INTO experiment_sources AS s (experiment_id, text, media_type, version, saved_at, saved_by, problems)
    VALUES (:id, :text, :media_type, 1, :now, :saved_by, CAST(:problems AS jsonb))
    ON CONFLICT (experiment_id) DO UPDATE SET text = excluded.text, media_type = excluded.media_type,
        version = s.version + 1, saved_at = excluded.saved_at, saved_by = excluded.saved_by,
        problems = excluded.problems
    RETURNING version
    """
)


async def save(
    session: Session,
    experiment_id: UUID,
    written: str,
    media_type: str,
    now: datetime,
    *,
    saved_by: str,
    problems: Sequence[Mapping[str, Any]] = (),
) -> int:
    """Store the text, and give its version. With problems the experiment cannot start (`require_valid`)."""
    fields = {"text": written, "media_type": media_type, "saved_by": saved_by}
    found = as_json(list(problems)) if problems else None
    version: int = (await session.one(_SAVE, {"id": experiment_id, "now": now, "problems": found, **fields})).version
    return version


_HAS_PROBLEMS: Final = text("SELECT FROM experiment_sources WHERE experiment_id = :id AND problems IS NOT NULL")


async def require_valid(session: ReadSession, experiment_id: UUID) -> None:
    """Raises: Conflict: the file was saved with problems that are not mended yet."""
    if await session.first(_HAS_PROBLEMS, {"id": experiment_id}) is not None:
        raise Conflict("The file of this experiment has problems; mend it and save it first.", reason="not_valid")
