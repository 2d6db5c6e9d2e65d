"""Groups that are added to an experiment while it runs."""

import asyncio
from collections import Counter
from typing import Any

import pytest
from sqlalchemy import text

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
    refused = await add(api, rooms)
    assert refused.status_code == 422
    assert "For more, raise `count` and start the experiment anew." in refused.json()["detail"]


async def test_an_experiment_that_has_not_begun_gets_no_groups(api: Api) -> None:
    created = await api.experimenter("POST", "/v1/experiments", json={"parley": 1, "name": "Early", **ARMS})

    refused = await add(api, created.json()["id"])

    assert (refused.status_code, refused.json()["reason"]) == (409, "not_running")


ALONE: dict[str, Any] = {
    "personas": [{"id": "guide"}],
    "stages": [{"id": "talk", "kind": "group_chat", "time_limit_seconds": 100}],
    "cohorts": [{"seats": [{"persona": "guide", "count": 2}]}],
}


async def test_groups_are_added_to_an_experiment_of_agents_alone(api: Api) -> None:
    experiment_id = await api.running(pace="live", **ALONE)

    made = await asyncio.gather(*(add(api, experiment_id, count=2) for _ in range(4)))

    assert [one.status_code for one in made] == [201] * 4
    paths = [one["path"] for one in await members(api, experiment_id)]
    assert Counter(paths) == Counter(f"c{group}/m{seat}" for group in range(1, 10) for seat in (1, 2))


async def test_each_agent_of_an_added_group_draws_an_arm_of_its_own(api: Api) -> None:
    experiment_id = await api.running(
        pace="live",
        **{**ALONE, "cohorts": [{"seats": [{"persona": "guide"}, {"persona": "guide", "treatment": "z"}]}]},
        treatments=[{"id": "x"}, {"id": "y"}, {"id": "z"}],
        allocation={"by": "participant", "method": "blocked"},
    )

    await add(api, experiment_id, count=4)
    await add(api, experiment_id, count=2)

    async with api.database.transaction() as session:
        rows = await session.all(
            text("SELECT path, treatment_id AS arm, allocated, stage_ids FROM members ORDER BY path"), {}
        )
    added = [row for row in rows if not row.path.startswith("c1/")]
    drawn = sorted((row for row in added if row.path.endswith("/m1")), key=lambda row: row.allocated["draw"])
    assert [row.allocated["draw"] for row in drawn] == [1, 2, 3, 4, 5, 6]
    assert {row.allocated["rule"] for row in drawn} == {"drawn"}
    for block in (drawn[:3], drawn[3:]):
        assert Counter(row.arm for row in block) == Counter("xyz")
    named = [row for row in added if row.path.endswith("/m2")]
    assert {(row.arm, row.allocated["rule"]) for row in named} == {("z", "named")}
