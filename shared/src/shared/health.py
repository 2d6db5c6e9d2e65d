"""A very small HTTP server for processes that have no other: `/healthz` says it lives, `/readyz` that it can work."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

Ready = Callable[[], Awaitable[bool]]

_REQUEST_SECONDS = 5.0


@asynccontextmanager
async def answering_health(host: str, port: int, is_ready: Ready) -> AsyncIterator[int]:
    """Answer until the block ends; gives the port, which matters when `port` is 0."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                writer.write(await _response(await reader.readuntil(b"\r\n\r\n"), is_ready))
                await writer.drain()
        except (TimeoutError, OSError, asyncio.IncompleteReadError, asyncio.LimitOverrunError):
            pass
        finally:
            writer.close()

    server = await asyncio.start_server(answer, host, port, limit=4096)
    try:
        yield server.sockets[0].getsockname()[1]
    finally:
        server.close()


async def _response(request_line: bytes, is_ready: Ready) -> bytes:
    match request_line.split(b" ")[:2]:
        case [b"GET", b"/healthz"]:
            return _as_http("200 OK", b'{"status":"ok"}')
        case [b"GET", b"/readyz"]:
            if await is_ready():
                return _as_http("200 OK", b'{"status":"ready"}')
            return _as_http("503 Service Unavailable", b'{"status":"not ready"}')
        case _:
            return _as_http("404 Not Found", b'{"status":"not found"}')


def _as_http(status: str, body: bytes) -> bytes:
    head = f"HTTP/1.1 {status}\r\ncontent-type: application/json\r\ncontent-length: {len(body)}\r\nconnection: close"
    return head.encode() + b"\r\n\r\n" + body
