"""People in private conversations with mediators, through the API."""

import asyncio
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import UUID

import httpx2

from parley_lab.base.settings import ServerSettings
from parley_lab.testing.fake_clock import FakeClock
from tests.flows.rooms import Room, eventually, talking_room_in
from tests.flows.talking import answer, silent

Data = dict[str, Any]

REST: dict[str, Any] = {"id": "after", "kind": "info", "lines": ["Bye."]}


def a_study(*, people: int = 1, agents: int = 0, mediators: int = 1, then: Data = REST, **talk: Any) -> str:
    """A private conversation of each participant with the mediators, then something else."""
    names = [f"Agent {number}" for number in range(agents)] + [f"Mediator {number}" for number in range(mediators)]
    content = {
        "parley": 1,
        "name": "Private talk",
        "seed": 0,
        "look_back": "all",
        "pace": "live",
        "model_mode": "real",
        "personas": [
            {"id": f"p{place}", "text": f"I am {name}.", "profile": {"name": name}, "model": {"max_attempts": 1}}
            for place, name in enumerate(names)
        ],
        "stages": [{"id": "talk", "kind": "private_chat", "max_agent_run": 1, **talk}, then],
        "cohorts": [
            {
                "seats": [*[{"open": True}] * people, *({"persona": f"p{place}"} for place in range(agents))],
                "mediators": [f"p{agents + place}" for place in range(mediators)],
            }
        ],
    }
    return json.dumps(content)


class Visitor:
    """A person in a private conversation, through the API."""

    def __init__(self, room: Room, person: UUID) -> None:
        self._room = room
        self._person = person
        self.thread_id = ""

    async def arrive(self) -> None:
        async def is_open() -> bool:
            page = await self.page()
            self.thread_id = (page["thread"] or {}).get("id", "")
            return bool(self.thread_id)

        await eventually(is_open)

    async def ask(self, method: str, path: str, **request: Any) -> httpx2.Response:
        return await self._room.api(self._person, method, path, **request)

    async def page(self) -> Data:
        found: Data = (await self.ask("GET", "/v1/me/stages/talk")).json()
        return found

    async def view(self) -> Data:
        found: Data = (await self.page())["view"]
        return found

    async def say(self, words: str) -> httpx2.Response:
        body = {"text": words, "client_message_id": words}
        return await self.ask("POST", f"/v1/me/threads/{self.thread_id}/messages", json=body)

    async def call_off(self) -> httpx2.Response:
        return await self.ask("POST", f"/v1/me/threads/{self.thread_id}/call-off")

    async def advance(self) -> httpx2.Response:
        return await self.ask("POST", "/v1/me/stages/talk/advance", json={})

    async def said(self) -> list[tuple[str, str]]:
        """The messages of the conversation; system messages by `lab`."""
        listed = await self.ask("GET", f"/v1/me/threads/{self.thread_id}/messages")
        return [
            (one["author"]["profile"]["name"] if one["author"] else "lab", one["text"])
            for one in listed.json()["messages"]
        ]

    async def heard(self, words: str) -> None:
        async def is_there() -> bool:
            return any(text == words for _, text in await self.said())

        await eventually(is_there)

    async def heard_times(self, line: tuple[str, str], times: int) -> None:
        async def is_there() -> bool:
            return (await self.said()).count(line) == times

        await eventually(is_there)


@asynccontextmanager
async def visited(
    servers: ServerSettings,
    folder: Path,
    replies: Callable[[Data], Any],
    study: str,
    *,
    people: int = 1,
    clock: FakeClock | None = None,
) -> AsyncIterator[tuple[Room, list[Visitor]]]:
    """A lab with a private conversation for each person, whose openings are over."""
    async with talking_room_in(servers, folder, replies, clock) as room:
        await room.open(study, people=people)
        visitors = [Visitor(room, person) for person in room.people]
        for visitor in visitors:
            await visitor.arrive()
        await room.at_rest()
        yield room, visitors


class Held:
    """Models that think until they are let go; openings are silent."""

    def __init__(self) -> None:
        self.thinking = asyncio.Event()
        self.let_go = asyncio.Event()

    async def __call__(self, request: Data) -> Data:
        if "Nobody has said anything yet." in str(request["messages"]):
            return silent(request)
        self.thinking.set()
        await self.let_go.wait()
        return answer(request, "Here is your reply.")


def silent_at_first(then: Callable[[Data], Any]) -> Callable[[Data], Any]:
    def replies(request: Data) -> Any:
        return silent(request) if "Nobody has said anything yet." in str(request["messages"]) else then(request)

    return replies
