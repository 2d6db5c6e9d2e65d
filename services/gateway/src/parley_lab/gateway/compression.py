"""JSON for experimenters is compressed: a board of a thousand members is a quarter of its size."""

import asyncio
import zlib
from typing import Final

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from parley_lab.gateway.middleware import is_participants

LEAST_BYTES: Final = 1024
_LEVEL: Final = 4
_BESIDE_BYTES: Final = 128 * 1024
"""More than this is compressed beside the event loop."""
_JSON: Final = ("application/json", "application/problem+json")


class Compressed:
    """Compresses what experimenters are answered below /v1; no stream, and nothing that participants are answered."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or not _is_for_experimenters(scope["path"]) or not _takes_gzip(scope):
            await self._app(scope, receive, send)
            return
        start: Message | None = None

        async def send_compressed(message: Message) -> None:
            nonlocal start
            if message["type"] == "http.response.start" and _is_json(message):
                start = message
                return
            if start is None:
                await send(message)
                return
            began, start = start, None
            body = message.get("body", b"")
            if not message.get("more_body") and len(body) >= LEAST_BYTES:
                body = await _packed(body)
                headers = MutableHeaders(scope=began)
                headers["Content-Encoding"] = "gzip"
                headers["Content-Length"] = str(len(body))
                headers.add_vary_header("Accept-Encoding")
            await send(began)
            await send({**message, "body": body})

        await self._app(scope, receive, send_compressed)


def _is_for_experimenters(path: str) -> bool:
    return path.startswith("/v1/") and not is_participants(path) and not path.endswith("/stream")


def _takes_gzip(scope: Scope) -> bool:
    return "gzip" in Headers(scope=scope).get("accept-encoding", "")


def _is_json(message: Message) -> bool:
    headers = Headers(raw=message["headers"])
    return headers.get("content-type", "").partition(";")[0] in _JSON and "content-encoding" not in headers


async def _packed(body: bytes) -> bytes:
    return _gzip(body) if len(body) <= _BESIDE_BYTES else await asyncio.to_thread(_gzip, body)


def _gzip(body: bytes) -> bytes:
    packer = zlib.compressobj(_LEVEL, wbits=zlib.MAX_WBITS | 16)
    return packer.compress(body) + packer.flush()
