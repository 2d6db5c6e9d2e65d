"""Lab staff speak in a conversation over REST: shown as the lab's, told to all, and no trigger."""

from typing import Any, Final
from uuid import uuid4

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api, assert_described, following
from parley_lab.store import keys

pytestmark = pytest.mark.postgres

TALK: Final[dict[str, Any]] = {
    "personas": [{"id": "guide", "text": "A guide"}],
    "stages": [{"id": "talk", "kind": "group_chat"}, {"id": "after", "kind": "info", "lines": ["Bye"]}],
    "cohorts": [{"seats": [{"open": True, "count": 2}], "mediators": ["guide"]}],
}


async def opened(api: Api, **changes: Any) -> tuple[str, list[str], str]:
    """The experiment, the tokens of Ada and Ben, and the id of the conversation in which they are."""
    experiment_id = await api.running(**{**TALK, **changes})
    tokens = [await api.join(experiment_id, name) for name in ("Ada", "Ben")]
    return experiment_id, tokens, (await threads(api, experiment_id))[0]["id"]


async def threads(api: Api, experiment_id: str) -> list[dict[str, Any]]:
    (cohort,) = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]
    listed = await api.experimenter("GET", f"/v1/cohorts/{cohort['id']}/threads")
    found: list[dict[str, Any]] = listed.json()["threads"]
    return found


async def speak(api: Api, thread_id: str, words: str = "Please go on.", key: str = "1", **more: Any) -> Any:
    body = {"text": words, "client_message_id": key}
    return await api.experimenter("POST", f"/v1/threads/{thread_id}/messages", json=body, **more)


async def rows(api: Api, query: str) -> list[Any]:
    async with api.database.transaction() as session:
        return list(await session.all(text(query)))


async def test_all_who_are_there_hear_it_as_a_line_of_the_lab_and_the_data_say_who_spoke(
    api: Api, address: str
) -> None:
    _, (ada, ben), thread_id = await opened(api)

    said = await speak(api, thread_id)

    read = (await api.participant(ada, "GET", f"/v1/me/threads/{thread_id}/messages")).json()["messages"]
    assert said.status_code == 201, said.text
    assert read[-1] == said.json()
    assert (said.json()["author"], said.json()["text"]) == (None, "Please go on.")
    async with following(address, ben) as events:
        async for event in events:
            assert_described(event, is_member=True)
            assert "Ellen" not in str(event)
            if event["type"] == "message.created":
                break
    assert event["data"] == said.json()
    (stored,) = await rows(api, "SELECT author_kind, author_name, member_id FROM messages WHERE client_key = '1'")
    assert stored == ("experimenter", "Ellen", None)
    (event,) = await rows(api, "SELECT actor, cause FROM events WHERE type = 'message.created'")
    assert event == ("Ellen", "request")


async def test_it_is_no_members_message_and_asks_no_one(api: Api) -> None:
    experiment_id, (ada, _), thread_id = await opened(api)

    await api.participant(ada, "POST", f"/v1/me/threads/{thread_id}/messages", json=said("Hello"))
    before = await rows(api, "SELECT id, state FROM drafts ORDER BY id")
    (state,) = await rows(api, "SELECT turn_state, agent_run, last_author_id, last_spoken_id FROM threads")
    await speak(api, thread_id)
    await api.settle(experiment_id)

    assert len(before) == 2, "one for the empty room, one about what Ada said"
    assert await rows(api, "SELECT id, state FROM drafts ORDER BY id") == before
    assert await rows(api, "SELECT turn_state, agent_run, last_author_id, last_spoken_id FROM threads") == [state]


def said(words: str) -> dict[str, str]:
    return {"text": words, "client_message_id": words}


async def test_the_same_again_is_said_once_and_another_text_under_the_id_is_refused(api: Api) -> None:
    _, (ada, _), thread_id = await opened(api)
    await api.participant(ada, "POST", f"/v1/me/threads/{thread_id}/messages", json={**said("1")})

    first, again = await speak(api, thread_id), await speak(api, thread_id)
    other = await speak(api, thread_id, "Something else")

    assert first.status_code == again.status_code == 201
    assert first.json() == again.json()
    assert (other.status_code, other.json()["reason"]) == (409, "id_used")
    assert [row.text for row in await rows(api, "SELECT text FROM messages ORDER BY seq")] == ["1", "Please go on."]


async def test_nothing_is_said_in_a_pause_and_after_the_end(api: Api) -> None:
    experiment_id, tokens, thread_id = await opened(api)

    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
    paused = await speak(api, thread_id)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/resume")
    said = await speak(api, thread_id)
    for token in tokens:
        await api.participant(token, "POST", "/v1/me/leave")
    await api.settle(experiment_id)
    over = await speak(api, thread_id, key="2")
    again = await speak(api, thread_id)

    assert (paused.status_code, paused.json()["reason"]) == (409, "paused")
    assert (over.status_code, over.json()["reason"]) == (409, "thread_ended")
    assert (said.status_code, again.json()) == (201, said.json())


async def test_a_private_conversation_is_held_with_its_member(api: Api) -> None:
    experiment_id = await api.running(**{**TALK, "stages": [{"id": "talk", "kind": "private_chat"}]})
    ada, ben = [await api.join(experiment_id, name) for name in ("Ada", "Ben")]
    found = {one["member_id"]: one for one in await threads(api, experiment_id)}
    of_ada, of_ben = [(await api.participant(token, "GET", "/v1/me")).json()["member_id"] for token in (ada, ben)]

    await api.experimenter("POST", f"/v1/members/{of_ada}/pause")
    held = await speak(api, found[of_ada]["id"])
    free = await speak(api, found[of_ben]["id"])
    heard = (await api.participant(ada, "GET", f"/v1/me/threads/{found[of_ben]['id']}/messages")).status_code

    assert (held.status_code, held.json()["reason"]) == (409, "paused")
    assert (free.status_code, heard) == (201, 404)


async def test_the_conversations_of_others_are_not_there_and_reading_keys_say_nothing(api: Api) -> None:
    experiment_id, _, thread_id = await opened(api)
    async with api.database.transaction() as session:
        stranger = await keys.create_key(session, "Stranger", api.clock.now())
        reader = await keys.create_key(session, "Ellen", api.clock.now(), scopes=("read",))

    answers = [
        await speak(api, thread_id, headers={"Authorization": f"Bearer {stranger}"}),
        await speak(api, str(uuid4())),
        await speak(api, thread_id, headers={"Authorization": f"Bearer {reader}"}),
        await speak(api, thread_id, " "),
    ]
    (cohort,) = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]
    address = f"/v1/cohorts/{cohort['id']}/threads"
    listed = await api.client.get(address, headers={"Authorization": f"Bearer {stranger}"})

    assert [answer.status_code for answer in answers] == [404, 404, 403, 422]
    assert listed.status_code == 404
