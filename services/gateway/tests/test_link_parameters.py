"""Parameters of a link's address that are kept with who joins by it."""

import csv
import io
import zipfile
from typing import Any, Final

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres

NAMES: Final = ["STUDY_ID", "SESSION_ID"]
FILE: Final[dict[str, Any]] = {
    "stages": [{"id": "welcome", "kind": "info", "lines": ["Hello"]}],
    "cohorts": [{"seats": [{"open": True, "count": 3}]}],
    "join": {"parameters": NAMES},
}


async def code_of(api: Api, experiment_id: str) -> str:
    return str((await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()["join_code"])


async def joined(api: Api, code: str, key: str, **body: Any) -> dict[str, Any]:
    answer = await api.client.post(f"/v1/join/{code}", json={"join_key": key, **body})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


async def kept(api: Api) -> list[Any]:
    """The parameters of those who have joined."""
    statement = text("SELECT parameters FROM members WHERE joined_at IS NOT NULL ORDER BY path")
    async with api.database.read() as session:
        return [row.parameters for row in await session.all(statement)]


async def files(api: Api, experiment_id: str) -> dict[str, str]:
    exported = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export")
    with zipfile.ZipFile(io.BytesIO(exported.content)) as archive:
        return {name: archive.read(name).decode("utf-8-sig") for name in archive.namelist()}


async def test_the_link_names_them_and_who_joins_has_them(api: Api) -> None:
    code = await code_of(api, await api.running(**FILE))

    page = await api.client.get(f"/v1/join/{code}")
    await joined(api, code, "first-browser", parameters={"STUDY_ID": "s-1", "SESSION_ID": "x-1"})
    await joined(api, code, "other-browser", parameters={"STUDY_ID": "s-1"})
    await joined(api, code, "third-browser", parameters={})

    assert page.json()["parameters"] == NAMES
    assert await kept(api) == [{"STUDY_ID": "s-1", "SESSION_ID": "x-1"}, {"STUDY_ID": "s-1"}, None]


async def test_who_is_brought_by_a_program_has_them_as_well(api: Api) -> None:
    experiment_id = await api.running(**FILE)

    await api.take_seat(experiment_id, external_id="p-1", parameters={"STUDY_ID": "s-1"})
    wrong = await api.take_seat(experiment_id, external_id="p-2", parameters={"STUDYID": "s-1"})

    assert await kept(api) == [{"STUDY_ID": "s-1"}]
    assert [one["where"] for one in wrong.json()["problems"]] == ["parameters.STUDYID"]


@pytest.mark.parametrize(
    ("parameters", "where"),
    [
        ({"STUDY_ID": "s-1", "OTHER": "x"}, "parameters.OTHER"),
        ({"STUDY_ID": "s" * 201}, "parameters.STUDY_ID"),
        ({"STUDY_ID": "s\x00"}, "parameters.STUDY_ID"),
        ({"STUDY_ID": 5}, "parameters.STUDY_ID"),
        ({f"P{number}": "x" for number in range(21)}, "parameters"),
    ],
)
async def test_what_the_file_does_not_name_or_cannot_be_kept_is_refused(
    api: Api, parameters: dict[str, Any], where: str
) -> None:
    code = await code_of(api, await api.running(**FILE))

    refused = [
        await api.client.post(f"/v1/join/{code}", json={"join_key": "some-browser", "parameters": parameters})
        for _ in range(2)
    ]

    assert [one.status_code for one in refused] == [422, 422]
    assert [[problem["where"] for problem in one.json()["problems"]] for one in refused] == [[where]] * 2
    assert await kept(api) == []


async def test_the_first_values_stay_in_any_browser(api: Api) -> None:
    code = await code_of(api, await api.running(**FILE))
    await joined(api, code, "first-browser", external_id="p-1", parameters={"SESSION_ID": "first"})

    await joined(api, code, "first-browser", external_id="p-1", parameters={"SESSION_ID": "by the key"})
    await joined(api, code, "other-browser", external_id="p-1", parameters={"SESSION_ID": "by the id"})

    assert await kept(api) == [{"SESSION_ID": "first"}]


async def test_who_came_without_them_has_those_with_which_they_come_back(api: Api) -> None:
    code = await code_of(api, await api.running(**FILE))
    await joined(api, code, "first-browser")
    await joined(api, code, "other-browser", external_id="p-1")

    await joined(api, code, "first-browser", parameters={"SESSION_ID": "by the key"})
    await joined(api, code, "third-browser", external_id="p-1", parameters={"SESSION_ID": "by the id"})

    assert await kept(api) == [{"SESSION_ID": "by the key"}, {"SESSION_ID": "by the id"}]


async def test_they_stand_in_the_payments_and_in_no_other_file(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    code = await code_of(api, experiment_id)
    token = (await joined(api, code, "browser-1", external_id="p-1", parameters={"SESSION_ID": "x-canary"}))["token"]
    other = (await joined(api, code, "browser-2", external_id="p-2"))["token"]
    await api.settle(experiment_id)

    found = await files(api, experiment_id)
    lines = list(csv.DictReader(io.StringIO(found["payments.csv"])))
    seen = [
        (await api.participant(who, "GET", path)).text
        for who in (token, other)
        for path in ("/v1/me", "/v1/me/members")
    ]
    members = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")

    assert [name for name, content in found.items() if "x-canary" in content] == ["payments.csv"]
    assert [(one["external_id"], one["parameter.STUDY_ID"], one["parameter.SESSION_ID"]) for one in lines] == [
        ("p-1", "", "x-canary"),
        ("p-2", "", ""),
    ]
    assert "x-canary" not in "".join([*seen, members.text])


async def test_of_who_declines_and_is_forgotten_none_is_kept_and_none_comes_back(api: Api) -> None:
    terms = {"id": "terms", "kind": "terms_of_service", "lines": ["Be kind."], "delete_when_declined": True}
    last = {"id": "last", "kind": "info", "lines": ["Bye"]}
    experiment_id = await api.running(**{**FILE, "stages": [terms, last]})
    code = await code_of(api, experiment_id)
    mine = {"external_id": "p-1", "parameters": {"SESSION_ID": "x-1"}}
    token = (await joined(api, code, "my-browser", **mine))["token"]
    await api.settle(experiment_id)

    await api.advance(token, "terms", {"accepted": False})
    await joined(api, code, "my-browser", **mine)

    assert await kept(api) == [None]
    async with api.database.read() as session:
        found = await session.all(text("SELECT external_id FROM members WHERE joined_at IS NOT NULL"))
    assert [row.external_id for row in found] == [None]
