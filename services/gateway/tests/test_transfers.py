"""Moving participants between cohorts by hand: offered, accepted, declined, not answered; and what is then theirs."""

import asyncio
import csv
import json
from io import BytesIO, StringIO
from typing import Any
from uuid import UUID
from zipfile import ZipFile

import pytest

from parley_lab.gateway.testing import Api, assert_described, following
from parley_lab.gateway.testing.moves import STAGES, a_study, in_the_talk
from parley_lab.members.standings import lock_standing
from parley_lab.orchestrator.settling import fire_due_timers
from parley_lab.people.standing_in import stand_in

pytestmark = pytest.mark.postgres


async def test_a_member_who_accepts_keeps_id_path_and_pages_and_is_in_the_other_cohort(api: Api) -> None:
    study = await in_the_talk(api)

    offered = await study.offer("Ada", "c2")
    refused = await api.advance(study.tokens["Ada"], "talk")
    asked = await study.me("Ada")
    accepted = await study.answer("Ada")

    assert (offered.json()["status"], asked["offer"]["due_at"] is not None) == ("transfer_pending", True)
    assert (refused.status_code, refused.json()["reason"]) == (409, "transfer_pending")
    after = accepted.json()
    assert (after["status"], after["stage_id"], after["offer"]) == ("in_progress", "talk", None)
    assert (after["member_id"], after["cohort_id"]) == (study.ids["Ada"], study.cohorts["c2"])
    (ada,) = await study.rows("SELECT path, joins FROM members WHERE profile ->> 'name' = 'Ada'")
    assert ada.path == "c1/m1"
    answers = await study.rows("SELECT c.path FROM answers a JOIN cohorts c ON c.id = a.cohort_id WHERE a.key = ''")
    assert sorted(row.path for row in answers) == ["c1", "c2", "c2"]
    stays = await study.rows(
        "SELECT c.path, s.left_at IS NULL AS is_now FROM stays s JOIN cohorts c ON c.id = s.cohort_id ORDER BY number"
    )
    assert [tuple(row) for row in stays] == [("c1", False), ("c2", True)]


async def test_what_was_said_before_someone_came_or_after_they_left_is_not_theirs(api: Api) -> None:
    study = await in_the_talk(api)
    old = await study.thread("Ada")
    await study.say("Ann", "said in c1")
    await study.say("Bob", "said in c2 before")
    api.clock.advance(1)

    await study.move("Ada", "c2")
    api.clock.advance(1)
    await study.say("Bob", "said in c2 after")
    await study.say("Ada", "hello")
    await study.say("Ann", "said in c1 after")
    gone = await api.participant(study.tokens["Ada"], "GET", f"/v1/me/threads/{old}/messages")

    assert await study.heard("Ada") == ["said in c2 after", "hello"]
    assert await study.heard("Bob") == ["said in c2 before", "said in c2 after", "hello"]
    assert await study.heard("Ann") == ["said in c1", "said in c1 after"]
    assert gone.status_code == 404


async def test_streams_end_with_the_move_and_a_new_one_begins_in_the_other_cohort(api: Api, address: str) -> None:
    study = await in_the_talk(api)
    await study.say("Bob", "beforecanary")

    async with following(address, study.tokens["Ada"]) as events:
        await study.move("Ada", "c2")
        types = []
        async for event in events:
            assert_described(event, is_member=True)
            types.append(event["type"])
    async with following(address, study.tokens["Ann"]) as events:
        async for event in events:
            if event["type"] == "member.left":
                assert event["data"] == {"member_id": study.ids["Ada"]}
                break
    await study.say("Bob", "after")
    async with following(address, study.tokens["Ada"]) as events:
        async for event in events:
            assert "beforecanary" not in json.dumps(event)
            if event["type"] == "message.created":
                break

    assert types[-1] == "member.left"
    assert "member.transfer_offered" in types


async def test_a_declined_move_and_one_without_an_answer_end_the_part(api: Api) -> None:
    study = await in_the_talk(api)
    await study.offer("Ada", "c2")
    await study.offer("Ann", "c2", seconds=30)

    declined = await study.answer("Ada", accept=False)
    api.clock.advance(29)
    await fire_due_timers(api.database, api.clock.now())
    early = (await study.me("Ann"))["status"]
    api.clock.advance(2)
    await fire_due_timers(api.database, api.clock.now())
    late = await study.answer("Ann")

    assert declined.json()["status"] == "transfer_declined"
    assert (early, (await study.me("Ann"))["status"]) == ("transfer_pending", "transfer_timed_out")
    assert (late.status_code, late.json()["reason"]) == (409, "not_in_progress")


