"""One vendor's API over HTTP, by the client of the vendor's library: addresses, keys, bounds, and what errors mean.

The libraries of OpenAI and Anthropic are made by one generator, so one class serves both. Bodies are sent and returned
raw: a library's conversion to and from its types would cost more CPU than the rest of the call. One attempt per call:
the libraries' own retries are off, because every attempt is a row in the data.
"""

import asyncio
from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import cache, partial
from importlib import import_module
from typing import Any, ClassVar, Final
from urllib.parse import urlsplit

from parley_lab.agent_worker.models.completions import with_full_context
from parley_lab.agent_worker.models.endpoint_errors import (
    EndpointError,
    error_of_failure,
    redact,
    retry_after_seconds,
    status_of_error,
)
from parley_lab.agent_worker.models.guard import AddressRefused, GuardedTransport, Resolve, resolve
from parley_lab.agent_worker.models.request_body import request_body
from parley_lab.contracts.addresses import host_of
from parley_lab.contracts.endpoints import OPEN, Endpoints
from parley_lab.contracts.model_keys import ModelKeys
from parley_lab.contracts.models import (
    ADDRESS_EXPECTED,
    CUT_OFF,
    DEFAULT_TIMEOUT_SECONDS,
    LONGEST_REPLY_BYTES,
    ModelReply,
    ModelRequest,
    ModelStatus,
    is_usable_address,
)
from parley_lab.contracts.providers import PROVIDERS

_NO_REPLY: Final = "the endpoint answered with something else than a {}"
_MOVED: Final = "HTTP {}: the endpoint sends calls on to another address; name that one in base_url"
# The library's connection pool scans all of its connections for every call: 500 calls in flight cost 2.5 ms of
# CPU each in one pool, 1.3 ms in pools of 64.
_CALLS_PER_CLIENT: Final = 8
_CONNECT_TIMEOUT_SECONDS: Final = 10.0
_CONNECT_SHARE: Final = 0.5
"""The most of a call's time that connecting may take, so that a server that is away shows before the time is over."""
_KEPT_OF_CUT: Final = 20_000
_CUT: Final = "parley_cut"
"""Marks an answer whose body was cut, in the extensions of the HTTP library."""
_NO_KEY: Final = "none"
"""The library requires a text; it is not sent."""
_OF_THE_BODY: Final = ("content-encoding", "content-length", "transfer-encoding")
_PLAIN_HEADERS: Final = frozenset(
    {"host", "connection", "accept", "accept-encoding", "content-type", "content-length", "user-agent"}
)


@dataclass(frozen=True, slots=True)
class Wire:
    """A vendor's API, and its library.

    `load` imports the library, at the first call; `client` and `error` are names of its classes.
    `root`: what an address ends with before `path`. `reply`: what an answer is called. `read` reads one.
    """

    vendor: str
    load: Callable[[], Any]
    client: str
    error: str
    path: str
    reply: str
    read: Callable[[bytes, ModelRequest], ModelReply | EndpointError | None]
    root: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)


