"""Seats of people who decline, are screened out, or go before their first answer: another person gets them."""

import asyncio
from collections import Counter
from contextlib import suppress
from typing import Any, Final

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api
from parley_lab.orchestrator.settling import fire_due_timers
from parley_lab.settle.settling import CohortBusy
from parley_lab.testing.statements import counted

pytestmark = pytest.mark.postgres

FULL_PAGE: Final = 6
"""How many statements the page of a full study takes at most, however many people are in it."""
TERMS: Final = {"id": "terms", "kind": "terms_of_service", "lines": ["Do you agree?"]}
TASK: Final = {"id": "task", "kind": "survey", "questions": [{"id": "q", "kind": "text", "title": "Why?"}]}
QUIZ: Final = {
    "id": "task",
    "kind": "comprehension",
    "questions": [{"id": "ten", "kind": "text", "title": "How many?", "correct": "ten"}],
    "most_attempts": 1,
    "when_failed": "screened_out",
}
MEETING: Final = {**TASK, "progress": {"wait_for_all": True, "at_most_seconds": 60, "then": "release"}}
LAST: Final = {"id": "last", "kind": "info", "lines": ["Bye"]}
TEN: Final[dict[str, Any]] = {
    "pace": "live",
    "stages": [TERMS, TASK],
    "treatments": [{"id": "a"}, {"id": "b"}],
    "completion": {"full": {"code": "FULL"}},
    "cohorts": [{"seats": [{"open": True}], "count": 10}],
}


async def arms(api: Api) -> Counter[str]:
    async with api.database.transaction() as session:
        rows = await session.all(
            text(
                "SELECT c.treatment_id AS arm FROM members m JOIN cohorts c ON c.id = m.cohort_id "
                "WHERE m.status = 'in_progress'"
            )
        )
    return Counter(row.arm for row in rows)


async def test_others_get_the_seats_of_those_who_decline_in_the_arms_that_are_short(api: Api) -> None:
    experiment_id = await api.running(**TEN)
    people = [await api.join(experiment_id, f"P{number}") for number in range(10)]
    for person in people[:3]:
        await api.advance(person, "terms", {"accepted": False})

    others = [await api.take_seat(experiment_id) for _ in range(3)]
    full = await api.take_seat(experiment_id)

    assert [one.status_code for one in others] == [201, 201, 201]
    assert await arms(api) == {"a": 5, "b": 5}
    assert (full.status_code, full.json()["params"]["completion"]["code"]) == (409, "FULL")


@pytest.mark.parametrize(
    ("rules", "ends", "free"),
    [
        (None, "left", 201),
        (None, "left after an answer", 409),
        (["declined"], "left", 409),
        ([{"left_before": "task"}], "left", 409),
        ([{"left_before": "end"}], "left", 201),
        (None, "screened_out", 201),
        (["declined"], "screened_out", 409),
        (["screened_out"], "screened_out", 201),
        (["screened_out"], "released", 409),
        (["released"], "released", 201),
    ],
)
async def test_the_file_says_whose_seat_is_given_again(api: Api, rules: list[Any] | None, ends: str, free: int) -> None:
    end = {"id": "end", "kind": "info", "lines": ["Bye"]}
    said = {} if rules is None else {"seat_again": rules}
    seats = [{"open": True, "count": 2 if ends == "released" else 1}]
    stages = [TERMS, {"screened_out": QUIZ, "released": MEETING}.get(ends, TASK), end]
    experiment_id = await api.running(pace="live", stages=stages, cohorts=[{"seats": seats}], **said)
    person = await api.join(experiment_id, "Pia")
    await api.advance(person, "terms", {"accepted": True})

    match ends:
        case "screened_out":
            await api.settle(experiment_id)
            (ask,) = (await api.participant(person, "GET", "/v1/me")).json()["asks"]
            answer = {"answer": {"ten": "nine"}}
            await api.participant(person, "POST", f"/v1/me/asks/{ask['id']}/answer", json=answer)
            await api.settle(experiment_id)
            await api.advance(person, "task")
        case "released":
            await api.settle(experiment_id)
            api.clock.advance(61)
            await fire_due_timers(api.database, api.clock.now())
            await api.settle(experiment_id)
        case _:
            if ends == "left after an answer":
                await api.advance(person, "task", {"q": "So."})
            await api.participant(person, "POST", "/v1/me/leave")
    status = (await api.participant(person, "GET", "/v1/me")).json()["status"]

    assert status == ends.partition(" ")[0]
    assert (await api.take_seat(experiment_id)).status_code == free


async def release(api: Api, experiment_id: str) -> None:
    """The time is up of those who wait."""
    await api.settle(experiment_id)
    api.clock.advance(61)
    await fire_due_timers(api.database, api.clock.now())
    await api.settle(experiment_id)