async def test_from_one_cohort_to_another_and_back(api: Api) -> None:
    study = await in_the_talk(api)

    await study.move("Ada", "c2")
    await study.say("Ada", "in c2")
    await study.move("Ada", "c1")
    await study.go_on("Ada", "talk")
    await study.go_on("Ada", "after")

    assert (await study.me("Ada"))["status"] == "completed"
    stays = await study.rows("SELECT c.path FROM stays s JOIN cohorts c ON c.id = s.cohort_id ORDER BY s.number")
    assert [row.path for row in stays] == ["c1", "c2", "c1"]
    for name in ("Ann", "Bob"):
        await study.go_on(name, "talk")
        await study.go_on(name, "after")
    assert {row.status for row in await study.rows("SELECT status FROM members WHERE joined_at IS NOT NULL")} == {
        "completed"
    }


async def test_two_opposite_moves_at_once_both_happen(api: Api) -> None:
    study = await in_the_talk(api)
    for _ in range(5):
        where = {name: (await study.me(name))["cohort_id"] for name in ("Ada", "Bob")}
        target = {"Ada": "c2", "Bob": "c1"} if where["Ada"] == study.cohorts["c1"] else {"Ada": "c1", "Bob": "c2"}
        for name, path in target.items():
            assert (await study.offer(name, path)).status_code == 200

        settling = [api.settle_cohort(api.database, UUID(one), api.clock.now()) for one in study.cohorts.values()]
        answers = await asyncio.gather(
            *(
                api.participant(study.tokens[name], "POST", "/v1/me/transfer", json={"accept": True})
                for name in ("Ada", "Bob")
            ),
            *settling,
            return_exceptions=True,
        )

        assert [getattr(one, "status_code", one) for one in answers[:2]] == [200, 200]
        for name, path in target.items():
            assert (await study.me(name))["cohort_id"] == study.cohorts[path]


async def test_a_cohort_without_the_stage_and_one_that_has_ended_take_no_one(api: Api) -> None:
    arms = [{"id": "full"}, {"id": "short", "leave_out": ["talk"]}]
    cohorts = [{"seats": [{"open": True, "count": 2}], "treatment": arm} for arm in ("full", "short")]
    study = await a_study(api, treatments=arms, cohorts=cohorts)
    await study.go_on("Ada", "one", {"why": "So"})

    without = await study.offer("Ada", "c2")
    same = await study.offer("Ada", "c1")
    elsewhere = await api.experimenter(
        "POST", f"/v1/members/{study.ids['Ada']}/transfer", json={"cohort_id": study.ids["Ada"]}
    )
    allowed = await study.offer("Ann", "c2")

    assert (without.status_code, without.json()["reason"]) == (409, "no_such_stage")
    assert (same.status_code, same.json()["reason"]) == (409, "same_cohort")
    assert (elsewhere.status_code, allowed.status_code) == (404, 200)


async def test_those_who_are_left_go_on_without_the_one_who_moved(api: Api) -> None:
    stages = [STAGES[0], {"id": "last", "kind": "info", "lines": ["Hi"], "progress": {"wait_for_all": True}}]
    study = await a_study(api, stages=stages)
    await study.go_on("Ann", "one", {"why": "So"})
    locked = (await api.participant(study.tokens["Ann"], "GET", "/v1/me/stages/last")).json()["state"]

    await study.move("Ada", "c2")
    opened = (await api.participant(study.tokens["Ann"], "GET", "/v1/me/stages/last")).json()["state"]

    assert (locked, opened) == ("waiting", "current")


async def test_from_an_open_game_no_one_is_moved_and_into_one_they_come_as_lookers_on(api: Api) -> None:
    stages = [{"id": "game", "kind": "beauty_contest", "rounds": 1}, {"id": "after", "kind": "info", "lines": ["Bye"]}]
    study = await a_study(api, stages=stages)

    refused = await study.offer("Ada", "c2")
    await study.move("Bob", "c1")
    for name in ("Ada", "Ann"):
        await study.guess(name)
    for name in ("Ada", "Ann", "Bob"):
        await study.go_on(name, "game")
        await study.go_on(name, "after")

    assert (refused.status_code, refused.json()["reason"]) == (409, "in_a_game")
    assert {row.status for row in await study.rows("SELECT status FROM members WHERE joined_at IS NOT NULL")} == {
        "completed"
    }


