"""The experiments that come with the lab, as templates."""

import pytest

from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres


@pytest.fixture
def max_body_bytes() -> int:
    return 1024 * 1024


async def test_each_template_can_be_stored_as_it_is(api: Api) -> None:
    listed = (await api.experimenter("GET", "/v1/templates")).json()["templates"]
    stored = {}
    for one in listed:
        file = await api.experimenter("GET", f"/v1/templates/{one['id']}")
        assert file.headers["content-type"].partition(";")[0] == one["media_type"]
        to = "/v1/experiments" if one["media_type"] == "application/yaml" else "/v1/experiments/import"
        made = await api.experimenter("POST", to, content=file.content, headers={"Content-Type": one["media_type"]})
        stored[one["id"]] = made.status_code

    assert stored == dict.fromkeys(("deliberation", "people_and_agents", "arena", "public_goods", "workbook"), 201)


async def test_a_template_that_does_not_exist_is_not_found(api: Api) -> None:
    found = await api.experimenter("GET", "/v1/templates/dictator")

    assert (found.status_code, "deliberation" in found.json()["detail"]) == (404, True)
