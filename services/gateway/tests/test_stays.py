"""How long people stay on a stage: from when they may go on, and what happens when their time is up."""

from typing import Any
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import FILE, Api
from parley_lab.members.alerts import raise_alert
from parley_lab.members.held_cohorts import COHORT_HELD
from parley_lab.members.standings import lock_standing
from parley_lab.orchestrator.settling import fire_due_timers
from parley_lab.people.standing_in import stand_in
from parley_lab.settle import timers

ASK: dict[str, Any] = {
    "id": "ask",
    "kind": "survey",
    "questions": [{"id": "age", "kind": "number", "title": "How old are you?", "minimum": 18}],
}
END: dict[str, Any] = {"id": "end", "kind": "info", "lines": ["Thank you."]}


def study(**stay: Any) -> dict[str, Any]:
    stages = [{**ASK, "stay": stay}, END]
    return {"stages": stages, "variables": {"years": "three"}, "cohorts": [{"seats": [{"open": True}]}]}


async def there(api: Api, **stay: Any) -> tuple[str, str]:
    """The experiment and the token of a person who has come to the stage."""
    experiment_id = await api.running(**study(**stay))
    return experiment_id, await api.join(experiment_id)


async def after(api: Api, seconds: float) -> None:
    api.clock.advance(seconds)
    await fire_due_timers(api.database, api.clock.now())


async def me(api: Api, token: str) -> Any:
    return (await api.participant(token, "GET", "/v1/me")).json()


async def status_of(api: Api, member_id: str) -> Any:
    async with api.database.transaction() as session:
        row = await session.one(text("SELECT status FROM members WHERE id = :id"), {"id": member_id})
    return row.status


async def answers(api: Api) -> list[Any]:
    async with api.database.transaction() as session:
        rows = await session.all(text("SELECT value, valid FROM answers WHERE stage_id = 'ask'"))
    return [(row.value, row.valid) for row in rows]


UNKNOWN_BEFORE = {"age": "{{years}}"}
"""A default whose value only the run knows."""


async def test_no_one_goes_on_before_the_least_time_and_everybody_from_then_on(api: Api) -> None:
    _, token = await there(api, at_least_seconds=120)
    times = (await api.participant(token, "GET", "/v1/me/stages/ask")).json()["stay"]

    api.clock.advance(119)
    early = await api.advance(token, "ask", {"age": 33})
    api.clock.advance(1)
    late = await api.advance(token, "ask", {"age": 33})

    assert times["may_go_on_at"] is not None
    assert times["ends_at"] is None
    assert (early.status_code, early.json()["reason"]) == (409, "not_yet")
    assert late.status_code == 200, late.text
    assert (await me(api, token))["stage_id"] == "end"
    assert (await api.participant(token, "GET", "/v1/me/stages/ask")).json()["stay"] is None


async def test_no_one_leaves_a_conversation_before_its_least_time_since_the_first_message(api: Api) -> None:
    talk = {"id": "talk", "kind": "group_chat", "minimum_seconds": 120}
    token = await api.join(await api.running(**{**study(), "stages": [talk, END]}))
    api.clock.advance(1000)
    unspoken = await api.advance(token, "talk")
    body = {"text": "Hello", "client_message_id": "m-1"}
    url = f"/v1/me/threads/{await api.thread(token)}/messages"
    said = await api.participant(token, "POST", url, json=body)

    api.clock.advance(119)
    early = await api.advance(token, "talk")
    api.clock.advance(1)
    late = await api.advance(token, "talk")

    assert said.status_code == 201, said.text
    assert [(one.status_code, one.json()["reason"]) for one in (unspoken, early)] == [(409, "blocked")] * 2
    assert late.status_code == 200, late.text


async def test_the_time_of_a_stage_that_is_not_open_to_a_member_moves_no_one(api: Api) -> None:
    _, token = await there(api, at_most_seconds=60, then="go_on")
    async with api.database.transaction() as session:
        await session.run(text("DELETE FROM cohort_stages WHERE stage_id = 'ask'"))

    await after(api, 61)

    async with api.database.transaction() as session:
        states = [row.state for row in await session.all(text("SELECT state FROM timers"))]
    assert ((await me(api, token))["stage_id"], states) == ("ask", ["cancelled"])


