"""Lists come in pages, and unknown parameters are refused."""

from datetime import timedelta
from uuid import UUID

import pytest

from parley_lab.gateway.testing import FILE, Api

pytestmark = pytest.mark.postgres


async def _stored(api: Api, names: list[str]) -> list[str]:
    """Experiments, two of each moment; their ids, the newest first."""
    ids = []
    for number, name in enumerate(names):
        created = await api.experimenter("POST", "/v1/experiments", json={**FILE, "name": name})
        ids.append(created.json()["id"])
        if number % 2:
            api.clock.advance(timedelta(seconds=1).total_seconds())
    return ids


async def _pages(api: Api, address: str, section: str, **params: str | int) -> list[list[dict[str, str]]]:
    pages, after = [], None
    while True:
        given = {**params, **({} if after is None else {"after": after})}
        page = (await api.experimenter("GET", address, params=given)).json()
        pages.append(page[section])
        after = page["next_after"]
        if after is None:
            return pages


async def test_experiments_come_in_pages_that_miss_and_repeat_nothing(api: Api) -> None:
    ids = await _stored(api, [f"Number {number}" for number in range(5)])

    pages = await _pages(api, "/v1/experiments", "experiments", limit=2)
    all_at_once = await _pages(api, "/v1/experiments", "experiments")

    assert [len(page) for page in pages] == [2, 2, 1]
    assert {one["id"] for page in pages for one in page} == set(ids)
    assert [one for page in pages for one in page] == all_at_once[0]
    assert pages[0][0]["name"] == "Number 4"


async def test_personas_come_in_pages_that_miss_and_repeat_nothing(api: Api) -> None:
    ids = ["ada", "b2", "b10", "zoe", "eve"]
    for persona_id in ids:
        await api.experimenter("PUT", f"/v1/personas/{persona_id}", json={})

    pages = await _pages(api, "/v1/personas", "personas", limit=2)
    (whole,) = await _pages(api, "/v1/personas", "personas")
    await api.experimenter("DELETE", f"/v1/personas/{pages[0][-1]['id']}")
    rest = await api.experimenter("GET", "/v1/personas", params={"after": pages[0][-1]["id"]})
    refused = await api.experimenter("GET", "/v1/personas", params={"limit": 0, "after": "no id"})

    assert [[one["id"] for one in page] for page in pages] == [["ada", "b10"], ["b2", "eve"], ["zoe"]]
    assert [one for page in pages for one in page] == whole
    assert [one["id"] for one in rest.json()["personas"]] == ["b2", "eve", "zoe"]
    assert {problem["where"] for problem in refused.json()["problems"]} == {"limit", "after"}


async def test_the_last_page_of_members_says_that_it_is_the_last(api: Api) -> None:
    experiment_id = await api.running()

    pages = await _pages(api, f"/v1/experiments/{experiment_id}/members", "members", limit=1)

    assert [len(page) for page in pages] == [1, 1]
    assert {one["path"] for page in pages for one in page} == {"c1/m1", "c1/m2"}


async def test_a_page_is_read_on_from_an_experiment_that_was_deleted(api: Api) -> None:
    await _stored(api, ["One", "Two", "Three"])
    first = (await api.experimenter("GET", "/v1/experiments", params={"limit": 1})).json()

    await api.experimenter("DELETE", f"/v1/experiments/{first['experiments'][0]['id']}")
    rest = await api.experimenter("GET", "/v1/experiments", params={"after": first["next_after"]})

    assert len(rest.json()["experiments"]) == 2


async def test_experiments_are_found_by_state_and_name(api: Api) -> None:
    ids = await _stored(api, ["Night buses", "Trams", "NIGHT trains"])
    await api.experimenter("POST", f"/v1/experiments/{ids[0]}/start")

    async def names(**params: str) -> set[str]:
        found = await api.experimenter("GET", "/v1/experiments", params=params)
        return {one["name"] for one in found.json()["experiments"]}

    assert await names(name="night") == {"Night buses", "NIGHT trains"}
    assert await names(name="%") == set()
    assert await names(status="running") == {"Night buses"}
    assert await names(status="draft", name="night") == {"NIGHT trains"}


@pytest.mark.parametrize(
    "query", ["limit=0", "limit=1001", "after=x", "after=9999999999999999999.x", "status=over", "name=a%00b"]
)
async def test_what_no_page_can_be_is_refused(api: Api, query: str) -> None:
    answer = await api.experimenter("GET", f"/v1/experiments?{query}")

    assert answer.status_code == 422
    assert answer.json()["problems"][0]["where"] == query.partition("=")[0]


async def test_cohorts_come_in_pages(api: Api) -> None:
    experiment_id = await api.running(cohorts=[{"seats": [{"open": True}], "count": 12}])
    address = f"/v1/experiments/{experiment_id}/cohorts"

    pages = await _pages(api, address, "cohorts", limit=5)
    astray = await api.experimenter("GET", address, params={"after": str(UUID(int=1))})

    assert [one["path"] for page in pages for one in page] == [f"c{number}" for number in range(1, 13)]
    assert [len(page) for page in pages] == [5, 5, 2]
    assert astray.status_code == 422


@pytest.mark.parametrize(
    ("method", "address", "name"),
    [
        ("GET", "/v1/experiments?limt=3", "limt"),
        ("GET", "/v1/personas?after_seq=3", "after_seq"),
        ("POST", "/v1/experiments?is_tset=true", "is_tset"),
        ("GET", f"/v1/experiments/{UUID(int=1)}/export?formt=csv", "formt"),
        ("GET", "/v1/me?token=x", "token"),
        ("GET", "/healthz?x=1", "x"),
    ],
)
async def test_unknown_parameters_are_refused(api: Api, method: str, address: str, name: str) -> None:
    answer = await api.experimenter(method, address)

    assert (answer.status_code, answer.json()["code"]) == (422, "invalid_input")
    assert [one["where"] for one in answer.json()["problems"]] == [name]


async def test_a_misspelt_parameter_is_told_the_right_one(api: Api) -> None:
    answer = await api.experimenter("GET", "/v1/experiments?limt=3")

    (problem,) = answer.json()["problems"]
    assert problem["hint"] == "Did you mean limit?"
    assert problem["expected"] == "one of status, name, study, is_archived, is_test, sort, after, limit"
