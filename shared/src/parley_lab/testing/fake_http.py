"""A minimum of HTTP/1.1 for a fake endpoint, so that benchmarks measure their client, not the server."""

import asyncio
from collections.abc import Awaitable, Mapping
from typing import Any, Final, Protocol, cast

import orjson

_REASONS: Final = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    403: "Forbidden",
    404: "Not Found",
    413: "Content Too Large",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class Responder(Protocol):
    """Answers the requests, and is told of each connection."""

    def respond(self, method: str, path: str, headers: Mapping[str, str], body: bytes) -> bytes | Awaitable[bytes]: ...

    def connected(self, connection: "Connection") -> None: ...

    def disconnected(self, connection: "Connection") -> None: ...


class Connection(asyncio.Protocol):
    """One keep-alive connection; requests on it are answered one after another."""

    def __init__(self, endpoint: Responder) -> None:
        self._endpoint = endpoint
        self._buffer = bytearray()
        self._transport: asyncio.Transport | None = None
        self._answering: asyncio.Task[None] | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # A stream's transport can be written to; uvloop's is one, but not of asyncio's class.
        self._transport = cast(asyncio.Transport, transport)
        self._endpoint.connected(self)

    def connection_lost(self, _error: Exception | None) -> None:
        self._transport = None
        self._endpoint.disconnected(self)
        if self._answering is not None:
            self._answering.cancel()

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        self._answer_what_is_complete()

    def _answer_what_is_complete(self) -> None:
        while self._answering is None and self._transport is not None:
            request = self._take_request()
            if request is None:
                return
            answer = self._endpoint.respond(*request)
            if isinstance(answer, bytes):
                self._send(answer)
            else:
                self._answering = asyncio.ensure_future(self._send_later(answer))

    def _take_request(self) -> tuple[str, str, dict[str, str], bytes] | None:
        end = self._buffer.find(b"\r\n\r\n")
        if end < 0:
            return None
        first, *lines = self._buffer[:end].decode("latin-1").split("\r\n")
        headers = {}
        for line in lines:
            name, _, value = line.partition(":")
            headers[name.lower()] = value.strip()
        length = int(headers.get("content-length", 0))
        start = end + 4
        if len(self._buffer) < start + length:
            return None
        body = bytes(self._buffer[start : start + length])
        del self._buffer[: start + length]
        method, _, rest = first.partition(" ")
        return method, rest.partition(" ")[0], headers, body

    async def _send_later(self, answer: Awaitable[bytes]) -> None:
        content = b""  # a script that raises drops the connection, so that its caller does not wait for ever
        try:
            content = await answer
        finally:
            self._answering = None
            self._send(content)
        self._answer_what_is_complete()

    def _send(self, answer: bytes) -> None:
        if self._transport is None:
            return
        if answer:
            self._transport.write(answer)
        else:
            self._transport.abort()


def answer(status: int, body: bytes | str | Mapping[str, Any], headers: Mapping[str, str] | None = None) -> bytes:
    if isinstance(body, str):
        content = body.encode()
    elif isinstance(body, bytes):
        content = body
    else:
        content = orjson.dumps(body)
    lines = [f"HTTP/1.1 {status} {_REASONS.get(status, 'Status')}"]
    lines += [f"{name}: {value}" for name, value in {"content-type": "application/json", **(headers or {})}.items()]
    lines += [f"content-length: {len(content)}", "", ""]
    return "\r\n".join(lines).encode("latin-1") + content


def failure(status: int, message: str, code: str, headers: Mapping[str, str] | None = None) -> bytes:
    return answer(status, {"error": {"message": message, "type": code, "code": code, "param": None}}, headers)
