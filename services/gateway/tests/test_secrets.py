"""What the API keeps to itself: others' conversations, who is an agent, what there is that is not the caller's."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from parley_lab.answers.advancing import end_member
from parley_lab.contracts.lives import Outcome
from parley_lab.gateway.testing import FILE, Api, following
from parley_lab.members.standings import lock_standing
from parley_lab.store import keys
from parley_lab.talk.conversation import end_thread

OPEN_TALK = [
    {"id": "welcome", "kind": "info", "lines": ["# Hello"]},
    {"id": "talk", "kind": "group_chat", "progress": {"wait_for_all": False}},
    {"id": "later", "kind": "group_chat", "progress": {"wait_for_all": False}},
]

Data = dict[str, Any]


async def _until(events: AsyncIterator[Data], event_type: str) -> list[Data]:
    found = []
    async for event in events:
        found.append(event)
        if event["type"] == event_type:
            break
    return found


def _texts(events: list[Data]) -> list[str]:
    return [event["data"]["text"] for event in events if event["type"] == "message.created"]


async def _say(api: Api, token: str, said: str) -> str:
    path = f"/v1/me/threads/{await api.thread(token)}/messages"
    answer = await api.participant(token, "POST", path, json={"text": said, "client_message_id": said})
    assert answer.status_code == 201, answer.text
    message_id: str = answer.json()["id"]
    return message_id


async def _come_to_the_talk(api: Api, experiment_id: str, token: str) -> None:
    await api.advance(token, "welcome")
    await api.settle(experiment_id)


async def _member_id(api: Api, token: str) -> UUID:
    return UUID((await api.participant(token, "GET", "/v1/me")).json()["member_id"])


async def _two(api: Api) -> tuple[str, str, str]:
    """An experiment with Ada in the conversation and Bo before it."""
    experiment_id = await api.running(stages=OPEN_TALK)
    ada, bo = [await api.join(experiment_id, name) for name in ("Ada", "Bo")]
    await _come_to_the_talk(api, experiment_id, ada)
    return experiment_id, ada, bo


async def _remove(api: Api, token: str) -> None:
    member_id = await _member_id(api, token)
    removed = await api.experimenter("POST", f"/v1/members/{member_id}/remove", json={"reason": "abuse"})
    assert removed.status_code == 200


async def _leave(api: Api, token: str) -> None:
    assert (await api.participant(token, "POST", "/v1/me/leave")).status_code == 200


@pytest.mark.parametrize("after", ["start", "live"])
async def test_a_conversation_is_heard_from_coming_to_it_on(api: Api, address: str, after: str) -> None:
    experiment_id, ada, bo = await _two(api)
    cursor = (await api.participant(bo, "GET", "/v1/me")).json()["cursor"] if after == "live" else after

    async with following(address, bo, cursor) as events:
        await _say(api, ada, "before Bo")
        await _come_to_the_talk(api, experiment_id, bo)
        await _say(api, ada, "with Bo")
        heard = await _until(events, "message.created")

    assert _texts(heard) == ["with Bo"]


async def test_who_has_come_hears_what_was_said_before_as_they_may_read_it(api: Api, address: str) -> None:
    experiment_id, ada, bo = await _two(api)
    await _say(api, ada, "before Bo")
    await _come_to_the_talk(api, experiment_id, bo)

    async with following(address, bo) as events:
        heard = await _until(events, "message.created")

    assert _texts(heard) == ["before Bo"]


async def test_the_end_of_a_conversation_is_for_those_who_have_come_to_it(api: Api, address: str) -> None:
    _, ada, bo = await _two(api)
    thread_id = UUID(await api.thread(ada))
    async with api.database.transaction() as session:
        assert await end_thread(session, thread_id, api.clock.now(), reason="test", cause="test")

    async with following(address, ada) as mine, following(address, bo) as others:
        heard = await _until(mine, "thread.ended")
        await _leave(api, ada)
        overheard = await _until(others, "member.left")

    assert heard[-1]["data"]["reason"] == "test"
    assert "thread.ended" not in [event["type"] for event in overheard]


async def test_a_private_conversation_is_for_its_member(api: Api, address: str) -> None:
    experiment_id, ada, bo = await _two(api)
    await _come_to_the_talk(api, experiment_id, bo)
    async with api.database.transaction() as session:
        await session.run(text("UPDATE threads SET scope = 'private:c1/m1' WHERE stage_id = 'talk'"))
    await _say(api, ada, "For my ears only")

    thread_id = await api.thread(ada)
    reading = [
        (await api.participant(token, "GET", f"/v1/me/threads/{thread_id}/messages")).status_code for token in (ada, bo)
    ]
    async with following(address, ada) as mine:
        heard = await _until(mine, "message.created")
    path = f"/v1/me/threads/{thread_id}/messages"
    spoken = await api.participant(bo, "POST", path, json={"text": "I am here, too", "client_message_id": "1"})
    reacted = await api.participant(bo, "PUT", f"/v1/me/messages/{heard[-1]['data']['id']}/reactions/heart")
    await api.participant(ada, "POST", "/v1/me/leave")
    async with following(address, bo) as others:
        overheard = await _until(others, "member.left")

    assert reading == [200, 404]
    assert (spoken.status_code, reacted.status_code) == (404, 404)
    assert _texts(heard) == ["For my ears only"]
    assert _texts(overheard) == []


@pytest.mark.parametrize("go", [_remove, _leave])
async def test_who_is_out_hears_and_reads_nothing_any_more(api: Api, address: str, go: Any) -> None:
    experiment_id, ada, bo = await _two(api)
    await _come_to_the_talk(api, experiment_id, bo)
    thread_id = await api.thread(bo)

    async with following(address, bo) as events:
        await go(api, bo)
        await _say(api, ada, "Bo is gone")
        heard = [event async for event in events]
    again = await api.participant(bo, "GET", "/v1/me/stream")
    reading = await api.participant(bo, "GET", f"/v1/me/threads/{thread_id}/messages")

    assert heard[-1]["type"] == "member.left"
    assert _texts(heard) == []
    assert (again.status_code, again.json()["reason"]) == (409, "not_in_progress")
    assert reading.status_code == 404


async def test_a_cursor_from_the_future_does_not_hide_that_one_is_out(api: Api, address: str) -> None:
    experiment_id, ada, bo = await _two(api)
    await _come_to_the_talk(api, experiment_id, bo)
    cohort, _, newest = (await api.participant(bo, "GET", "/v1/me")).json()["cursor"].partition(":")

    async with following(address, bo, f"{cohort}:{int(newest) + 2}") as events:
        await _remove(api, bo)
        await _say(api, ada, "Bo is gone")
        heard = [event async for event in events]

    assert [event["type"] for event in heard] == ["member.left"]


@pytest.mark.parametrize("status", ["failed", "removed", "left"])
async def test_nothing_tells_members_who_joined_or_why_someone_is_out(api: Api, address: str, status: Outcome) -> None:
    personas = [{"id": "ann", "profile": {"name": "Ann"}}]
    seats = [{"open": True}, {"persona": "ann"}]
    experiment_id = await api.running(stages=FILE["stages"], personas=personas, cohorts=[{"seats": seats}])
    ada = await api.join(experiment_id)
    async with api.database.transaction() as session:
        ann = await session.one(text("SELECT id FROM members WHERE player = 'agent'"))
        standing = await lock_standing(session, ann.id)
        await end_member(session, standing, status, "model failed", api.clock.now(), cause="test")

    async with following(address, ada) as events:
        heard = await _until(events, "member.left")

    assert "member.joined" not in [event["type"] for event in heard]
    assert heard[-1]["data"] == {"member_id": str(ann.id)}


async def test_experimenters_are_told_who_joined_and_why_someone_is_out(api: Api, address: str) -> None:
    experiment_id = await api.running()
    await _remove(api, await api.join(experiment_id))

    async with following(address, api.key, path=f"/v1/experiments/{experiment_id}/stream") as events:
        told = await _until(events, "member.removed")

    assert "member.joined" in [event["type"] for event in told]
    assert told[-1]["data"] == {"reason": "abuse"}


async def test_a_member_of_someone_else_is_removed_like_one_that_there_is_not(api: Api) -> None:
    async with api.database.transaction() as session:
        other = await keys.create_key(session, "Mallory", api.clock.now())
    member_id = await _member_id(api, await api.join(await api.running()))

    answers = [
        await api.client.post(
            f"/v1/members/{one}/remove", json={"reason": "x"}, headers={"Authorization": f"Bearer {key}"}
        )
        for key in ("nonsense", other)
        for one in (member_id, uuid4())
    ]

    told = [(answer.status_code, answer.json()["detail"]) for answer in answers]
    assert [status for status, _ in told] == [401, 401, 404, 404]
    assert told[2] == told[3]


@pytest.mark.parametrize("is_real", [True, False])
async def test_an_answer_to_a_message_of_others_is_no_way_to_find_it(api: Api, is_real: bool) -> None:
    _, ada, bo = await _two(api)
    stranger = await api.join(await api.running())
    message_id = await _say(api, ada, "Hello") if is_real else str(uuid4())
    path = f"/v1/me/threads/{await api.thread(ada)}/messages"
    body = {"text": "x", "client_message_id": "1", "reply_to": message_id}

    answers = [await api.participant(token, "POST", path, json=body) for token in (stranger, bo)]

    assert [answer.status_code for answer in answers] == [404, 404]
