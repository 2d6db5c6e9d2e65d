"""HTTP/1.1 on sockets of our own: a transport of httpx that does for a call of a model what it needs, and no more.

The library's own transport looks at locks, scopes and all of its connections for every call, and reads the answer in
Python: 0.85 ms of CPU a call, 0.1 ms here. Proxies are left to the library.
"""

import asyncio
import ssl
import time
from collections.abc import Coroutine, Sequence
from functools import partial
from http import HTTPStatus
from socket import SOCK_STREAM
from typing import Any, Final, cast

from httptools import HttpParserError, HttpResponseParser

_KEPT_SECONDS: Final = 5.0
"""How long an idle connection is believed to be open still, as in the library."""
_NEXT_ADDRESS_SECONDS: Final = 0.25
"""After so long without an answer the next address of the host is tried as well (RFC 8305)."""
_PORTS: Final = {"http": 80, "https": 443}

Header = tuple[bytes, bytes]
Answer = tuple[int, Sequence[Header], bytes]


class BrokenOff(Exception):
    """The connection ended, or what came is no HTTP, before the answer was complete."""


class WireTransport:
    """A transport of `http`, which is httpx or httpx2: its errors are raised, its responses returned.

    Of the time-outs of a request only that of connecting is kept; whoever calls bounds the rest.
    """

    def __init__(self, http: Any, tls: ssl.SSLContext) -> None:
        self._http = http
        self._tls = tls
        self._idle: dict[tuple[str, str, int, str], list[_Wire]] = {}

    async def __aenter__(self) -> "WireTransport":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        idle, self._idle = self._idle, {}
        for wire in (wire for of_one_place in idle.values() for wire in of_one_place):
            wire.close()

    async def handle_async_request(self, request: Any) -> Any:
        """Raises:
        http.RequestError: the endpoint could not be connected to, or broke off.
        """
        url = request.url
        place = (url.scheme, url.host, url.port or _PORTS[url.scheme], request.extensions.get("sni_hostname", url.host))
        body = b"".join([part async for part in request.stream])
        head = self._head(request)
        wire = self._kept(place) or await self._connected(place, request)
        try:
            status, headers, content = await wire.exchange(head + body)
        except (BrokenOff, OSError) as error:
            wire.close()
            raise self._http.RemoteProtocolError(str(error), request=request) from error
        except BaseException:
            wire.close()
            raise
        self._keep(place, wire)
        return self._http.Response(status, headers=headers, content=content)

    def _head(self, request: Any) -> bytes:
        lines = [b"%s %s HTTP/1.1" % (request.method.encode(), request.url.raw_path)]
        lines += [b"%s: %s" % header for header in request.headers.raw]
        if any(b"\n" in line or b"\r" in line for line in lines):
            raise self._http.LocalProtocolError("a header holds a line break", request=request)
        return b"\r\n".join((*lines, b"", b""))

    def _kept(self, place: tuple[str, str, int, str]) -> "_Wire | None":
        """The open connection that was used last."""
        idle = self._idle.get(place, [])
        while idle:
            wire = idle.pop()
            if wire.is_open and time.monotonic() - wire.used_at < _KEPT_SECONDS:
                return wire
            wire.close()
        return None

    def _keep(self, place: tuple[str, str, int, str], wire: "_Wire") -> None:
        if not wire.is_open:
            wire.close()
            return
        wire.used_at = time.monotonic()
        idle = self._idle.setdefault(place, [])
        idle.append(wire)
        # Those at the front have been idle for longest.
        while wire.used_at - idle[0].used_at >= _KEPT_SECONDS:
            idle.pop(0).close()

    async def _connected(self, place: tuple[str, str, int, str], request: Any) -> "_Wire":
        scheme, host, port, name = place
        tls, server = (self._tls, name) if scheme == "https" else (None, None)
        loop = asyncio.get_running_loop()

        def connecting(address: str) -> Coroutine[Any, Any, _Wire]:
            async def connect() -> _Wire:
                _, wire = await loop.create_connection(_Wire, address, port, ssl=tls, server_hostname=server)
                return wire

            return connect()

        try:
            async with asyncio.timeout(request.extensions.get("timeout", {}).get("connect")):
                found = await loop.getaddrinfo(host, port, type=SOCK_STREAM)
                return await first_of([connecting(one) for one in dict.fromkeys(str(each[4][0]) for each in found)])
        except TimeoutError as error:
            raise self._http.ConnectTimeout("nobody answered in time", request=request) from error
        except OSError as error:
            raise self._http.ConnectError(str(error), request=request) from error


