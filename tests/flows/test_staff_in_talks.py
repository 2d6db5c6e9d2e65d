"""Lab staff in a conversation of people and agents: agents read what staff say, and those who are added take part."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any
from uuid import UUID

import pytest

from parley_lab.base.settings import ServerSettings
from parley_lab.members.standings import lock_standing
from parley_lab.people.adding import Addition, add_agent
from parley_lab.people.attention import send_check
from parley_lab.talk.conversation import say_as_staff
from tests.flows.rooms import Room, eventually, reply, room_in

pytestmark = pytest.mark.postgres

DOCUMENT = """
parley: 1
name: A talk with staff
seed: 5
pace: live
model_mode: real
stages:
  - {id: talk, kind: group_chat}
  - {id: after, kind: info, lines: [Bye]}
personas:
  - {id: ann, text: Talks, profile: {name: Ann}, model: {provider: openai, model: small}, chat: {words_per_minute: 0}}
  - {id: sue, text: Talks, profile: {name: Sue}, model: {provider: openai, model: small}, chat: {words_per_minute: 0}}
  - {id: mod, text: Guides, profile: {name: Mo}, model: {provider: openai, model: small},
     chat: {initial_message: Welcome all, words_per_minute: 0}}
cohorts:
  - seats: [{open: true}, {persona: ann}]
"""


@pytest.fixture
async def room(servers: ServerSettings, tmp_path: Path) -> AsyncIterator[Room]:
    async with room_in(servers, tmp_path, said_once) as found:
        await found.open_silently(DOCUMENT)
        yield found


def said_once(request: dict[str, Any]) -> dict[str, Any]:
    """An agent that is asked speaks if none has before."""
    prompt = " ".join(message["content"] for message in request["messages"])
    return reply("I see.", speaks="I see." not in prompt)


async def speak(room: Room, words: str) -> None:
    async with room.lab.database.transaction() as session:
        now = room.lab.clock.now()
        await say_as_staff(session, await room.thread(), words, now, client_key=words, actor="Ellen")


async def add(room: Room, persona_id: str, **more: Any) -> UUID:
    (cohort,) = await room.rows("SELECT id FROM cohorts")
    async with room.lab.database.transaction() as session:
        wanted = Addition(persona_id, **{"kind": "participant", **more})
        return await add_agent(session, cohort.id, wanted, room.lab.clock.now(), actor="Ellen")


def prompts(room: Room) -> list[str]:
    return [" ".join(one["content"] for one in request["messages"]) for request in room.endpoint.calls]


async def test_agents_are_not_asked_about_what_staff_say_and_read_it_with_the_next_message(room: Room) -> None:
    await speak(room, "Please speak about trams.")
    await room.at_rest()
    before = prompts(room)
    await room.say("Hello")
    await room.at_rest()

    assert before == []
    assert all("from the system] Please speak about trams." in prompt for prompt in prompts(room))
    assert [text for _, text in await room.transcript()] == ["Please speak about trams.", "Hello", "I see."]


async def test_an_agent_and_a_mediator_who_are_added_take_part_like_the_others(room: Room) -> None:
    await room.say("Hello")
    await room.at_rest()
    room.endpoint.reset()

    sue = await add(room, "sue")
    mod = await add(room, "mod", kind="mediator")
    await room.at_rest()
    await room.say("And now?")
    await room.at_rest()

    asked = await room.rows("SELECT DISTINCT member_id FROM drafts WHERE member_id IN (:sue, :mod)", sue=sue, mod=mod)
    assert {row.member_id for row in asked} == {sue, mod}
    assert ("Mo", "Welcome all") in await room.transcript()
    assert all("Hello" in prompt for prompt in prompts(room)), "what was said before they came is known to them"


async def test_agents_and_mediators_pass_a_check_without_a_call(room: Room) -> None:
    mod = await add(room, "mod", kind="mediator")
    await room.at_rest()
    room.endpoint.reset()

    for member_id in (mod, await room.agent("Ann")):
        async with room.lab.database.transaction() as session:
            standing = await lock_standing(session, member_id)
            await send_check(session, standing, room.lab.clock.now(), sent_by="Ellen", cause="request")

    async def have_passed() -> bool:
        checks = await room.rows("SELECT outcome FROM attention_checks")
        return [check.outcome for check in checks] == ["passed", "passed"]

    await eventually(have_passed)
    assert room.endpoint.calls == []
