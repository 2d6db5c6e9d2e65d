"""Limits of requests by token, by key and by address, which all gateways share."""

import asyncio
import math
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import sha256
from ipaddress import ip_address
from typing import Final

from fastapi import Request

from parley_lab.base.clock import Clock
from parley_lab.base.errors import TooManyRequests
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.store import request_limits
from parley_lab.store.request_limits import RequestLimit
from parley_lab.store.session import Database
from parley_lab.store.sign_ins import is_sign_in

_MOST_REMEMBERED: Final = 20_000
_BLOCKS_OF_A_LIMIT: Final = 4
_KEPT_SECONDS: Final = 30


@dataclass(slots=True)
class _Held:
    """What this gateway has left of a block, or until when it is refused another."""

    left: int
    until: datetime


class Limits:
    """The limits of one gateway's requests. A gateway that listens on this machine only has none by token or key."""

    def __init__(self, database: Database, clock: Clock, settings: GatewaySettings) -> None:
        is_open = not is_loopback(settings.host)
        self._database = database
        self._clock = clock
        self._held: dict[tuple[str, str], _Held] = {}
        self._taking: dict[tuple[str, str], asyncio.Task[bool]] = {}
        self._token = _limit("token", settings.token_requests_per_second, 20 if is_open else 0, 1)
        self._key = _limit("key", settings.key_requests, 100 if is_open else 0, settings.key_window_seconds)
        self._urgent_key = None if self._key is None else replace(self._key, name="urgent-key")
        self._urgent_token = None if self._token is None else replace(self._token, name="urgent-token")
        self._address = _limit("address", settings.address_requests_per_minute, 60, 60)

    async def of_token(self, token: str) -> None:
        """Count a request of a participant.

        Raises:
            TooManyRequests: there were as many as there may be; with the seconds to wait.
        """
        await self._spend(self._token, _hashed(token))

    async def of_key(self, key: str) -> None:
        """Count a request of an experimenter; raises as `of_token`."""
        await self._spend(self._key, _hashed(key))

    async def of_urgent(self, bearer: str) -> None:
        """Count an urgent act of an experimenter, beside all other requests; raises as `of_token`."""
        await self._spend(self._urgent_token if is_sign_in(bearer) else self._urgent_key, _hashed(bearer))

    def of(self, bearer: str) -> tuple[int | None, int | None]:
        """How many requests may come with this key or sign-in, in how many seconds; None: no limit."""
        limit = self._token if is_sign_in(bearer) else self._key
        return (None, None) if limit is None else (limit.most, limit.seconds)

    async def of_address(self, address: str | None) -> None:
        """Count a joining, or a wrong key, of an address; none of this machine. Raises as `of_token`."""
        if address is not None and not is_loopback(address):
            await self._spend(self._address, address)

    async def _spend(self, limit: RequestLimit | None, who: str) -> None:
        if limit is None:
            return
        now, name = self._clock.now(), (limit.name, who)
        while (held := self._held.get(name)) is None or held.until <= now:
            if not await self._taken(limit, who, now):
                # An invented one: signing in refuses it, and counts for its address.
                return
        if held.left == 0:
            raise _too_many(limit, held.until - now)
        held.left -= 1
        if held.left == 0:
            # Used up, not refused: the next one asks for another block.
            del self._held[name]

    async def _taken(self, limit: RequestLimit, who: str, now: datetime) -> bool:
        """Take a block, one at a time: requests that come meanwhile wait for the same one. False: there is none."""
        name = limit.name, who
        taking = self._taking.get(name)
        if taking is None:
            taking = self._taking[name] = asyncio.create_task(self._take(limit, who, now))
            taking.add_done_callback(lambda _: self._taking.pop(name, None))
        return await asyncio.shield(taking)

    async def _take(self, limit: RequestLimit, who: str, now: datetime) -> bool:
        async with self._database.read() as session:
            block = await request_limits.take(session, limit, who, now)
        if block is None:
            return False
        if len(self._held) >= _MOST_REMEMBERED:
            self._held = {name: one for name, one in self._held.items() if one.until > now}
        # A refusal counts for the window; what is granted, for longer than a short one.
        kept_until = now + timedelta(seconds=limit.kept_seconds) if block.granted > 0 else now
        self._held[limit.name, who] = _Held(max(0, block.granted), max(block.window_ends_at, kept_until))
        return True


def address_of(request: Request) -> str | None:
    """Where a request comes from; behind a proxy that the server trusts, where that says."""
    return None if request.client is None else request.client.host


def is_loopback(host: str) -> bool:
    """Whether this is an address of the machine itself."""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _limit(name: str, wanted: int | None, otherwise: int, seconds: int) -> RequestLimit | None:
    most = otherwise if wanted is None else wanted
    if most == 0:
        return None
    kept_seconds = _KEPT_SECONDS if seconds < _KEPT_SECONDS else 0
    is_of_bearer = name != "address"
    return RequestLimit(name, most, seconds, max(1, most // _BLOCKS_OF_A_LIMIT), kept_seconds, is_of_bearer)


def _too_many(limit: RequestLimit, wait: timedelta) -> TooManyRequests:
    wait_seconds = max(1, math.ceil(wait.total_seconds()))
    window = "a second" if limit.seconds == 1 else f"{limit.seconds} seconds"
    said = f"At most {limit.most} requests in {window} are taken here. Try again in {wait_seconds} s."
    return TooManyRequests(said, wait_seconds=wait_seconds)


def _hashed(secret: str) -> str:
    return sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()
