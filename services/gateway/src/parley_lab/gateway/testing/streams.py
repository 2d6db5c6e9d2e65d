"""Live streams as their clients read them, and two people who talk."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import httpx2
from pydantic import TypeAdapter
from sqlalchemy import text

from parley_lab.gateway.testing import Api, assert_fits, schema_of_stream
from parley_lab.store.session import Database
from parley_lab.talk.streams import STILL_LISTENING
from parley_lab.testing.network import WITHOUT_TLS


@dataclass(frozen=True)
class Sent:
    """One server-sent event as a client reads it; `cursor` is the newest id so far."""

    cursor: str
    type: str
    data: Any


_HEARING = text(
    """
    SELECT count(*) AS gateways FROM pg_stat_activity
    WHERE datname = current_database() AND state = 'idle' AND (query LIKE 'LISTEN %' OR query = :still_listening)
    """
)


async def until_hearing(database: Database, gateways: int = 1) -> None:
    """Wait until so many gateways hear of this database: typing hints from before that are lost."""
    async with asyncio.timeout(10):
        while True:
            async with database.read() as session:
                if (await session.one(_HEARING, {"still_listening": STILL_LISTENING})).gateways >= gateways:
                    return


@asynccontextmanager
async def listening(address: str, path: str, token: str, **headers: str) -> AsyncIterator[AsyncIterator[Sent]]:
    """The events of a stream; the stream is open when this is entered."""
    headers = {"Authorization": f"Bearer {token}", **headers}
    async with (
        httpx2.AsyncClient(base_url=address, timeout=10, verify=WITHOUT_TLS) as client,
        client.stream("GET", path, headers=headers) as response,
    ):
        assert response.status_code == 200, await response.aread()
        assert response.headers["content-type"].startswith("text/event-stream")
        events = _events(response, schema_of_stream(path))
        opened = await anext(events)
        assert opened.type == ""
        yield events


async def _events(response: httpx2.Response, schema: TypeAdapter[Any]) -> AsyncIterator[Sent]:
    cursor, kind, data, is_first = "", "", "", True
    async for line in response.aiter_lines():
        name, _, value = line.partition(": ")
        if name == "id":
            cursor = value
        elif name == "event":
            kind = value
        elif name == "data":
            data = value
        elif line == "" and (data or is_first):
            said = json.loads(data) if data else None
            if said is not None:
                assert_fits(said, schema)
            yield Sent(cursor, kind, said)
            kind, data, is_first = "", "", False


async def take(events: AsyncIterator[Sent], count: int) -> list[Sent]:
    async with asyncio.timeout(10):
        return [await anext(events) for _ in range(count)]


async def until(events: AsyncIterator[Sent], kind: str) -> list[Sent]:
    found = []
    async with asyncio.timeout(10):
        async for one in events:
            found.append(one)
            if one.type == kind:
                break
    return found


async def talkers(api: Api) -> tuple[str, str, str]:
    experiment_id = await api.running()
    ada, bo = [await api.to_the_talk(experiment_id, name) for name in ("Ada", "Bo")]
    return experiment_id, ada, bo


async def member(api: Api, token: str) -> str:
    member_id: str = (await api.participant(token, "GET", "/v1/me")).json()["member_id"]
    return member_id


async def say(api: Api, token: str, said: str) -> None:
    address = f"/v1/me/threads/{await api.thread(token)}/messages"
    answer = await api.participant(token, "POST", address, json={"text": said, "client_message_id": said})
    assert answer.status_code == 201, answer.text