async def test_a_time_that_is_up_waits_while_its_cohort_is_held(api: Api) -> None:
    experiment_id, token = await there(api, at_most_seconds=60, then="go_on")
    cohort_id = (await me(api, token))["cohort_id"]
    api.clock.advance(61)
    now = api.clock.now()

    async with api.database.transaction() as session:
        due = await timers.due_timers(session, now)
    async with api.database.transaction() as session:
        await raise_alert(
            session,
            experiment_id=UUID(experiment_id),
            cohort_id=UUID(cohort_id),
            path="held",
            alert_type=COHORT_HELD,
            text="Its rules fail.",
            now=now,
        )
    async with api.database.transaction() as session:
        fired = [await timers.fire(session, one, now) for one in due]

    assert fired == [False]


CHECK: dict[str, Any] = {
    "id": "ask",
    "kind": "comprehension",
    "questions": [{"id": "ten", "kind": "text", "title": "How many?", "correct": "ten"}],
}


async def test_the_time_of_a_page_that_is_asked_again_and_again_may_be_up(api: Api) -> None:
    stages = [{**CHECK, "stay": {"at_most_seconds": 60, "then": "go_on"}}, END]
    experiment_id = await api.running(**{**study(), "stages": stages})
    token = await api.join(experiment_id)
    await api.settle(experiment_id)

    (ask,) = (await me(api, token))["asks"]
    body = {"answer": {"ten": "nine"}}
    await api.participant(token, "POST", f"/v1/me/asks/{ask['id']}/answer", json=body)
    await api.settle(experiment_id)
    await after(api, 61)
    found = await me(api, token)

    assert (found["stage_id"], found["asks"]) == ("end", [])
    assert (await api.advance(token, "end")).status_code == 200


async def test_a_default_needs_a_page_that_it_can_answer(api: Api) -> None:
    stay = {"at_most_seconds": 60, "then": "go_on", "default": {"ten": "ten"}}

    refused = await api.experimenter("POST", "/v1/experiments", json={**FILE, "stages": [{**CHECK, "stay": stay}]})

    (problem,) = refused.json()["problems"]
    assert (problem["where"], problem["found"]) == ("stages[0].stay.default", "a default")


async def test_whose_time_is_up_leaves(api: Api) -> None:
    _, token = await there(api, at_most_seconds=60)

    await after(api, 59)
    before = await me(api, token)
    await after(api, 1)

    assert before["status"] == "in_progress"
    assert (await me(api, token))["status"] == "dropped_out"
    assert await answers(api) == []


@pytest.mark.parametrize(
    ("default", "stored"),
    [(None, []), ({"age": 40}, [({"age": 40}, True)]), (UNKNOWN_BEFORE, [])],
    ids=["without an answer", "with the default", "with a default that is none"],
)
async def test_whose_time_is_up_goes_on(api: Api, default: Any, stored: list[Any]) -> None:
    experiment_id, token = await there(api, at_most_seconds=60, then="go_on", default=default)

    await after(api, 60)
    await after(api, 60)

    assert (await me(api, token))["stage_id"] == "end"
    assert await answers(api) == stored
    alerts = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/alerts")).json()["alerts"]
    assert [one["type"] for one in alerts] == (["default_refused"] if default == UNKNOWN_BEFORE else [])
    assert (await api.advance(token, "end")).json()["me"]["status"] == "completed"


PAY: dict[str, Any] = {
    "id": "pay",
    "kind": "payout",
    "currency": "EUR",
    "items": [{"id": "c", "stage": "ask", "base": 2.5}],
}
ROLES: dict[str, Any] = {"id": "part", "kind": "role", "roles": [{"id": "chair", "name": "Chair"}]}
NAMES: dict[str, Any] = {"id": "who", "kind": "profile", "set": "numbers"}


