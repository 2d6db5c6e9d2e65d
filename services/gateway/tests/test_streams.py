"""Live streams: everything once and in order, resumable, only what the reader may see, nothing held while idle."""

import json
from dataclasses import replace
from uuid import UUID

import httpx2
import pytest
from jsonschema import Draft202012Validator
from sqlalchemy import text

from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.app import create_app
from parley_lab.gateway.context import Context
from parley_lab.gateway.resources.participants import Page
from parley_lab.gateway.routes import participants
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import Api, served
from parley_lab.gateway.testing.streams import listening, member, say, take, talkers, until
from parley_lab.members.standing import Standing
from parley_lab.store.facts import Event
from parley_lab.store.session import Database, Session
from parley_lab.testing.network import WITHOUT_TLS


async def test_what_is_said_reaches_everybody_who_listens(api: Api, address: str) -> None:
    _, ada, bo = await talkers(api)

    async with listening(address, "/v1/me/stream", ada) as one, listening(address, "/v1/me/stream", bo) as other:
        await say(api, ada, "Hello")
        heard = [(await take(events, 1))[0] for events in (one, other)]

    assert heard[0] == heard[1]
    assert heard[0].type == "message.created"
    assert heard[0].data["data"]["text"] == "Hello"
    assert heard[0].data["data"]["author"]["profile"]["name"] == "Ada"
    assert "explanation" not in heard[0].data["data"]
    assert "actor" not in heard[0].data


async def test_each_event_is_as_openapi_describes_it(api: Api, address: str) -> None:
    experiment_id, ada, _ = await talkers(api)
    described = (await api.client.get("/openapi.json")).json()
    streams = (("/v1/me/stream", ada), (f"/v1/experiments/{experiment_id}/stream", api.key))

    for path, token in streams:
        operation = described["paths"][path.replace(experiment_id, "{experiment_id}")]["get"]
        event = operation["responses"]["200"]["content"]["text/event-stream"]["schema"]
        data = {**event["properties"]["data"]["contentSchema"], "components": described["components"]}
        async with listening(address, path, token) as events:
            await say(api, ada, f"To {path}")
            [told] = await take(events, 1)

        sent = {"event": told.type, "data": json.dumps(told.data), "id": told.cursor}
        assert list(Draft202012Validator(event).iter_errors(sent)) == []
        assert list(Draft202012Validator(data).iter_errors(told.data)) == []
        assert list(Draft202012Validator(data).iter_errors({"type": "message.created"})) != []


async def test_a_stream_goes_on_where_it_was_cut(api: Api, address: str) -> None:
    _, ada, bo = await talkers(api)
    async with listening(address, "/v1/me/stream", bo) as events:
        await say(api, ada, "one")
        cut = (await take(events, 1))[0]
    for said in ("two", "three"):
        await say(api, ada, said)

    async with listening(address, "/v1/me/stream", bo, **{"Last-Event-ID": cut.cursor}) as events:
        missed = await take(events, 2)
        await say(api, ada, "four")
        live = await take(events, 1)
    async with listening(address, f"/v1/me/stream?after={cut.cursor}", bo) as events:
        asked = await take(events, 3)

    assert [one.data["data"]["text"] for one in (*missed, *live)] == ["two", "three", "four"]
    assert asked == [*missed, *live]


async def test_pages_of_an_allowed_origin_may_follow_a_stream(api: Api) -> None:
    _, ada, _ = await talkers(api)
    settings = GatewaySettings(allowed_origins=("https://pages.example",))
    app = create_app(api.database, InProcessBus(), api.clock, settings, environ={})
    headers = {"Authorization": f"Bearer {ada}", "Origin": "https://pages.example"}

    async with (
        served(app) as address,
        httpx2.AsyncClient(base_url=address, timeout=10, verify=WITHOUT_TLS) as client,
        client.stream("GET", "/v1/me/stream", headers=headers) as response,
    ):
        assert response.headers["access-control-allow-origin"] == "https://pages.example"
        assert response.headers["x-content-type-options"] == "nosniff"
        assert response.headers["cache-control"] == "no-store"


async def test_the_cursor_of_a_page_misses_nothing(api: Api, address: str) -> None:
    _, ada, bo = await talkers(api)
    cursor = (await api.participant(bo, "GET", "/v1/me")).json()["cursor"]
    await say(api, ada, "Hello")

    async with listening(address, f"/v1/me/stream?after={cursor}", bo) as events:
        heard = await take(events, 1)

    assert heard[0].data["data"]["text"] == "Hello"


