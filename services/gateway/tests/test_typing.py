"""Who is typing: told to those who may read the conversation, by all gateways, and stored nowhere."""

import asyncio
import json
from collections.abc import AsyncIterator
from typing import Any
from uuid import UUID, uuid4

import pytest
from sqlalchemy import text

from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import ANSWER, FILE, Api, assert_described, following, served
from parley_lab.gateway.testing.streams import until_hearing
from parley_lab.talk import typing_hints

pytestmark = pytest.mark.postgres


async def two_talkers(api: Api) -> tuple[str, str, str]:
    """The experiment, and the tokens of two people in its conversation."""
    experiment_id = await api.running()
    ada, bo = [await api.to_the_talk(experiment_id, name) for name in ("Ada", "Bo")]
    await api.settle(experiment_id)
    await until_hearing(api.database)
    return experiment_id, ada, bo


async def types(api: Api, token: str, thread_id: str, *, is_typing: bool = True) -> int:
    answer = await api.participant(token, "POST", f"/v1/me/threads/{thread_id}/typing", json={"is_typing": is_typing})
    return answer.status_code


async def says(api: Api, token: str, thread_id: str, words: str) -> None:
    body = {"text": words, "client_message_id": words}
    answer = await api.participant(token, "POST", f"/v1/me/threads/{thread_id}/messages", json=body)
    assert answer.status_code == 201, answer.text


async def member_id(api: Api, token: str) -> str:
    return str((await api.participant(token, "GET", "/v1/me")).json()["member_id"])


async def told(events: AsyncIterator[dict[str, Any]]) -> tuple[str, Any]:
    """The next thing about typing or a message: its type, and who types or what was said."""
    async for event in events:
        if event["type"] in ("thread.typing", "message.created"):
            assert_described(event, is_member=True)
            data = event["data"]
            return event["type"], (data["member_id"], data["is_typing"]) if "is_typing" in data else data["text"]
    raise AssertionError("the stream has ended")


async def test_the_others_are_told_once_that_one_types_and_that_one_stops(api: Api, address: str) -> None:
    _, ada, bo = await two_talkers(api)
    thread_id, who = await api.thread(ada), await member_id(api, ada)

    async with following(address, bo, "") as seen:
        statuses = [await types(api, ada, thread_id) for _ in range(3)]
        statuses.append(await types(api, ada, thread_id, is_typing=False))
        heard = [await told(seen), await told(seen)]

    assert statuses == [204] * 4
    assert heard == [("thread.typing", (who, True)), ("thread.typing", (who, False))]


async def test_a_message_says_itself_that_its_author_has_stopped(api: Api, address: str) -> None:
    _, ada, bo = await two_talkers(api)
    thread_id, who = await api.thread(ada), await member_id(api, ada)

    async with following(address, bo, "") as seen:
        await types(api, ada, thread_id)
        first = await told(seen)
        await says(api, ada, thread_id, "Hello")
        await types(api, bo, thread_id)
        await says(api, ada, thread_id, "Are you there?")
        heard = [first, await told(seen), await told(seen)]

    assert heard == [
        ("thread.typing", (who, True)),
        ("message.created", "Hello"),
        ("message.created", "Are you there?"),
    ]