CHECK: dict[str, Any] = {
    "id": "game",
    "kind": "comprehension",
    "most_attempts": 2,
    "questions": [{"id": "ten", "kind": "text", "title": "How many?", "correct": "ten"}],
}


async def test_from_a_page_on_which_each_is_alone_attempts_are_taken_along_and_back(api: Api) -> None:
    study = await a_study(api, stages=[CHECK, {"id": "after", "kind": "info", "lines": ["Bye"]}])

    await study.guess("Ada", "nine")
    await study.move("Ada", "c2")
    moved = await study.me("Ada")
    await study.move("Ada", "c1")
    await study.guess("Ada", "eight")
    await study.go_on("Ada", "game")

    assert [one["key"] for one in moved["asks"]] == ["attempt:2"]
    answers = await study.rows("SELECT a.key, c.path FROM answers a JOIN cohorts c ON c.id = a.cohort_id ORDER BY key")
    assert [tuple(row) for row in answers] == [("", "c1"), ("attempt:1", "c1"), ("attempt:2", "c1")]
    assert (await study.me("Ada"))["stage_id"] == "after"


async def test_a_move_that_became_impossible_is_withdrawn_with_a_word(api: Api, address: str) -> None:
    stages = [STAGES[0], {"id": "game", "kind": "beauty_contest", "rounds": 1}, STAGES[2]]
    study = await a_study(api, stages=stages)
    await study.go_on("Ada", "one", {"why": "So"})
    await study.offer("Ada", "c2")
    await study.go_on("Ann", "one", {"why": "So"})

    answered = await study.answer("Ada")
    again = await study.answer("Ada")
    offered_anew = await study.offer("Ada", "c2")
    alerts = (await api.experimenter("GET", f"/v1/experiments/{study.id}/alerts")).json()["alerts"]

    after = answered.json()
    assert answered.status_code == 200, answered.text
    assert (after["status"], after["offer"], after["cohort_id"]) == ("in_progress", None, study.cohorts["c1"])
    assert [one["text"] for one in after["notices"]] == [
        "You stay in your group. The member plays with others just now; move them after that."
    ]
    assert (again.status_code, again.json()["reason"]) == (409, "in_progress")
    assert (offered_anew.status_code, offered_anew.json()["reason"]) == (409, "in_a_game")
    assert [(one["type"], one["member"]) for one in alerts] == [("transfer_withdrawn", "c1/m1")]
    timers = await study.rows("SELECT state FROM timers WHERE purpose = 'transfer_deadline'")
    assert [row.state for row in timers] == ["cancelled"]
    async with following(address, study.tokens["Ada"]) as events:
        async for event in events:
            assert_described(event, is_member=True)
            if event["type"] == "member.transfer_withdrawn":
                break


async def test_a_cohort_that_has_ended_since_takes_no_one_and_a_second_offer_is_possible(api: Api) -> None:
    study = await in_the_talk(api)
    await study.offer("Ada", "c2")
    await api.experimenter("POST", f"/v1/members/{study.ids['Bob']}/remove", json={"reason": "test"})
    for row in await study.rows("SELECT id FROM members WHERE status = 'expected'"):
        await api.experimenter("POST", f"/v1/members/{row.id}/remove", json={"reason": "test"})
    await api.settle(study.id)

    answered = await study.answer("Ada")

    assert answered.json()["status"] == "in_progress"
    assert answered.json()["cohort_id"] == study.cohorts["c1"]


async def test_a_stage_that_waits_for_all_waits_for_those_who_are_offered_a_place(api: Api) -> None:
    stages = [STAGES[0], {"id": "last", "kind": "info", "lines": ["Hi"], "progress": {"wait_for_all": True}}]
    study = await a_study(
        api, stages=stages, cohorts=[{"seats": [{"open": True, "count": 2}]}, {"seats": [{"open": True}]}]
    )
    await study.offer("Ada", "c2")
    await study.go_on("Bob", "one", {"why": "So"})
    waiting = (await api.participant(study.tokens["Bob"], "GET", "/v1/me/stages/last")).json()["state"]

    await study.answer("Ada", accept=False)
    opened = (await api.participant(study.tokens["Bob"], "GET", "/v1/me/stages/last")).json()["state"]

    assert (waiting, opened) == ("waiting", "current")


