"""Who is there: closed tabs, second tabs, cut networks, gateways that restart; and what stages say of who is gone."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from typing import Any, Final
from uuid import UUID

import httpx2
import pytest
from sqlalchemy import text

from parley_lab.gateway.presence import Presence
from parley_lab.gateway.testing import Api, following
from parley_lab.orchestrator.presence import look_for_gone
from parley_lab.orchestrator.settling import fire_due_timers
from parley_lab.people.presence import GRACE_SECONDS
from parley_lab.testing.tcp_proxy import TcpProxy

pytestmark = pytest.mark.postgres

HELPER: Final[dict[str, Any]] = {"id": "helper", "text": "A helper", "profile": {"name": "Helper"}}


@pytest.fixture(autouse=True)
def _noted_by_the_test_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """The tests say when the lab notes who has made requests: by itself it does so by a clock that none can move."""
    monkeypatch.setattr("parley_lab.gateway.presence.ASKED_SECONDS", 3600.0)


async def rows(api: Api, query: str) -> list[Any]:
    async with api.database.transaction() as session:
        return list(await session.all(text(query)))


async def told(api: Api) -> list[str]:
    """What experimenters are told of who is there."""
    types = "('member.gone', 'member.returned', 'member.dropped_out', 'member.replaced')"
    return [row.type for row in await rows(api, f"SELECT type FROM events WHERE type IN {types} ORDER BY seq")]  # noqa: S608


def presence(api: Api) -> Presence:
    found: Presence = api.app.state.context.presence
    return found


async def pass_time(api: Api, seconds: float, *, at: Presence | None = None) -> None:
    """Time passes with the beats of a gateway in it; then the orchestrator looks."""
    left = seconds
    while left > 0:
        step = min(5.0, left)
        api.clock.advance(step)
        await (at or presence(api)).beat()
        left -= step
    await look_for_gone(api.database, api.clock.now())


@asynccontextmanager
async def tab(address: str, token: str, api: Api) -> AsyncIterator[None]:
    """A page that is open, with its stream; known to the gateway when this is entered, and forgotten afterwards."""
    before = presence(api).streams
    async with following(address, token):
        await _until(api, before + 1)
        yield
    await _until(api, before)


async def _until(api: Api, streams: int) -> None:
    async with asyncio.timeout(10):
        while presence(api).streams != streams:  # noqa: ASYNC110 - nothing tells of it
            await asyncio.sleep(0.01)


async def test_a_closed_tab_is_gone_after_the_grace_period_and_back_when_it_is_opened(api: Api, address: str) -> None:
    experiment_id = await api.running()
    ada = await api.join(experiment_id, "Ada")

    async with tab(address, ada, api):
        await pass_time(api, 3 * GRACE_SECONDS)
        while_open = await told(api)
    await pass_time(api, GRACE_SECONDS - 1)
    within = await told(api)
    await pass_time(api, 2)
    after = await told(api)
    async with tab(address, ada, api):
        await pass_time(api, GRACE_SECONDS)

    assert (while_open, within, after) == ([], [], ["member.gone"])
    assert await told(api) == ["member.gone", "member.returned"]


async def test_experimenters_see_since_when_a_person_is_gone(api: Api, address: str) -> None:
    experiment_id = await api.running()
    ada = await api.join(experiment_id, "Ada")

    async def gone() -> list[bool]:
        found = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]
        return [one["gone_at"] is not None for one in sorted(found, key=lambda one: str(one["path"]))]

    async with tab(address, ada, api):
        while_open = await gone()
    await pass_time(api, GRACE_SECONDS + 1)
    afterwards = await gone()
    async with tab(address, ada, api):
        back = await gone()
    await pass_time(api, GRACE_SECONDS + 1)
    await api.participant(ada, "POST", "/v1/me/leave")

    assert (while_open, afterwards, back) == ([False, False], [True, False], [False, False])
    assert await gone() == [False, False, False], "the seat is free again"


async def test_a_second_tab_keeps_someone_there(api: Api, address: str) -> None:
    experiment_id = await api.running()
    ada = await api.join(experiment_id, "Ada")

    async with tab(address, ada, api):
        async with tab(address, ada, api):
            await pass_time(api, 1)
        await pass_time(api, 3 * GRACE_SECONDS)
        assert await told(api) == []


async def test_someone_whose_network_is_cut_is_gone(api: Api, address: str) -> None:
    experiment_id = await api.running()
    ada = await api.join(experiment_id, "Ada")

    async with TcpProxy("127.0.0.1", int(address.rpartition(":")[2])) as proxy:
        with suppress(httpx2.TransportError):
            async with following(f"http://127.0.0.1:{proxy.port}", ada):
                await _until(api, 1)
                await proxy.cut()
                await _until(api, 0)
    await pass_time(api, GRACE_SECONDS + 1)

    assert await told(api) == ["member.gone"]


async def test_a_gateway_that_is_away_for_an_hour_drops_no_one_who_comes_back_in_time(api: Api, address: str) -> None:
    experiment_id = await api.running()
    ada, ben = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Ben")
    async with tab(address, ada, api), tab(address, ben, api):
        await pass_time(api, 1)
    api.clock.advance(3600)

    restarted = Presence(api.database, api.clock, beat_seconds=60)
    restarted.start()
    try:
        await restarted.beat()
        await look_for_gone(api.database, api.clock.now())
        at_once = await told(api)
        await pass_time(api, GRACE_SECONDS - 1, at=restarted)
        (member, *_) = await rows(api, "SELECT id FROM members ORDER BY path")
        async with restarted.here(UUID(str(member.id))):
            await pass_time(api, GRACE_SECONDS, at=restarted)
    finally:
        await restarted.close()

    assert at_once == []
    gone = await rows(
        api, "SELECT m.path FROM presence p JOIN members m ON m.id = p.member_id WHERE gone_at IS NOT NULL"
    )
    assert [row.path for row in gone] == ["c1/m2"]


def study(when_gone: str) -> dict[str, Any]:
    """Two people on a page; the next opens when both are there."""
    rule = {"when_gone": when_gone, "gone_after_seconds": 60}
    if when_gone == "replace":
        rule["stand_in"] = "helper"
    question = {"id": "why", "kind": "text", "title": "Why"}
    return {
        "personas": [HELPER] if when_gone == "replace" else [],
        "stages": [
            {"id": "one", "kind": "survey", "questions": [question], **rule},
            {"id": "two", "kind": "info", "lines": ["Hi"], "progress": {"wait_for_all": True}},
        ],
    }


async def gone_for(api: Api, address: str, token: str, seconds: float) -> None:
    async with tab(address, token, api):
        await pass_time(api, 1)
    await pass_time(api, GRACE_SECONDS + 5)
    await pass_time(api, seconds)


@pytest.mark.parametrize("when_gone", ["wait", "go_on"])
async def test_who_is_gone_too_long_is_waited_for_or_not_as_the_stage_says(
    api: Api, address: str, when_gone: str
) -> None:
    experiment_id = await api.running(**study(when_gone))
    ada, ben = await api.join(experiment_id, "Ada"), await api.join(experiment_id, "Ben")
    await api.advance(ben, "one", {"why": "So"})

    await gone_for(api, address, ada, 50)
    early = (await api.participant(ada, "GET", "/v1/me")).json()["status"]
    await pass_time(api, 20)
    await api.settle(experiment_id)

    assert early == "in_progress"
    status = (await api.participant(ada, "GET", "/v1/me")).json()["status"]
    page = (await api.participant(ben, "GET", "/v1/me/stages/two")).json()["state"]
    assert (status, page) == (("in_progress", "waiting") if when_gone == "wait" else ("dropped_out", "current"))


async def test_a_pause_of_the_experiment_is_no_time_that_someone_is_gone(api: Api, address: str) -> None:
    experiment_id = await api.running(**study("go_on"))
    ada = await api.join(experiment_id, "Ada")
    await gone_for(api, address, ada, 30)

    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
    await pass_time(api, 1000)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/resume")
    await pass_time(api, 50)
    before = await told(api)
    await pass_time(api, 20)

    assert before == ["member.gone"]
    assert await told(api) == ["member.gone", "member.dropped_out"]


async def test_an_agent_plays_on_for_someone_who_is_gone_and_who_comes_back_is_told(api: Api, address: str) -> None:
    experiment_id = await api.running(**study("replace"))
    joined = await api.take_seat(experiment_id, external_id="x1", profile={"name": "Ada"})
    ada = joined.json()["token"]
    await api.join(experiment_id, "Ben")

    await gone_for(api, address, ada, 80)
    api.clock.advance(1)
    async with api.database.transaction() as session:
        # From then on the seat is not given back.
        await session.run(text("UPDATE members SET arrived_at = :now WHERE player = 'agent'"), {"now": api.clock.now()})
    refused = [
        await api.participant(ada, "GET", "/v1/me"),
        await api.participant(ada, "POST", "/v1/me/leave"),
        await api.participant(ada, "GET", "/v1/me/stream"),
        await api.take_seat(experiment_id, external_id="x1"),
    ]
    member, _ = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]

    assert [(one.status_code, one.json()["reason"]) for one in refused] == [(409, "place_taken")] * 4
    assert (member["player"], member["profile"]["name"], member["status"]) == ("agent", "Ada", "in_progress")
    assert member["agent"]["persona_id"] == "helper"
    assert await told(api) == ["member.gone", "member.replaced"]
    sat = await rows(api, "SELECT player, persona, until IS NULL AS is_now FROM sittings ORDER BY number")
    assert [tuple(row) for row in sat] == [("person", None, False), ("agent", "helper", True)]


async def test_a_stage_that_replaces_people_names_a_persona_of_the_file(api: Api) -> None:
    found = []
    for stage in ({"when_gone": "replace"}, {"when_gone": "replace", "stand_in": "nobody"}):
        document = {"parley": 1, "name": "x", "stages": [{"id": "one", "kind": "info", "lines": ["Hi"], **stage}]}
        cohorts = {"cohorts": [{"seats": [{"open": True}]}]}
        refused = await api.experimenter("POST", "/v1/experiments", json={**document, **cohorts})
        found += [(refused.status_code, problem["where"]) for problem in refused.json()["problems"]]

    assert found == [(422, "stages[0].stand_in")] * 2


TALK: Final[dict[str, Any]] = {
    "stages": [
        {"id": "talk", "kind": "group_chat", "when_gone": "replace", "gone_after_seconds": 60, "stand_in": "helper"},
        {"id": "end", "kind": "info", "lines": ["Bye."], "progress": {"wait_for_all": True}},
    ],
    "personas": [HELPER],
    "cohorts": [{"seats": [{"open": True, "count": 3}, {"persona": "helper"}]}],
}


async def others(api: Api, token: str) -> dict[str, tuple[str, bool]]:
    """Whom the participant is shown beside themselves: whether they are there, and whether they are ready."""
    found = (await api.participant(token, "GET", "/v1/me")).json()["members"]
    return {one["profile"]["name"]: (one["presence"], one["is_ready"]) for one in found}


async def test_others_see_who_is_gone_and_no_difference_once_an_agent_plays_on(api: Api, address: str) -> None:
    experiment_id = await api.running(**TALK)
    ada, ben, _ = [await api.join(experiment_id, name) for name in ("Ada", "Ben", "Cat")]
    there = {"Ben": ("connected", False), "Cat": ("connected", False), "Helper": ("connected", False)}

    at_first = await others(api, ada)
    async with tab(address, ben, api):
        await pass_time(api, 1)
    async with following(address, ada, after=(await api.participant(ada, "GET", "/v1/me")).json()["cursor"]) as events:
        await pass_time(api, GRACE_SECONDS + 1)
        heard = await anext(events)
        while_gone = await others(api, ada)
        await pass_time(api, 60)
        heard_again = await anext(events)

    assert (at_first, await others(api, ada)) == (there, there)
    assert while_gone == {**there, "Ben": ("gone", False)}
    assert [(one["type"], one["data"]) for one in (heard, heard_again)] == [("stage.updated", {"stage_id": "talk"})] * 2
    assert await told(api) == ["member.gone", "member.replaced"]


async def test_others_see_who_is_ready_on_the_stage_and_while_they_wait(api: Api) -> None:
    experiment_id = await api.running(**TALK)
    ada, ben, cat = [await api.join(experiment_id, name) for name in ("Ada", "Ben", "Cat")]

    await api.advance(ben, "talk")
    await api.settle(experiment_id)
    in_the_talk, waiting = await others(api, ada), await others(api, ben)
    await api.participant(cat, "POST", "/v1/me/leave")
    after_a_leave = await others(api, ada)

    there = {name: ("connected", name == "Ben") for name in ("Ben", "Cat", "Helper")}
    assert in_the_talk == there
    assert waiting == dict.fromkeys(("Ada", "Cat", "Helper"), ("connected", False))
    assert set(after_a_leave) == {"Ben", "Helper"}


async def test_where_one_meets_no_one_no_one_is_shown(api: Api) -> None:
    ada = await api.join(await api.running(**study("wait")), "Ada")

    assert await others(api, ada) == {}


async def test_who_asks_for_what_has_happened_is_there(api: Api) -> None:
    experiment_id = await api.running()
    ada = await api.join(experiment_id)
    for _ in range(3):
        assert (await api.participant(ada, "GET", "/v1/me/stream?wait=false")).status_code == 200
        await pass_time(api, GRACE_SECONDS - 5)
    assert await told(api) == []

    await pass_time(api, GRACE_SECONDS)

    assert await told(api) == ["member.gone"]


async def test_a_person_who_only_makes_requests_is_gone_without_them_and_back_with_the_next(api: Api) -> None:
    """One who closed the page before its stream was open, or has a page of another kind."""
    ada = await api.join(await api.running())
    # The join is the first request.
    await presence(api).note_asked()
    await pass_time(api, GRACE_SECONDS - 1)
    await api.participant(ada, "GET", "/v1/me")
    await presence(api).note_asked()
    await pass_time(api, GRACE_SECONDS - 1)
    as_long_as_they_ask = await told(api)

    await pass_time(api, 2)
    without = await told(api)
    await api.participant(ada, "GET", "/v1/me")
    await presence(api).note_asked()

    assert (as_long_as_they_ask, without) == ([], ["member.gone"])
    assert await told(api) == ["member.gone", "member.returned"]


async def test_requests_of_a_person_with_a_stream_are_not_noted(api: Api, address: str) -> None:
    ada = await api.join(await api.running())
    async with tab(address, ada, api):
        await presence(api).beat()
        await api.participant(ada, "GET", "/v1/me")
        await presence(api).note_asked()

    assert [row.asked_at for row in await rows(api, "SELECT asked_at FROM presence")] == [None]


async def test_the_time_of_a_check_begins_when_the_page_has_fetched_it(api: Api) -> None:
    experiment_id = await api.running(attention_checks={"seconds": 30})
    ada = await api.join(experiment_id)
    await api.participant(ada, "GET", "/v1/me/stream?wait=false")
    (member,) = await rows(api, "SELECT id FROM members WHERE player = 'person' AND joined_at IS NOT NULL")
    await api.experimenter("POST", f"/v1/members/{member.id}/check")

    api.clock.advance(100)
    before = await fire_due_timers(api.database, api.clock.now())
    fetched = [(await api.participant(ada, "GET", "/v1/me")).json()["check"]["due_at"] for _ in range(2)]
    api.clock.advance(29.9)
    early = await fire_due_timers(api.database, api.clock.now())
    api.clock.advance(0.2)
    late = await fire_due_timers(api.database, api.clock.now())

    assert (before, early, late) == (0, 0, 1)
    assert fetched[0] == fetched[1] is not None
    assert (await api.participant(ada, "GET", "/v1/me")).json()["status"] == "attention_failed"


async def test_the_time_of_a_check_begins_at_once_for_a_person_who_has_had_no_stream(api: Api) -> None:
    meeting = {"made": "when_together", "at": "talk", "count": 1, "seats": [{"open": True, "count": 2}]}
    experiment_id = await api.running(
        pace="live",
        attention_checks={"seconds": 30},
        stages=[{"id": "hello", "kind": "info", "lines": ["Hi"]}, {"id": "talk", "kind": "group_chat"}],
        cohorts=[meeting],
    )
    ada = await api.join(experiment_id)
    assert (await api.participant(ada, "GET", "/v1/me")).status_code == 200
    await presence(api).note_asked()
    (member,) = await rows(api, "SELECT m.id FROM members m JOIN presence p ON p.member_id = m.id")
    await api.experimenter("POST", f"/v1/members/{member.id}/check")

    api.clock.advance(31)
    fired = await fire_due_timers(api.database, api.clock.now())

    assert fired == 1
    assert (await api.participant(ada, "GET", "/v1/me")).json()["status"] == "attention_failed"
