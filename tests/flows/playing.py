"""A person over REST, agents with the mock and scripts in one experiment, for tests that play it to its end."""

import csv
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2
import yaml

from parley_lab.formats.exports import export
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab
from tests.flows.previewing import an_api

Json = Any


class Person:
    """A person who has joined over REST, and the experiment from its owner's side."""

    def __init__(self, client: httpx2.AsyncClient, lab: DrainLab, experiment_id: str, token: str) -> None:
        self.lab = lab
        self._client = client
        self._experiment_id = experiment_id
        self._headers = {"Authorization": f"Bearer {token}"}

    async def me(self) -> Json:
        return await self._asked("GET", "/v1/me", 200)

    async def page(self, stage_id: str) -> Json:
        """The page of the stage: `view`, `forms`, `state` and so on."""
        return await self._asked("GET", f"/v1/me/stages/{stage_id}", 200)

    async def go_on(self, stage_id: str, answer: Json = None, status: int = 200) -> Json:
        return await self._asked("POST", f"/v1/me/stages/{stage_id}/advance", status, json={"answer": answer})

    async def post(self, path: str, body: Json, status: int = 200) -> Json:
        return await self._asked("POST", path, status, json=body)

    async def messages(self, path: str) -> Json:
        """What was said in a thread, whose messages have this path."""
        return (await self._asked("GET", path, 200))["messages"]

    async def another(self, name: str) -> "Person":
        """One more person, who takes the next open seat."""
        return await _joined(self._client, self.lab, self._experiment_id, name)

    async def as_owner(self, method: str, path: str, **request: Json) -> Json:
        """The answer of the API to the owner of the experiment, whose address is before `path`."""
        answered = await self._client.request(method, f"/v1/experiments/{self._experiment_id}{path}", **request)
        assert answered.is_success, answered.text
        return answered.json()

    async def prompts(self, name: str, stage_id: str) -> str:
        """All that models were sent for this agent on this stage."""
        calls = [call for call in await self.lab.calls() if (call.name, call.stage_id) == (name, stage_id)]
        return "\n".join(message["content"] for call in calls for message in call.prompt)

    async def statuses(self) -> dict[str, str]:
        rows = await self.lab.rows("SELECT profile ->> 'name' AS name, status FROM members")
        return {row.name: row.status for row in rows}

    async def data(self, folder: Path, name: str) -> list[dict[str, str]]:
        """The rows of one of the data files."""
        await export(self.lab.database, UUID(self._experiment_id), folder, self.lab.clock.now(), formats=["csv"])
        with (folder / name).open(newline="", encoding="utf-8") as lines:
            return [*csv.DictReader(lines)]

    async def _asked(self, method: str, path: str, status: int, **request: Json) -> Json:
        answered = await self._client.request(method, path, headers=self._headers, **request)
        assert answered.status_code == status, answered.text
        await self.lab.drain()
        return answered.json()


@asynccontextmanager
async def playing(database: Database, **document: Json) -> AsyncIterator[Person]:
    """Ana, who has joined the experiment of this document. All that could be done without her is done."""
    lab = DrainLab(database)
    content = yaml.safe_dump(
        {"parley": 1, "name": "A study", "seed": 5, "look_back": "all", **document}, sort_keys=False
    )
    async with an_api(database, lab) as client:
        created = await client.post("/v1/experiments", content=content, headers={"Content-Type": "application/yaml"})
        assert created.status_code == 201, created.text
        experiment_id: str = created.json()["id"]
        started = await client.post(f"/v1/experiments/{experiment_id}/start")
        assert started.status_code == 200, started.text
        yield await _joined(client, lab, experiment_id, "Ana")


@asynccontextmanager
async def playing_alone(database: Database, **document: Json) -> AsyncIterator[tuple[DrainLab, UUID]]:
    """An experiment without people, once all that can be done is done."""
    lab = DrainLab(database)
    experiment_id = await lab.start(
        yaml.safe_dump({"parley": 1, "name": "A study", "seed": 5, "look_back": "all", **document})
    )
    await lab.drain()
    yield lab, experiment_id


async def _joined(client: httpx2.AsyncClient, lab: DrainLab, experiment_id: str, name: str) -> Person:
    body = {"profile": {"name": name}}
    seat = await client.post(f"/v1/experiments/{experiment_id}/join", json=body)
    assert seat.status_code == 201, seat.text
    await lab.drain()
    return Person(client, lab, experiment_id, seat.json()["token"])


def a_cast(*, people: int = 1, scripts: Json = None) -> dict[str, Json]:
    """Open seats, Bob (an agent) and Cid (a script, with these scripts)."""
    return {
        "personas": [
            {"id": "bob", "profile": {"name": "Bob"}},
            {"id": "cid", "profile": {"name": "Cid"}, "player": "script", "script": scripts or {}},
        ],
        "cohorts": [{"seats": [{"open": True, "count": people}, {"persona": "bob"}, {"persona": "cid"}]}],
    }


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
    """The status of every member, by path."""
    return {row.path: row.status for row in await lab.rows("SELECT path, status FROM members ORDER BY path")}
