"""Files that stages show: stored once by their digest, for as long as an experiment uses them."""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import InvalidInput, Problem, TooLarge
from parley_lab.base.settings import FileSettings
from parley_lab.contracts.media import StoredFile
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row

_UNUSED_KEPT: Final = timedelta(days=1)
"""How long an uploaded file waits for an experiment that uses it."""

# A conflict takes the lock of the row, so that a deletion in another transaction is waited for.
_KEEP = text(
    """
    INSERT INTO files (digest, media_type, size, content, created_at)
    VALUES (:digest, :media_type, :size, :content, :now)
    ON CONFLICT (digest) DO UPDATE SET created_at = excluded.created_at
    """
)
_CLAIM = text(
    """
    SELECT digest, size FROM files WHERE digest = ANY(CAST(:digests AS text[])) ORDER BY digest FOR KEY SHARE
    """
)
_USE = text(
    """
    INSERT INTO experiment_files (experiment_id, digest)
    SELECT :id, unnest(CAST(:digests AS text[])) ON CONFLICT DO NOTHING
    """
)
_GIVE_UP = text(
    """
    DELETE FROM experiment_files WHERE experiment_id = :id AND digest <> ALL(CAST(:digests AS text[]))
    RETURNING digest
    """
)
_GIVE_UP_BESIDE = text("DELETE FROM experiment_source_files WHERE experiment_id = :id RETURNING picture")
_IS_UNUSED: Final = """NOT EXISTS (SELECT FROM experiment_files u WHERE u.digest = f.digest)
        AND NOT EXISTS (SELECT FROM experiment_source_files b WHERE b.picture = f.digest)"""
_LOCK_UNUSED = text(
    f"""
    SELECT digest FROM files f
    WHERE (digest = ANY(CAST(:digests AS text[])) OR created_at < :before) AND {_IS_UNUSED}
    ORDER BY digest FOR UPDATE
    """  # noqa: S608 - put together from constants
)
_DELETE_UNUSED = text(
    f"DELETE FROM files f WHERE digest = ANY(CAST(:digests AS text[])) AND {_IS_UNUSED}"  # noqa: S608 - put together from constants
)
_FIND = text("SELECT media_type, size FROM files WHERE digest = :digest")
_PART = text("SELECT substring(content FROM :first + 1 FOR :length) AS content FROM files WHERE digest = :digest")


async def keep(session: Session, files: Iterable[StoredFile], now: datetime) -> None:
    """Store the files; those that are there already stay."""
    for one in sorted(files, key=lambda file: file.digest):
        fields = {"digest": one.digest, "media_type": one.media_type, "size": len(one.content), "content": one.content}
        await session.run(_KEEP, {**fields, "now": now})


async def require(session: Session, named: Sequence[tuple[str, str]], limits: FileSettings) -> list[str]:
    """The digests of these files (place in the experiment, name), which are there and stay until the transaction ends.

    Raises:
        InvalidInput: with each that is not stored.
        TooLarge: together they have more bytes than the files of an experiment may.
    """
    wanted = {name.partition(".")[0] for _, name in named}
    rows = await session.all(_CLAIM, {"digests": sorted(wanted)}) if wanted else []
    there = {row.digest for row in rows}
    missing = [
        Problem(where, repr(name), "the name of a file that was uploaded (POST /v1/files), or `parley run`")
        for where, name in named
        if name.partition(".")[0] not in there
    ]
    if missing:
        raise InvalidInput("Files of the experiment are missing.", missing)
    if (size := sum(row.size for row in rows)) > limits.max_files_bytes:
        raise TooLarge(f"The files have {size} bytes; those of an experiment may have {limits.max_files_bytes}.")
    return sorted(there)


async def use(session: Session, experiment_id: UUID, digests: Sequence[str], now: datetime) -> None:
    """Note that the experiment uses these files, which were required in this transaction, and no others.

    Files that it alone used are deleted, and uploads that no experiment took within a day.
    """
    if digests:
        await session.run(_USE, {"id": experiment_id, "digests": [*digests]})
    given_up = await session.all(_GIVE_UP, {"id": experiment_id, "digests": [*digests]})
    await _delete_unused(session, [row.digest for row in given_up], now)


async def delete_all(session: Session, experiment_id: UUID, now: datetime) -> None:
    """Delete the files that this experiment alone has, also those beside its text."""
    given_up = await session.all(_GIVE_UP, {"id": experiment_id, "digests": []})
    beside = await session.all(_GIVE_UP_BESIDE, {"id": experiment_id})
    pictures = [row.picture for row in beside if row.picture is not None]
    await _delete_unused(session, [*(row.digest for row in given_up), *pictures], now)


async def _delete_unused(session: Session, digests: Sequence[str], now: datetime) -> None:
    named = {"digests": [*digests], "before": now - _UNUSED_KEPT}
    unused = await session.all(_LOCK_UNUSED, named)
    if unused:
        # Looked at once more under the locks: an experiment may have taken one while they were waited for.
        await session.run(_DELETE_UNUSED, {"digests": [row.digest for row in unused]})


async def find(session: ReadSession, digest: str) -> Row | None:
    """The media type and the size of a stored file."""
    return await session.first(_FIND, {"digest": digest})


async def part(session: ReadSession, digest: str, first: int, length: int) -> bytes:
    """So many bytes of a stored file, from this one on; empty where it is gone."""
    row = await session.first(_PART, {"digest": digest, "first": first, "length": length})
    return b"" if row is None else bytes(row.content)
