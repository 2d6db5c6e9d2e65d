"""A person in front of the REST API, in a lab that is drained after every request."""

from dataclasses import dataclass
from typing import Any

import httpx2

from tests.flows.drain import DrainLab

Json = Any


@dataclass
class Person:
    """A person who has joined."""

    client: httpx2.AsyncClient
    lab: DrainLab
    token: str

    async def get(self, path: str, status: int = 200) -> Json:
        return await self._ask("GET", path, status)

    async def post(self, path: str, body: Json, status: int = 200) -> Json:
        return await self._ask("POST", path, status, json=body)

    async def advance(self, stage_id: str, answer: Json = None, status: int = 200) -> Json:
        """Answer the page and go on; what the API says of it."""
        return await self.post(f"/v1/me/stages/{stage_id}/advance", {"answer": answer}, status)

    async def answer(self, key: str, answer: Json, status: int = 200) -> Json:
        """Answer what the lab wants under this key."""
        (ask,) = [one for one in (await self.get("/v1/me"))["asks"] if one["key"] == key]
        return await self.post(f"/v1/me/asks/{ask['id']}/answer", {"answer": answer}, status)

    async def view(self, stage_id: str) -> Json:
        """What the page of the stage shows."""
        return (await self.get(f"/v1/me/stages/{stage_id}"))["view"]

    async def form(self, stage_id: str, key: str = "") -> Json:
        """The form under which the page puts the question with this key."""
        (form,) = [one["form"] for one in (await self.get(f"/v1/me/stages/{stage_id}"))["forms"] if one["key"] == key]
        return form

    async def status(self) -> str:
        status: str = (await self.get("/v1/me"))["status"]
        return status

    async def _ask(self, method: str, path: str, status: int, **request: Any) -> Json:
        headers = {"Authorization": f"Bearer {self.token}"}
        answer = await self.client.request(method, path, headers=headers, **request)
        assert answer.status_code == status, (path, answer.status_code, answer.text)
        await self.lab.drain()
        return answer.json()


async def begin(client: httpx2.AsyncClient, lab: DrainLab, document: str) -> str:
    """The id of a study that runs."""
    created = await client.post("/v1/experiments", content=document, headers={"Content-Type": "application/yaml"})
    assert created.status_code == 201, created.text
    experiment_id: str = created.json()["id"]
    assert (await client.post(f"/v1/experiments/{experiment_id}/start")).status_code == 200
    await lab.drain()
    return experiment_id


async def join(client: httpx2.AsyncClient, lab: DrainLab, experiment_id: str, name: str = "Pia") -> Person:
    joined = await client.post(f"/v1/experiments/{experiment_id}/join", json={"profile": {"name": name}})
    assert joined.status_code == 201, joined.text
    await lab.drain()
    return Person(client, lab, joined.json()["token"])


async def pages(lab: DrainLab, stage_id: str) -> dict[str, Json]:
    """What is stored for the page of this stage, by the path of its author."""
    rows = await lab.rows(
        """
        SELECT m.path, a.value FROM answers a JOIN members m ON m.id = a.member_id
        WHERE a.stage_id = :stage_id AND a.key = ''
        """,
        stage_id=stage_id,
    )
    return {row.path: row.value for row in rows}


async def statuses(lab: DrainLab) -> dict[str, str]:
    return {row.path: row.status for row in await lab.rows("SELECT path, status FROM members ORDER BY path")}
