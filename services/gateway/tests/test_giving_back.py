"""A seat goes back to its person while the agent on it has done nothing; a visit to one's own end alerts no staff."""

import asyncio
from typing import Any, Final
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api
from parley_lab.members.standings import lock_standing
from parley_lab.orchestrator.settling import fire_due_timers
from parley_lab.people.standing_in import stand_in

pytestmark = pytest.mark.postgres

STUDY: Final[dict[str, Any]] = {
    "personas": [{"id": "helper", "text": "A helper", "profile": {"name": "Helper"}}],
    "stages": [
        {
            "id": "q",
            "kind": "survey",
            "questions": [{"id": "why", "kind": "text", "title": "Why?"}],
            "when_gone": "replace",
            "stand_in": "helper",
        },
        {"id": "talk", "kind": "group_chat", "progress": {"wait_for_all": False}},
    ],
    "cohorts": [{"seats": [{"open": True, "count": 2}]}],
}


async def replaced(api: Api, **changes: Any) -> tuple[str, str, UUID]:
    """The experiment, the token of a person, and their seat, on which an agent plays on."""
    experiment_id = await api.running(**{**STUDY, **changes})
    joined = (await api.take_seat(experiment_id, external_id="x1", profile={"name": "Ada"})).json()
    token, member_id = joined["token"], UUID(joined["member_id"])
    await api.participant(token, "PUT", "/v1/me/stages/q/answer", json={"answer": {"why": "Becau"}})
    api.clock.advance(60)
    await let_play_on(api, member_id)
    return experiment_id, token, member_id


async def let_play_on(api: Api, member_id: UUID) -> None:
    async with api.database.transaction() as session:
        assert await stand_in(session, await lock_standing(session, member_id), "helper", api.clock.now())
    api.clock.advance(1)


async def run(api: Api, statement: str, **params: Any) -> list[Any]:
    async with api.database.transaction() as session:
        if statement.startswith("SELECT"):
            return list(await session.all(text(statement), params))
        await session.run(text(statement), params)
    return []


async def test_who_comes_back_before_the_agent_has_done_anything_goes_on_where_they_were(api: Api) -> None:
    _, token, member_id = await replaced(api)

    refused = await api.participant(token, "GET", "/v1/me")
    back = await api.participant(token, "POST", "/v1/me/return")
    again = await api.participant(token, "POST", "/v1/me/return")
    page = (await api.participant(token, "GET", "/v1/me/stages/q")).json()
    went_on = await api.advance(token, "q", {"why": "Because."})

    assert (refused.status_code, refused.json()["reason"]) == (409, "place_taken")
    assert (back.status_code, again.status_code, back.json()["profile"]["name"]) == (200, 200, "Ada")
    assert page["forms"][0]["saved"] == {"why": "Becau"}
    assert went_on.json()["me"]["stage_id"] == "talk"
    sat = await run(api, "SELECT player, persona, until IS NULL AS is_now FROM sittings ORDER BY number")
    assert [tuple(row) for row in sat] == [("person", None, False), ("agent", "helper", False), ("person", None, True)]
    (member,) = await run(api, "SELECT player, provider, agent_config FROM members WHERE id = :id", id=member_id)
    assert tuple(member) == ("person", None, None)
    left = await run(api, "SELECT 1 FROM drafts WHERE member_id = :id AND closed_at IS NULL", id=member_id)
    assert left == []


@pytest.mark.parametrize("way", ["token", "id", "twice"])
async def test_the_seat_can_be_taken_and_given_back_again(api: Api, way: str) -> None:
    experiment_id, token, member_id = await replaced(api)

    if way == "id":
        joined = await api.take_seat(experiment_id, external_id="x1")
        assert (joined.status_code, joined.json()["member_id"]) == (201, str(member_id))
        token = joined.json()["token"]
    else:
        assert (await api.participant(token, "POST", "/v1/me/return")).status_code == 200
    if way == "twice":
        await let_play_on(api, member_id)
        assert (await api.participant(token, "POST", "/v1/me/return")).status_code == 200

    assert (await api.participant(token, "GET", "/v1/me")).json()["status"] == "in_progress"


@pytest.mark.parametrize(
    "act",
    [
        "INSERT INTO answers (member_id, stage_id, key, cohort_id, value, written_at) "
        "SELECT id, 'q', '', cohort_id, '{}', :now FROM members WHERE id = :id",
        "UPDATE members SET position = 1, arrived_at = :now WHERE id = :id",
        "UPDATE members SET status = 'left', ended_at = :now WHERE id = :id",
    ],
    ids=["answered", "went on", "is out"],
)
async def test_the_seat_stays_with_an_agent_that_has_done_something(api: Api, act: str) -> None:
    experiment_id, token, member_id = await replaced(api)
    await run(api, act, id=member_id, now=api.clock.now())

    back = await api.participant(token, "POST", "/v1/me/return")
    joined = await api.take_seat(experiment_id, external_id="x1")

    assert [(one.status_code, one.json()["reason"]) for one in (back, joined)] == [(409, "place_taken")] * 2


