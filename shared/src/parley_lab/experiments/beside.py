"""The tables, pictures and words that are stored beside the text of an experiment, each under the name in the text."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from hashlib import sha256
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.media import StoredFile, as_stored
from parley_lab.experiments import files
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row

_LIST: Final = text("SELECT name, size FROM experiment_source_files WHERE experiment_id = :id ORDER BY name")
_CONTENTS: Final = text(
    """
    SELECT b.name, coalesce(b.content, f.content) AS content
    FROM experiment_source_files b LEFT JOIN files f ON f.digest = b.picture
    WHERE b.experiment_id = :id AND b.name <> ALL(CAST(:without AS text[])) ORDER BY b.name
    """
)
_LOCK: Final = text("SELECT id FROM experiments WHERE id = :id FOR NO KEY UPDATE")
_GIVE_UP: Final = text(
    """
    DELETE FROM experiment_source_files b
    WHERE experiment_id = :id AND (
        (b.name = ANY(CAST(:without AS text[])) AND b.name <> ALL(CAST(:names AS text[])))
        OR EXISTS (
            SELECT FROM unnest(CAST(:names AS text[]), CAST(:digests AS text[])) AS k (name, digest)
            WHERE k.name = b.name AND k.digest <> b.digest))
    """
)
_THERE: Final = text("SELECT name FROM experiment_source_files WHERE experiment_id = :id")
_ADD: Final = text(
    """
    INSERT INTO experiment_source_files (experiment_id, name, digest, size, picture, content)
    VALUES (:id, :name, :digest, :size, :picture, :content)
    """
)


async def list_of(session: ReadSession, experiment_id: UUID) -> Sequence[Row]:
    """The name and the size in bytes of each file, by name."""
    return await session.all(_LIST, {"id": experiment_id})


async def contents(session: ReadSession, experiment_id: UUID, *, without: Sequence[str] = ()) -> dict[str, bytes]:
    """The content of each file by its name, but of those in `without`."""
    rows = await session.all(_CONTENTS, {"id": experiment_id, "without": [*without]})
    return {row.name: bytes(row.content) for row in rows}


def names_of_pictures(sent: Mapping[str, bytes]) -> set[str]:
    """The names under which the pictures, sounds and films among these files are stored."""
    return {one.name for content in sent.values() if (one := as_stored(content)) is not None}


async def keep_pictures(session: Session, sent: Mapping[str, bytes], now: datetime) -> Mapping[str, StoredFile]:
    """Store the pictures, sounds and films among these files, and give them by the names that they were sent with."""
    pictures = {name: stored for name, content in sent.items() if (stored := as_stored(content)) is not None}
    await files.keep(session, {one.digest: one for one in pictures.values()}.values(), now)
    return pictures


async def replace(
    session: Session,
    experiment_id: UUID,
    now: datetime,
    *,
    added: Mapping[str, bytes],
    without: Sequence[str] = (),
) -> None:
    """Store the files `added` beside the text, in place of those with the same names, and remove those `without`.

    The experiment is locked until the transaction ends. All others stay, also one that was stored a moment ago.
    """
    await session.first(_LOCK, {"id": experiment_id})
    digests = {name: sha256(content).hexdigest() for name, content in added.items()}
    given = {"id": experiment_id, "names": [*digests], "digests": [*digests.values()], "without": [*without]}
    await session.run(_GIVE_UP, given)
    there = {row.name for row in await session.all(_THERE, {"id": experiment_id})}
    fresh = {name: content for name, content in added.items() if name not in there}
    pictures = await keep_pictures(session, fresh, now)
    for name, content in fresh.items():
        picture = pictures.get(name)
        fields = {"name": name, "digest": digests[name], "size": len(content)}
        kept = {"picture": None if picture is None else picture.digest, "content": content if picture is None else None}
        await session.run(_ADD, {"id": experiment_id, **fields, **kept})
