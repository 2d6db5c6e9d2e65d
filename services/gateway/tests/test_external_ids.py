"""A person is found by their exact external id, and the look is kept as a deed."""

import pytest

from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres


async def test_a_person_is_found_by_their_exact_external_id_and_the_look_is_a_deed(api: Api) -> None:
    experiment_id = await api.running()
    path = f"/v1/experiments/{experiment_id}"
    await api.experimenter("POST", f"{path}/join", json={"external_id": "p-17", "profile": {"name": "Ada"}})

    found = (await api.experimenter("GET", f"{path}/members?external_id=p-17")).json()["members"]
    part = (await api.experimenter("GET", f"{path}/members?external_id=p-1")).json()["members"]
    everyone = (await api.experimenter("GET", f"{path}/members")).json()["members"]
    deeds = (await api.experimenter("GET", "/v1/deeds")).json()["deeds"]

    assert [one["profile"]["name"] for one in found] == ["Ada"]
    assert (part, len(everyone) > 1) == ([], True)
    assert [(one["deed"], one["experiment_id"]) for one in deeds].count((f"GET {path}/members", experiment_id)) == 2
