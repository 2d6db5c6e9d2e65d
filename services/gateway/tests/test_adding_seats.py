"""Open seats that are added to a group while it runs, and the limits of an experiment."""

import asyncio
from typing import Any

import pytest

from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres

GROUP: dict[str, Any] = {
    "personas": [{"id": "guide"}],
    "stages": [{"id": "talk", "kind": "group_chat"}],
    "cohorts": [{"seats": [{"open": True}, {"persona": "guide"}]}],
}


async def cohort_of(api: Api, experiment_id: str) -> str:
    found: str = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/cohorts")).json()["cohorts"][0]["id"]
    return found


async def add(api: Api, cohort_id: str, **body: Any) -> Any:
    return await api.experimenter("POST", f"/v1/cohorts/{cohort_id}/seats", json=body)


async def paths(api: Api, experiment_id: str) -> list[str]:
    found = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]
    return [one["path"] for one in found]


async def test_people_join_the_seats_that_were_added_and_begin_on_the_first_stage(api: Api) -> None:
    experiment_id = await api.running(**GROUP)
    await api.token_of(experiment_id)

    full = await api.take_seat(experiment_id)
    added = await add(api, await cohort_of(api, experiment_id), count=2, reason="more have come")
    token = await api.token_of(experiment_id)
    me = (await api.participant(token, "GET", "/v1/me")).json()

    assert full.status_code == 409
    assert (added.status_code, added.json()["open_seats"]) == (201, 2)
    assert await paths(api, experiment_id) == ["c1/m1", "c1/m2", "c1/m3", "c1/m4"]
    assert me["stage_id"] == "talk"


async def test_seats_that_are_added_at_once_have_numbers_of_their_own(api: Api) -> None:
    experiment_id = await api.running(**GROUP)
    cohort_id = await cohort_of(api, experiment_id)

    answers = await asyncio.gather(*(add(api, cohort_id, count=3) for _ in range(4)))

    assert {one.status_code for one in answers} == {201}
    assert await paths(api, experiment_id) == [f"c1/m{number}" for number in range(1, 15)]


async def test_a_repeated_request_adds_its_seats_once(api: Api) -> None:
    experiment_id = await api.running(**GROUP)
    path = f"/v1/cohorts/{await cohort_of(api, experiment_id)}/seats"
    headers = {"Idempotency-Key": "0123456789abcdef"}

    first = await api.experimenter("POST", path, json={"count": 2}, headers=headers)
    again = await api.experimenter("POST", path, json={"count": 2}, headers=headers)

    assert (first.json(), len(await paths(api, experiment_id))) == (again.json(), 4)


async def test_no_seat_is_added_where_no_one_can_join_or_nothing_runs(api: Api) -> None:
    running = await api.running(**GROUP)
    cohort_id = await cohort_of(api, running)
    agents = await api.running(**{**GROUP, "cohorts": [{"seats": [{"persona": "guide", "count": 2}]}]})

    closed = await add(api, await cohort_of(api, agents))
    await api.experimenter("POST", f"/v1/experiments/{running}/pause")
    paused = await add(api, cohort_id)
    await api.experimenter("POST", f"/v1/experiments/{running}/end")
    ended = await add(api, cohort_id)

    assert (closed.status_code, closed.json()["reason"]) == (409, "no_open_seats")
    assert (paused.status_code, ended.status_code, ended.json()["reason"]) == (409, 409, "cohort_ended")


async def test_a_stage_for_two_takes_no_third(api: Api) -> None:
    game = {"id": "game", "kind": "matrix_game", "horizon": {"type": "fixed", "rounds": 2}}
    experiment_id = await api.running(stages=[game], cohorts=[{"seats": [{"open": True, "count": 2}]}], personas=None)

    refused = await add(api, await cohort_of(api, experiment_id))

    assert (refused.status_code, refused.json()["reason"]) in [(409, "full"), (409, "in_a_game")]


async def test_limits_say_what_is_most_and_what_was_made(api: Api) -> None:
    experiment_id = await api.running(**GROUP)
    path = f"/v1/experiments/{experiment_id}"

    free = (await api.experimenter("GET", f"{path}/limits")).json()
    await api.experimenter("PUT", f"{path}/max-calls", json={"calls": 5})
    limited = (await api.experimenter("GET", f"{path}/limits")).json()

    assert free == {"calls": {"most": None, "made": 0}}
    assert limited == {"calls": {"most": 5, "made": 0}}
