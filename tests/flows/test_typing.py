"""An agent is typing from the moment its reply is ready until it is due, and stops when the reply is dropped."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from parley_lab.store.session import Database
from parley_lab.talk.streams import hear_facts
from parley_lab.talk.typing_hints import LASTS_MS, TypingHint, send, typing_hint
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

ROOM = """
parley: 1
name: A room
seed: 0
pace: {pace}
personas:
  - {{id: ada, chat: {{words_per_minute: 40, max_responses: 1}}, mock: {{silence: 0}}}}
  - {{id: bob, chat: {{words_per_minute: 40, max_responses: 1}}, mock: {{silence: 0}}}}
stages: [{{id: talk, kind: group_chat}}]
cohorts: [{{seats: [{{persona: ada}}, {{persona: bob}}]}}]
"""


class Heard:
    """What gateways hear of who types, so far."""

    def __init__(self) -> None:
        self.hints: list[TypingHint] = []
        self._news = asyncio.Event()

    def hear(self, payload: str) -> None:
        self.hints.append(typing_hint(payload))
        self._news.set()

    async def until(self, condition: Callable[[], bool]) -> None:
        async with asyncio.timeout(10):
            while not condition():
                self._news.clear()
                await self._news.wait()


@asynccontextmanager
async def hearing(database: Database) -> AsyncIterator[Heard]:
    heard, is_connected = Heard(), asyncio.Event()
    listening = asyncio.create_task(hear_facts(database.url, lambda _: None, is_connected.set, heard.hear))
    await is_connected.wait()
    try:
        yield heard
    finally:
        listening.cancel()
        await asyncio.gather(listening, return_exceptions=True)


async def run(lab: DrainLab, pace: str) -> None:
    await lab.start(ROOM.format(pace=pace))
    await lab.drain()


async def test_an_agent_types_until_its_reply_is_due_and_one_that_is_dropped_stops(database: Database) -> None:
    lab = DrainLab(database)
    async with hearing(database) as heard:
        await run(lab, "live")
        drafts = await lab.rows(
            "SELECT member_id, state FROM drafts WHERE reply ->> 'text' IS NOT NULL ORDER BY created_at, path"
        )
        dropped = [row.member_id for row in drafts if row.state != "published"]
        await heard.until(lambda: sum(hint.for_ms == 0 for hint in heard.hints) >= len(dropped))

        begun = [hint for hint in heard.hints if hint.for_ms > 0]
        stopped = [hint.member_id for hint in heard.hints if hint.for_ms == 0]

    assert dropped  # both answer the same, and one of them is first
    assert sorted(hint.member_id for hint in begun) == sorted(row.member_id for row in drafts)
    assert all(LASTS_MS < hint.for_ms <= LASTS_MS + 10_000 for hint in begun)
    assert sorted(stopped) == sorted(dropped)
    assert {(hint.stage_id, hint.scope) for hint in heard.hints} == {("talk", "group")}


async def test_in_pace_fast_no_one_types(database: Database) -> None:
    async with hearing(database) as heard:
        await run(DrainLab(database), "fast")
        # What was said before this one has come, too.
        last = TypingHint(uuid4(), uuid4(), "talk", "group", uuid4(), 1)
        async with database.transaction() as session:
            await send(session, [last])
        await heard.until(lambda: last in heard.hints)

    assert heard.hints == [last]


async def test_a_notification_that_raises_does_not_end_the_hearing_of_others(database: Database) -> None:
    heard: asyncio.Queue[UUID] = asyncio.Queue()
    is_connected, cohort_id = asyncio.Event(), uuid4()
    notices = (("parley_facts", "no id"), ("parley_typing", "no hint"), ("parley_facts", str(cohort_id)))

    def hear(payload: str) -> None:
        heard.put_nowait(UUID(payload))

    listening = asyncio.create_task(hear_facts(database.url, hear, is_connected.set, Heard().hear))
    await is_connected.wait()
    for channel, payload in notices:
        async with database.transaction() as session:
            await session.run(text("SELECT pg_notify(:channel, :payload)"), {"channel": channel, "payload": payload})
    first = await asyncio.wait_for(heard.get(), 10)
    listening.cancel()
    await asyncio.gather(listening, return_exceptions=True)

    assert first == cohort_id
