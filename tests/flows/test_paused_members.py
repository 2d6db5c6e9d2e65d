"""A paused agent in a whole lab: it is not asked and costs nothing, and replies in the making are kept."""

import asyncio
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any, Final
from uuid import UUID

import pytest

from parley_lab.base.settings import ServerSettings
from parley_lab.members.standing import Standing
from parley_lab.members.standings import lock_standing
from parley_lab.people.attention import send_check
from parley_lab.people.holding import pause_member, resume_member
from tests.flows.rooms import Room, eventually, talking_room_in
from tests.flows.talking import a_talk, answer, talkative, who

pytestmark = pytest.mark.postgres

Data = dict[str, Any]
SURVEY: Final = """
parley: 1
name: Alone
seed: 5
pace: live
model_mode: real
personas: [{id: p, text: I am Agent 0., profile: {name: Agent 0}, pages: {writing_words_per_minute: 0,
    reading_words_per_minute: 0}}]
stages:
  - {id: one, kind: survey, questions: [{id: why, kind: text, title: Why}]}
  - {id: two, kind: survey, questions: [{id: how, kind: text, title: How}]}
cohorts: [{seats: [{persona: p}]}]
"""

Change = Callable[..., Awaitable[bool]]


async def do(room: Room, member_id: UUID, change: Change, **options: str) -> bool:
    async with room.lab.database.transaction() as session:
        standing: Standing = await lock_standing(session, member_id)
        return await change(session, standing, room.lab.clock.now(), cause="test", **options)


async def test_an_answer_in_flight_is_stored_in_the_pause_and_the_agent_goes_on_after_it(
    servers: ServerSettings, tmp_path: Path
) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def held(request: Data) -> Data:
        asked.set()
        await go.wait()
        fields = request["response_format"]["json_schema"]["schema"]["properties"]
        return dict.fromkeys(fields, "Because.")

    async with talking_room_in(servers, tmp_path / "lab", held) as room:
        await room.open(SURVEY, people=0)
        async with asyncio.timeout(20):
            await asked.wait()
        agent = await room.agent("Agent 0")
        await do(room, agent, pause_member)
        go.set()

        async def is_stored() -> bool:
            return bool(await room.rows("SELECT 1 FROM answers"))

        await eventually(is_stored)
        await asyncio.sleep(0.5)
        (kept,) = await room.rows("SELECT position, status FROM members")
        calls_in_the_pause = len(room.endpoint.calls)
        await do(room, agent, resume_member)

        async def has_ended() -> bool:
            return bool(await room.rows("SELECT 1 FROM experiments WHERE status = 'ended'"))

        await eventually(has_ended)

        assert kept == (0, "paused")
        assert (calls_in_the_pause, len(room.endpoint.calls)) == (1, 2)
        assert [row.status for row in await room.rows("SELECT status FROM members")] == ["completed"]


async def test_a_paused_agent_says_nothing_and_its_reply_is_said_after_the_pause(
    servers: ServerSettings, tmp_path: Path
) -> None:
    asked, go = asyncio.Event(), asyncio.Event()

    async def held(request: Data) -> Data:
        if "hello" in str(request["messages"]) and not go.is_set():
            asked.set()
            await go.wait()
        return answer(request, "Late but kept.") if "hello" in str(request["messages"]) else answer(request, None)

    async with talking_room_in(servers, tmp_path / "lab", held) as room:
        await room.open_silently(a_talk("words_per_minute: 0"))
        agent = await room.agent("Agent 0")
        await room.say("hello")
        async with asyncio.timeout(20):
            await asked.wait()
        await do(room, agent, pause_member)
        go.set()

        async def is_ready() -> bool:
            return bool(await room.rows("SELECT 1 FROM drafts WHERE state = 'ready'"))

        await eventually(is_ready)
        await asyncio.sleep(0.5)
        in_the_pause = await room.transcript()
        calls = len(room.endpoint.calls)
        await do(room, agent, resume_member)

        async def is_said() -> bool:
            return ("Agent 0", "Late but kept.") in await room.transcript()

        await eventually(is_said)

        assert in_the_pause == [("person", "hello")]
        assert calls == len(room.endpoint.calls)


async def test_no_one_asks_a_paused_agent_and_the_others_talk_on(servers: ServerSettings, tmp_path: Path) -> None:
    async with talking_room_in(servers, tmp_path / "lab", talkative) as room:
        await room.open(a_talk("max_responses: 2", "max_responses: 2", mediators=1))
        await room.at_rest()
        paused, mediator = await room.agent("Agent 0"), await room.agent("Mediator 0")
        await do(room, paused, pause_member)
        await do(room, mediator, pause_member)
        room.endpoint.reset()

        await room.say("hello")
        await room.at_rest()
        in_the_pause = {who(request) for request in room.endpoint.calls}
        for member in (paused, mediator):
            await do(room, member, resume_member)
        await room.say("again")
        await room.at_rest()

        assert in_the_pause <= {"Agent 1"}
        assert "Mediator 0" in {who(request) for request in room.endpoint.calls}


async def test_an_agent_passes_a_check_in_its_next_step_without_a_call(servers: ServerSettings, tmp_path: Path) -> None:
    async with talking_room_in(servers, tmp_path / "lab", lambda request: answer(request, None)) as room:
        await room.open_silently(a_talk("max_responses: 0"))
        agent = await room.agent("Agent 0")

        await do(room, agent, send_check, sent_by="Ellen")

        async def has_passed() -> bool:
            return bool(await room.rows("SELECT 1 FROM attention_checks WHERE outcome = 'passed'"))

        await eventually(has_passed)
        assert [row.status for row in await room.rows("SELECT status FROM members WHERE id = :id", id=agent)] == [
            "in_progress"
        ]
        assert not room.endpoint.calls
