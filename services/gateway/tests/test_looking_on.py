"""Lab staff see what a participant sees, with a token that reads and does nothing else."""

from typing import Any, Final
from uuid import uuid4

import pytest
from fastapi.routing import APIRoute
from sqlalchemy import text

from parley_lab.gateway.routes import partial_answers, participants, reactions, threads
from parley_lab.gateway.testing import Api, following
from parley_lab.members.forgetting import forget
from parley_lab.members.standings import lock_standing
from parley_lab.store import keys

pytestmark = pytest.mark.postgres

READABLE: Final = {
    "/v1/me",
    "/v1/me/appearance",
    "/v1/me/stages/{stage_id}",
    "/v1/me/threads/{thread_id}/messages",
    "/v1/me/stream",
}
ROUTES: Final = [
    (method, route)
    for module in (participants, partial_answers, threads, reactions)
    for route in module.router.routes
    if isinstance(route, APIRoute) and route.path.startswith("/v1/me")
    for method in route.methods or ()
]
BODIES: Final[dict[str, Any]] = {
    "answer_ask": {"answer": 1},
    "save_page": {"answer": {}},
    "save_ask": {"answer": {}},
    "ask_for_help": {"text": "Help"},
    "answer_offer": {"accept": True},
    "post_message": {"text": "Hello", "client_message_id": "1"},
    "go_on": {"topic": "a"},
}


async def rows(api: Api, query: str) -> list[Any]:
    async with api.database.transaction() as session:
        return list(await session.all(text(query)))


async def view(api: Api, token: str, **body: Any) -> Any:
    member_id = (await api.participant(token, "GET", "/v1/me")).json()["member_id"]
    return await api.experimenter("POST", f"/v1/members/{member_id}/view", json=body or None)


async def in_the_talk(api: Api) -> tuple[str, str, str]:
    """The experiment, the token of Ada, who talks with Ben, and one for looking on at her."""
    experiment_id = await api.running()
    ada, ben = [await api.to_the_talk(experiment_id, name) for name in ("Ada", "Ben")]
    url = f"/v1/me/threads/{await api.thread(ada)}/messages"
    await api.participant(ben, "POST", url, json={"text": "Hello", "client_message_id": "1"})
    opened = await view(api, ada)
    assert opened.status_code == 201, opened.text
    return experiment_id, ada, opened.json()["token"]


async def test_it_shows_what_the_participant_sees(api: Api, address: str) -> None:
    _, ada, eye = await in_the_talk(api)
    thread_id = await api.thread(ada)

    for path in ("/v1/me", "/v1/me/stages/talk", "/v1/me/stages/before", f"/v1/me/threads/{thread_id}/messages"):
        own, seen = [await api.participant(token, "GET", path) for token in (ada, eye)]
        assert (seen.status_code, seen.json()) == (200, own.json()), path
    async with following(address, eye) as events:
        async for event in events:
            if event["type"] == "message.created":
                break

    assert event["data"]["text"] == "Hello"


async def test_everything_that_writes_refuses_it(api: Api) -> None:
    _, ada, eye = await in_the_talk(api)
    before = await rows(api, "SELECT id, status, position, version FROM members ORDER BY id")
    events = await rows(api, "SELECT count(*) FROM events")
    ids = dict.fromkeys(("ask_id", "notice_id", "message_id"), uuid4())
    places = {**ids, "stage_id": "talk", "thread_id": await api.thread(ada), "reaction": "heart"}
    found = {}
    for method, route in ROUTES:
        if method != "GET" or route.path not in READABLE:
            answer = await api.participant(eye, method, route.path.format_map(places), json=BODIES.get(route.name))
            found[route.name] = answer.status_code, answer.json()["code"]

    assert len(found) >= 12
    assert found == dict.fromkeys(found, (403, "not_allowed"))
    assert await rows(api, "SELECT id, status, position, version FROM members ORDER BY id") == before
    assert await rows(api, "SELECT count(*) FROM events") == events