async def test_the_page_after_going_on_has_seen_what_going_on_has_told(api: Api, address: str) -> None:
    experiment_id = await api.running()
    ada, bo = [await api.join(experiment_id, name) for name in ("Ada", "Bo")]

    cursor = (await api.advance(ada, "welcome")).json()["me"]["cursor"]
    await api.advance(bo, "welcome")

    async with listening(address, f"/v1/me/stream?after={cursor}", ada) as events:
        [next_told] = await take(events, 1)
    assert next_told.data["data"]["member_id"] == await member(api, bo)


async def test_the_page_after_going_on_has_not_seen_what_others_did_meanwhile(
    api: Api, address: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    experiment_id = await api.running()
    ada, bo = [await api.join(experiment_id, name) for name in ("Ada", "Bo")]
    page = participants._page

    async def page_before_bo_goes_on(session: Session, context: Context, standing: Standing) -> Page:
        made = await page(session, context, standing)
        monkeypatch.setattr(participants, "_page", page)
        await api.advance(bo, "welcome")
        return made

    monkeypatch.setattr(participants, "_page", page_before_bo_goes_on)
    monkeypatch.setattr(participants, "is_quiet", lambda _: False)
    cursor = (await api.advance(ada, "welcome")).json()["me"]["cursor"]

    async with listening(address, f"/v1/me/stream?after={cursor}", ada) as events:
        told = await take(events, 2)
    assert [one.data["data"]["member_id"] for one in told] == [await member(api, bo), await member(api, ada)]


async def test_who_comes_to_an_open_stage_is_told_when_something_was_drawn_for_them(api: Api, address: str) -> None:
    items = [{"id": "come", "stage": "quiz", "base": 2.5}]
    stages = [
        {"id": "quiz", "kind": "info", "lines": ["Hello"]},
        {"id": "payment", "kind": "payout", "currency": "EUR", "items": items},
    ]
    experiment_id = await api.running(stages=stages)
    ada, bo = [await api.join(experiment_id, name) for name in ("Ada", "Bo")]
    await api.advance(ada, "quiz")
    await api.settle(experiment_id)
    came = (await api.advance(bo, "quiz")).json()
    assert came["page"]["reasons"][0]["code"] == "being_drawn"

    async with listening(address, f"/v1/me/stream?after={came['me']['cursor']}", bo) as events:
        await api.settle(experiment_id)
        [told] = await take(events, 1)

    assert (told.type, told.data["data"]) == ("stage.updated", {"stage_id": "payment"})
    page = await api.participant(bo, "GET", "/v1/me/stages/payment")
    assert page.json()["reasons"] == []


async def test_the_start_of_a_stream_is_the_first_event(api: Api, address: str) -> None:
    experiment_id, ada, _ = await talkers(api)
    await say(api, ada, "Hello")

    async with (
        listening(address, "/v1/me/stream?after=start", ada) as mine,
        listening(address, f"/v1/experiments/{experiment_id}/stream?after=start", api.key) as everything,
    ):
        seen = await until(mine, "message.created")
        all_seen = await until(everything, "message.created")

    numbers = [one.data["stream_seq"] for one in all_seen]
    assert numbers == list(range(1, len(numbers) + 1))
    assert {one.data["stream_seq"] for one in seen} <= set(numbers)
    assert all_seen[-1].data["actor"] == "c1/m1"


async def test_an_experimenter_follows_from_the_draft_on_and_over_all_cohorts(api: Api, address: str) -> None:
    document = {
        "parley": 1,
        "name": "Two cohorts",
        "seed": 0,
        "pace": "live",
        "stages": [{"id": "welcome", "kind": "info", "lines": ["Hello"]}],
        "cohorts": [{"seats": [{"open": True}], "count": 2}],
    }
    created = await api.experimenter("POST", "/v1/experiments", json=document)
    path = f"/v1/experiments/{created.json()['id']}"

    async with listening(address, f"{path}/stream", api.key) as events:
        await api.experimenter("POST", f"{path}/start")
        first = await take(events, 2)
        cut = first[-1].cursor
    await api.join(created.json()["id"])
    async with listening(address, f"{path}/stream", api.key, **{"Last-Event-ID": cut}) as events:
        second = await until(events, "member.joined")

    assert [one.type for one in first] == ["cohort.started", "cohort.started"]
    assert len({one.data["cohort_id"] for one in first}) == 2
    assert second[-1].type == "member.joined"
    known = {(one.data["cohort_id"], one.data["stream_seq"]) for one in first}
    assert not known & {(one.data["cohort_id"], one.data["stream_seq"]) for one in second}


async def test_what_is_not_for_someone_does_not_reach_them(api: Api, address: str, database: Database) -> None:
    _, ada, bo = await talkers(api)
    me = [(await api.participant(token, "GET", "/v1/me")).json() for token in (ada, bo)]
    event = Event(
        experiment_id=UUID(me[0]["experiment_id"]),
        cohort_id=UUID(me[0]["cohort_id"]),
        type="stage.updated",
        actor="lab",
        cause="test",
        subject="c1/note",
        at=api.clock.now(),
        payload={"secret": 1},
        public={"stage_id": "talk"},
        audience=[UUID(me[0]["member_id"])],
    )

    async with listening(address, "/v1/me/stream", ada) as one, listening(address, "/v1/me/stream", bo) as other:
        async with database.transaction() as session:
            session.record(event)
            session.record(replace(event, type="draft.closed", public=None, audience=None))
            session.record(replace(event, type="stage.unlocked", audience=None))
        told, others = await until(one, "stage.unlocked"), await until(other, "stage.unlocked")

    assert [sent.type for sent in told] == ["stage.updated", "stage.unlocked"]
    assert [sent.type for sent in others] == ["stage.unlocked"]
    assert "secret" not in json.dumps([sent.data for sent in (*told, *others)])


@pytest.mark.parametrize("cursor", ["nonsense", "12", f"{UUID(int=7)}:3", "\u0660"])
async def test_a_strange_cursor_is_refused(api: Api, cursor: str) -> None:
    _, ada, _ = await talkers(api)

    refused = await api.participant(ada, "GET", "/v1/me/stream", params={"after": cursor})

    assert refused.status_code == 422
    assert refused.json()["problems"][0]["where"] == "after"


async def test_what_follows_from_a_participants_request_is_urgent_and_from_an_experimenters_not(
    database: Database, api: Api
) -> None:
    experiment_id = await api.running()
    begun = await _urgency_of_hints(database)

    await api.to_the_talk(experiment_id, "Ada")
    joined = await _urgency_of_hints(database)

    assert begun
    assert not any(begun)
    assert all(joined[len(begun) :])
    assert len(joined) > len(begun)


async def _urgency_of_hints(database: Database) -> list[bool]:
    async with database.transaction() as session:
        return [row.urgent for row in await session.all(text("SELECT urgent FROM outbox ORDER BY id"))]


async def test_what_is_drawn_for_a_newcomer_where_each_is_alone_is_told_to_the_newcomer(api: Api) -> None:
    experiment_id = await api.running(
        stages=[{"id": "who", "kind": "profile", "set": "animals"}, {"id": "end", "kind": "info", "lines": ["Bye"]}],
        cohorts=[{"seats": [{"open": True, "count": 4}]}],
    )
    members = []
    for name in ("Ada", "Bo", "Cy", "Di"):
        members.append(await member(api, await api.join(experiment_id, name)))
        await api.settle(experiment_id)

    async with api.database.transaction() as session:
        told = await session.all(text("SELECT audience FROM events WHERE type = 'stage.updated' ORDER BY stream_seq"))
    assert [[str(one) for one in row.audience] for row in told] == [[member] for member in members]


async def test_what_has_happened_is_told_at_once_and_the_stream_ends(api: Api, address: str) -> None:
    """For networks that pass an answer on once it is complete."""
    experiment_id, ada, bo = await talkers(api)
    cursor = (await api.participant(bo, "GET", "/v1/me")).json()["cursor"]
    await say(api, ada, "Hello")

    told = await api.participant(bo, "GET", f"/v1/me/stream?wait=false&after={cursor}")
    newest = [line.removeprefix("id: ") for line in told.text.splitlines() if line.startswith("id: ")][-1]
    nothing = await api.participant(bo, "GET", f"/v1/me/stream?wait=false&after={newest}")
    all_told = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/stream?wait=false&after=start")

    assert told.text.count("event: ") == told.text.count("event: message.created") == 1
    assert (nothing.status_code, nothing.text.count("event: ")) == (200, 0)
    assert all_told.text.count("event: message.created") == 1