class EndpointModel:
    """Calls models by the API of `wire`, at the request's base_url, else `base_url`, else the vendor's usual one.

    It sends the key that `keys` have for the vendor at that address, or none. An address that `endpoints` do not allow
    is not called; `resolver` finds the addresses of a host. Calls of the vendor's own addresses bring `query`, and the
    key in `key_header` (None: as a bearer token). It reads at most `longest_reply_bytes` of an answer.
    """

    wire: ClassVar[Wire]

    def __init__(
        self,
        keys: ModelKeys,
        *,
        vendor: str | None = None,
        base_url: str | None = None,
        endpoints: Endpoints = OPEN,
        resolver: Resolve = resolve,
        key_header: str | None = None,
        query: Mapping[str, str] | None = None,
        longest_reply_bytes: int = LONGEST_REPLY_BYTES,
    ) -> None:
        vendor = vendor or self.wire.vendor
        self._keys = keys
        self._key_header = key_header
        self._query = query
        self._longest_reply_bytes = longest_reply_bytes
        self._vendor = vendor
        usual = PROVIDERS[vendor].base_url if vendor in PROVIDERS else None
        self._base_url = base_url or usual
        self._usual_host = urlsplit(usual or "").hostname
        self._endpoints = endpoints
        self._resolver = resolver
        self._clients: dict[str, list[_Client]] = {}
        self._refusals: dict[str, ModelReply | None] = {}
        self._library: Any = None
        self._http: Any = None

    def get_ready(self) -> None:
        """Import the library and make the first client, which takes long: a reply would wait for it later."""
        self._import()
        if self._base_url is not None:
            self._free_client(self._base_url)

    def _import(self) -> None:
        library = self.wire.load()
        self._http = _http_of(library)
        self._library = library

    async def reply(self, request: ModelRequest) -> ModelReply:
        base_url = request.settings.base_url or self._base_url
        if base_url is None:
            return _refused_address(f"{self._vendor} has no usual one; name it in base_url")
        if base_url not in self._refusals:
            self._refusals[base_url] = self._refusal(base_url)
        refusal = self._refusals[base_url]
        if refusal is not None:
            return refusal
        if self._library is None:
            await asyncio.to_thread(self._import)
        try:
            reply = await self._ask(base_url, request)
        except AddressRefused as error:
            return _refused_address(str(error))
        has_list_price = reply.has_list_price and urlsplit(base_url).hostname == self._usual_host
        return reply.model_copy(update={"endpoint": host_of(base_url), "has_list_price": has_list_price})

    def _refusal(self, base_url: str) -> ModelReply | None:
        """The reply for an address that may not be called; None where it may. The environment decides."""
        if not is_usable_address(base_url):
            return _refused_address(f"expected {ADDRESS_EXPECTED}")
        problem = self._endpoints.problem(self._vendor, base_url)
        if problem is not None:
            return _refused_address(problem)
        missing = self._keys.missing(self._vendor, base_url)
        if missing is not None:
            return ModelReply(status="auth_error", error=f"{missing} is not set, which holds the key of {base_url}")
        return None

    async def _ask(self, base_url: str, request: ModelRequest) -> ModelReply:
        """Make the call.

        Raises:
            AddressRefused: the address is not allowed; nothing was sent.
        """
        seconds = request.settings.timeout_seconds or DEFAULT_TIMEOUT_SECONDS
        try:
            async with asyncio.timeout(seconds):
                answer = await self._call(base_url, request, seconds)
        except TimeoutError:
            return _timed_out(seconds)
        except self._library.APIStatusError as error:
            return self._refused_by_status(base_url, error.response)
        except self._library.APIConnectionError as error:
            cause = error.__cause__
            if isinstance(cause, AddressRefused):
                raise cause from None
            # A request that broke off later than this may have reached the model.
            if isinstance(cause, self._http.ConnectError | self._http.ConnectTimeout):
                return self._failure("unreachable", f"no connection to {_host(base_url)}: {cause}".rstrip(": "))
            if isinstance(error, self._library.APITimeoutError):
                return _timed_out(seconds)
            return self._failure("unavailable", f"{error.message} {cause or ''}")
        except getattr(self._library, self.wire.error) as error:
            return self._failure("error", str(error))
        return with_full_context(self._read(base_url, answer, request), request)

    async def aclose(self) -> None:
        clients, self._clients = self._clients, {}
        for client in (client for of_one_address in clients.values() for client in of_one_address):
            await client.library.close()

    async def _call(self, base_url: str, request: ModelRequest, seconds: float) -> Any:
        client = self._free_client(base_url)
        client.calls_in_flight += 1
        try:
            body = request_body(base_url, request)
            # Only connecting has a time-out here: the caller limits the whole call, so a slow trickle of bytes cannot
            # extend it.
            connect = min(_CONNECT_TIMEOUT_SECONDS, _CONNECT_SHARE * seconds)
            options = {"timeout": self._http.Timeout(None, connect=connect)}
            return await client.library.post(self.wire.path, body=body, cast_to=self._http.Response, options=options)
        finally:
            client.calls_in_flight -= 1

    def _free_client(self, base_url: str) -> "_Client":
        """The first client with room, so that few clients are open; a new one when all are full."""
        clients = self._clients.setdefault(base_url, [])
        for client in clients:
            if client.calls_in_flight < _CALLS_PER_CLIENT:
                return client
        clients.append(_Client(self._make_client(base_url)))
        return clients[-1]

    def _make_client(self, base_url: str) -> Any:
        http, tls = self._http, _tls(self._http)
        limits = http.Limits(max_connections=2 * _CALLS_PER_CLIENT, max_keepalive_connections=_CALLS_PER_CLIENT)
        # A redirect would take the key and the call to an address that was not checked.
        options = {"limits": limits, "follow_redirects": False, "verify": tls}
        if not self._endpoints.is_open:
            # A proxy of the environment would connect in our place, to addresses that were not checked.
            options |= {"transport": self._guard(base_url, limits), "trust_env": False}
        key = self._keys.key(self._vendor, base_url)
        is_own = self._keys.is_own(self._vendor, base_url)
        if not is_own or self._key_header is not None:
            # The library would add further headers from the environment.
            header = self._key_header if is_own else None
            kept = _PLAIN_HEADERS | self.wire.headers.keys()
            options["event_hooks"] = {"request": [partial(_keep_to_ourselves, key, header, kept)]}
        return getattr(self._library, self.wire.client)(
            api_key=key or _NO_KEY,
            base_url=base_url if base_url.endswith(self.wire.root) else f"{base_url.rstrip('/')}{self.wire.root}",
            max_retries=0,
            default_headers=self.wire.headers or None,
            default_query=self._query if is_own else None,
            http_client=_bounded_client(http)(self._longest_reply_bytes, **options),
        )

    def _guard(self, base_url: str, limits: Any) -> GuardedTransport:
        return GuardedTransport(
            self._http.AsyncHTTPTransport(limits=limits, verify=_tls(self._http)),
            endpoints=self._endpoints,
            vendor=self._vendor,
            base_url=base_url,
            unreachable=(self._http.ConnectError, self._http.ConnectTimeout),
            resolver=self._resolver,
        )

    def _read(self, base_url: str, answer: Any, request: ModelRequest) -> ModelReply:
        if _CUT in answer.extensions:
            return self._cut(answer)
        found = self.wire.read(answer.content, request)
        if isinstance(found, ModelReply):
            return found
        # The server may return what it was sent, the key included.
        preview = redact(answer.content.decode(errors="replace"), self._keys)
        if found is not None:
            failed = self._refused(base_url, found, f"error {found.http_status or 'in a reply'}", answer)
            return failed.model_copy(update={"raw": preview})
        told = error_of_failure(answer.content)
        failed = self._refused(base_url, told, _NO_REPLY.format(self.wire.reply), answer)
        return failed.model_copy(update={"raw": preview})

    def _cut(self, answer: Any) -> ModelReply:
        """The reply for an answer that was too long to be read to its end."""
        most = self._longest_reply_bytes
        return ModelReply(
            status="invalid",
            raw=self._keys.redacted(answer.content[:_KEPT_OF_CUT].decode(errors="replace")),
            finish_reason=CUT_OFF,
            error=f"the answer was cut while it was read, after {most:,} bytes: say it in fewer words",
            details={"cut_after_bytes": most},
        )

    def _failure(self, status: ModelStatus, message: str) -> ModelReply:
        return ModelReply(status=status, error=redact(message, self._keys))

    def _refused_by_status(self, base_url: str, answer: Any) -> ModelReply:
        if 300 <= answer.status_code < 400:
            return self._failure("bad_request", _MOVED.format(answer.status_code))
        told = error_of_failure(answer.content)
        return self._refused(base_url, told, f"HTTP {answer.status_code}", answer)

    def _refused(self, base_url: str, told: EndpointError, what: str, answer: Any) -> ModelReply:
        """The reply for an error of the endpoint; `what` is said before its words."""
        status = status_of_error(told, answer.status_code if answer.is_error else None)
        reply = self._failure(status, f"{what}: {told.words}" if told.words else what)
        reply = reply.model_copy(update={"http_status": answer.status_code if answer.is_error else told.http_status})
        if status == "auth_error" and self._keys.key(self._vendor, base_url) is None:
            how = self._keys.how_to_give_one(self._vendor, base_url)
            return reply.model_copy(update={"error": f"{reply.error} (The call brought no key: {how})"})
        if status not in ("rate_limited", "unavailable"):
            return reply
        wait = retry_after_seconds(answer.headers, datetime.now(UTC), answer.content)
        return reply.model_copy(update={"retry_after_seconds": wait})


