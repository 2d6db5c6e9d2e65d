"""What experimenters do, and what happens to files that are not right."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any

import pytest
import yaml
from sqlalchemy import text

from parley_lab.design import read
from parley_lab.gateway.testing import FILE, Api
from parley_lab.store.session import Database

AGENT = {"id": "ann", "profile": {"name": "Ann"}, "text": "A careful person"}


async def _count(database: Database, table: str) -> int:
    async with database.transaction() as session:
        row = await session.one(text(f"SELECT count(*) AS n FROM {table}"))  # noqa: S608 - a name from this file
    count: int = row.n
    return count


async def test_a_file_becomes_a_draft_and_a_draft_a_running_experiment(api: Api) -> None:
    created = await api.experimenter("POST", "/v1/experiments", json=FILE, params={"is_test": True})
    address = f"/v1/experiments/{created.json()['id']}"
    started = await api.experimenter("POST", f"{address}/start")
    again = await api.experimenter("POST", f"{address}/start")
    shown = await api.experimenter("GET", address)
    listed = await api.experimenter("GET", "/v1/experiments")

    assert created.status_code == 201
    assert created.json()["status"] == "draft"
    assert created.json()["is_test"] is True
    assert started.json()["status"] == again.json()["status"] == "running"
    assert shown.json()["progress"] == {
        "members_by_status": {"expected": 2},
        "messages": 0,
        "model_calls": 0,
        "cohorts": 1,
        "cohorts_running": 1,
    }
    assert [one["id"] for one in listed.json()["experiments"]] == [created.json()["id"]]
    assert await _count(api.database, "members") == 2


async def test_starting_twice_at_once_is_starting_once(api: Api) -> None:
    created = await api.experimenter("POST", "/v1/experiments", json=FILE)
    address = f"/v1/experiments/{created.json()['id']}/start"

    answers = await asyncio.gather(*(api.experimenter("POST", address) for _ in range(4)))

    assert [answer.status_code for answer in answers] == [200] * 4
    assert await _count(api.database, "members") == 2


async def test_yaml_and_json_of_one_file_are_the_same_experiment(api: Api) -> None:
    as_json = await api.experimenter("POST", "/v1/experiments", json=FILE)
    as_yaml = await api.experimenter(
        "POST", "/v1/experiments", content=yaml.safe_dump(FILE), headers={"Content-Type": "application/yaml"}
    )

    assert as_json.status_code == as_yaml.status_code == 201
    assert as_json.json()["document_hash"] == as_yaml.json()["document_hash"]


async def test_a_valid_file_can_be_checked_without_storing_it(api: Api) -> None:
    checked = await api.experimenter("POST", "/v1/experiments/validate", json=FILE)
    schema = await api.experimenter("GET", "/v1/experiment-schema")

    assert checked.status_code == 200
    assert checked.json()["stages"] == ["welcome", "before", "talk", "after"]
    assert checked.json()["members"] == 2
    assert schema.json()["title"] == "Parley experiment"
    assert await _count(api.database, "experiments") == 0


async def test_a_check_has_the_warnings_in_the_words_of_the_command_line(api: Api) -> None:
    stage = {"id": "end", "kind": "info", "lines": ["Hello {{name}}, or {name}."]}
    written = yaml.safe_dump({**FILE, "variables": {"name": "Ada {{x}}"}, "stages": [*FILE["stages"], stage]})
    headers = {"Content-Type": "application/yaml"}

    checked = await api.experimenter("POST", "/v1/experiments/validate", content=written, headers=headers)
    without = await api.experimenter("POST", "/v1/experiments/validate", json=FILE)

    said = [str(one) for one in read(written, "experiment.yaml").warnings()]
    assert checked.json()["warnings"] == said
    assert len(said) == 2
    assert without.json()["warnings"] == []


async def test_a_check_warns_of_agents_that_people_cannot_follow(api: Api) -> None:
    seats = [{"open": True}, {"persona": "ana", "count": 2}]
    file = {**FILE, "pace": "live", "personas": [{"id": "ana"}], "cohorts": [{"seats": seats}]}

    validated = (await api.experimenter("POST", "/v1/experiments/validate", json=file)).json()
    checked = (await api.experimenter("POST", "/v1/experiments/check", json=file)).json()

    (warning,) = validated["warnings"]
    assert "agents answer at once" in warning
    assert checked["warnings"] == [warning]


WRONG = {
    "unknown kind": {"stages": [{"id": "a", "kind": "seance"}]},
    "duplicate ids": {"stages": [FILE["stages"][0], FILE["stages"][0]]},
    "unknown field": {"colour": "blue"},
    "no stages": {"stages": []},
    "unknown persona": {"cohorts": [{"seats": [{"persona": "nobody"}]}]},
}


@pytest.mark.parametrize("change", WRONG.values(), ids=WRONG.keys())
async def test_a_wrong_file_is_refused_with_its_problems(api: Api, change: dict[str, Any]) -> None:
    for path in ("/v1/experiments", "/v1/experiments/validate"):
        refused = await api.experimenter("POST", path, json={**FILE, **change})

        assert refused.status_code == 422
        assert refused.headers["content-type"] == "application/problem+json"
        words = {"at", "wrong", "hint", "code"}
        assert all(problem.keys() - words == {"where", "found", "expected"} for problem in refused.json()["problems"])
        assert refused.json()["problems"]
    assert await _count(api.database, "experiments") == 0


async def test_all_problems_of_a_file_come_at_once(api: Api) -> None:
    stages = [*FILE["stages"], {"id": "welcome", "kind": "info", "lines": []}, {"id": "x", "kind": "seance"}]

    refused = await api.experimenter("POST", "/v1/experiments", json={**FILE, "stages": stages, "seed": -1})

    where = {problem["where"] for problem in refused.json()["problems"]}
    assert len(where) >= 3, refused.text


@pytest.mark.parametrize(
    "content", ["a: [1", "- just\n- a list\n", "", "name: !!python/object:os.system x", "a: &a [*a]"]
)
async def test_what_is_no_file_is_refused(api: Api, content: str) -> None:
    refused = await api.experimenter(
        "POST", "/v1/experiments", content=content, headers={"Content-Type": "application/yaml"}
    )

    assert refused.status_code == 422
    assert refused.json()["problems"]


async def test_malformed_json_is_refused_with_its_place(api: Api) -> None:
    refused = await api.experimenter(
        "POST", "/v1/experiments", content="{", headers={"Content-Type": "application/json"}
    )
    joining = await api.client.post("/v1/join/code", content="{", headers={"Content-Type": "application/json"})

    assert refused.status_code == joining.status_code == 422
    assert "line 1" in refused.json()["problems"][0]["where"]


async def test_another_content_type_is_refused(api: Api) -> None:
    refused = await api.experimenter(
        "POST", "/v1/experiments", content="<x/>", headers={"Content-Type": "application/xml"}
    )

    assert refused.status_code == 415


async def _endless() -> AsyncIterator[bytes]:
    for _ in range(20):
        yield b" " * 8192


@pytest.mark.parametrize("path", ["/v1/experiments", "/v1/me/stages/before/advance"])
async def test_an_oversized_body_is_refused_announced_or_not(api: Api, path: str) -> None:
    announced = await api.experimenter(
        "POST", path, content=b" " * 100_000, headers={"Content-Type": "application/json"}
    )
    chunked = await api.experimenter("POST", path, content=_endless(), headers={"Content-Type": "application/json"})

    for refused in (announced, chunked):
        assert refused.status_code == 413
        assert refused.headers["content-type"] == "application/problem+json"
        assert refused.json()["code"] == "too_large"


async def test_a_provider_that_no_one_serves_is_refused_at_the_start(api: Api) -> None:
    ann = {**AGENT, "model": {"provider": "crewai", "model": "ollama/some"}}
    document = {**FILE, "model_mode": "real", "personas": [ann], "cohorts": [{"seats": [{"persona": "ann"}]}]}
    created = await api.experimenter("POST", "/v1/experiments", json=document)
    state = api.app.state
    state.context = replace(state.context, served_providers={"mock", "openai"})

    refused = await api.experimenter("POST", f"/v1/experiments/{created.json()['id']}/start")

    assert refused.status_code == 409
    assert "No worker of this lab serves the models of provider 'crewai/ollama'" in refused.json()["detail"]


async def test_real_models_are_refused_naming_what_is_missing(api: Api) -> None:
    document = {**FILE, "model_mode": "real", "personas": [AGENT], "cohorts": [{"seats": [{"persona": "ann"}]}]}
    created = await api.experimenter("POST", "/v1/experiments", json=document)
    address = f"/v1/experiments/{created.json()['id']}"

    refused = await api.experimenter("POST", f"{address}/start")
    before = await _count(api.database, "members")
    changed = await api.experimenter("PATCH", address, json={"model_mode": "mock"})
    started = await api.experimenter("POST", f"{address}/start")
    late = await api.experimenter("PATCH", address, json={"model_mode": "real"})

    assert refused.status_code == 409
    assert refused.json()["reason"] == "real_models_refused"
    assert "OPENAI_API_KEY" in refused.json()["detail"]
    assert before == 0
    assert changed.json()["model_mode"] == "mock"
    assert started.status_code == 200
    assert (late.status_code, late.json()["reason"]) == (409, "not_a_draft")


async def test_the_experimenter_sees_who_is_an_agent_and_can_take_someone_out(api: Api) -> None:
    seats = [{"open": True}, {"persona": "ann"}]
    experiment_id = await api.running(personas=[AGENT], cohorts=[{"seats": seats}])
    token = await api.join(experiment_id)

    listed = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")
    ada = listed.json()["members"][0]
    removed = await api.experimenter("POST", f"/v1/members/{ada['id']}/remove", json={"reason": "asked for it"})
    again = await api.experimenter("POST", f"/v1/members/{ada['id']}/remove", json={"reason": "again"})

    assert [(one["path"], one["player"]) for one in listed.json()["members"]] == [
        ("c1/m1", "person"),
        ("c1/m2", "agent"),
    ]
    assert listed.json()["members"][1]["agent"]["text"] == "A careful person"
    assert "token_hash" not in listed.text
    assert token not in listed.text
    assert removed.json()["status_reason"] == again.json()["status_reason"] == "asked for it"
    assert (await api.participant(token, "GET", "/v1/me")).json()["status"] == "removed"
