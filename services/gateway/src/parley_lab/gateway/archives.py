"""The data of an experiment as one zip file on disk, made with bounded memory and sent without a transaction."""

import asyncio
import tempfile
import zipfile
from collections.abc import AsyncIterator
from datetime import datetime
from pathlib import Path
from typing import IO, Literal
from uuid import UUID

from parley_lab.formats.exports import export
from parley_lab.store.session import Database

CHUNK_BYTES = 256 * 1024


async def pack(
    database: Database, experiment_id: UUID, now: datetime, *, wanted: Literal["json", "csv"] | None
) -> IO[bytes]:
    """An open, private zip file that is deleted when it is closed."""
    formats = ("json", "csv") if wanted is None else (wanted,)
    with tempfile.TemporaryDirectory(prefix="parley-export-") as name:
        folder = Path(name)
        await export(database, experiment_id, folder, now, formats=formats)
        return await asyncio.to_thread(_zip, folder)


def _zip(folder: Path) -> IO[bytes]:
    archive = tempfile.TemporaryFile(prefix="parley-export-")  # noqa: SIM115 - closed by the code that sends it
    with zipfile.ZipFile(archive, "w", zipfile.ZIP_DEFLATED) as target:
        for path in sorted(folder.rglob("*")):
            if path.is_file():
                target.write(path, path.relative_to(folder))
    archive.seek(0)
    return archive


async def chunks(archive: IO[bytes]) -> AsyncIterator[bytes]:
    """The bytes of the file, which is closed at the end."""
    try:
        while chunk := await asyncio.to_thread(archive.read, CHUNK_BYTES):
            yield chunk
    finally:
        archive.close()
