"""Reactions to messages: once each, by those who are there, while the conversation lasts, and told to its readers."""

import asyncio
import json
from collections import Counter
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api, following
from parley_lab.talk.conversation import end_thread

Data = dict[str, Any]


async def member_id(api: Api, token: str) -> str:
    found: str = (await api.participant(token, "GET", "/v1/me")).json()["member_id"]
    return found


async def said(api: Api, token: str, words: str = "Hello.") -> Data:
    path = f"/v1/me/threads/{await api.thread(token)}/messages"
    answer = await api.participant(token, "POST", path, json={"text": words, "client_message_id": words})
    assert answer.status_code == 201, answer.text
    message: Data = answer.json()
    return message


async def two_in_talk(api: Api, **talk: Any) -> tuple[str, str, str]:
    stages = [{"id": "talk", "kind": "group_chat", **talk}, {"id": "after", "kind": "info", "lines": ["Bye."]}]
    experiment_id = await api.running(stages=stages)
    ada, bo = [await api.join(experiment_id, name) for name in ("Ada", "Bo")]
    return experiment_id, ada, bo


async def react(api: Api, token: str, message: Data, reaction: str = "heart", *, method: str = "PUT") -> Any:
    return await api.participant(token, method, f"/v1/me/messages/{message['id']}/reactions/{reaction}")


async def later(api: Api, token: str, message: Data) -> Any:
    api.clock.advance(1)
    return await react(api, token, message)


async def reactions_of(api: Api, token: str, message: Data) -> list[Data]:
    listed = await api.participant(token, "GET", f"/v1/me/threads/{message['thread_id']}/messages")
    found: list[Data] = next(one for one in listed.json()["messages"] if one["id"] == message["id"])["reactions"]
    return found


async def events(api: Api) -> Counter[str]:
    async with api.database.transaction() as session:
        rows = await session.all(text("SELECT type FROM events WHERE type LIKE 'message.%reacted'"))
    return Counter(row.type for row in rows)


async def test_a_message_shows_who_reacted_how(api: Api) -> None:
    _, ada, bo = await two_in_talk(api)
    message = await said(api, ada)

    answers = [
        await react(api, bo, message, "heart"),
        await react(api, bo, message, "thumbs_up"),
        await later(api, ada, message),
    ]

    ada_id, bo_id = await member_id(api, ada), await member_id(api, bo)
    assert [answer.status_code for answer in answers] == [200, 200, 200]
    assert message["reactions"] == []
    assert answers[-1].json()["reactions"] == [
        {"reaction": "heart", "count": 2, "member_ids": [bo_id, ada_id]},
        {"reaction": "thumbs_up", "count": 1, "member_ids": [bo_id]},
    ]
    assert await reactions_of(api, ada, message) == answers[-1].json()["reactions"]


async def test_reacting_and_taking_back_is_idempotent(api: Api) -> None:
    _, ada, bo = await two_in_talk(api)
    message = await said(api, ada)

    for _ in range(2):
        assert (await react(api, bo, message)).json()["reactions"][0]["count"] == 1
    for _ in range(2):
        assert (await react(api, bo, message, method="DELETE")).json()["reactions"] == []

    assert await events(api) == {"message.reacted": 1, "message.unreacted": 1}


async def test_reacting_many_times_at_once_is_one_row_and_one_event(api: Api) -> None:
    _, ada, bo = await two_in_talk(api)
    message = await said(api, ada)

    answers = await asyncio.gather(*(react(api, token, message) for token in (ada, bo) for _ in range(6)))

    assert Counter(answer.status_code for answer in answers) == {200: 12}
    assert (await reactions_of(api, ada, message))[0]["count"] == 2
    assert await events(api) == {"message.reacted": 2}


async def test_reacting_and_taking_back_at_once_leaves_what_the_events_say(api: Api) -> None:
    _, ada, bo = await two_in_talk(api)
    message = await said(api, ada)

    await asyncio.gather(*(react(api, bo, message, method=method) for method in ("PUT", "DELETE") * 8))

    told = await events(api)
    remains = len(await reactions_of(api, ada, message))
    assert told["message.reacted"] - told["message.unreacted"] == remains


