"""Which addresses models may be called at. In a distributed lab experiments name no address that its operator did not.

Pure: names are resolved by whoever connects, who asks `permits` about the very address that is connected to.
"""

import ipaddress
import re
import socket
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from ipaddress import IPv4Address, IPv6Address
from typing import Final
from urllib.parse import SplitResult, urlsplit

from shared.contracts.providers import CREWAI_BASE_URL_VARIABLES
from shared.errors import SettingsInvalid

ALLOWED_VARIABLE: Final = "PARLEY_ALLOWED_BASE_URLS"
OLLAMA_BASE_URL: Final = "http://localhost:11434"

Address = IPv4Address | IPv6Address

_DEFAULTS: Final[Mapping[str, str]] = {
    "openai": "https://api.openai.com",
    "anthropic": "https://api.anthropic.com",
    "gemini": "https://generativelanguage.googleapis.com",
    "openrouter": "https://openrouter.ai",
    "deepseek": "https://api.deepseek.com",
}
_PORTS: Final = {"http": 80, "https": 443}
# ASCII only and no escapes, so that no two parsers can read two hosts in one text.
_HOST: Final = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*\.?|[0-9a-f:.]*:[0-9a-f:.]*")
_PATH: Final = re.compile(r"(/[A-Za-z0-9._~-]+)*/?")
_NUMERIC_HOST: Final = re.compile(r"(0x[0-9a-f]*|[0-9]+)(\.(0x[0-9a-f]*|[0-9]+))*\.?")
# A public address at which one cloud answers its own machines.
_METADATA: Final = frozenset({ipaddress.ip_address("168.63.129.16")})
_NAT64: Final = ipaddress.IPv6Network("64:ff9b::/96")
_COMPATIBLE: Final = ipaddress.IPv6Network("::/96")


@dataclass(frozen=True, slots=True)
class _Place:
    """Where an address leads; `host` may begin with `*.` where the operator says so."""

    scheme: str
    host: str
    port: int
    path: str

    def holds(self, other: "_Place") -> bool:
        suffix = self.host.removeprefix("*")
        is_host = other.host == self.host or (suffix != self.host and other.host.endswith(suffix))
        is_path = other.path == self.path or other.path.startswith(f"{self.path}/")
        return is_host and is_path and (self.scheme, self.port) == (other.scheme, other.port)


@dataclass(frozen=True)
class Endpoints:
    """What a lab allows. `own` are the endpoints that the operator gave each vendor in the environment."""

    is_open: bool = False
    allowed: Sequence[_Place] = ()
    networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network] = ()
    own: Mapping[str, Sequence[_Place]] = field(default_factory=dict)

    def problem(self, vendor: str, base_url: str | None) -> str | None:
        """Why models of this vendor may not be called at `base_url` (None: at their usual place); None if they may."""
        if self.is_open:
            return None
        url = base_url or self._usual(vendor)
        if url is None:
            return None
        try:
            place = _read(url)
        except ValueError as error:
            return f"it cannot be used as an address: {error}"
        if self._names(vendor, place) or self._is_in_a_network(place.host):
            return None
        shown = f"{place.scheme}://{_bracketed(place.host)}:{place.port}{place.path}"
        return f"{shown} is not among the addresses that this lab allows (its operator's {ALLOWED_VARIABLE})"

    def permits(self, vendor: str, base_url: str, address: str) -> bool:
        """Whether a call that is meant for `base_url` may connect to `address`, which its host resolved to."""
        if self.is_open:
            return True
        place, found = _read(base_url), ipaddress.ip_address(address)
        if not is_internal(found):
            return True
        is_own = any(one.holds(place) for one in self.own.get(vendor, ()))
        is_named = literal_address(place.host) is not None and self._names(vendor, place)
        return is_own or is_named or any(_unwrapped(found) in network for network in self.networks)

    def _usual(self, vendor: str) -> str | None:
        """Where a vendor's library goes by itself, when that is a place that has to be asked about."""
        return OLLAMA_BASE_URL if vendor == "ollama" and not self.own.get(vendor) else None

    def _names(self, vendor: str, place: _Place) -> bool:
        default = _DEFAULTS.get(vendor)
        defaults = [_read(default)] if default else []
        return any(one.holds(place) for one in (*self.allowed, *self.own.get(vendor, ()), *defaults))

    def _is_in_a_network(self, host: str) -> bool:
        address = literal_address(host)
        return address is not None and any(_unwrapped(address) in network for network in self.networks)


