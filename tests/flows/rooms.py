"""A whole lab on a bus of the test's choice, with models that do as the test says, and people who talk in it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import httpx2
from sqlalchemy import text

from parley_lab.answers.advancing import end_member, move_on
from parley_lab.base.clock import Clock
from parley_lab.base.settings import ServerSettings
from parley_lab.cli.embedded import EmbeddedLab
from parley_lab.contracts.lives import Outcome
from parley_lab.members.standings import lock_standing
from parley_lab.people.joining import join
from parley_lab.store.statements import Row
from parley_lab.talk.posting import post_message
from parley_lab.testing.fake_endpoint import FakeEndpoint, Replies
from parley_lab.testing.network import WITHOUT_TLS
from tests.faults.lab_tools import start

PATIENCE_SECONDS: Final = 30.0
EMPTY_ROOM: Final = "Nobody has said anything yet."
"""The text about a conversation in a prompt before its first message."""


def reply(response: str = "I see.", *, speaks: bool = True, ready: bool = False) -> dict[str, Any]:
    """What a model answers when it is asked whether it speaks."""
    return {"explanation": "So.", "shouldRespond": speaks, "response": response, "readyToEndChat": ready}


class Room:
    """One experiment in a lab, as its people see it."""

    def __init__(self, lab: EmbeddedLab, endpoint: FakeEndpoint) -> None:
        self.lab = lab
        self.endpoint = endpoint
        self.experiment_id = UUID(int=0)
        self.people: list[UUID] = []
        self.tokens: dict[UUID, str] = {}

    async def open(self, document: str, *, people: int = 1) -> None:
        self.experiment_id = await start(self.lab, document)
        self.people = list(await asyncio.gather(*(self.join() for _ in range(people))))

    async def open_silently(self, document: str) -> None:
        """Up to the point where all wait for the one person to speak; forgets the calls until then."""
        await self.open(document)
        await self.thread()
        await self.at_rest()
        self.endpoint.reset()

    async def join(self) -> UUID:
        async with self.lab.database.transaction() as session:
            member_id, token = await join(
                session, self.experiment_id, self.lab.clock.now(), cohort_id=None, profile=None
            )
        self.tokens[member_id] = token
        return member_id

    async def go_on(self, person_id: UUID) -> None:
        async with self.lab.database.transaction() as session:
            standing = await lock_standing(session, person_id)
            await move_on(session, standing, self.lab.clock.now(), cause="test")

    async def thread(self) -> UUID:
        async def is_open() -> bool:
            return bool(await self.rows("SELECT 1 FROM threads"))

        await eventually(is_open)
        thread_id: UUID = (await self.rows("SELECT id FROM threads"))[0].id
        return thread_id

    async def say(self, words: str, *, person: UUID | None = None) -> UUID:
        """Let a person post, by default the first; the new drafts are in the database on return."""
        thread_id, author = await self.thread(), person or self.people[0]
        async with self.lab.database.transaction() as session:
            message = await post_message(session, thread_id, author, words, self.lab.clock.now(), client_key=words)
        return UUID(message["id"])

    async def take_out(self, member_id: UUID, status: Outcome = "removed") -> None:
        async with self.lab.database.transaction() as session:
            standing = await lock_standing(session, member_id)
            await end_member(session, standing, status, "for the test", self.lab.clock.now(), cause="test")

    async def api(self, person: UUID, method: str, path: str, **request: Any) -> httpx2.Response:
        """What the API answers to this person."""
        assert self.lab.url is not None
        headers = {"Authorization": f"Bearer {self.tokens[person]}"}
        async with httpx2.AsyncClient(
            base_url=self.lab.url, headers=headers, timeout=PATIENCE_SECONDS, verify=WITHOUT_TLS
        ) as client:
            return await client.request(method, path, **request)

    async def agent(self, name: str) -> UUID:
        (row,) = await self.rows("SELECT id FROM members WHERE profile ->> 'name' = :name", name=name)
        agent_id: UUID = row.id
        return agent_id

    async def holder(self) -> UUID | None:
        """Whose turn it is."""
        (row,) = await self.rows("SELECT turn_state ->> 'holder' AS holder FROM threads WHERE ended_at IS NULL")
        return UUID(row.holder) if row.holder else None

    async def transcript(self) -> list[tuple[str, str]]:
        """What was said, by the names of agents, `person` and `lab`."""
        rows = await self.rows(
            """
            SELECT CASE WHEN m.player = 'person' THEN 'person' ELSE m.profile ->> 'name' END AS name,
                g.member_id, g.text
            FROM messages g LEFT JOIN members m ON m.id = g.member_id ORDER BY g.thread_id, g.seq
            """
        )
        return [(row.name if row.member_id else "lab", row.text) for row in rows]

    async def told(self, event_type: str) -> list[dict[str, Any]]:
        """What the events of this type say, in their order."""
        rows = await self.rows("SELECT payload FROM events WHERE type = :type ORDER BY stream_seq", type=event_type)
        return [row.payload for row in rows]

    async def at_rest(self) -> None:
        """Wait until no agent and no cohort has any work left."""

        async def is_quiet() -> bool:
            return not await self.rows(
                """
                SELECT 1 FROM drafts WHERE state IN ('wanted', 'thinking', 'ready')
                UNION ALL SELECT 1 FROM streams WHERE settled < unsettled
                UNION ALL SELECT 1 FROM members WHERE player = 'agent' AND kind = 'participant'
                    AND status = 'in_progress' AND stepped_version < version
                """
            )

        await eventually(is_quiet)

    async def rows(self, query: str, **values: Any) -> list[Row]:
        async with self.lab.database.transaction() as session:
            return list(await session.all(text(query), values))

    async def replies_to(self, message_id: UUID) -> list[str]:
        key = f"message:{message_id}"
        return [row.text for row in await self.rows("SELECT text FROM messages WHERE trigger_key = :key", key=key)]

    async def drafts_about(self, message_id: UUID) -> list[Row]:
        """The replies that were to be made to this message, opened, published or closed."""
        return await self.rows(
            "SELECT * FROM drafts WHERE trigger_key = :key ORDER BY path", key=f"message:{message_id}"
        )


async def eventually(condition: Callable[[], Awaitable[bool]]) -> None:
    """Wait for a lab in real time, as its users do."""
    async with asyncio.timeout(PATIENCE_SECONDS):
        while True:
            if await condition():
                return
            await asyncio.sleep(0.01)


@asynccontextmanager
async def room_in(servers: ServerSettings, folder: Path, replies: Replies) -> AsyncIterator[Room]:
    """A lab whose models answer with `replies` once a message was posted; in an empty room they are silent."""

    def answered(request: dict[str, Any]) -> Any:
        is_empty = any(EMPTY_ROOM in message["content"] for message in request["messages"])
        return reply(speaks=False) if is_empty else replies(request)

    async with talking_room_in(servers, folder, answered) as room:
        yield room


@asynccontextmanager
async def talking_room_in(
    servers: ServerSettings, folder: Path, replies: Replies, clock: Clock | None = None
) -> AsyncIterator[Room]:
    """A lab with an API, whose models answer with `replies` from the beginning."""
    async with AsyncExitStack() as stack:
        endpoint = await stack.enter_async_context(FakeEndpoint(replies=replies))
        environ = {"OPENAI_API_KEY": "any text", "OPENAI_BASE_URL": endpoint.base_url}
        lab = await stack.enter_async_context(
            EmbeddedLab(folder, servers=servers, environ=environ, port=0, clock=clock)
        )
        yield Room(lab, endpoint)
