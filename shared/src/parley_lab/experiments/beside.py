"""The tables, pictures and words that are stored beside the text of an experiment, each under the name in the text."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.media import StoredFile, ending_of_type
from parley_lab.design import FileBeside
from parley_lab.experiments import files
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row

_LIST: Final = text("SELECT name, size FROM experiment_source_files WHERE experiment_id = :id ORDER BY name")
_FILES: Final = text(
    """
    SELECT b.name, b.digest, b.size, f.media_type
    FROM experiment_source_files b LEFT JOIN files f ON f.digest = b.picture
    WHERE b.experiment_id = :id AND b.name <> ALL(CAST(:without AS text[])) ORDER BY b.name
    """
)
_CONTENTS: Final = text(
    """
    SELECT b.name, coalesce(b.content, f.content) AS content
    FROM experiment_source_files b LEFT JOIN files f ON f.digest = b.picture
    WHERE b.experiment_id = :id AND b.name = ANY(CAST(:names AS text[])) ORDER BY b.name
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


_COPY: Final = text(
    """
    INSERT INTO experiment_source_files (experiment_id, name, digest, size, picture, content)
    SELECT :copy_id, name, digest, size, picture, content FROM experiment_source_files WHERE experiment_id = :id
    """
)


async def list_of(session: ReadSession, experiment_id: UUID) -> Sequence[Row]:
    """The name and the size in bytes of each file, by name."""
    return await session.all(_LIST, {"id": experiment_id})


async def files_of(session: ReadSession, experiment_id: UUID, *, without: Sequence[str] = ()) -> dict[str, FileBeside]:
    """Each file by its name, but for those in `without`; of pictures, sounds and films without the content."""
    rows = await session.all(_FILES, {"id": experiment_id, "without": [*without]})
    found = {row.name: FileBeside(row.digest, row.size, ending_of_type(row.media_type), None) for row in rows}
    read = await contents(session, experiment_id, [name for name, one in found.items() if one.stored_as(name) is None])
    # One that another save has removed meanwhile is none.
    return {
        name: replace(one, content=read.get(name))
        for name, one in found.items()
        if name in read or one.stored_as(name) is not None
    }


async def contents(session: ReadSession, experiment_id: UUID, names: Sequence[str]) -> dict[str, bytes]:
    """The content of the files with these names, by name."""
    rows = await session.all(_CONTENTS, {"id": experiment_id, "names": [*names]}) if names else ()
    return {row.name: bytes(row.content) for row in rows}


def names_of_pictures(sent: Iterable[FileBeside]) -> set[str]:
    """The names under which the pictures, sounds and films among these files are stored."""
    return {f"{one.digest}.{one.ending}" for one in sent if one.ending is not None}


async def keep_pictures(session: Session, sent: Iterable[FileBeside], now: datetime) -> None:
    """Store the pictures, sounds and films among these files, whose content is known."""
    pictures = {
        one.digest: StoredFile(one.digest, one.ending, one.content)
        for one in sent
        if one.ending is not None and one.content is not None
    }
    await files.keep(session, pictures.values(), now)


async def change(
    session: Session,
    experiment_id: UUID,
    now: datetime,
    *,
    added: Mapping[str, FileBeside],
    without: Sequence[str] = (),
) -> None:
    """Store the files `added` beside the text, in place of those with the same names, and remove those `without`.

    The experiment is locked until the transaction ends. All others stay, also one that was stored a moment ago.
    """
    await session.first(_LOCK, {"id": experiment_id})
    digests = [one.digest for one in added.values()]
    given = {"id": experiment_id, "names": [*added], "digests": digests, "without": [*without]}
    await session.run(_GIVE_UP, given)
    there = {row.name for row in await session.all(_THERE, {"id": experiment_id})}
    fresh = {name: one for name, one in added.items() if name not in there}
    await keep_pictures(session, fresh.values(), now)
    await add(session, experiment_id, fresh)


async def add(session: Session, experiment_id: UUID, added: Mapping[str, FileBeside]) -> None:
    """Store these files beside the text, which has none of these names; their pictures are stored before."""
    for name, one in added.items():
        fields = {"name": name, "digest": one.digest, "size": one.size}
        kept = {"picture": one.digest, "content": None} if one.ending else {"picture": None, "content": one.content}
        await session.run(_ADD, {"id": experiment_id, **fields, **kept})


async def copy(session: Session, experiment_id: UUID, copy_id: UUID) -> None:
    """Store the files beside the text of an experiment beside that of its copy, too, which has none yet."""
    await session.run(_COPY, {"id": experiment_id, "copy_id": copy_id})
