"""Replies as models write them, from the endpoint to the stored message: only what was said is posted."""

import json
from typing import Any

import pytest

from parley_lab.agent_worker.models.openai_model import OpenAIModel
from parley_lab.contracts.model_keys import NO_KEYS
from parley_lab.store.session import Database
from parley_lab.testing.fake_endpoint import FakeEndpoint, Replies
from tests.flows.drain import DrainLab

pytestmark = pytest.mark.postgres

ROOM = """
parley: 1
name: A room
seed: 0
model_mode: real
personas: [{id: ada, model: {provider: openai, model: gpt-4.1-mini, max_attempts: 2}}]
stages: [{id: talk, kind: group_chat}]
cohorts: [{seats: [{persona: ada}]}]
"""


async def said(database: Database, written: Replies | str, room: str = ROOM) -> tuple[list[str], list[Any]]:
    """The texts of all messages, and the calls, when the model always writes this."""
    replies = written if callable(written) else lambda _body: written
    async with FakeEndpoint(replies=replies) as endpoint:
        model = OpenAIModel(NO_KEYS, base_url=endpoint.base_url)
        lab = DrainLab(database, models={"openai": model})
        await lab.start(room)
        await lab.drain()
        await model.aclose()
    messages = await lab.rows("SELECT text FROM messages WHERE author_kind <> 'system' ORDER BY seq")
    calls = await lab.rows("SELECT * FROM model_calls ORDER BY path")
    return [message.text for message in messages], list(calls)


def reply(**fields: Any) -> str:
    return json.dumps(
        {"explanation": "So.", "shouldRespond": True, "response": "Hello.", "readyToEndChat": True} | fields
    )


@pytest.mark.parametrize(
    "written",
    [
        reply(),
        f"```json\n{reply()}\n```",
        f"json\n{reply()}",
        reply().replace("}", ",}"),
        f'{{"type": "object", "properties": {{"response": {{"type": "string"}}}}}}\n{reply()}',
        f"<think>A draft: {reply(response='I hate it.')}</think>\n{reply()}",
        f"A draft: {reply(response='I hate it.')}\n</think>\n{reply()}",
        f"First I thought of {reply(response='I hate it.')}\n\nMy reply:\n{reply()}",
        reply(response="<think>I only pretend to agree.</think>Hello."),
        reply(mood="calm", shouldRespond="yes"),
        '{"response": "Hello.", "readyToEndChat": true}',
        f'{{"answer": {reply()}}}',
    ],
)
async def test_a_reply_is_posted_however_it_is_written(database: Database, written: str) -> None:
    messages, calls = await said(database, written)

    assert messages == ["Hello."]
    assert [call.status for call in calls] == ["ok"]


@pytest.mark.parametrize("fields", [{"response": None}, {"response": ""}, {"response": "", "mood": "calm"}])
async def test_silence_is_taken_in_every_form_that_is_plain(database: Database, fields: dict[str, Any]) -> None:
    messages, calls = await said(database, reply(shouldRespond=False, **fields))

    assert messages == []
    assert {call.status for call in calls} == {"ok"}


@pytest.mark.parametrize(
    ("written", "error"),
    [
        (f"<think>A draft: {reply()}. Let me see whether", "begins a thought and never ends it"),
        (reply(response="<think>I only pretend to agree.</think>"), "it is a thought, and says nothing"),
        (f"{reply()}\n{reply(response='I hate it.')[:-30]}", "its last object was cut off"),
        ('{"response": "Hello.", "response": "I hate it."}', "twice, with different values"),
    ],
)
async def test_what_may_not_be_meant_is_asked_again_with_the_reason(
    database: Database, written: str, error: str
) -> None:
    messages, calls = await said(database, written)

    assert messages == []
    assert [call.status for call in calls] == ["invalid", "invalid"]
    assert error in calls[0].error


async def test_what_was_read_in_another_form_is_in_the_data(database: Database) -> None:
    _, calls = await said(database, reply(response="<think>I pretend.</think>Hello.", shouldRespond="yes", mood="calm"))

    assert calls[0].parsed["shouldRespond"] == "yes"
    assert calls[0].read_as == json.loads(reply())


