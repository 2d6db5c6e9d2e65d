"""The live stream tells when a conversation begins, to those who may read it."""

from collections.abc import AsyncIterator
from typing import Any, Final

import pytest

from parley_lab.gateway.testing import Api, following

pytestmark = pytest.mark.postgres

WELCOME: Final = {"id": "welcome", "kind": "info", "lines": ["Hello"]}
AT_ONCE: Final = {"progress": {"wait_for_all": False}}
GUIDE: Final = {"id": "guide", "profile": {"name": "Guide"}}


def study(kind: str, **more: Any) -> dict[str, Any]:
    return {
        "stages": [WELCOME, {"id": "talk", "kind": kind, **AT_ONCE, **more}],
        "personas": [GUIDE],
        "cohorts": [{"seats": [{"open": True, "count": 2}], "mediators": ["guide"]}],
    }


async def heard_until(events: AsyncIterator[dict[str, Any]], event_type: str) -> list[dict[str, Any]]:
    heard = [await anext(events)]
    while heard[-1]["type"] != event_type:
        heard.append(await anext(events))
    return heard


async def came(api: Api, token: str) -> dict[str, Any]:
    found: dict[str, Any] = (await api.advance(token, "welcome")).json()
    return found


async def thread_of(api: Api, token: str) -> Any:
    return (await api.participant(token, "GET", "/v1/me/stages/talk")).json()["thread"]


async def test_who_waits_for_a_conversation_is_told_that_it_has_begun(api: Api, address: str) -> None:
    experiment_id = await api.running(**study("group_chat"))
    ada = await api.join(experiment_id, "Ada")
    before = await came(api, ada)
    assert before["page"]["thread"] is None

    async with following(address, ada, before["me"]["cursor"]) as events:
        await api.settle(experiment_id)
        told = (await heard_until(events, "thread.opened"))[-1]

    thread = await thread_of(api, ada)
    assert told["data"] == {"thread_id": thread["id"], "stage_id": "talk"}
    path = f"/v1/me/threads/{thread['id']}/messages"
    said = await api.participant(ada, "POST", path, json={"text": "Hi", "client_message_id": "1"})
    assert said.status_code == 201


async def test_it_comes_once_and_before_what_is_said(api: Api, address: str) -> None:
    experiment_id = await api.running(**study("group_chat"))
    ada = await api.join(experiment_id, "Ada")
    await came(api, ada)
    for _ in range(2):
        await api.settle(experiment_id)
    path = f"/v1/me/threads/{(await thread_of(api, ada))['id']}/messages"
    await api.participant(ada, "POST", path, json={"text": "Hi", "client_message_id": "1"})

    async with following(address, ada) as events:
        types = [one["type"] for one in await heard_until(events, "message.created")]

    assert types.count("thread.opened") == 1
    assert types.index("stage.unlocked") < types.index("thread.opened")


async def test_a_private_one_is_told_to_its_member_alone(api: Api, address: str) -> None:
    experiment_id = await api.running(**study("private_chat"))
    ada, bo = [await api.join(experiment_id, name) for name in ("Ada", "Bo")]
    for one in (ada, bo):
        await came(api, one)
    await api.settle(experiment_id)
    threads = [(await thread_of(api, one))["id"] for one in (ada, bo)]
    assert (await api.participant(bo, "POST", "/v1/me/leave")).status_code == 200

    async with following(address, ada) as events:
        heard = await heard_until(events, "member.left")

    assert [one["data"]["thread_id"] for one in heard if one["type"] == "thread.opened"] == threads[:1]


async def test_who_has_not_come_to_its_stage_is_not_told(api: Api, address: str) -> None:
    experiment_id = await api.running(**study("group_chat"))
    ada, bo = [await api.join(experiment_id, name) for name in ("Ada", "Bo")]
    await came(api, ada)
    await api.settle(experiment_id)
    assert (await api.participant(ada, "POST", "/v1/me/leave")).status_code == 200

    async with following(address, bo) as events:
        types = {one["type"] for one in await heard_until(events, "member.left")}

    assert "thread.opened" not in types