async def test_whose_time_is_up_on_a_page_that_asks_nothing_has_what_it_gives(api: Api) -> None:
    stay = {"stay": {"at_most_seconds": 60, "then": "go_on"}}
    stages = [{**ROLES, **stay}, {**NAMES, **stay}, ASK, {**PAY, **stay}, END]
    experiment_id = await api.running(**{**study(), "stages": stages})
    token = await api.join(experiment_id)

    for _ in range(2):
        await api.settle(experiment_id)
        await after(api, 61)
    await api.advance(token, "ask", {"age": 33})
    await api.settle(experiment_id)
    await after(api, 61)

    found = await me(api, token)
    async with api.database.transaction() as session:
        paid = [row.amount for row in await session.all(text("SELECT amount FROM payments"))]
        pages = {row.stage_id: row.value for row in await session.all(text("SELECT stage_id, value FROM answers"))}
    assert (found["stage_id"], [float(one) for one in paid]) == ("end", [2.5])
    assert found["profile"]["name"].startswith("Participant ")
    assert pages["part"] == {"role": "chair", "name": "Chair"}
    assert pages["pay"]["amount"] == "2.50"


async def test_who_has_failed_the_last_attempt_does_not_pass_by_waiting(api: Api) -> None:
    strict = {**CHECK, "most_attempts": 1, "when_failed": "screened_out"}
    stages = [{**strict, "stay": {"at_most_seconds": 60, "then": "go_on"}}, END]
    experiment_id = await api.running(**{**study(), "stages": stages})
    token = await api.join(experiment_id)
    await api.settle(experiment_id)

    (ask,) = (await me(api, token))["asks"]
    body = {"answer": {"ten": "nine"}}
    await api.participant(token, "POST", f"/v1/me/asks/{ask['id']}/answer", json=body)
    await api.settle(experiment_id)
    await after(api, 61)

    assert (await me(api, token))["status"] == "screened_out"


async def test_the_time_of_a_stage_is_up_for_an_agent_that_plays_on(api: Api) -> None:
    helper = {"id": "helper", "profile": {"name": "Helper"}}
    ask = {**ASK, "stay": {"at_most_seconds": 60}, "when_gone": "replace", "stand_in": "helper"}
    experiment_id = await api.running(**{**study(), "stages": [ask, END], "personas": [helper]})
    token = await api.join(experiment_id)
    member_id = (await me(api, token))["member_id"]
    await after(api, 30)

    async with api.database.transaction() as session:
        assert await stand_in(session, await lock_standing(session, UUID(member_id)), "helper", api.clock.now())
    await after(api, 29)
    before = await status_of(api, member_id)
    await after(api, 1)

    assert (before, await status_of(api, member_id)) == ("in_progress", "dropped_out")


async def test_an_agent_whose_time_is_up_is_looked_at_on_the_next_page(api: Api) -> None:
    helper = {"id": "helper", "profile": {"name": "Helper"}}
    timed = {**ASK, "stay": {"at_most_seconds": 60, "then": "go_on"}}
    seats = [{"open": True}, {"persona": "helper"}]
    stages = [{**END, "id": "start"}, timed, {**ASK, "id": "more"}]
    file = {**study(), "stages": stages, "personas": [helper], "cohorts": [{"seats": seats}]}
    experiment_id = await api.running(**file)
    async with api.database.transaction() as session:
        # No worker runs: both are where they would be soon.
        await session.run(text("UPDATE members SET position = 2 WHERE player = 'person'"))
        await session.run(text("UPDATE members SET position = 1, status = 'in_progress' WHERE player = 'agent'"))
    await api.settle(experiment_id)
    async with api.database.transaction() as session:
        await session.run(text("DELETE FROM outbox"))

    await after(api, 61)

    async with api.database.transaction() as session:
        moved = await session.one(text("SELECT id, position FROM members WHERE player = 'agent'"))
        hints = {(row.type, row.subject_id) for row in await session.all(text("SELECT type, subject_id FROM outbox"))}
    assert moved.position == 2
    assert ("member.changed", str(moved.id)) in hints


async def test_who_went_on_before_is_left_alone(api: Api) -> None:
    _, token = await there(api, at_most_seconds=60)
    await api.advance(token, "ask", {"age": 33})

    await after(api, 100)

    assert (await me(api, token))["status"] == "in_progress"
    assert await answers(api) == [({"age": 33}, True)]


