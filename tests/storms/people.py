"""People who take part over REST: they talk, answer and play, drop out, come back, and some leave for good."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from typing import Any, Final

from parley_lab.base.schema_filler import fill
from tests.operators.processes import KEY
from tests.storms.client import Client, Refused
from tests.storms.ledger import Given, Ledger, Post
from tests.storms.listening import listen
from tests.storms.study import POSTS

Json = Any

_LEAVE_SHARE: Final = 0.03
_DROP_OUT_SHARE: Final = 0.02
_DECLINE_SHARE: Final = 0.2
_BREATH_SECONDS: Final = 0.3
_TAIL_SECONDS: Final = 60.0
"""For what a stream has still to tell; a fault may keep it away for a while, and the next one again."""


@dataclass
class Person:
    """`name` is the id under which the person comes back. `hurries` says that the run is to end."""

    gateways: list[str]
    experiment_id: str
    name: str
    rng: Random
    ledger: Ledger
    hurries: Callable[[], bool]
    member_id: str = ""
    doing: str = "joins"
    broken: list[str] = field(default_factory=list)
    _posted: int = 0
    _token: str = ""

    async def take_part(self) -> None:
        """From joining to the end of the part."""
        joined = await self._join()
        self.member_id = joined["member_id"]
        following = asyncio.create_task(
            listen(
                self.ledger,
                self.gateways,
                lambda: self._token,
                self.member_id,
                joined["me"]["cursor"],
                Random(self.name),
            )
        )
        try:
            await self._go_through()
            # The last that the stream tells is the end of the part.
            await asyncio.wait((following,), timeout=_TAIL_SECONDS)
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
            await self._client.close()

    async def _join(self) -> Json:
        lobby = Client(self.gateways, KEY, self.rng, self.broken)
        try:
            joined = await lobby.post(f"/v1/experiments/{self.experiment_id}/join", {"external_id": self.name})
        finally:
            await lobby.close()
        self._token = joined["token"]
        self._client = Client(self.gateways, self._token, self.rng, self.broken)
        return joined

    async def _go_through(self) -> None:
        while True:
            me = await self._client.get("/v1/me")
            self.doing = f"{me['status']} on {me['stage_id']}"
            if me["is_over"]:
                return
            try:
                await self._act(me)
            except Refused as error:
                # What was there when the page was read is over by now.
                if error.status not in (404, 409, 422):
                    raise
            await asyncio.sleep(_BREATH_SECONDS * self.rng.uniform(0.5, 1.5))

    async def _act(self, me: Json) -> None:
        if me["offer"] is not None:
            await self._client.post("/v1/me/transfer", {"accept": self.rng.random() >= _DECLINE_SHARE})
        elif me["status"] == "paused" or me["is_paused"]:
            return
        elif not self.hurries() and self.rng.random() < _DROP_OUT_SHARE:
            await self._drop_out()
        elif me["asks"]:
            await self._answer(me["asks"][0])
        elif any(one["state"] == "current" for one in me["stages"]):
            await self._work_on(me["stage_id"])

    async def _drop_out(self) -> None:
        """Gone for a while, and back with a new token, as from another device; or gone for good."""
        if self.rng.random() < _LEAVE_SHARE / _DROP_OUT_SHARE / 20:
            await self._client.post("/v1/me/leave")
            return
        await asyncio.sleep(self.rng.uniform(0.5, 4))
        await self._client.close()
        # The listener waits for the new token.
        self._token = ""
        await self._join()

    async def _answer(self, ask: Json) -> None:
        if ask["form"] is not None:
            answer = fill(ask["form"], self.rng)
            await self._client.post(f"/v1/me/asks/{ask['id']}/answer", {"answer": answer})
            self.ledger.answers.append(Given(self.member_id, ask["stage_id"], ask["key"], answer))

    async def _work_on(self, stage_id: str) -> None:
        page = await self._client.get(f"/v1/me/stages/{stage_id}")
        thread = page["thread"]
        if stage_id == "talk" and thread is not None and not thread["has_ended"] and self._posted < POSTS:
            await self._post(thread["id"])
            return
        form = next((one["form"] for one in page["forms"] if one["key"] == ""), None)
        if form is None and page["blocked_by"]:
            return
        answer = None if form is None else fill(form, self.rng)
        await self._client.post(f"/v1/me/stages/{stage_id}/advance", {"answer": answer})
        if form is not None:
            self.ledger.answers.append(Given(self.member_id, stage_id, "", answer))

    async def _post(self, thread_id: str) -> None:
        key = f"{self.name}-{self._posted}"
        text = f"{self.name} says {self._posted}: {self.rng.random()}"
        body = {"text": text, "client_message_id": key}
        stored = await self._client.post(f"/v1/me/threads/{thread_id}/messages", body)
        self._posted += 1
        self.ledger.posts.append(Post(stored["id"], self.member_id, key, text))
