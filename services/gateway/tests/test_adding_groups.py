"""Groups that are added to an experiment while it runs."""

import asyncio
from collections import Counter
from typing import Any

import pytest

from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres

ARMS: dict[str, Any] = {
    "personas": [{"id": "guide"}],
    "stages": [{"id": "talk", "kind": "group_chat"}],
    "treatments": [{"id": "cold"}, {"id": "warm"}],
    "cohorts": [
        {"treatment": "cold", "count": 2, "seats": [{"open": True, "count": 2}, {"persona": "guide"}]},
        {"treatment": "warm", "seats": [{"open": True}], "mediators": ["guide"]},
    ],
}


async def add(api: Api, experiment_id: str, **body: Any) -> Any:
    return await api.experimenter("POST", f"/v1/experiments/{experiment_id}/cohorts", json=body)


async def members(api: Api, experiment_id: str) -> list[Any]:
    found: list[Any] = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]
    return found


async def test_added_groups_have_seats_and_agents_and_people_join_them(api: Api) -> None:
    experiment_id = await api.running(**ARMS)

    made = await add(api, experiment_id, count=2, treatment="cold")
    joined = await api.experimenter(
        "POST", f"/v1/experiments/{experiment_id}/join", json={"cohort_id": made.json()["cohorts"][1]["id"]}
    )

    assert made.status_code == 201, made.text
    assert [(one["path"], one["treatment_id"], one["open_seats"]) for one in made.json()["cohorts"]] == [
        ("c4", "cold", 2),
        ("c5", "cold", 2),
    ]
    paths = {one["path"]: one["status"] for one in await members(api, experiment_id)}
    assert paths["c4/m3"] == "in_progress"
    assert (joined.status_code, paths["c5/m1"]) == (201, "in_progress")


async def test_each_group_gets_the_arm_that_has_the_fewest(api: Api) -> None:
    experiment_id = await api.running(**ARMS)

    made = await add(api, experiment_id, count=3)

    assert [one["treatment_id"] for one in made.json()["cohorts"]] == ["warm", "cold", "warm"]


async def test_groups_that_are_added_at_once_have_numbers_of_their_own(api: Api) -> None:
    experiment_id = await api.running(**ARMS)

    await asyncio.gather(*(add(api, experiment_id, count=3, treatment="warm") for _ in range(4)))

    found = Counter(one["path"] for one in await members(api, experiment_id))
    assert max(found.values()) == 1
    assert {f"c{number}/m1" for number in range(1, 16)} <= found.keys()


async def test_no_group_is_added_to_what_does_not_run_or_to_people_who_meet(api: Api) -> None:
    experiment_id = await api.running(**ARMS)
    meeting = {"made": "when_together", "at": "talk", "seats": [{"open": True, "count": 2}]}
    rooms = await api.running(stages=ARMS["stages"], cohorts=[meeting])
    unknown = await add(api, experiment_id, treatment="hot")
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/pause")
    paused = await add(api, experiment_id)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/end")
    ended = await add(api, experiment_id)

    assert [one.status_code for one in (unknown, paused, ended)] == [404, 409, 409]
    assert (await add(api, rooms)).status_code == 422


async def test_an_experiment_that_has_not_begun_gets_no_groups(api: Api) -> None:
    created = await api.experimenter("POST", "/v1/experiments", json={"parley": 1, "name": "Early", **ARMS})

    refused = await add(api, created.json()["id"])

    assert (refused.status_code, refused.json()["reason"]) == (409, "not_running")