@pytest.mark.parametrize("way", ["removed", "timed out", "accepted", "replaced"])
async def test_who_does_not_come_after_all_is_waited_for_no_more(api: Api, way: str) -> None:
    first = {**STAGES[0], "when_gone": "replace", "stand_in": "helper"}
    stages = [first, {"id": "last", "kind": "info", "lines": ["Hi"], "progress": {"wait_for_all": True}}]
    study = await a_study(
        api,
        stages=stages,
        cohorts=[{"seats": [{"open": True, "count": 2}]}, {"seats": [{"open": True}]}],
        personas=[{"id": "helper", "profile": {"name": "Helper"}}],
    )
    await study.offer("Ada", "c2", seconds=30)
    await study.go_on("Bob", "one", {"why": "So"})

    if way == "removed":
        await api.experimenter("POST", f"/v1/members/{study.ids['Ada']}/remove", json={"reason": "test"})
    elif way == "timed out":
        api.clock.advance(31)
        await fire_due_timers(api.database, api.clock.now())
    elif way == "replaced":
        async with api.database.transaction() as session:
            standing = await lock_standing(session, UUID(study.ids["Ada"]))
            assert await stand_in(session, standing, "helper", api.clock.now())
    else:
        await study.answer("Ada")
        await study.go_on("Ada", "one", {"why": "So"})
    # Only a cohort in which something has happened is looked at.
    (unsettled,) = await study.rows("SELECT count(*) FROM streams WHERE settled < unsettled")
    await api.settle(study.id)
    opened = (await api.participant(study.tokens["Bob"], "GET", "/v1/me/stages/last")).json()["state"]

    assert (opened, unsettled.count) == ("current", 0 if way == "accepted" else 2)


async def test_rankings_of_one_who_has_moved_name_those_whom_they_ranked(api: Api) -> None:
    vote = {"id": "vote", "kind": "ranking", "rank": "participants", "question": "Who leads?"}
    stages = [{**vote, "progress": {"wait_for_all": False}}, {"id": "after", "kind": "info", "lines": ["Bye"]}]
    study = await a_study(api, stages=stages)
    page = (await api.participant(study.tokens["Ada"], "GET", "/v1/me/stages/vote")).json()
    ranked = [one["id"] for one in page["view"]["candidates"] if one["text"] == "Ann"]

    await study.go_on("Ada", "vote", {"ranking": ranked})
    await study.move("Ada", "c2")
    exported = await api.experimenter("GET", f"/v1/experiments/{study.id}/export?format=csv")
    with ZipFile(BytesIO(exported.content)) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith("rankings.csv")]
        found = list(csv.DictReader(StringIO(archive.read(name).decode())))

    told = ("cohort_path", "voter", "candidate", "candidate_name")
    assert [tuple(row[column] for column in told) for row in found] == [("c1", "c1/m1", "c1/m2", "Ann")]


async def test_a_game_that_goes_on_without_one_who_has_moved_leaves_their_new_one_alone(api: Api) -> None:
    stages = [STAGES[0], {"id": "game", "kind": "beauty_contest", "rounds": 1}, STAGES[2]]
    study = await a_study(api, stages=stages)
    (empty,) = await study.rows("SELECT id FROM members WHERE status = 'expected'")
    await api.experimenter("POST", f"/v1/members/{empty.id}/remove", json={"reason": "a test"})
    await study.move("Ada", "c2")
    await study.go_on("Ann", "one", {"why": "So"})
    back = await study.offer("Ada", "c1")
    for name in ("Ada", "Bob"):
        await study.go_on(name, "one", {"why": "So"})
    for name in ("Ada", "Bob"):
        await study.guess(name)

    for name in ("Ada", "Ann", "Bob"):
        await study.go_on(name, "game")
        await study.go_on(name, "after")

    assert (back.status_code, back.json()["reason"]) == (409, "in_a_game")
    assert {(await study.me(name))["status"] for name in ("Ada", "Ann", "Bob")} == {"completed"}
    answers = await study.rows("SELECT value FROM answers WHERE stage_id = 'game' AND key = 'round:1/guess' AND valid")
    assert [row.value["guess"] for row in answers] == [10, 10]
