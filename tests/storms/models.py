"""The endpoint of the suite: it writes down every call that reaches it, and misbehaves when it is told to."""

import asyncio
from dataclasses import dataclass, field
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from random import Random
from time import monotonic
from typing import Any, Final, Literal

import orjson

from parley_lab.testing.fake_endpoint import Behaviour, FakeEndpoint, FakeReply, Scripted

Mood = Literal["well", "429", "500", "garbage", "hangs"]

_HANGS_SECONDS: Final = 60.0
_ANSWERS: Final = {
    "429": FakeReply(429, {"error": {"message": "Too many requests.", "code": "rate_limit_exceeded"}}),
    "500": FakeReply(500, {"error": {"message": "The server had an error.", "code": "server_error"}}),
}
_GARBAGE: Final = ("", "Sure! Here is", '{"response": 7, "shouldRespond": "perhaps"', "[]", "\x00")


@dataclass
class Call:
    """A call that reached the endpoint, by the hash of its messages. Every one may be on the bill."""

    prompt_hash: str
    began: float = field(default_factory=monotonic)
    at: datetime = field(default_factory=partial(datetime.now, UTC))
    ended: float | None = None


class Models:
    """`async with models.endpoint` serves it; `mood` may be changed at any time."""

    def __init__(self, seed: int) -> None:
        self.mood: Mood = "well"
        self.calls: list[Call] = []
        self._rng = Random(seed)
        behaviour = Behaviour(seed=seed, ready_rate=0.05)
        self.endpoint = FakeEndpoint(behaviour, replies=self._reply, keep_calls=False)

    async def _reply(self, request: dict[str, Any]) -> Scripted:
        call = Call(_hash(request["messages"]))
        self.calls.append(call)
        try:
            await asyncio.sleep(self._rng.uniform(0.02, 0.4))
            return await self._misbehave()
        finally:
            call.ended = monotonic()

    async def _misbehave(self) -> Scripted:
        if self.mood == "hangs":
            await asyncio.sleep(_HANGS_SECONDS)
        if self.mood == "garbage":
            return self._rng.choice(_GARBAGE)
        return _ANSWERS.get(self.mood)


def _hash(messages: list[dict[str, Any]]) -> str:
    """As the lab keeps it with each call."""
    prompt = [{"role": one["role"], "content": one["content"]} for one in messages]
    return sha256(orjson.dumps(prompt)).hexdigest()
