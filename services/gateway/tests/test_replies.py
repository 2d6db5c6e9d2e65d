"""Messages that answer a certain message: what they quote, and to whom."""

from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from parley_lab.contracts.audience import LONGEST_QUOTE
from parley_lab.gateway.testing import Api, following

Data = dict[str, Any]

TALK = [{"id": "talk", "kind": "group_chat"}]


async def said(api: Api, token: str, words: str, reply_to: str | None = None) -> Data:
    path = f"/v1/me/threads/{await api.thread(token)}/messages"
    body = {"text": words, "client_message_id": str(uuid4()), "reply_to": reply_to}
    answer = await api.participant(token, "POST", path, json=body)
    assert answer.status_code == 201, answer.text
    message: Data = answer.json()
    return message


async def listed(api: Api, token: str) -> list[Data]:
    answer = await api.participant(token, "GET", f"/v1/me/threads/{await api.thread(token)}/messages")
    messages: list[Data] = answer.json()["messages"]
    return messages


async def two_in_talk(api: Api, **talk: Any) -> tuple[str, str, str]:
    experiment_id = await api.running(stages=[{**TALK[0], **talk}])
    ada, bo = [await api.join(experiment_id, name) for name in ("Ada", "Bo")]
    return experiment_id, ada, bo


async def until_message(events: AsyncIterator[Data], words: str) -> Data:
    async for event in events:
        if event["type"] == "message.created" and event["data"]["text"] == words:
            data: Data = event["data"]
            return data
    raise AssertionError(f"{words!r} was never told")


async def test_an_answer_shows_whom_and_what_it_answers_in_every_place(api: Api, address: str) -> None:
    _, ada, bo = await two_in_talk(api)
    long = "Should the night bus be free? " * 12
    first = await said(api, ada, long)

    answer = await said(api, bo, "Yes.", first["id"])

    assert answer["reply_to"] == first["id"]
    assert answer["quote"] == {
        "id": first["id"],
        "author": first["author"],
        "text": long[:LONGEST_QUOTE].rstrip() + "…",
    }
    assert (await listed(api, ada))[1] == answer
    async with following(address, ada) as events:
        assert await until_message(events, "Yes.") == answer


async def test_a_line_of_the_lab_has_its_code_and_values_in_every_place(api: Api, address: str) -> None:
    experiment_id, ada, bo = await two_in_talk(api)
    hello = await said(api, bo, "Hello.")

    await api.participant(ada, "POST", "/v1/me/leave")
    await api.settle(experiment_id)

    goodbye = (await listed(api, bo))[-1]
    assert (hello["line"], goodbye["line"]) == (None, {"code": "has_left", "params": {"name": "Ada"}})
    async with following(address, bo) as events:
        assert await until_message(events, "Ada has left the chat.") == goodbye


async def test_a_message_that_answers_nothing_quotes_nothing(api: Api) -> None:
    _, ada, _ = await two_in_talk(api)

    message = await said(api, ada, "Hello.")

    assert (message["reply_to"], message["quote"]) == (None, None)


async def test_posting_an_answer_twice_gives_the_same_quote(api: Api) -> None:
    _, ada, bo = await two_in_talk(api)
    first = await said(api, ada, "Hello.")
    path = f"/v1/me/threads/{await api.thread(bo)}/messages"
    body = {"text": "Hi.", "client_message_id": "1", "reply_to": first["id"]}

    once = await api.participant(bo, "POST", path, json=body)
    again = await api.participant(bo, "POST", path, json=body)

    assert once.json() == again.json()
    assert once.json()["quote"]["text"] == "Hello."


async def test_what_the_lab_said_can_be_answered(api: Api) -> None:
    experiment_id, ada, bo = await two_in_talk(api, progress={"wait_for_all": True})
    await said(api, ada, "Hello.")
    await api.advance(bo, "talk")
    await api.settle(experiment_id)
    goodbye = (await listed(api, ada))[-1]

    answer = await said(api, ada, "So soon?", goodbye["id"])

    assert answer["quote"] == {"id": goodbye["id"], "author": None, "text": "Bo has left the chat."}


async def test_a_message_of_another_conversation_cannot_be_answered(api: Api) -> None:
    _, ada, _ = await two_in_talk(api)
    _, eve, _ = await two_in_talk(api)
    elsewhere = await said(api, eve, "In another room.")
    path = f"/v1/me/threads/{await api.thread(ada)}/messages"
    body = {"text": "What?", "client_message_id": "1", "reply_to": elsewhere["id"]}

    refused = await api.participant(ada, "POST", path, json=body)

    assert refused.status_code == 422
    assert refused.json()["problems"][0]["where"] == "reply_to"
    assert await listed(api, ada) == []


async def test_answers_are_refused_where_they_are_switched_off(api: Api) -> None:
    _, ada, bo = await two_in_talk(api, replies_and_reactions=False)
    first = await said(api, ada, "Hello.")
    path = f"/v1/me/threads/{await api.thread(bo)}/messages"
    body = {"text": "Hi.", "client_message_id": "1", "reply_to": first["id"]}

    refused = await api.participant(bo, "POST", path, json=body)
    page = await api.participant(bo, "GET", "/v1/me/stages/talk")

    assert (refused.status_code, refused.json()["reason"]) == (409, "not_offered")
    assert page.json()["view"]["replies_and_reactions"] is False
    assert len(await listed(api, ada)) == 1


@pytest.mark.parametrize("may_bo_read", [True, False])
async def test_a_message_for_some_is_answered_by_those_and_quoted_to_no_other(
    api: Api, address: str, may_bo_read: bool
) -> None:
    _, ada, bo = await two_in_talk(api)
    whispered = await said(api, ada, "A whisper")
    bo_id = (await api.participant(bo, "GET", "/v1/me")).json()["member_id"]
    async with api.database.transaction() as session:
        await session.run(
            text("UPDATE messages SET audience = :audience WHERE id = :id"),
            {"id": UUID(whispered["id"]), "audience": [UUID(bo_id)] if may_bo_read else []},
        )
    path = f"/v1/me/threads/{await api.thread(bo)}/messages"
    body = {"text": "I heard that.", "client_message_id": "1", "reply_to": whispered["id"]}

    answer = await api.participant(bo, "POST", path, json=body)

    assert answer.status_code == (201 if may_bo_read else 422)
    if may_bo_read:
        assert (answer.json()["reply_to"], answer.json()["quote"]) == (None, None)
        assert (await listed(api, ada))[-1] == answer.json()
        async with following(address, ada) as events:
            assert await until_message(events, "I heard that.") == answer.json()