async def test_a_group_that_was_released_waits_anew_in_its_arm_for_as_many_as_before(api: Api) -> None:
    experiment_id = await api.running(
        pace="live",
        stages=[TERMS, MEETING, LAST],
        treatments=[{"id": "a"}, {"id": "b"}],
        seat_again=["released"],
        cohorts=[{"seats": [{"open": True, "count": 2}], "count": 2}],
    )
    first = await api.join(experiment_id, "Pia")
    await api.advance(first, "terms", {"accepted": True})
    await release(api, experiment_id)

    people = [await api.join(experiment_id, name) for name in "ABCD"]
    missing = []
    for person in people:
        await api.advance(person, "terms", {"accepted": True})
        await api.settle(experiment_id)
        waiting = (await api.participant(person, "GET", "/v1/me")).json()["waiting"]
        missing.append(0 if waiting is None else waiting["missing"])
    full = await api.take_seat(experiment_id)

    listed = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]
    assert (await api.participant(first, "GET", "/v1/me")).json()["status"] == "released"
    assert await arms(api) == {"a": 2, "b": 2}
    assert [one["path"].partition("/")[2] for one in listed if "-" in one["path"]] == ["m1-2"]
    assert sorted(missing) == [0, 0, 1, 1]
    assert full.status_code == 409


async def test_a_name_is_drawn_for_the_person_who_gets_the_seat_of_a_released_one(api: Api) -> None:
    named = {"id": "name", "kind": "profile", "set": "animals"}
    experiment_id = await api.running(
        pace="live",
        stages=[named, MEETING, LAST],
        seat_again=["released"],
        cohorts=[{"seats": [{"open": True, "count": 2}]}],
    )
    first = await api.join(experiment_id)
    await api.settle(experiment_id)
    await api.advance(first, "name")
    await release(api, experiment_id)

    others = [await api.join(experiment_id) for _ in range(2)]
    await api.settle(experiment_id)
    moved = [await api.advance(one, "name") for one in others]

    assert (await api.participant(first, "GET", "/v1/me")).json()["status"] == "released"
    assert [one.status_code for one in moved] == [200, 200]
    names = {(await api.participant(one, "GET", "/v1/me")).json()["profile"]["name"] for one in others}
    assert len(names) == 2


async def test_a_person_who_comes_while_a_group_is_released_waits_anew(api: Api) -> None:
    """Two orchestrators find that the time is up, while another person comes to the stage."""
    cohorts = [{"seats": [{"open": True, "count": 3}]}]
    experiment_id = await api.running(
        pace="live", stages=[TERMS, MEETING, LAST], seat_again=["released"], cohorts=cohorts
    )
    first, late = await api.join(experiment_id, "Pia"), await api.join(experiment_id, "Lou")
    await api.advance(first, "terms", {"accepted": True})
    await api.settle(experiment_id)
    api.clock.advance(61)
    await fire_due_timers(api.database, api.clock.now())

    async def settle() -> None:
        with suppress(CohortBusy):
            await api.settle(experiment_id)

    async with asyncio.TaskGroup() as tasks:
        came = tasks.create_task(api.advance(late, "terms", {"accepted": True}))
        for _ in range(2):
            tasks.create_task(settle())
    await api.settle(experiment_id)

    assert came.result().status_code == 200
    status, late_status = [(await api.participant(one, "GET", "/v1/me")).json()["status"] for one in (first, late)]
    listed = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]
    seats = Counter(one["status"] for one in listed)
    assert status == "released"
    # One who came before the release is released with the first; one who came after it waits anew.
    assert late_status in ("in_progress", "released")
    assert seats["expected"] + seats["in_progress"] == 3
    assert (seats["released"], seats["removed"]) == (1 if late_status == "in_progress" else 2, 0)


async def test_a_person_who_closed_the_page_before_the_group_met_keeps_no_place_from_those_who_come(api: Api) -> None:
    experiment_id = await api.running(
        pace="live",
        stages=[
            {"id": "hello", "kind": "info", "lines": ["Hello."]},
            {"id": "talk", "kind": "group_chat", "progress": {"min_participants": 3, "at_most_seconds": 60}},
        ],
        cohorts=[{"made": "on_arrival", "count": 5, "seats": [{"open": True, "count": 3}]}],
    )
    ghost = await api.join(experiment_id, "A")
    await api.advance(ghost, "hello")
    async with api.database.transaction() as session:
        await session.run(
            text(
                "INSERT INTO presence (member_id, seen_at, gone_at) SELECT id, :now, :now FROM members"
                " WHERE status = 'in_progress'"
            ),
            {"now": api.clock.now()},
        )

    people = [await api.join(experiment_id, name) for name in "BCD"]
    for person in people:
        await api.advance(person, "hello")
    await api.settle(experiment_id)

    async with api.database.transaction() as session:
        rows = await session.all(
            text(
                "SELECT m.profile ->> 'name' AS name, c.path, m.status FROM members m"
                " JOIN cohorts c ON c.id = m.cohort_id"
            )
        )
    found = {row.name: (row.path, row.status) for row in rows}
    assert found["A"] == ("c1", "dropped_out")
    assert {found[name] for name in "BCD"} == {("c1", "in_progress")}
    states = [(await api.participant(one, "GET", "/v1/me/stages/talk")).json()["state"] for one in people]
    assert states == ["current"] * 3


