"""Images, sound and films that stages show: uploaded by experimenters, served to everyone who knows the digest."""

import re
from collections.abc import AsyncGenerator
from typing import Annotated, Final

from fastapi import APIRouter, Header, Path, Request
from fastapi.responses import Response, StreamingResponse
from pydantic import BaseModel, ConfigDict

from parley_lab.base.errors import InvalidInput, NotFound, Problem, TooLarge
from parley_lab.contracts.media import ADDRESS, MEDIA_TYPES, as_stored
from parley_lab.experiments import files
from parley_lab.gateway.context import ApiKey, Context, InContext
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.store import keys
from parley_lab.store.session import Session

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)

_SAFE: Final = {
    "Cache-Control": "public, max-age=31536000, immutable",
    "X-Content-Type-Options": "nosniff",
    "Content-Security-Policy": "default-src 'none'; sandbox",
    "Referrer-Policy": "no-referrer",
    "Accept-Ranges": "bytes",
}
_CONTENT: Final = {media_type: {"schema": {"type": "string", "format": "binary"}} for media_type in MEDIA_TYPES}
_PART_BYTES: Final = 256 * 1024
_RANGE: Final = re.compile(r"bytes=(\d{0,15})-(\d{0,15})")


class UploadedFile(BaseModel):
    model_config = ConfigDict(use_attribute_docstrings=True)

    file: str
    """The name by which experiment files show it."""
    media_type: str
    size: int
    """In bytes."""
    address: str
    """Where everybody can read it who knows the name."""


@router.post(
    "/files",
    status_code=201,
    summary="Upload a file that a stage shows",
    openapi_extra={
        "requestBody": {
            "required": True,
            "description": "The content of an image, a sound or a film; its first bytes tell its type.",
            "content": {"application/octet-stream": {"schema": {"type": "string", "format": "binary"}}},
        }
    },
)
async def upload(request: Request, context: InContext, key: ApiKey) -> UploadedFile:
    """The same content has the same name. A file that no experiment uses within a day may be deleted."""
    async with context.database.transaction() as session:
        await keys.require_scope(session, key, context.clock.now(), "write")
    content = await request.body()
    if len(content) > context.files.max_file_bytes:
        raise TooLarge(f"A file may have {context.files.max_file_bytes} bytes.")
    stored = as_stored(content)
    if stored is None:
        expected = "an image (png, jpeg, gif, webp), a sound (mp3, ogg, wav) or a film (mp4, webm)"
        raise InvalidInput("This file cannot be shown.", [Problem("body", "content of another type", expected)])

    async def work(session: Session) -> UploadedFile:
        await keys.sign_in(session, key, context.clock.now(), scope="write")
        await files.keep(session, [stored], context.clock.now())
        return UploadedFile(
            file=stored.name, media_type=stored.media_type, size=len(content), address=ADDRESS + stored.name
        )

    return await context.database.transact(work)


@router.get(
    "/files/{name}",
    response_class=Response,
    summary="A file that a stage shows",
    responses={
        200: {"content": _CONTENT},
        206: {"description": "The bytes of the range.", "content": _CONTENT},
        304: {"description": "The file is the one that `If-None-Match` names."},
    },
)
async def serve(
    name: Annotated[str, Path(max_length=200, pattern=NO_NUL)],
    context: InContext,
    range_header: Annotated[str | None, Header(alias="Range", max_length=100)] = None,
    known: Annotated[str | None, Header(alias="If-None-Match", max_length=1000)] = None,
) -> Response:
    """Needs no token: its name is the digest of its content, which no one can guess."""
    digest = name.partition(".")[0]
    async with context.database.read() as session:
        row = await files.find(session, digest)
    if row is None:
        raise NotFound("There is no such file.")
    headers = {**_SAFE, "ETag": f'"{digest}"'}
    if known is not None and headers["ETag"] in known:
        return Response(status_code=304, headers=headers)
    asked = _asked(range_header, row.size)
    first, length = asked or (0, row.size)
    headers["Content-Length"] = str(length)
    if asked is not None:
        headers["Content-Range"] = f"bytes {first}-{first + length - 1}/{row.size}"
    content = _parts(context, digest, first, length)
    return StreamingResponse(content, 200 if asked is None else 206, headers=headers, media_type=row.media_type)


async def _parts(context: Context, digest: str, first: int, length: int) -> AsyncGenerator[bytes, None]:
    """These bytes, a part in memory at a time; no connection to Postgres waits for a slow reader.

    Of all readers of this gateway four read a part at once (`Context.parts`), and the others wait.
    """
    for begin in range(first, first + length, _PART_BYTES):
        async with context.parts, context.database.read() as session:
            part = await files.part(session, digest, begin, min(_PART_BYTES, first + length - begin))
        if not part:
            # Deleted meanwhile: the reader sees that bytes are missing.
            return
        yield part


def _asked(header: str | None, size: int) -> tuple[int, int] | None:
    """The first byte and the number of bytes that are asked for; None: all, as for a range that cannot be read."""
    found = _RANGE.fullmatch(header or "")
    if found is None or not any(found.groups()):
        return None
    first, last = found.groups()
    begin = int(first) if first else max(0, size - int(last))
    end = min(int(last), size - 1) if first and last else size - 1
    return None if begin > end else (begin, end - begin + 1)
