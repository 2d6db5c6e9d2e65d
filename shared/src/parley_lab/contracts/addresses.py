"""Addresses in files and in the environment, parsed so strictly that no two parsers can disagree.

Pure: no host name is resolved here.
"""

import ipaddress
import re
import socket
from dataclasses import dataclass
from ipaddress import IPv4Address, IPv6Address
from typing import Final
from urllib.parse import SplitResult, urlsplit

Address = IPv4Address | IPv6Address

_PORTS: Final = {"http": 80, "https": 443}
# ASCII only and no escapes, so that no two parsers can read different hosts in one text.
_HOST: Final = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|[0-9a-f:.]*:[0-9a-f:.]*")
_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")
_NUMERIC_HOST: Final = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*\.?")
_LOCAL_NAMES: Final = (".localhost", ".local", ".internal", ".lan", ".home.arpa", ".svc", ".cluster.local")
# At this public address Azure serves its own machines.
_METADATA: Final = frozenset({ipaddress.ip_address("168.63.129.16")})
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")


@dataclass(frozen=True, slots=True)
class Place:
    """Where an address leads; `host` may begin with `*.` in settings of the operator."""

    scheme: str
    host: str
    port: int
    path: str

    def holds(self, other: "Place") -> bool:
        """Whether the other address is this one or below it."""
        suffix = self.host.removeprefix("*")
        is_host = other.host == self.host or (suffix != self.host and other.host.endswith(suffix))
        is_path = other.path == self.path or other.path.startswith(f"{self.path}/")
        return is_host and is_path and (self.scheme, self.port) == (other.scheme, other.port)

    def __str__(self) -> str:
        port = "" if self.port == _PORTS[self.scheme] else f":{self.port}"
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}{port}{self.path}"


def host_of(url: str) -> str:
    """`scheme://host:port` of an address for the data, without its path, which may hold a key."""
    try:
        parts = urlsplit(url)
        place = Place(parts.scheme, parts.hostname or "", parts.port or _PORTS.get(parts.scheme, 0), "")
    except ValueError:
        return ""
    return str(place) if place.scheme in _PORTS and place.host else ""


def is_local(host: str) -> bool:
    """Whether a host from `host_of` is this machine or in its network, judged by its name."""
    name = urlsplit(host).hostname or ""
    address = literal_address(name)
    if address is not None:
        return is_internal(address)
    return bool(name) and ("." not in name or name.endswith(_LOCAL_NAMES))


def is_internal(address: Address) -> bool:
    """Whether this is no address of the public internet: this machine, a private or link-local network, a metadata
    service, or an IPv6 form of one of them."""
    plain = unwrapped(address)
    return not plain.is_global or plain.is_multicast or plain in _METADATA


def literal_address(host: str) -> Address | None:
    """The address that `host` itself spells, in any notation of resolvers (`127.1`, `0x7f000001`, `::1`)."""
    try:
        return ipaddress.ip_address(host)
    except ValueError:
        pass
    if not _NUMERIC_HOST.fullmatch(host):
        return None
    try:
        return ipaddress.IPv4Address(socket.inet_aton(host.rstrip(".")))
    except OSError:
        return None


def unwrapped(address: Address) -> Address:
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None) or address


def read_place(url: str, *, may_be_wild: bool = False) -> Place:
    """Parse an address.

    Raises:
        ValueError: with the fault, but never the address, which may hold a password.
    """
    parts = _split(url)
    host = (parts.hostname or "").rstrip(".")
    bare = host.removeprefix("*.") if may_be_wild else host
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise ValueError("it names a user or a password")
    if parts.scheme not in _PORTS or not _HOST.fullmatch(bare):
        raise ValueError("it is not http:// or https:// with a host of ASCII characters")
    if parts.query or parts.fragment or not _PATH.fullmatch(parts.path) or {".", ".."} & set(parts.path.split("/")):
        raise ValueError("its path is not plain, or it has a query")
    port = parts.port or _PORTS[parts.scheme]
    literal = literal_address(bare)
    return Place(parts.scheme, host if literal is None else str(literal), port, parts.path.rstrip("/"))


def _split(url: str) -> SplitResult:
    if not url.isascii() or re.search(r"[\s\\%\x00-\x1f\x7f]", url):
        raise ValueError("it holds characters that have no place in an address")
    try:
        parts = urlsplit(url)
        # urlsplit reads both only on access, and may then raise.
        _ = parts.port, parts.hostname
    except ValueError:
        raise ValueError("its host or port cannot be read") from None
    return parts