async def test_a_reaction_is_told_on_the_stream_with_what_is_there_now(api: Api, address: str) -> None:
    _, ada, bo = await two_in_talk(api)
    message = await said(api, ada)
    await react(api, bo, message)
    await react(api, bo, message, method="DELETE")

    told: list[Data] = []
    async with following(address, ada) as stream:
        async for event in stream:
            if event["type"].endswith("reacted"):
                told.append(event)
            if event["type"] == "message.unreacted":
                break

    bo_id = await member_id(api, bo)
    common = {"message_id": message["id"], "thread_id": message["thread_id"], "stage_id": "talk", "seq": 1}
    assert [event["data"] for event in told] == [
        {
            **common,
            "member_id": bo_id,
            "reaction": "heart",
            "reactions": [{"reaction": "heart", "count": 1, "member_ids": [bo_id]}],
        },
        {**common, "member_id": bo_id, "reaction": "heart", "reactions": []},
    ]


async def test_a_message_that_is_posted_again_comes_with_its_reactions(api: Api) -> None:
    _, ada, bo = await two_in_talk(api)
    message = await said(api, ada)
    reacted = (await react(api, bo, message)).json()

    assert await said(api, ada) == reacted


@pytest.mark.parametrize("method", ["PUT", "DELETE"])
async def test_no_one_reacts_after_the_end(api: Api, method: str) -> None:
    _, ada, bo = await two_in_talk(api)
    message = await said(api, ada)
    async with api.database.transaction() as session:
        assert await end_thread(session, UUID(message["thread_id"]), api.clock.now(), reason="test", cause="test")

    refused = await react(api, bo, message, method=method)

    assert (refused.status_code, refused.json()["reason"]) == (409, "thread_ended")
    assert await reactions_of(api, ada, message) == []


async def test_who_has_gone_on_reacts_no_more(api: Api) -> None:
    _, ada, bo = await two_in_talk(api)
    message = await said(api, ada)
    await api.advance(bo, "talk")

    refused = await react(api, bo, message)

    assert (refused.status_code, refused.json()["reason"]) == (409, "not_in_thread")


async def test_who_is_out_finds_no_message(api: Api) -> None:
    _, ada, bo = await two_in_talk(api)
    message = await said(api, ada)
    await api.participant(bo, "POST", "/v1/me/leave")

    assert (await react(api, bo, message)).status_code == 404


async def test_strangers_and_messages_that_are_not_there_are_alike(api: Api) -> None:
    _, ada, _ = await two_in_talk(api)
    message = await said(api, ada)
    _, stranger, _ = await two_in_talk(api)

    real, made_up = [await react(api, stranger, {"id": one}) for one in (message["id"], uuid4())]
    no_one = await api.client.put(f"/v1/me/messages/{message['id']}/reactions/heart")
    nonsense = await react(api, "nonsense", message)

    assert real.status_code == made_up.status_code == 404
    assert real.json()["detail"] == made_up.json()["detail"]
    assert no_one.status_code == nonsense.status_code == 401
    assert await reactions_of(api, ada, message) == []


async def test_a_message_for_some_is_reacted_to_by_those_and_told_to_those(api: Api, address: str) -> None:
    _, ada, bo = await two_in_talk(api)
    message = await said(api, ada, "A whisper to myself")
    async with api.database.transaction() as session:
        await session.run(text("UPDATE messages SET audience = '{}'"))

    refused = await react(api, bo, message)
    own = await react(api, ada, message)
    await said(api, ada, "Aloud")
    heard = []
    async with following(address, bo) as stream:
        async for event in stream:
            heard.append(event["type"])
            if event["type"] == "message.created" and event["data"]["text"] == "Aloud":
                break

    assert (refused.status_code, own.status_code) == (404, 200)
    assert "message.reacted" not in heard


async def test_reactions_are_refused_where_they_are_switched_off(api: Api) -> None:
    _, ada, bo = await two_in_talk(api, replies_and_reactions=False)
    message = await said(api, ada)

    refused = await react(api, bo, message)

    assert (refused.status_code, refused.json()["reason"]) == (409, "not_offered")


async def test_there_are_two_reactions(api: Api) -> None:
    _, ada, _ = await two_in_talk(api)
    message = await said(api, ada)

    refused = await react(api, ada, message, "angry")

    assert refused.status_code == 422
    assert "heart" in json.dumps(refused.json())
