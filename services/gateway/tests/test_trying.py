"""A study tried alone: a test copy that runs, with one open seat."""

import pytest

from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres


async def test_a_test_copy_runs_with_one_open_seat_and_the_original_stays(api: Api) -> None:
    experiment_id = await api.running(cohorts=[{"count": 2, "seats": [{"open": True, "count": 3}]}])

    made = await api.experimenter("POST", f"/v1/experiments/{experiment_id}/try")
    copy = (await api.experimenter("GET", f"/v1/experiments/{made.json()['experiment_id']}")).json()
    members = (await api.experimenter("GET", f"/v1/experiments/{copy['id']}/members")).json()["members"]

    assert (made.status_code, made.json()["join_url"]) == (201, f"/join/{copy['join_code']}")
    assert (copy["status"], copy["is_test"], copy["model_mode"]) == ("running", True, "mock")
    assert sorted(one["player"] for one in members) == ["agent", "agent", "person"]


async def test_an_arm_that_does_not_exist_is_not_found(api: Api) -> None:
    experiment_id = await api.running()

    made = await api.experimenter("POST", f"/v1/experiments/{experiment_id}/try", json={"treatment": "hot"})

    assert made.status_code == 404
