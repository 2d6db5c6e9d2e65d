"""Which key goes to which address: a key belongs to its vendor, and to addresses that its owner gave it.

The author of an experiment file can name addresses; only the environment gives them keys. Pure.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Final

from parley_lab.contracts.addresses import Place, host_of, read_place
from parley_lab.contracts.endpoints import ENDPOINT_KEYS_VARIABLE, USUAL, own_addresses, read_endpoint_keys
from parley_lab.contracts.named_providers import named_providers
from parley_lab.contracts.providers import KEY_VARIABLES

_REDACTED: Final = "[redacted]"
_SHORTEST_SECRET: Final = 8
_LONGEST_WORD: Final = 20
"""A key of letters alone counts as a plain word up to this length, such as `anything` for a server without keys."""


@dataclass(frozen=True)
class ModelKeys:
    """The keys of one process. `named`: the variable that holds the key of an address; `own`: addresses of a vendor
    that the environment adds."""

    named: Mapping[Place, str] = field(default_factory=dict)
    own: Mapping[str, Sequence[Place]] = field(default_factory=dict)
    variables: Mapping[str, str | None] = field(default_factory=lambda: dict(KEY_VARIABLES))
    """The variable with the key of each account."""
    values: Mapping[str, str] = field(default_factory=dict, repr=False)
    """The values of the variables, without empty ones."""

    def variable(self, account: str, base_url: str | None) -> str | None:
        """The variable that holds the key for calls of this account at `base_url` (None: its usual address).

        None where no key goes: an address from a file alone gets a key only from the environment.
        """
        place = self._place(account, base_url)
        named = [one for one in self.named if place is not None and one.holds(place)]
        if named:
            return self.named[max(named, key=_precision)]
        return self.variables.get(account) if self.is_own(account, base_url) else None

    def key(self, account: str, base_url: str | None) -> str | None:
        return self.values.get(self.variable(account, base_url) or "")

    def is_own(self, account: str, base_url: str | None) -> bool:
        """Whether this is an address of the account's vendor, or one that the environment gives its models."""
        place = self._place(account, base_url)
        if place is None:
            return base_url is None
        return any(one.holds(place) for one in (*self.own.get(account, ()), *_usual(account)))

    def host(self, account: str, base_url: str | None) -> str:
        """The host of this account's models for the data; empty when it is unknown."""
        place = self._place(account, base_url)
        return host_of(str(place)) if place is not None else host_of(base_url or "")

    def missing(self, account: str, base_url: str | None) -> str | None:
        """The variable that has to be set before this address may be called; None when it needs none."""
        variable = self.variable(account, base_url)
        return variable if variable is not None and variable not in self.values else None

    def how_to_give_one(self, account: str, base_url: str | None) -> str:
        """Which settings give a key to an address without one; names no key."""
        place = self._place(account, base_url)
        example = json.dumps({str(place or base_url): "NAME_OF_THE_VARIABLE_WITH_ITS_KEY"})
        return (
            f"the environment keeps no key for this address; to give it one, set {ENDPOINT_KEYS_VARIABLE}='{example}'"
        )

    def redacted(self, text: str) -> str:
        """`text` without any of the keys. A short text or a plain word is no secret and stays."""
        for secret in self._secrets():
            text = text.replace(secret, _REDACTED)
        return text

    def _secrets(self) -> list[str]:
        # The longest first: one key may be the beginning of another.
        return sorted(filter(_is_secret, set(self.values.values())), key=len, reverse=True)

    def _place(self, account: str, base_url: str | None) -> Place | None:
        places = [*self.own.get(account, ()), *_usual(account)] if base_url is None else _readable([base_url])
        return places[0] if places else None


NO_KEYS: Final = ModelKeys()


def read_model_keys(environ: Mapping[str, str]) -> ModelKeys:
    """The keys in this environment, and the addresses that they belong to.

    Raises:
        SettingsInvalid: an entry cannot be read; the message leaves out the variable's name, which may be a key.
    """
    named = read_endpoint_keys(environ)
    variables = {**KEY_VARIABLES, **{one.name: one.key_variable for one in named_providers(environ)}}
    values = {name: environ.get(name, "").strip() for name in {*named.values(), *filter(None, variables.values())}}
    own = {vendor: _readable(addresses.values()) for vendor, addresses in own_addresses(environ).items()}
    return ModelKeys(named, own, variables, {name: value for name, value in values.items() if value})


def _usual(account: str) -> list[Place]:
    return [read_place(url, may_be_wild=True) for url in USUAL.get(account, ())]


def _readable(urls: Iterable[str]) -> list[Place]:
    """An address that cannot be parsed gets no key; its caller reports the fault."""
    places: list[Place] = []
    for url in urls:
        with suppress(ValueError):
            places.append(read_place(url))
    return places


def _precision(place: Place) -> tuple[bool, int, int]:
    return not place.host.startswith("*"), len(place.path), len(place.host)


def _is_secret(key: str) -> bool:
    return len(key) >= _SHORTEST_SECRET and not (key.isalpha() and len(key) < _LONGEST_WORD)
