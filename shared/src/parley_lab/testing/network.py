"""Ports of this machine, and a guard on sockets: a test may reach this machine and the servers given to it only.

The guard sees Python's sockets, which every HTTP and AMQP client uses. libpq has its own and talks to PostgreSQL only.
"""

import ipaddress
import socket
import ssl
from collections.abc import Iterator
from random import SystemRandom
from typing import Any, Final
from urllib.parse import urlsplit

WITHOUT_TLS: Final = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
"""For HTTP clients of servers on this machine: each would load the certificates of the world otherwise, for 40 ms.

It trusts no certificate.
"""


_FOR_SERVERS: Final = range(20_000, 32_000)
"""Below the ports that Linux and others give to clients: a connection cannot have taken one of these meanwhile."""
_ports: Iterator[int] = iter(SystemRandom().sample(_FOR_SERVERS, len(_FOR_SERVERS)))


def free_port() -> int:
    """A port of 127.0.0.1 for a server that a test starts later; never the same one twice."""
    for port in _ports:
        with socket.socket() as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                continue
            return port
    raise RuntimeError(f"no port of {_FOR_SERVERS} is free")


class NetworkForbidden(Exception):
    """A test tried to reach another machine: a real model call, a download."""


class NetworkGuard:
    """Forbids connections to and name look-ups of other machines from `install` to `remove`, and records attempts."""

    def __init__(self) -> None:
        self.attempts: list[str] = []
        self._allowed = {"localhost", socket.gethostname()}
        self._connect = socket.socket.connect
        self._connect_ex = socket.socket.connect_ex
        self._getaddrinfo = socket.getaddrinfo

    def allow(self, url: str) -> None:
        """Let tests reach the host of this URL."""
        host = urlsplit(url).hostname
        if host is None or _is_this_machine(host):
            return
        self._allowed.add(host)
        self._allowed.update(str(found[4][0]) for found in self._getaddrinfo(host, None))

    def install(self) -> None:
        guard = self

        def connect(self: socket.socket, address: Any) -> None:
            guard._check(self.family, address)
            guard._connect(self, address)

        def connect_ex(self: socket.socket, address: Any) -> int:
            guard._check(self.family, address)
            return guard._connect_ex(self, address)

        def getaddrinfo(host: Any, *args: Any, **options: Any) -> Any:
            guard._check_host(host)
            return guard._getaddrinfo(host, *args, **options)

        socket.socket.connect = connect  # type: ignore[method-assign, assignment]
        socket.socket.connect_ex = connect_ex  # type: ignore[method-assign, assignment]
        socket.getaddrinfo = getaddrinfo

    def remove(self) -> None:
        socket.socket.connect = self._connect  # type: ignore[method-assign]
        socket.socket.connect_ex = self._connect_ex  # type: ignore[method-assign]
        socket.getaddrinfo = self._getaddrinfo

    def _check(self, family: int, address: Any) -> None:
        if family in (socket.AF_INET, socket.AF_INET6):
            self._check_host(address[0])

    def _check_host(self, host: Any) -> None:
        name = host.decode() if isinstance(host, bytes) else host
        if not name or name in self._allowed or _is_this_machine(name):
            return
        self.attempts.append(name)
        raise NetworkForbidden(f"a test may not reach {name}")


def _is_this_machine(host: str) -> bool:
    try:
        address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return host == "localhost" or host.endswith(".localhost")
    return address.is_loopback or address.is_unspecified
