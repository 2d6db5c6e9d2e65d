"""Links whose placeholders the service that sends people has not filled in."""

from typing import Any, Final

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres

PLACEHOLDER: Final = "{{%PROLIFIC_PID%}}"
FILE: Final[dict[str, Any]] = {
    "stages": [{"id": "welcome", "kind": "info", "lines": ["Hello"]}],
    "cohorts": [{"seats": [{"open": True, "count": 3}]}],
    "join": {"parameters": ["STUDY_ID", "SESSION_ID"]},
}


async def link_of(api: Api, experiment_id: str) -> str:
    found = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}")).json()
    return f"/v1/join/{found['join_code']}"


async def people(api: Api) -> list[tuple[str | None, Any]]:
    """The external ids and parameters of those who have joined."""
    statement = text("SELECT external_id, parameters FROM members WHERE joined_at IS NOT NULL ORDER BY path")
    async with api.database.read() as session:
        return [(row.external_id, row.parameters) for row in await session.all(statement)]


async def test_no_one_gets_the_place_of_another_by_a_placeholder(api: Api) -> None:
    link = await link_of(api, await api.running(**FILE))

    answers = [
        await api.client.post(link, json={"join_key": f"browser-{number}", "external_id": PLACEHOLDER})
        for number in range(2)
    ]

    assert [one.status_code for one in answers] == [422, 422]
    (problem,) = answers[1].json()["problems"]
    assert (problem["where"], problem["code"]) == ("external_id", "placeholder")
    assert PLACEHOLDER in problem["found"]
    assert await people(api) == []


async def test_a_program_that_brings_people_is_told_as_well(api: Api) -> None:
    experiment_id = await api.running(**FILE)

    refused = await api.take_seat(experiment_id, external_id="${e://Field/PID}")

    assert refused.status_code == 422
    assert [one["code"] for one in refused.json()["problems"]] == ["placeholder"]
    assert await people(api) == []


async def test_placeholders_in_parameters_are_left_out_and_keep_no_one_from_joining(api: Api) -> None:
    experiment_id = await api.running(**FILE)
    link = await link_of(api, experiment_id)
    values = {"STUDY_ID": "{{%STUDY_ID%}}", "SESSION_ID": "x-1"}

    first = await api.client.post(link, json={"join_key": "browser-1", "external_id": "p-1", "parameters": values})
    second = await api.take_seat(experiment_id, external_id="p-2", parameters={"STUDY_ID": "{{%STUDY_ID%}}"})

    assert (first.status_code, second.status_code) == (201, 201)
    assert await people(api) == [("p-1", {"SESSION_ID": "x-1"}), ("p-2", None)]


async def test_real_values_are_kept_of_who_came_with_placeholders_before(api: Api) -> None:
    link = await link_of(api, await api.running(**FILE))

    for value in ("{{%STUDY_ID%}}", "s-1", "{{%STUDY_ID%}}"):
        answer = await api.client.post(link, json={"join_key": "browser-1", "parameters": {"STUDY_ID": value}})
        assert answer.status_code == 201

    assert await people(api) == [(None, {"STUDY_ID": "s-1"})]


async def test_a_browser_that_has_a_place_comes_back_by_such_a_link(api: Api) -> None:
    link = await link_of(api, await api.running(**FILE))
    mine = await api.client.post(link, json={"join_key": "browser-1", "external_id": "p-1"})

    back = await api.client.post(link, json={"join_key": "browser-1", "external_id": PLACEHOLDER})

    assert (back.status_code, back.json()["member_id"]) == (201, mine.json()["member_id"])
    assert await people(api) == [("p-1", None)]