OPEN: Final = Endpoints(is_open=True)


def read_endpoints(environ: Mapping[str, str], *, is_open: bool) -> Endpoints:
    """What the environment allows; `is_open`: everything, unless it says something.

    Raises:
        SettingsInvalid: naming every entry that cannot be read, by its position.
    """
    written = environ.get(ALLOWED_VARIABLE, "").replace(",", " ").split()
    if "*" in written or (is_open and not written):
        return OPEN
    places: list[_Place] = []
    networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
    wrong: list[str] = []
    for number, entry in enumerate(written, start=1):
        try:
            if "://" in entry:
                places.append(_read(entry, may_be_wild=True))
            else:
                networks.append(ipaddress.ip_network(entry))
        except ValueError:
            expected = "an address (https://host:port/path), a network (10.0.0.0/8) or *"
            wrong.append(f"  {ALLOWED_VARIABLE}: entry {number} is not {expected}")
    if wrong:
        raise SettingsInvalid("These settings are missing or wrong:\n" + "\n".join(wrong))
    return Endpoints(allowed=tuple(places), networks=tuple(networks), own=dict(_own(environ)))


def _own(environ: Mapping[str, str]) -> Iterator[tuple[str, Sequence[_Place]]]:
    for vendor, names in CREWAI_BASE_URL_VARIABLES.items():
        places = []
        for name in names:
            url = environ.get(name, "").strip()
            if url:
                try:
                    places.append(_read(url if "://" in url else f"http://{url}"))
                except ValueError as error:
                    raise SettingsInvalid(f"These settings are missing or wrong:\n  {name}: {error}") from None
        if places:
            yield vendor, tuple(places)


def is_internal(address: Address) -> bool:
    """Whether this is no address of the public internet: this machine, a private or link-local network, a metadata
    service, or an IPv6 form of one of them."""
    plain = _unwrapped(address)
    return not plain.is_global or plain.is_multicast or plain in _METADATA


def literal_address(host: str) -> Address | None:
    """The address that `host` is in itself, in any notation that a resolver takes (`127.1`, `0x7f000001`, `::1`)."""
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


def _unwrapped(address: Address) -> Address:
    if isinstance(address, IPv4Address):
        return address
    if address in _NAT64 or (address in _COMPATIBLE and int(address) > 1):
        return IPv4Address(int(address) & 0xFFFFFFFF)
    teredo = address.teredo
    return address.ipv4_mapped or address.sixtofour or (teredo[1] if teredo else None) or address


def _read(url: str, *, may_be_wild: bool = False) -> _Place:
    """Raises:
    ValueError: saying what is wrong, and never the address, which may hold a password.
    """
    parts = _split(url)
    host = (parts.hostname or "").rstrip(".")
    bare = host.removeprefix("*.") if may_be_wild else host
    if parts.username is not None or parts.password is not None or "@" in parts.netloc:
        raise ValueError("it names a user or a password")
    if parts.scheme not in _PORTS or not _HOST.fullmatch(bare):
        raise ValueError("expected is http:// or https:// and a host of ASCII characters")
    if parts.query or parts.fragment or not _PATH.fullmatch(parts.path) or {".", ".."} & set(parts.path.split("/")):
        raise ValueError("expected is a plain path, without a query")
    port = parts.port or _PORTS[parts.scheme]
    literal = literal_address(bare)
    return _Place(parts.scheme, host if literal is None else str(literal), port, parts.path.rstrip("/"))


def _split(url: str) -> SplitResult:
    if not url.isascii() or re.search(r"[\s\\%\x00-\x1f\x7f]", url):
        raise ValueError("it holds characters that have no place in an address")
    try:
        parts = urlsplit(url)
        # Both are read only now, and may be wrong.
        _ = parts.port, parts.hostname
    except ValueError:
        raise ValueError("its host or port cannot be read") from None
    return parts


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