async def test_a_seat_that_is_given_back_in_a_pause_has_no_clock_that_runs(api: Api) -> None:
    experiment_id, token, _ = await replaced(api, attention_checks={"every_seconds": 600})
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")

    back = await api.participant(token, "POST", "/v1/me/return")
    api.clock.advance(3_600)
    await fire_due_timers(api.database, api.clock.now())
    (held,) = await run(api, "SELECT state, remaining_ms FROM timers WHERE purpose = 'check_due'")
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/resume")

    assert (back.status_code, back.json()["is_paused"]) == (200, True)
    assert tuple(held) == ("held", 600_000)
    (armed,) = await run(api, "SELECT due_at FROM timers WHERE purpose = 'check_due' AND state = 'armed'")
    assert (armed.due_at - api.clock.now()).total_seconds() == 600


async def test_of_two_who_ask_for_it_at_once_both_have_it(api: Api) -> None:
    _, token, _ = await replaced(api)

    back = await asyncio.gather(*(api.participant(token, "POST", "/v1/me/return") for _ in range(4)))

    assert {one.status_code for one in back} == {200}
    assert len(await run(api, "SELECT 1 FROM sittings")) == 3


async def test_a_seat_is_given_back_to_no_one_else(api: Api) -> None:
    await replaced(api)

    back = await api.participant("a" * 43, "POST", "/v1/me/return")

    assert back.status_code == 401


async def test_a_visit_to_ones_own_end_alerts_no_staff(api: Api) -> None:
    experiment_id = await api.running(**STUDY)
    token = (await api.take_seat(experiment_id, external_id="x1")).json()["token"]
    alerts = f"/v1/experiments/{experiment_id}/alerts"

    await api.take_seat(experiment_id, external_id="x1")
    before = (await api.experimenter("GET", alerts)).json()["alerts"]
    token = (await api.take_seat(experiment_id, external_id="x1")).json()["token"]
    count = len((await api.experimenter("GET", alerts)).json()["alerts"])
    await api.participant(token, "POST", "/v1/me/leave")
    await api.take_seat(experiment_id, external_id="x1")
    after = (await api.experimenter("GET", alerts)).json()["alerts"]

    assert [one["type"] for one in before] == ["rejoined"]
    assert (count, len(after)) == (2, 2)


async def back_after_a_stand_in(api: Api, **changes: Any) -> tuple[str, str]:
    """The experiment, and the token of a person whose seat an agent had from their 20th to their 21st second."""
    experiment_id = await api.running(**{**STUDY, **changes})
    joined = (await api.take_seat(experiment_id, profile={"name": "Ada"})).json()
    token: str = joined["token"]
    await api.settle(experiment_id)
    api.clock.advance(20)
    await let_play_on(api, UUID(joined["member_id"]))
    await api.settle(experiment_id)
    assert (await api.participant(token, "POST", "/v1/me/return")).status_code == 200
    await api.settle(experiment_id)
    return experiment_id, token


async def test_a_person_who_is_back_may_go_on_after_the_least_time(api: Api) -> None:
    asked, talk = STUDY["stages"]
    _, token = await back_after_a_stand_in(api, stages=[{**asked, "stay": {"at_least_seconds": 120}}, talk])

    early = await api.advance(token, "q", {"why": "Because."})
    api.clock.advance(99)
    late = await api.advance(token, "q", {"why": "Because."})

    assert (early.json()["reason"], late.status_code) == ("not_yet", 200)


async def test_a_person_who_is_back_waits_for_others_no_longer_than_the_file_says(api: Api) -> None:
    meet = {**STUDY["stages"][0], "progress": {"wait_for_all": True, "at_most_seconds": 300, "then": "release"}}
    experiment_id, token = await back_after_a_stand_in(api, stages=[meet])

    api.clock.advance(300)
    await fire_due_timers(api.database, api.clock.now())
    await api.settle(experiment_id)

    assert (await api.participant(token, "GET", "/v1/me")).json()["status"] == "released"


async def test_a_person_who_is_back_gets_the_checks_of_the_schedule(api: Api) -> None:
    _, token = await back_after_a_stand_in(api, attention_checks={"every_seconds": 100, "seconds": 30})

    api.clock.advance(100)
    await fire_due_timers(api.database, api.clock.now())

    assert (await api.participant(token, "GET", "/v1/me")).json()["status"] == "attention_check"