async def first_of(attempts: Sequence[Coroutine[Any, Any, "_Wire"]]) -> "_Wire":
    """The first connection that succeeds; each attempt begins when those before have failed, or one takes long.

    Raises:
        OSError: that of the last attempt; all have failed.
    """
    waiting = list(attempts)
    begun: list[asyncio.Task[_Wire]] = []
    running: set[asyncio.Task[_Wire]] = set()
    first: _Wire | None = None
    try:
        while first is None:
            if waiting:
                begun.append(asyncio.ensure_future(waiting.pop(0)))
                running.add(begun[-1])
            patience = _NEXT_ADDRESS_SECONDS if waiting else None
            done, running = await asyncio.wait(running, timeout=patience, return_when=asyncio.FIRST_COMPLETED)
            if not waiting and not running and all(task.exception() for task in done):
                done.pop().result()
            first = next((task.result() for task in done if task.exception() is None), None)
        return first
    finally:
        for attempt in waiting:
            attempt.close()
        for task in begun:
            task.cancel()
            task.add_done_callback(partial(_close_if_not, first))


def _close_if_not(needed: "_Wire | None", attempt: "asyncio.Task[_Wire]") -> None:
    """An attempt that succeeds, too, does so for nobody."""
    if not attempt.cancelled() and attempt.exception() is None and attempt.result() is not needed:
        attempt.result().close()


class _Wire(asyncio.Protocol):
    """One connection, for one exchange at a time."""

    def __init__(self) -> None:
        self.is_open = False
        """Whether another exchange may follow, as far as is known here."""
        self.used_at = 0.0
        self._transport: asyncio.WriteTransport
        self._parser: HttpResponseParser
        self._answer: asyncio.Future[Answer] | None = None
        self._headers: list[Header] = []
        self._body: list[bytes] = []
        self._lasts_to_the_end = False

    async def exchange(self, request: bytes) -> "Answer":
        """Send the request, and return the status, the headers and the body of what is answered.

        Raises:
            BrokenOff: no answer came, or not all of it.
        """
        self._answer = asyncio.get_running_loop().create_future()
        self._parser = HttpResponseParser(self)
        self._begin()
        self._transport.write(request)
        return await self._answer

    def close(self) -> None:
        self.is_open = False
        self._transport.close()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.WriteTransport, transport)  # that of a stream can write
        self.is_open = True

    def data_received(self, data: bytes) -> None:
        if self._answer is None or self._answer.done():
            # Nothing was asked: whatever this is, it is no answer to what will be.
            self.close()
            return
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            self._break_off(f"the answer is no HTTP: {error}")

    def connection_lost(self, error: Exception | None) -> None:
        self.is_open = False
        if self._lasts_to_the_end and error is None:
            self.on_message_complete()
        self._break_off(str(error or "the connection ended before the answer was complete"))

    def on_message_begin(self) -> None:
        if self._answer is None or self._answer.done():
            # One answer too many.
            self.is_open = False

    def on_header(self, name: bytes, value: bytes) -> None:
        self._headers.append((name, value))

    def on_headers_complete(self) -> None:
        says_how_long = {b"content-length", b"transfer-encoding"} & {name.lower() for name, _ in self._headers}
        self._lasts_to_the_end = not says_how_long

    def on_body(self, part: bytes) -> None:
        self._body.append(part)

    def on_message_complete(self) -> None:
        status = self._parser.get_status_code()
        if status < HTTPStatus.OK:
            # The server only says that it has begun.
            self._begin()
            return
        self.is_open = self.is_open and self._parser.should_keep_alive()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result((status, self._headers, b"".join(self._body)))
        self._begin()

    def _begin(self) -> None:
        self._headers, self._body, self._lasts_to_the_end = [], [], False

    def _break_off(self, reason: str) -> None:
        self.is_open = False
        if self._answer is not None and not self._answer.done():
            self._answer.set_exception(BrokenOff(reason))