async def test_a_full_study_says_whether_a_place_may_get_free(api: Api) -> None:
    stages = [TERMS, TASK, {"id": "end", "kind": "info", "lines": ["Bye"]}]
    experiment_id = await api.running(**{**TEN, "stages": stages, "cohorts": [{"seats": [{"open": True}]}]})
    code = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()["join_code"]
    person = await api.join(experiment_id, "Pia")
    early = (await api.client.get(f"/v1/join/{code}")).json()

    await api.advance(person, "terms", {"accepted": True})
    await api.advance(person, "task", {"q": "So."})
    late = (await api.client.get(f"/v1/join/{code}")).json()

    assert [(one["state"], one["may_get_free"]) for one in (early, late)] == [("full", True), ("full", False)]


async def test_a_page_of_a_full_study_reads_whether_a_place_may_get_free_in_few_statements(api: Api) -> None:
    cohorts = [{"seats": [{"open": True, "count": 8}]}, {"seats": [{"open": True}]}]
    experiment_id = await api.running(
        **{**TEN, "treatments": [], "joining": "by_arrival", "stages": [TERMS, TASK, LAST], "cohorts": cohorts}
    )
    people = [await api.join(experiment_id, f"P{number}") for number in range(9)]
    for person in people[:8]:
        await api.advance(person, "terms", {"accepted": True})
        await api.advance(person, "task", {"q": "So."})
    code = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()["join_code"]
    listed = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]
    found = (await api.client.get(f"/v1/join/{code}")).json()

    with counted() as sent:
        assert not (await api.client.get(f"/v1/join/{listed[0]['join_code']}")).json()["may_get_free"]
    of_cohorts = [(await api.client.get(f"/v1/join/{one['join_code']}")).json()["may_get_free"] for one in listed]

    assert (found["state"], found["may_get_free"]) == ("full", True)
    assert of_cohorts == [False, True]
    assert len(sent) <= FULL_PAGE


async def test_a_seat_that_was_added_while_the_study_ran_is_given_again_like_those_of_the_file(api: Api) -> None:
    experiment_id = await api.running(**{**TEN, "treatments": [], "cohorts": [{"seats": [{"open": True}]}]})
    path = f"/v1/experiments/{experiment_id}"
    [group] = (await api.experimenter("GET", f"{path}/cohorts")).json()["cohorts"]
    await api.experimenter("POST", f"/v1/cohorts/{group['id']}/seats", json={"count": 1})
    first, second = [await api.join(experiment_id, name) for name in ("Ada", "Ben")]
    await api.advance(first, "terms", {"accepted": True})
    await api.advance(first, "task", {"q": "So."})

    full = (await api.client.get(f"/v1/join/{group['join_code']}")).json()
    await api.advance(second, "terms", {"accepted": False})
    taken = await api.take_seat(experiment_id)

    members = (await api.experimenter("GET", f"{path}/members")).json()["members"]
    assert (full["state"], full["may_get_free"]) == ("full", True)
    assert taken.status_code == 201
    assert [(one["path"], one["added_by"] is None) for one in members] == [
        ("c1/m1", True),
        ("c1/m2", False),
        ("c1/m2.2", False),
    ]


async def test_the_next_person_on_a_seat_has_values_of_their_own(api: Api) -> None:
    assigned = [
        {"id": "word", "kind": "balanced", "order": "random", "values": ["free", "cheap"]},
        {"id": "way", "kind": "permutation", "scope": "participant", "values": ["a", "b"]},
        {"id": "place", "kind": "balanced", "order": "round_robin", "values": ["first", "second"]},
    ]
    task = {"id": "task", "kind": "survey", "questions": [{"id": "q", "kind": "text", "title": "It is {{word}}."}]}
    ordered = [{"id": one, "kind": "info", "lines": [one], "block": "way"} for one in "ab"]
    experiment_id = await api.running(
        pace="live", assigned=assigned, stages=[TERMS, task, *ordered], cohorts=[{"seats": [{"open": True}]}]
    )
    first = await api.join(experiment_id, "Ada")
    await api.advance(first, "terms", {"accepted": False})

    second = await api.join(experiment_id, "Ben")
    await api.advance(second, "terms", {"accepted": True})
    page = (await api.participant(second, "GET", "/v1/me/stages/task")).json()

    async with api.database.transaction() as session:
        rows = await session.all(text("SELECT path, assigned FROM members ORDER BY path"))
    draws = [{name: one["draw"] for name, one in row.assigned.items()} for row in rows]
    assert draws == [
        {
            "word": f"{path}/variable:word",
            "way_1": f"{path}/variable:way/1",
            "way_2": f"{path}/variable:way/2",
            "place": f"variable:place/{number}",
        }
        for number, path in enumerate(("c1/m1", "c1/m1.2"), 1)
    ]
    assert f"It is {rows[1].assigned['word']['value']}." in str(page)
