"""The API as its users call it, for tests; imported by tests only."""

import asyncio
import json
import socket
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import httpx2
from fastapi import FastAPI
from pydantic import TypeAdapter

from parley_lab.gateway.resources.board import BoardEvent, BoardHint
from parley_lab.gateway.resources.events import HOME_EVENT, STREAM_EVENT, ExperimenterEvent, MemberTypes
from parley_lab.gateway.server import Server
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.store.session import Database
from parley_lab.talk import pages
from parley_lab.testing.fake_clock import FakeClock
from parley_lab.testing.network import WITHOUT_TLS


def assert_described(event: Any, *, is_member: bool) -> None:
    """What a stream sent is what its schema says, no more and no less."""
    assert_fits(event, STREAM_EVENT if is_member else TypeAdapter(ExperimenterEvent))


def schema_of_stream(path: str) -> TypeAdapter[Any]:
    """The schema of the events of the stream at this path."""
    if path.startswith("/v1/me"):
        return STREAM_EVENT
    if "of=board" in path:
        return TypeAdapter(BoardEvent | BoardHint | MemberTypes)
    return HOME_EVENT if path == "/v1/stream" else TypeAdapter(ExperimenterEvent)


def assert_fits(event: Any, schema: TypeAdapter[Any]) -> None:
    """The event has the fields of the schema, no more and no less."""
    described = schema.validate_json(json.dumps(event))
    assert keys_of(described.model_dump(mode="json", exclude_unset=True)) == keys_of(event)


def keys_of(value: Any) -> Any:
    """The value with the names of its fields alone."""
    if isinstance(value, dict):
        return {name: keys_of(part) for name, part in value.items()}
    return [keys_of(part) for part in value] if isinstance(value, list) else None


FILE: Final[dict[str, Any]] = {
    "parley": 1,
    "name": "Small talk",
    "seed": 3,
    "pace": "live",
    "look_back": "all",
    "stages": [
        {"id": "welcome", "kind": "info", "lines": ["# Hello"]},
        {
            "id": "before",
            "kind": "survey",
            "questions": [
                {"id": "age", "kind": "number", "title": "How old are you?", "minimum": 18, "integer": True},
                {"id": "why", "kind": "text", "title": "Why are you here?"},
            ],
        },
        {"id": "talk", "kind": "group_chat"},
        {
            "id": "after",
            "kind": "survey",
            "questions": [
                {
                    "id": "again",
                    "kind": "text",
                    "title": "Are you still of age?",
                    "show_if": {"stage": "before", "question": "age", "operator": "greater_than", "value": 20},
                }
            ],
        },
    ],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}
"""Two people: a page to read, a survey, a conversation that waits for both, a survey that looks back."""

ANSWER = {"age": 33, "why": "Curious"}


@dataclass
class Api:
    """The API as its users call it."""

    client: httpx2.AsyncClient
    key: str
    database: Database
    clock: FakeClock
    app: FastAPI
    settle_cohort: Callable[[Database, UUID, datetime], Awaitable[object]]
    """What the orchestrator does once it is told."""

    async def experimenter(self, method: str, path: str, **request: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {self.key}", **request.pop("headers", {})}
        return await self.client.request(method, path, headers=headers, **request)

    async def participant(self, token: str, method: str, path: str, **request: Any) -> httpx2.Response:
        headers = {"Authorization": f"Bearer {token}", **request.pop("headers", {})}
        return await self.client.request(method, path, headers=headers, **request)

    async def running(self, **changes: Any) -> str:
        """The id of a started experiment; a part that is None is left out of its file."""
        file = {name: part for name, part in {**FILE, **changes}.items() if part is not None}
        created = await self.experimenter("POST", "/v1/experiments", json=file)
        assert created.status_code == 201, created.text
        experiment_id: str = created.json()["id"]
        started = await self.experimenter("POST", f"/v1/experiments/{experiment_id}/start")
        assert started.status_code == 200, started.text
        await self.settle(experiment_id)
        return experiment_id

    async def take_seat(self, experiment_id: str, **body: Any) -> httpx2.Response:
        """What the experimenter is answered who gives a person a seat."""
        return await self.experimenter("POST", f"/v1/experiments/{experiment_id}/join", json=body)

    async def token_of(self, experiment_id: str, **body: Any) -> str:
        """The token of the person who is given a seat."""
        seat = await self.take_seat(experiment_id, **body)
        assert seat.status_code == 201, seat.text
        token: str = seat.json()["token"]
        return token

    async def join(self, experiment_id: str, name: str = "Ada") -> str:
        """The token of a new participant."""
        token = await self.token_of(experiment_id, profile={"name": name})
        await self.settle(experiment_id)
        return token

    async def advance(self, token: str, stage_id: str, answer: Any = None) -> httpx2.Response:
        body = {} if answer is None else {"answer": answer}
        return await self.participant(token, "POST", f"/v1/me/stages/{stage_id}/advance", json=body)

    async def to_the_talk(self, experiment_id: str, name: str) -> str:
        """The token of a participant who has come to the conversation."""
        token = await self.join(experiment_id, name)
        for stage_id, answer in (("welcome", None), ("before", ANSWER)):
            await self.settle(experiment_id)
            advanced = await self.advance(token, stage_id, answer)
            assert advanced.status_code == 200, advanced.text
        await self.settle(experiment_id)
        return token

    async def thread(self, token: str) -> str:
        page = await self.participant(token, "GET", "/v1/me/stages/talk")
        thread_id: str = page.json()["thread"]["id"]
        return thread_id

    async def settle(self, experiment_id: str) -> None:
        """Have every cohort looked at."""
        async with self.database.transaction() as session:
            cohorts = [row.id for row in await pages.cohorts(session, UUID(experiment_id))]
        for cohort_id in cohorts:
            await self.settle_cohort(self.database, cohort_id, self.clock.now())


@asynccontextmanager
async def served(app: FastAPI) -> AsyncIterator[str]:
    """The address of the gateway on a real socket; its lifespan is the caller's to run."""
    # A socket that listens already: clients that connect before the server has started wait for it.
    listening = socket.create_server(("127.0.0.1", 0))
    server = Server(app, GatewaySettings())
    server.config.lifespan = "off"
    serving = asyncio.create_task(server.serve([listening]))
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}"
    finally:
        server.should_exit = True
        await serving


@asynccontextmanager
async def following(
    address: str, token: str, after: str = "start", *, path: str = "/v1/me/stream"
) -> AsyncIterator[AsyncIterator[dict[str, Any]]]:
    """The data of the events of a live stream; it is open when this is entered, and given up after ten seconds."""
    headers = {"Authorization": f"Bearer {token}"}
    async with (
        asyncio.timeout(10),
        httpx2.AsyncClient(base_url=address, timeout=10, verify=WITHOUT_TLS) as client,
        client.stream("GET", path, params={"after": after}, headers=headers) as response,
    ):
        assert response.status_code == 200, await response.aread()
        lines = response.aiter_lines()
        assert (await anext(lines)).startswith("retry")
        yield (json.loads(line.removeprefix("data: ")) async for line in lines if line.startswith("data: "))
