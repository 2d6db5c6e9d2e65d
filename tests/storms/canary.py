"""A canary: a newcomer joins after a fault, says something, and is answered. How long that takes is the recovery."""

from random import Random
from typing import Any

from tests.operators.processes import KEY
from tests.storms.client import Client
from tests.storms.study import lone_talks
from tests.storms.waiting import until

Json = Any


class Canaries:
    def __init__(self, gateways: list[str], seed: int) -> None:
        self._gateways = gateways
        self._rng = Random(f"{seed}/canaries")
        self._staff = Client(gateways, KEY, self._rng)
        self._seed = seed
        self._experiment_id = ""

    async def start(self) -> None:
        made = await self._staff.post("/v1/experiments", lone_talks(self._seed), once=f"storm-{self._seed}-canaries")
        self._experiment_id = made["id"]
        await self._staff.post(f"/v1/experiments/{self._experiment_id}/start")

    async def sing(self, name: str) -> None:
        """Return once this newcomer has been answered, and has left."""
        joined = await self._staff.post(f"/v1/experiments/{self._experiment_id}/join", {"external_id": name})
        person = Client(self._gateways, joined["token"], self._rng)
        try:
            thread_id = await until(lambda: self._thread(person))
            body = {"text": "Is anybody there?", "client_message_id": "1"}
            mine = await person.post(f"/v1/me/threads/{thread_id}/messages", body)
            await until(lambda: self._is_answered(person, thread_id, mine["seq"]))
            await person.post("/v1/me/leave")
        finally:
            await person.close()

    async def end(self) -> None:
        await self._staff.post(f"/v1/experiments/{self._experiment_id}/end")
        await self._staff.close()

    async def _thread(self, person: Client) -> str | None:
        thread = (await person.get("/v1/me/stages/alone"))["thread"]
        return None if thread is None else str(thread["id"])

    async def _is_answered(self, person: Client, thread_id: str, seq: int) -> bool:
        said = (await person.get(f"/v1/me/threads/{thread_id}/messages"))["messages"]
        return any(one["seq"] > seq for one in said)