async def test_who_asked_for_it_and_how_often_it_was_used_is_stored_and_not_told(api: Api, address: str) -> None:
    _, ada, eye = await in_the_talk(api)
    api.clock.advance(5)
    for _ in range(3):
        await api.participant(eye, "GET", "/v1/me")
    await api.participant(ada, "POST", "/v1/me/help", json={"text": "Help"})

    (used,) = await rows(api, "SELECT opened_by, uses, used_at FROM view_tokens")
    (event,) = await rows(api, "SELECT actor, subject, public FROM events WHERE type = 'member.viewed'")
    types = []
    member_id = (await api.participant(ada, "GET", "/v1/me")).json()["member_id"]
    await api.experimenter("POST", f"/v1/members/{member_id}/message", json={"text": "Hi"})
    async with following(address, ada) as told:
        async for one in told:
            types.append(one["type"])
            if one["type"] == "member.messaged":
                break

    assert (used.opened_by, used.uses, used.used_at) == ("Ellen", 3, api.clock.now())
    assert event == ("Ellen", "c1/m1", None)
    assert "member.viewed" not in types
    stored = str(await rows(api, "SELECT * FROM view_tokens")) + str(await rows(api, "SELECT * FROM events"))
    assert eye not in stored


async def test_it_makes_no_one_present_and_ends_when_its_time_is_over(api: Api, address: str) -> None:
    _, ada, _ = await in_the_talk(api)
    short = (await view(api, ada, seconds=30)).json()["token"]

    async with following(address, short) as events:
        await anext(events)
        assert api.app.state.context.presence.streams == 0
        assert await rows(api, "SELECT 1 FROM presence") == []
        api.clock.advance(31)
        rest = [event["type"] async for event in events]
    late = [await api.participant(short, "GET", path) for path in ("/v1/me", "/v1/me/stages/talk", "/v1/me/stream")]
    made_up = await api.participant("view.made-up", "GET", "/v1/me")

    assert len(rest) < 20
    assert [one.status_code for one in (*late, made_up)] == [401] * 4


async def test_those_who_are_out_paused_or_elsewhere_are_seen_as_they_are(api: Api) -> None:
    experiment_id, ada, eye = await in_the_talk(api)
    member_id = (await api.participant(ada, "GET", "/v1/me")).json()["member_id"]

    await api.experimenter("POST", f"/v1/members/{member_id}/pause")
    paused = (await api.participant(eye, "GET", "/v1/me")).json()["status"]
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
    held = await api.participant(eye, "GET", "/v1/me/stages/talk")
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/resume")
    await api.experimenter("POST", f"/v1/members/{member_id}/remove", json={"reason": "booted"})
    out = (await api.participant(eye, "GET", "/v1/me")).json()["status"]
    stream = await api.participant(eye, "GET", "/v1/me/stream")
    thread = await api.participant(eye, "GET", f"/v1/me/threads/{uuid4()}/messages")

    assert (paused, held.status_code, out) == ("paused", 200, "removed")
    assert (stream.status_code, stream.json()["reason"]) == (409, "not_in_progress")
    assert thread.status_code == 404


async def test_seats_without_pages_strangers_and_long_times_are_refused(api: Api) -> None:
    experiment_id = await api.running(
        personas=[{"id": "guide", "text": "A guide"}],
        cohorts=[{"seats": [{"open": True, "count": 2}], "mediators": ["guide"]}],
    )
    ada = await api.join(experiment_id)
    members = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]
    by_path = {one["path"]: one["id"] for one in members}
    async with api.database.transaction() as session:
        stranger = await keys.create_key(session, "Stranger", api.clock.now())

    refused = [await api.experimenter("POST", f"/v1/members/{by_path[path]}/view") for path in ("c1/m2", "c1/med1")]
    other = await api.client.post(
        f"/v1/members/{by_path['c1/m1']}/view", headers={"Authorization": f"Bearer {stranger}"}
    )
    long = await view(api, ada, seconds=4000)

    assert [(one.status_code, one.json()["reason"]) for one in refused] == [
        (409, "not_joined"), (409, "not_a_participant"),
    ]  # fmt: skip
    assert (other.status_code, long.status_code) == (404, 422)


async def test_what_staff_said_names_no_one_whose_data_were_deleted(api: Api) -> None:
    _, ada, _ = await in_the_talk(api)
    said = {"text": "Thank you, Ada.", "client_message_id": "1"}
    await api.experimenter("POST", f"/v1/threads/{await api.thread(ada)}/messages", json=said)
    (member,) = await rows(api, "SELECT id FROM members WHERE path = 'c1/m1'")

    async with api.database.transaction() as session:
        await lock_standing(session, member.id)
        await forget(session, member.id, "c1/m1", "Ada")

    found = await rows(api, "SELECT payload::text FROM events") + await rows(api, "SELECT text FROM messages")
    assert not [row for row in found if "Ada" in str(row)]
