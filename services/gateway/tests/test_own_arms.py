"""Treatments by participant over REST: what experimenters read, what participants do not, and who keeps an arm."""

import json
from collections import Counter
from typing import Any, Final
from uuid import UUID

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api
from parley_lab.members.standings import lock_standing
from parley_lab.orchestrator.settling import fire_due_timers
from parley_lab.people.standing_in import stand_in

pytestmark = pytest.mark.postgres

ARMS: Final = ("secretly-warm", "secretly-cold")
WAITS: Final = {"wait_for_all": True, "at_most_seconds": 300, "then": "fill", "fill_with": "helper"}
FILE: Final[dict[str, Any]] = {
    "variables": {"word": "trams"},
    "stages": [
        {"id": "read", "kind": "info", "lines": ["About {{word}}."], "block": "own"},
        {"id": "asked", "kind": "info", "lines": ["Later."], "block": "own"},
        {"id": "meet", "kind": "info", "lines": ["Hello, all."], "progress": WAITS},
        {"id": "end", "kind": "info", "lines": ["Bye."]},
    ],
    "personas": [{"id": "helper", "text": "You like {{word}}.", "profile": {"name": "Helper"}}],
    "cohorts": [{"seats": [{"open": True, "count": 3}], "count": 2}],
    "treatments": [
        {
            "id": ARMS[0],
            "variables": {"word": "buses"},
            "order": {"own": ["asked", "read"]},
            "stages": {"end": {"stay": {"at_least_seconds": 60}}},
        },
        {"id": ARMS[1], "variables": {"word": "trains"}},
    ],
    "allocation": {"by": "participant"},
}
WORDS: Final = dict(zip(ARMS, ("buses", "trains"), strict=True))


async def members(api: Api, experiment_id: str) -> dict[str, Any]:
    listed = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]
    return {one["path"]: one for one in listed}


async def joined(api: Api, experiment_id: str, **body: Any) -> tuple[str, str]:
    """The token and the id of a person who has joined."""
    found = (await api.experimenter("POST", f"/v1/experiments/{experiment_id}/join", json=body)).json()
    return found["token"], found["member_id"]


async def test_the_experimenter_reads_the_arm_of_each_member_and_how_they_came_by_it(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    for name in ("Ada", "Ben", "Cat"):
        await api.join(experiment_id, name)

    listed = await members(api, experiment_id)
    cohorts = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]

    here = [listed[f"c1/m{number}"] for number in (1, 2, 3)]
    assert {one["treatment_id"] for one in here[:2]} == set(ARMS)
    assert [one["allocated"] for one in here] == [
        {"rule": "drawn", "draw": 1, "block": 1, "probability": 0.5},
        {"rule": "drawn", "draw": 2, "block": 1, "probability": 1.0},
        {"rule": "drawn", "draw": 3, "block": 2, "probability": 0.5},
    ]
    assert [one["joining"]["rule"] for one in here] == ["one_arm"] * 3
    for one in here:
        first = ["asked", "read"] if one["treatment_id"] == ARMS[0] else ["read", "asked"]
        assert one["stage_ids"] == [*first, "meet", "end"]
    assert (listed["c2/m1"]["treatment_id"], listed["c2/m1"]["allocated"]) == (None, None)
    assert [one["treatment_id"] for one in cohorts] == [None, None]