async def test_who_says_nothing_any_more_has_stopped_by_itself(
    api: Api, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("parley_lab.gateway.routes.threads.LASTS_MS", 50)
    _, ada, bo = await two_talkers(api)
    thread_id, who = await api.thread(ada), await member_id(api, ada)

    async with following(address, bo, "") as seen:
        await types(api, ada, thread_id)
        heard = [await told(seen), await told(seen)]

    assert heard == [("thread.typing", (who, True)), ("thread.typing", (who, False))]


async def test_a_stream_that_begins_later_is_told_who_types_and_another_gateway_tells_it_too(
    api: Api, address: str, bus: InProcessBus
) -> None:
    _, ada, bo = await two_talkers(api)
    thread_id, who = await api.thread(ada), await member_id(api, ada)
    other = create_app(api.database, bus, api.clock, GatewaySettings(stream_look_seconds=0.1), environ={})

    async with (
        other.router.lifespan_context(other),
        served(other) as elsewhere,
        following(elsewhere, bo, "") as first,
    ):
        await until_hearing(api.database, 2)
        await types(api, ada, thread_id)
        heard = await told(first)
        async with following(elsewhere, bo, "") as second:
            later = await told(second)

    assert heard == later == ("thread.typing", (who, True))


async def test_who_comes_to_the_conversation_is_told_who_types_there(api: Api, address: str) -> None:
    alone = {"progress": {"wait_for_all": False}}
    experiment_id = await api.running(
        stages=[{**stage, **(alone if stage["id"] == "talk" else {})} for stage in FILE["stages"]]
    )
    ada = await api.to_the_talk(experiment_id, "Ada")
    bo = await api.join(experiment_id, "Bo")
    await api.settle(experiment_id)
    thread_id, who = await api.thread(ada), await member_id(api, ada)
    await until_hearing(api.database)

    async with following(address, bo, "") as seen:
        await types(api, ada, thread_id)
        await api.advance(bo, "welcome", None)
        await types(api, ada, thread_id)
        await api.advance(bo, "before", ANSWER)
        heard = [await told(seen)]
        await types(api, ada, thread_id)
        await types(api, ada, thread_id, is_typing=False)
        heard.append(await told(seen))

    assert heard == [("thread.typing", (who, True)), ("thread.typing", (who, False))]


async def test_an_agent_is_told_of_as_a_person_is(api: Api, address: str) -> None:
    """What an agent-worker sends with a ready reply comes out of the stream as what a person's page sends."""
    experiment_id, ada, bo = await two_talkers(api)
    thread_id, who = await api.thread(ada), await member_id(api, ada)

    async def raw(events: AsyncIterator[dict[str, Any]]) -> str:
        async for event in events:
            if event["type"] == "thread.typing":
                return json.dumps(event)
        raise AssertionError

    async with following(address, bo, "") as seen:
        await types(api, ada, thread_id)
        by_person = [await raw(seen)]
        await types(api, ada, thread_id, is_typing=False)
        by_person.append(await raw(seen))
        async with api.database.transaction() as session:
            row = await session.one(text("SELECT cohort_id, id, stage_id, scope FROM threads WHERE scope = 'group'"))
        thread = row.cohort_id, row.id, row.stage_id, row.scope
        by_agent = []
        for for_ms in (9000, 0):
            hint = typing_hints.TypingHint(*thread, UUID(who), for_ms)
            async with api.database.transaction() as session:
                await typing_hints.send(session, [hint])
            by_agent.append(await raw(seen))

    assert experiment_id
    assert by_person == by_agent


async def test_who_leaves_types_no_more(api: Api, address: str) -> None:
    _, ada, bo = await two_talkers(api)
    thread_id, who = await api.thread(ada), await member_id(api, ada)

    async with following(address, bo, "") as seen:
        await types(api, ada, thread_id)
        heard = [await told(seen)]
        await api.participant(ada, "POST", "/v1/me/leave")
        while len(heard) < 2 or heard[-1][0] != "thread.typing":
            heard.append(await told(seen))

    assert heard[-1] == ("thread.typing", (who, False))


async def test_only_members_of_the_conversation_type_there_while_it_goes_on(api: Api) -> None:
    experiment_id, ada, bo = await two_talkers(api)
    thread_id = await api.thread(ada)
    stranger = await api.to_the_talk(await api.running(), "Cy")

    assert await types(api, stranger, thread_id) == 404
    assert await types(api, ada, str(uuid4())) == 404
    assert await types(api, "nonsense", thread_id) == 401
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
    assert await types(api, bo, thread_id) == 409


async def test_it_is_stored_nowhere(api: Api) -> None:
    _, ada, _ = await two_talkers(api)
    thread_id = await api.thread(ada)
    count = text("SELECT count(*) AS n FROM events")

    async with api.database.transaction() as session:
        before = (await session.one(count)).n
    await asyncio.gather(*(types(api, ada, thread_id) for _ in range(3)))
    async with api.database.transaction() as session:
        after = (await session.one(count)).n

    assert before == after