@cache
def _http_of(library: Any) -> Any:
    """The HTTP library that this version of a vendor's library is built on: httpx or httpx2."""
    return import_module(type(library.DEFAULT_CONNECTION_LIMITS).__module__.partition(".")[0])


@cache
def _bounded_client(http: Any) -> Any:
    """The client of this HTTP library that reads at most so many bytes of an answer's body, unpacked, and marks the
    answer when there were more."""
    base: Any = http.AsyncClient

    class BoundedClient(base):  # type: ignore[misc]  # known at run time alone
        def __init__(self, longest_bytes: int, **options: Any) -> None:
            super().__init__(**options)
            self._longest_bytes = longest_bytes

        async def send(self, request: Any, **options: Any) -> Any:
            answer = await super().send(request, **{**options, "stream": True})
            content, is_cut = bytearray(), False
            try:
                async for piece in answer.aiter_bytes():
                    content += piece
                    if is_cut := len(content) > self._longest_bytes:
                        break
            finally:
                await answer.aclose()
            # The content is unpacked already.
            headers = [(name, value) for name, value in answer.headers.multi_items() if name not in _OF_THE_BODY]
            return http.Response(
                answer.status_code,
                headers=headers,
                content=bytes(content[: self._longest_bytes]),
                request=request,
                extensions={**answer.extensions, _CUT: True} if is_cut else answer.extensions,
            )

    return BoundedClient


@dataclass
class _Client:
    library: Any
    calls_in_flight: int = 0


@cache
def _tls(http: Any) -> Any:
    """One context for all clients of the process, because reading the certificates takes 30 ms."""
    return http.create_ssl_context()


async def _keep_to_ourselves(key: str | None, header: str | None, kept: Set[str], request: Any) -> None:
    """Remove all headers but those that any server needs, and the key of this address."""
    for name in [name for name in request.headers if name.lower() not in kept]:
        del request.headers[name]
    if key is not None:
        request.headers[header or "Authorization"] = key if header is not None else f"Bearer {key}"


def _timed_out(seconds: float) -> ModelReply:
    return ModelReply(status="timeout", error=f"no reply within {seconds:g} s")


def _refused_address(problem: str) -> ModelReply:
    return ModelReply(status="bad_request", error=f"the address of the model is refused: {problem}")


def _host(base_url: str) -> str:
    """Host and port alone: the rest of an address may hold secrets."""
    parts = urlsplit(base_url)
    return f"{parts.hostname}:{parts.port}" if parts.port else str(parts.hostname)
