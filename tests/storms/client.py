"""Requests to a lab whose gateways come and go: each is repeated at one of them until it is answered."""

import asyncio
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

import httpx2

from parley_lab.testing.network import WITHOUT_TLS

Json = Any

# Long enough for a restart of everything; a request without an answer after that is a failure of the lab.
_PATIENCE_SECONDS: Final = 180.0
_AGAIN: Final = frozenset({429, 500, 502, 503, 504})


class Refused(Exception):
    """The lab said no, with a reason."""

    def __init__(self, what: str, status: int, body: str, reason: str | None) -> None:
        super().__init__(f"{what}: {status} {body}")
        self.status = status
        self.reason = reason


@dataclass
class Client:
    """`token` is a participant's, or a key. `broken` counts answers of 500, which no fault excuses."""

    gateways: list[str]
    token: str
    rng: Random
    broken: list[str] = field(default_factory=list)
    _http: httpx2.AsyncClient = field(init=False, repr=False)

    def __post_init__(self) -> None:
        self._http = httpx2.AsyncClient(timeout=httpx2.Timeout(15.0), verify=WITHOUT_TLS)

    async def get(self, path: str) -> Json:
        return await self.ask("GET", path)

    async def post(self, path: str, body: Json = None, *, once: str | None = None) -> Json:
        """`once` is the key under which the lab does it once, however often it is asked."""
        return await self.ask("POST", path, body, {"idempotency-key": once} if once else {})

    async def ask(self, method: str, path: str, body: Json = None, headers: dict[str, str] | None = None) -> Json:
        """The answer.

        Raises:
            Refused: the lab said no.
            TimeoutError: no gateway has answered for minutes.
        """
        given = {**(headers or {}), "authorization": f"Bearer {self.token}"}
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while True:
                at = self.rng.choice(self.gateways)
                try:
                    answer = await self._http.request(method, f"{at}{path}", json=body, headers=given)
                except httpx2.TransportError:
                    await asyncio.sleep(0.2)
                    continue
                if answer.status_code == 500:
                    self.broken.append(f"{method} {path}: {answer.text}")
                if answer.status_code not in _AGAIN:
                    return _read(answer, f"{method} {path}")
                await asyncio.sleep(0.3)

    async def close(self) -> None:
        await self._http.aclose()


def _read(answer: httpx2.Response, what: str) -> Json:
    if answer.is_success:
        return answer.json() if answer.content else None
    try:
        reason = answer.json().get("reason")
    except ValueError:
        reason = None
    raise Refused(what, answer.status_code, answer.text, reason)
