"""The addresses at which models may be called. In a distributed lab only the operator can add addresses.

Pure: the code that connects resolves names, and asks `permits` about the very address that it connects to.
"""

import ipaddress
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from parley_lab.base.errors import SettingsInvalid
from parley_lab.contracts.addresses import Place, is_internal, literal_address, read_place, unwrapped
from parley_lab.contracts.models import ADDRESS_EXPECTED, is_usable_address
from parley_lab.contracts.named_providers import PROVIDERS_VARIABLE, named_providers
from parley_lab.contracts.providers import CREWAI_BASE_URL_VARIABLES, HUGGING_FACE_PROVIDER

ALLOWED_VARIABLE: Final = "PARLEY_ALLOWED_BASE_URLS"
ENDPOINT_KEYS_VARIABLE: Final = "PARLEY_ENDPOINT_KEYS"
OLLAMA_BASE_URL: Final = "http://localhost:11434"

# The hosts of a vendor; hosts that serve strangers' code (`*.hf.space`) belong to no vendor.
USUAL: Final[Mapping[str, tuple[str, ...]]] = {
    "openai": ("https://api.openai.com",),
    "anthropic": ("https://api.anthropic.com",),
    "gemini": ("https://generativelanguage.googleapis.com",),
    "openrouter": ("https://openrouter.ai",),
    "deepseek": ("https://api.deepseek.com",),
    HUGGING_FACE_PROVIDER: (
        "https://huggingface.co",
        "https://*.huggingface.co",
        "https://*.endpoints.huggingface.cloud",
    ),
}
_VARIABLE_NAME: Final = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")


@dataclass(frozen=True)
class Endpoints:
    """What a lab allows. `own`: the endpoints that the environment gives each vendor; `keyed`: the addresses to which
    it gives a key, for every vendor."""

    is_open: bool = False
    allowed: Sequence[Place] = ()
    networks: Sequence[ipaddress.IPv4Network | ipaddress.IPv6Network] = ()
    own: Mapping[str, Sequence[Place]] = field(default_factory=dict)
    keyed: Sequence[Place] = ()

    @property
    def allows_more_than_usual(self) -> bool:
        """Whether files may name addresses that are not their vendor's."""
        return self.is_open or bool(self.allowed or self.networks or self.keyed)

    def problem(self, vendor: str, base_url: str | None) -> str | None:
        """Why models of this vendor may not be called at `base_url` (None: the usual address); None if they may."""
        if self.is_open:
            return None
        url = base_url or self._usual(vendor)
        if url is None:
            return None
        try:
            place = read_place(url)
        except ValueError as error:
            return f"it cannot be used as an address: {error}"
        if self._names(vendor, place) or self._is_in_a_network(place.host):
            return None
        return f"{place} is not among the addresses that this lab allows (its operator's {ALLOWED_VARIABLE})"

    def permits(self, vendor: str, base_url: str, address: str) -> bool:
        """Whether a call to `base_url` may connect to `address`, to which its host was resolved."""
        if self.is_open:
            return True
        place, found = read_place(base_url), ipaddress.ip_address(address)
        if not is_internal(found):
            return True
        is_own = any(one.holds(place) for one in (*self.own.get(vendor, ()), *self.keyed))
        is_named = literal_address(place.host) is not None and self._names(vendor, place)
        return is_own or is_named or any(unwrapped(found) in network for network in self.networks)

    def _usual(self, vendor: str) -> str | None:
        """The address that a vendor's library calls by itself, when it needs a permission."""
        return OLLAMA_BASE_URL if vendor == "ollama" and not self.own.get(vendor) else None

    def _names(self, vendor: str, place: Place) -> bool:
        usual = [read_place(url) for url in USUAL.get(vendor, ()) if vendor != HUGGING_FACE_PROVIDER]
        return any(one.holds(place) for one in (*self.allowed, *self.keyed, *self.own.get(vendor, ()), *usual))

    def _is_in_a_network(self, host: str) -> bool:
        address = literal_address(host)
        return address is not None and any(unwrapped(address) in network for network in self.networks)


OPEN: Final = Endpoints(is_open=True)


