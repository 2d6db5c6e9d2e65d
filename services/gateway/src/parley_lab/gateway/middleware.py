"""The outermost layer of every request: a correlation id, a limit of bytes, one line in the log, no escaping error."""

import re
from time import perf_counter
from uuid import uuid4

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from parley_lab.base.logs import correlation, new_correlation
from parley_lab.base.metrics import REQUEST_SECONDS
from parley_lab.base.settings import FileSettings
from parley_lab.base.urgency import Urgency, urgency
from parley_lab.gateway import problems
from parley_lab.gateway.bundles import most_bytes
from parley_lab.gateway.streaming import take_streams
from parley_lab.store import keys

log = structlog.get_logger(__name__)

CORRELATION_HEADER = "X-Correlation-ID"
_CORRELATION = re.compile(r"[A-Za-z0-9._-]{1,64}")
_QUIET = ("/healthz", "/readyz")


PARTICIPANT_BYTES = 256 * 1024
"""The most that a request of a participant may have: they send answers and messages, and no files."""


class AroundRequest:
    """The outermost layer of the gateway."""

    def __init__(self, app: ASGIApp, *, max_body_bytes: int, files: FileSettings) -> None:
        self._app = app
        self._files = files
        self._max_body_bytes = max_body_bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        token, was_urgent = correlation.set(correlation.get()), urgency.set(Urgency.REQUEST)
        served = keys.request.set(keys.Request(uuid4(), f"{scope['method']} {scope['path']}"))
        try:
            _take_correlation(headers)
            await self._handle(scope, headers, receive, send)
        finally:
            keys.request.reset(served)
            correlation.reset(token)
            urgency.reset(was_urgent)

    def _most(self, scope: Scope, headers: Headers) -> int:
        """How many bytes the body may have."""
        if _is_upload(scope):
            return self._files.max_file_bytes
        if _is_participants(scope):
            return min(self._max_body_bytes, PARTICIPANT_BYTES)
        return most_bytes(scope["path"], headers, self._max_body_bytes, self._files.max_files_bytes)

    async def _handle(self, scope: Scope, headers: Headers, receive: Receive, send: Send) -> None:
        started = perf_counter()
        status = 0
        streams = take_streams(scope)
        correlation_id = correlation.get()

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                REQUEST_SECONDS.labels(scope["method"], str(status)).observe(perf_counter() - started)
                answered = MutableHeaders(scope=message)
                answered[CORRELATION_HEADER] = correlation_id
                answered.setdefault("X-Content-Type-Options", "nosniff")
                answered.setdefault("Referrer-Policy", "no-referrer")
                if scope["path"].startswith("/v1/"):
                    answered.setdefault("Cache-Control", "no-store")
            await send(message)

        try:
            most = self._most(scope, headers)
            if _announces_more(headers, most):
                await problems.too_large(most)(scope, receive, send_with_headers)
            else:
                await self._app(scope, _limited(receive, most), send_with_headers)
            for send_stream in streams:
                await send_stream()
        except Exception:
            log.exception("http.failed")
            if status:
                raise
            await (await problems.failed(scope))(scope, receive, send_with_headers)
        finally:
            _log_request(scope, status, perf_counter() - started)


def _is_upload(scope: Scope) -> bool:
    path: str = scope["path"]
    return path == "/v1/files"


def _take_correlation(headers: Headers) -> None:
    given = headers.get(CORRELATION_HEADER, "")
    if _CORRELATION.fullmatch(given):
        correlation.set(given)
    else:
        new_correlation()


def is_participants(path: str) -> bool:
    """Whether participants ask for this address, and not experimenters."""
    return path == "/v1/me" or path.startswith(("/v1/me/", "/v1/join/"))


def _is_participants(scope: Scope) -> bool:
    return is_participants(scope["path"])


def _announces_more(headers: Headers, max_bytes: int) -> bool:
    length = headers.get("content-length", "")
    return length.isdecimal() and int(length) > max_bytes


def _limited(receive: Receive, max_bytes: int) -> Receive:
    """`receive`, which stops reading a body that grows too large, whatever its headers have said."""
    read = 0

    async def receive_limited() -> Message:
        nonlocal read
        message = await receive()
        read += len(message.get("body", b""))
        if read > max_bytes:
            # Of this type, because FastAPI turns any other one into "cannot be parsed".
            raise HTTPException(413, problems.too_large_text(max_bytes))
        return message

    return receive_limited


def _log_request(scope: Scope, status: int, seconds: float) -> None:
    if scope["path"] in _QUIET:
        return
    # Neither the query nor a body: both can hold texts of members.
    log.info(
        "http.request",
        method=scope["method"],
        path=scope["path"],
        status=status,
        duration_ms=round(seconds * 1000, 1),
    )
