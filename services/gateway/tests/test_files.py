"""The file of an experiment: read back as it runs, replaced while it is a draft, forked in any state."""

import asyncio
from typing import Any

import pytest

from parley_lab.gateway.testing import FILE, Api

CROSSED: dict[str, Any] = {
    **FILE,
    "factors": {"framing": ["loss", "gain"]},
    "stages": [{"id": "page", "kind": "info", "lines": ["{{framing}}"]}],
    "cohorts": [{"count": 4, "seats": [{"open": True}]}],
    "limits": {"calls": 7},
}


async def created(api: Api, file: Any) -> str:
    answer = await api.experimenter("POST", "/v1/experiments", json=file)
    assert answer.status_code == 201, answer.text
    experiment_id: str = answer.json()["id"]
    return experiment_id


async def read_back(api: Api, experiment_id: str) -> Any:
    answer = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/file")
    assert answer.status_code == 200, answer.text
    return answer.json()


async def test_what_is_read_back_is_the_document_that_runs_and_makes_it_again(api: Api) -> None:
    without_seed = {name: part for name, part in CROSSED.items() if name != "seed"}
    experiment_id = await created(api, without_seed)
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/start")

    file = await read_back(api, experiment_id)
    again = await created(api, file)
    await api.experimenter("POST", f"/v1/experiments/{again}/start")

    assert [one["id"] for one in file["treatments"]] == ["loss", "gain"]
    assert file["seed"] is not None
    assert await read_back(api, again) == file
    arms = []
    for one in (experiment_id, again):
        cohorts = (await api.experimenter("GET", f"/v1/experiments/{one}/cohorts")).json()["cohorts"]
        arms.append([cohort["treatment_id"] for cohort in cohorts])
    assert arms[0] == arms[1]


async def test_a_draft_is_replaced_as_a_whole(api: Api) -> None:
    experiment_id = await created(api, CROSSED)

    changed = {**FILE, "name": "Another", "seed": 8}
    answer = await api.experimenter("PUT", f"/v1/experiments/{experiment_id}/file", json=changed)

    assert answer.status_code == 200, answer.text
    assert answer.json()["name"] == "Another"
    file = await read_back(api, experiment_id)
    assert (file["name"], file["seed"], file["limits"]["calls"]) == ("Another", 8, None)
    assert (
        answer.json()["document_hash"]
        == (await api.experimenter("POST", "/v1/experiments", json=changed)).json()["document_hash"]
    )


async def test_a_file_with_problems_replaces_nothing(api: Api) -> None:
    experiment_id = await created(api, FILE)
    before = await read_back(api, experiment_id)

    answer = await api.experimenter("PUT", f"/v1/experiments/{experiment_id}/file", json={**FILE, "stages": []})

    assert answer.status_code == 422
    assert await read_back(api, experiment_id) == before


@pytest.mark.parametrize("command", ["start", "pause", "end"])
async def test_what_was_started_is_not_edited_and_says_why(api: Api, command: str) -> None:
    experiment_id = await api.running()
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/{command}")
    before = await read_back(api, experiment_id)

    answer = await api.experimenter("PUT", f"/v1/experiments/{experiment_id}/file", json={**FILE, "name": "Late"})

    assert (answer.status_code, answer.json()["reason"]) == (409, "not_a_draft")
    assert "fork it" in answer.json()["detail"]
    assert await read_back(api, experiment_id) == before


async def test_a_start_and_an_edit_at_once_leave_one_of_the_two_files_running(api: Api) -> None:
    for _ in range(5):
        experiment_id = await created(api, FILE)
        address = f"/v1/experiments/{experiment_id}"

        edited, started = await asyncio.gather(
            api.experimenter("PUT", f"{address}/file", json={**FILE, "name": "Edited"}),
            api.experimenter("POST", f"{address}/start"),
        )

        assert started.status_code == 200
        assert edited.status_code in (200, 409)
        name = (await read_back(api, experiment_id))["name"]
        assert (name == "Edited") == (edited.status_code == 200)


async def test_a_fork_has_the_file_and_none_of_the_data(api: Api) -> None:
    experiment_id = await api.running()
    await api.join(experiment_id)

    copy = await api.experimenter("POST", f"/v1/experiments/{experiment_id}/fork")
    named = await api.experimenter("POST", f"/v1/experiments/{experiment_id}/fork", json={"name": "Again", "seed": 3})

    assert copy.status_code == named.status_code == 201
    assert (copy.json()["status"], copy.json()["name"]) == ("draft", "Copy of Small talk")
    assert copy.json()["progress"]["members_by_status"] == {}
    original, forked, again = [
        await read_back(api, one) for one in (experiment_id, copy.json()["id"], named.json()["id"])
    ]
    assert {**forked, "name": "", "seed": 0} == {**original, "name": "", "seed": 0}
    assert {**again, "name": original["name"]} == original
