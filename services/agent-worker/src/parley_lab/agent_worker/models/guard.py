"""Connects only to addresses that the lab allows: a host is resolved once, and the checked address is the one
called."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from parley_lab.contracts.addresses import literal_address
from parley_lab.contracts.endpoints import Endpoints

Resolve = Callable[[str, int], Awaitable[Sequence[str]]]
"""The addresses of a host."""


class AddressRefused(Exception):
    """The host resolves to an address that the lab does not allow."""


async def resolve(host: str, port: int) -> Sequence[str]:
    """Ask the operating system; any notation of an address is brought to its usual form."""
    found = await asyncio.get_running_loop().getaddrinfo(host, port, type=socket.SOCK_STREAM)
    return list(dict.fromkeys(str(address[0]) for *_, address in found))


async def allowed_addresses(
    endpoints: Endpoints, vendor: str, base_url: str, host: str, port: int, resolver: Resolve = resolve
) -> Sequence[str]:
    """The addresses of `host`.

    Raises:
        AddressRefused: one of them is not allowed; then the host's other addresses are not trusted either.
        OSError: the host has no address.
    """
    addresses = [address.partition("%")[0] for address in await resolver(host, port)]
    if not all(endpoints.permits(vendor, base_url, address) for address in addresses):
        raise AddressRefused("its host leads to an internal address, which this lab does not allow")
    return addresses


class GuardedTransport:
    """Wraps a transport of httpx, for the calls that go to `base_url`.

    `unreachable`: the transport's errors of a failed connection; a host without an address raises the first of them.
    """

    def __init__(
        self,
        inner: Any,
        *,
        endpoints: Endpoints,
        vendor: str,
        base_url: str,
        unreachable: tuple[type[Exception], ...],
        resolver: Resolve = resolve,
    ) -> None:
        self._inner = inner
        self._endpoints = endpoints
        self._vendor = vendor
        self._base_url = base_url
        self._unreachable = unreachable
        self._no_connection = unreachable[0]
        self._resolver = resolver

    async def __aenter__(self) -> "GuardedTransport":
        await self._inner.__aenter__()
        return self

    async def __aexit__(self, *error: Any) -> None:
        await self._inner.__aexit__(*error)

    async def aclose(self) -> None:
        await self._inner.aclose()

    async def handle_async_request(self, request: Any) -> Any:
        host, port = request.url.host, request.url.port or (443 if request.url.scheme == "https" else 80)
        try:
            addresses = await allowed_addresses(
                self._endpoints, self._vendor, self._base_url, host, port, resolver=self._resolver
            )
        except OSError as error:
            # As the transport itself says it: vendors' libraries differ in what they make of other errors.
            raise self._no_connection(str(error)) from error
        for address in addresses[:-1]:
            try:
                return await self._inner.handle_async_request(_at(request, address))
            except self._unreachable:
                continue
        return await self._inner.handle_async_request(_at(request, addresses[-1]))


def _at(request: Any, address: str) -> Any:
    """The same request to this address; the certificate must still be that of the host."""
    extensions = dict(request.extensions)
    if literal_address(request.url.host) is None:
        extensions["sni_hostname"] = request.url.host
    return type(request)(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions=extensions,
    )