async def test_a_reply_as_it_was_asked_for_is_not_in_the_data_again(database: Database) -> None:
    _, calls = await said(database, f"<think>Hm.</think>{reply()}")

    assert calls[0].parsed == json.loads(reply())
    assert calls[0].read_as is None


PAIR = ROOM.replace(
    "personas: [{id: ada, ",
    "personas: [{id: ben, profile: {name: Ben}, chat: {max_responses: 0}}, {id: ada, profile: {name: Ada}, ",
).replace("seats: [", "seats: [{persona: ben}, ")


@pytest.mark.parametrize(
    ("written", "expected", "removed"),
    [
        ("Ada: I am for it.", "I am for it.", ["own_name"]),
        ("**[00:05] Ada:** I am for it.", "I am for it.", ["own_name"]),
        ("I am for it.\nBen: And I am not.\nAda: Oh.", "I am for it.", ["words_of_others"]),
        ("Ada: I am for it.\nBen: And I am not.", "I am for it.", ["own_name", "words_of_others"]),
        ("Note: the last one leaves at one.", "Note: the last one leaves at one.", None),
        ("Ben, what do you say?", "Ben, what do you say?", None),
    ],
)
async def test_only_a_members_own_words_are_posted_and_the_data_say_what_was_removed(
    database: Database, written: str, expected: str, removed: list[str] | None
) -> None:
    messages, calls = await said(database, reply(response=written), PAIR)

    assert messages == [expected]
    assert [call.status for call in calls] == ["ok"]
    assert (calls[0].details or {}).get("removed") == removed


async def test_words_of_another_member_alone_are_asked_about_once_more(database: Database) -> None:
    asked: list[dict[str, Any]] = []

    def of_another_first(body: dict[str, Any]) -> str:
        asked.append(body)
        return reply(response="Ben: I am against it.") if len(asked) == 1 else reply()

    messages, calls = await said(database, of_another_first, PAIR)

    assert messages == ["Hello."]
    assert [call.status for call in calls] == ["invalid", "ok"]
    assert "it speaks for Ben" in asked[1]["messages"][-1]["content"]


async def test_to_speak_without_words_is_asked_again_with_the_reason_and_never_declined(database: Database) -> None:
    asked: list[dict[str, Any]] = []

    def blank_first(body: dict[str, Any]) -> str:
        asked.append(body)
        return reply(response=" ") if len(asked) == 1 else reply()

    messages, calls = await said(database, blank_first)

    assert messages == ["Hello."]
    assert [call.status for call in calls] == ["invalid", "ok"]
    assert "says nothing, although you chose to speak" in calls[0].error
    assert "says nothing, although you chose to speak" in asked[1]["messages"][-1]["content"]


async def test_a_call_to_another_endpoint_has_no_price(database: Database) -> None:
    """The endpoint is the one that the environment names; the experiment says nothing of it."""
    _, calls = await said(database, reply())

    assert [(call.status, call.cost) for call in calls] == [("ok", None)]
    assert calls[0].tokens_in > 0


@pytest.mark.parametrize(
    "written", [reply(shouldRespond="false"), reply(shouldRespond="False", response=""), reply(shouldRespond=False)]
)
async def test_the_text_false_is_false_and_silence_is_a_valid_reply(database: Database, written: str) -> None:
    messages, calls = await said(database, written)

    assert messages == []
    assert [call.status for call in calls] == ["ok"]


@pytest.mark.parametrize(
    ("written", "count"),
    [
        # Two calls show that the server ignores a schema, and JSON; they are no attempts.
        ("Hello everybody.", 4),
        (reply()[:-30], 2),
        ('{"shouldRespond": true}', 2),
        ('{"explanation": "So.", "shouldRespond": true, "readyToEndChat": false}', 2),
        (reply(response=7), 2),
        (reply(response=""), 2),
        (reply(response=" \n "), 2),
        ("", 2),
    ],
)
async def test_what_is_no_reply_is_never_posted_and_asked_for_again(
    database: Database, written: str, count: int
) -> None:
    messages, calls = await said(database, written)

    assert messages == []
    assert [call.status for call in calls] == ["invalid"] * count