async def test_sixty_seconds_paused_at_twenty_for_an_hour_are_up_forty_after_the_resume(api: Api) -> None:
    experiment_id, token = await there(api, at_most_seconds=60)

    await after(api, 20)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
    await after(api, 3600)
    held = (await api.participant(token, "GET", "/v1/me/stages/ask")).json()["stay"]
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/resume")
    await after(api, 39)
    before = (await me(api, token))["status"]
    await after(api, 1)

    assert held["ends_at"] is None
    assert (before, (await me(api, token))["status"]) == ("in_progress", "dropped_out")


async def test_the_time_begins_when_the_stage_opens(api: Api) -> None:
    waiting = {**study(at_most_seconds=60), "cohorts": [{"seats": [{"open": True, "count": 2}]}]}
    waiting["stages"][0]["progress"] = {"wait_for_all": True}
    experiment_id = await api.running(**waiting)
    first = await api.join(experiment_id)
    await after(api, 600)

    second = await api.join(experiment_id, "Bob")
    await after(api, 59)
    before = [(await me(api, one))["status"] for one in (first, second)]
    await after(api, 1)

    assert before == ["in_progress"] * 2
    assert [(await me(api, one))["status"] for one in (first, second)] == ["dropped_out"] * 2


async def test_the_time_begins_anew_for_a_person_who_moves_to_where_the_stage_is_not_open(api: Api) -> None:
    two = {"seats": [{"open": True, "count": 2}]}
    waiting = {**study(at_most_seconds=60), "cohorts": [two, two], "seat_again": []}
    waiting["stages"][0]["progress"] = {"wait_for_all": True}
    experiment_id = await api.running(**waiting)
    first, *_ = [await api.join(experiment_id, name) for name in ("Ada", "Ben", "Cat")]
    groups = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]
    await after(api, 10)
    member = (await me(api, first))["member_id"]
    await api.experimenter("POST", f"/v1/members/{member}/transfer", json={"cohort_id": groups[1]["id"]})
    await api.participant(first, "POST", "/v1/me/transfer", json={"accept": True})
    moved = await me(api, first)

    await after(api, 600)
    while_closed = (await me(api, first))["status"]
    await api.join(experiment_id, "Dan")
    await after(api, 59)
    before = (await me(api, first))["status"]
    await after(api, 1)

    assert (moved["cohort_id"], moved["stage_id"]) == (groups[1]["id"], "ask")
    assert (while_closed, before, (await me(api, first))["status"]) == ("in_progress", "in_progress", "dropped_out")


async def test_who_is_asked_whether_they_are_there_goes_on_once_they_have_answered(api: Api) -> None:
    _, token = await there(api, at_most_seconds=60, then="go_on")
    member = (await me(api, token))["member_id"]
    await after(api, 30)
    checked = await api.experimenter("POST", f"/v1/members/{member}/check")

    await after(api, 30)
    during = await me(api, token)
    await api.participant(token, "POST", "/v1/me/check")
    await after(api, 5)

    assert checked.status_code == 200
    assert (during["status"], during["stage_id"]) == ("attention_check", "ask")
    assert (await me(api, token))["stage_id"] == "end"


@pytest.mark.parametrize(
    ("stages", "where"),
    [
        ([{"id": "talk", "kind": "group_chat", "stay": {"at_most_seconds": 9}}], "stages[0].stay.at_most_seconds"),
        ([{**ASK, "stay": {"at_least_seconds": 9, "at_most_seconds": 9}}], "stages[0].stay.at_least_seconds"),
        ([{**ASK, "stay": {"at_most_seconds": 9, "default": {"age": 9}}}], "stages[0].stay.default"),
        ([{**END, "stay": {"then": "go_on", "default": {"age": 9}}}], "stages[0].stay.default"),
    ],
)
async def test_times_that_a_stage_cannot_have_are_refused(api: Api, stages: Any, where: str) -> None:
    refused = await api.experimenter("POST", "/v1/experiments", json={**FILE, "stages": stages})

    assert where in [problem["where"] for problem in refused.json()["problems"]]