async def test_no_participant_is_told_an_arm(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    tokens = [await api.join(experiment_id, name) for name in ("Ada", "Ben", "Cat")]

    read = ""
    for token in tokens:
        for _ in range(2):
            me = (await api.participant(token, "GET", "/v1/me")).json()
            page = (await api.participant(token, "GET", f"/v1/me/stages/{me['stage_id']}")).json()
            read += json.dumps([me, page])
            assert WORDS[ARMS[0]] in read or WORDS[ARMS[1]] in read or me["stage_id"] == "asked"
            await api.advance(token, me["stage_id"])
            await api.settle(experiment_id)
    async with api.database.transaction() as session:
        told = await session.all(text("SELECT public FROM events WHERE public IS NOT NULL"))

    for secret in (*ARMS, "treatment", "allocat"):
        assert secret not in read
        assert secret not in json.dumps([row.public for row in told])


async def test_the_time_of_a_stage_is_that_of_the_members_own_arm(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    tokens = [await api.join(experiment_id, name) for name in ("Ada", "Ben", "Cat")]
    listed = await members(api, experiment_id)
    for token in tokens:
        for stage_id in listed[f"c1/m{tokens.index(token) + 1}"]["stage_ids"][:2]:
            await api.advance(token, stage_id)
    await api.settle(experiment_id)
    for token in tokens:
        assert (await api.advance(token, "meet")).status_code == 200
    await api.settle(experiment_id)

    answered = [(await api.advance(token, "end")).status_code for token in tokens]

    arms = [listed[f"c1/m{number}"]["treatment_id"] for number in (1, 2, 3)]
    assert answered == [409 if arm == ARMS[0] else 200 for arm in arms]
    api.clock.advance(61)
    await fire_due_timers(api.database, api.clock.now())
    late = tokens[arms.index(ARMS[0])]
    assert (await api.advance(late, "end")).status_code == 200


async def test_who_comes_back_or_is_moved_or_replaced_keeps_the_arm(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    _, member_id = await joined(api, experiment_id, external_id="X-1")
    before = (await members(api, experiment_id))["c1/m1"]
    kept = ("treatment_id", "allocated", "stage_ids")

    token, again = await joined(api, experiment_id, external_id="X-1")
    assert again == member_id
    back = (await members(api, experiment_id))["c1/m1"]

    cohorts = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]
    offered = {"cohort_id": cohorts[1]["id"]}
    assert (await api.experimenter("POST", f"/v1/members/{member_id}/transfer", json=offered)).status_code == 200
    accepted = await api.participant(token, "POST", "/v1/me/transfer", json={"accept": True})
    assert accepted.status_code == 200, accepted.text
    moved = (await members(api, experiment_id))["c1/m1"]

    async with api.database.transaction() as session:
        assert await stand_in(session, await lock_standing(session, UUID(member_id)), "helper", api.clock.now())
    replaced = (await members(api, experiment_id))["c1/m1"]

    assert moved["cohort_id"] == cohorts[1]["id"]
    for found in (back, moved, replaced):
        assert {name: found[name] for name in kept} == {name: before[name] for name in kept}
    assert replaced["player"] == "agent"
    assert replaced["agent"]["text"] == f"You like {WORDS[before['treatment_id']]}."


async def test_agents_that_fill_seats_or_are_added_draw_the_next_arms(api: Api) -> None:
    experiment_id = await api.running(**{**FILE, "cohorts": [{"seats": [{"open": True, "count": 3}]}]})
    token = await api.join(experiment_id, "Ada")
    for stage_id in (await members(api, experiment_id))["c1/m1"]["stage_ids"][:2]:
        await api.advance(token, stage_id)
    await api.settle(experiment_id)
    api.clock.advance(300)
    await fire_due_timers(api.database, api.clock.now())
    await api.settle(experiment_id)
    (cohort,) = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]
    added = await api.experimenter("POST", f"/v1/cohorts/{cohort['id']}/members", json={"persona": "helper"})

    listed = await members(api, experiment_id)

    assert added.status_code == 201, added.text
    assert sorted(one["allocated"]["draw"] for one in listed.values()) == [1, 2, 3, 4]
    assert Counter(one["treatment_id"] for one in listed.values()) == dict.fromkeys(ARMS, 2)
    assert [one["joining"] and one["joining"]["rule"] for one in listed.values()] == [
        "one_arm",
        "filled",
        "filled",
        None,
    ]
    for path in ("c1/m2", "c1/m3", "c1/m4"):
        assert listed[path]["agent"]["text"] == f"You like {WORDS[listed[path]['treatment_id']]}."


async def test_a_seat_keeps_the_arm_that_the_file_names(api: Api) -> None:
    seats = [{"open": True, "treatment": ARMS[1], "count": 2}, {"open": True}]
    experiment_id = await api.running(**{**FILE, "cohorts": [{"seats": seats}]})
    ahead = await members(api, experiment_id)
    for name in ("Ada", "Ben", "Cat"):
        await api.join(experiment_id, name)

    listed = await members(api, experiment_id)

    assert [one["treatment_id"] for one in ahead.values()] == [ARMS[1], ARMS[1], None]
    assert [one["allocated"]["rule"] for one in listed.values()] == ["named", "named", "drawn"]
    assert [one["treatment_id"] for one in listed.values()][:2] == [ARMS[1]] * 2
    assert listed["c1/m3"]["allocated"]["draw"] == 1


async def test_agents_alone_have_a_place_to_draw_from_when_staff_add_one(api: Api) -> None:
    experiment_id = await api.running(**{**FILE, "cohorts": [{"seats": [{"persona": "helper", "count": 2}]}]})
    (cohort,) = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"]

    added = await api.experimenter("POST", f"/v1/cohorts/{cohort['id']}/members", json={"persona": "helper"})

    assert added.status_code == 201, added.text
    assert added.json()["allocated"] == {"rule": "drawn", "draw": 1, "block": 1, "probability": 0.5}
    listed = await members(api, experiment_id)
    assert {listed[f"c1/m{number}"]["treatment_id"] for number in (1, 2)} == set(ARMS)