def read_endpoints(environ: Mapping[str, str], *, is_open: bool) -> Endpoints:
    """The permissions in the environment; `is_open`: everything is allowed, unless the environment limits it.

    Raises:
        SettingsInvalid: with the position of every entry that cannot be read.
    """
    written = environ.get(ALLOWED_VARIABLE, "").replace(",", " ").split()
    if "*" in written or (is_open and not written):
        return OPEN
    places: list[Place] = []
    networks: list[ipaddress.IPv4Network | ipaddress.IPv6Network] = []
    wrong: list[str] = []
    for number, entry in enumerate(written, start=1):
        try:
            if "://" in entry:
                places.append(read_place(entry, may_be_wild=True))
            else:
                networks.append(ipaddress.ip_network(entry))
        except ValueError:
            expected = "an address (https://host:port/path), a network (10.0.0.0/8) or *"
            wrong.append(f"  {ALLOWED_VARIABLE}: entry {number} is not {expected}")
    if wrong:
        raise SettingsInvalid("These settings are missing or wrong:\n" + "\n".join(wrong))
    return Endpoints(
        allowed=tuple(places),
        networks=tuple(networks),
        own=dict(_own(environ)),
        keyed=tuple(read_endpoint_keys(environ)),
    )


def read_endpoint_keys(environ: Mapping[str, str]) -> Mapping[Place, str]:
    """The variables that hold the keys of addresses.

    Raises:
        SettingsInvalid: an entry cannot be read; the message leaves out the variable's name, which may be a key that
            was put in the wrong place.
    """
    written = environ.get(ENDPOINT_KEYS_VARIABLE, "").strip()
    if not written:
        return {}
    wrong = f"These settings are missing or wrong:\n  {ENDPOINT_KEYS_VARIABLE}: "
    try:
        entries = json.loads(written)
    except ValueError:
        entries = None
    if not isinstance(entries, dict):
        raise SettingsInvalid(f'{wrong}expected is JSON: {{"https://models.example.org/v1": "NAME_OF_A_VARIABLE"}}')
    found: dict[Place, str] = {}
    for number, (url, name) in enumerate(entries.items(), start=1):
        try:
            place = read_place(url, may_be_wild=True)
        except ValueError as error:
            raise SettingsInvalid(f"{wrong}the address of entry {number}: {error}") from None
        if not isinstance(name, str) or not _VARIABLE_NAME.fullmatch(name):
            raise SettingsInvalid(f"{wrong}entry {number} wants the name of the variable that holds the key")
        found[place] = name
    return found


def own_addresses(environ: Mapping[str, str]) -> Mapping[str, Mapping[str, str]]:
    """The addresses that the environment gives vendors, with a scheme, by vendor and variable.

    Raises:
        SettingsInvalid: PARLEY_PROVIDERS cannot be read.
    """
    found = {
        vendor: {name: environ.get(name, "").strip() for name in names}
        for vendor, names in CREWAI_BASE_URL_VARIABLES.items()
    }
    named = {one.name: {PROVIDERS_VARIABLE: one.base_url or ""} for one in named_providers(environ)}
    return {
        vendor: {name: url if "://" in url else f"http://{url}" for name, url in written.items() if url}
        for vendor, written in {**found, **named}.items()
        if any(written.values())
    }


def unusable_address(environ: Mapping[str, str], vendor: str) -> str | None:
    """The variable that gives the vendor an address at which nothing can be called, and why; never the address."""
    addresses = own_addresses(environ).get(vendor, {})
    name = next((name for name, url in addresses.items() if not is_usable_address(url)), None)
    return None if name is None else f"{name} holds an address that cannot be used; expected {ADDRESS_EXPECTED}"


def _own(environ: Mapping[str, str]) -> Iterator[tuple[str, Sequence[Place]]]:
    for vendor, addresses in own_addresses(environ).items():
        places = []
        for name, url in addresses.items():
            try:
                places.append(read_place(url))
            except ValueError as error:
                raise SettingsInvalid(f"These settings are missing or wrong:\n  {name}: {error}") from None
        yield vendor, tuple(places)
