"""What experimenters do, who they are, and what happens to files that are not right."""

import asyncio
import csv
import io
import json
import zipfile
from collections.abc import AsyncIterator
from dataclasses import replace
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest
import yaml
from sqlalchemy import text
from structlog.typing import EventDict

from formats.exports import without_ids_and_clocks
from gateway.app import create_app
from gateway.settings import GatewaySettings
from gateway.testing import FILE, Api
from shared.acts import starting
from shared.bus.in_process import InProcessBus
from shared.db import keys
from shared.db.databases import connect
from shared.db.keys import Scope
from shared.db.session import Database, Session

AGENT = {"id": "ann", "profile": {"name": "Ann"}, "text": "A careful person"}


async def _count(database: Database, table: str) -> int:
    async with database.transaction() as session:
        row = await session.one(text(f"SELECT count(*) AS n FROM {table}"))  # noqa: S608 - a name from this file
    count: int = row.n
    return count


async def _key(api: Api, name: str, *scopes: Scope, **more: Any) -> str:
    async with api.database.transaction() as session:
        return await keys.create_key(session, name, api.clock.now(), scopes=scopes or ("read", "write"), **more)


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
        assert all(problem.keys() - {"at"} == {"where", "found", "expected"} for problem in refused.json()["problems"])
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
    joining = await api.client.post(
        f"/v1/experiments/{uuid4()}/join", content="{", headers={"Content-Type": "application/json"}
    )

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


async def test_a_provider_that_nobody_serves_is_refused_at_the_start(api: Api) -> None:
    ann = {**AGENT, "model": {"provider": "crewai", "model": "ollama/some"}}
    document = {**FILE, "model_mode": "real", "personas": [ann], "cohorts": [{"seats": [{"persona": "ann"}]}]}
    created = await api.experimenter("POST", "/v1/experiments", json=document)
    state = api.app.state
    state.context = replace(state.context, served_providers={"mock", "openai"})

    refused = await api.experimenter("POST", f"/v1/experiments/{created.json()['id']}/start")

    assert refused.status_code == 409
    assert "Nobody in this lab serves the models of provider 'crewai/ollama'" in refused.json()["detail"]


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


async def test_keys_are_asked_for_expire_and_have_scopes(api: Api) -> None:
    reader = await _key(api, "Ellen", "read")
    expiring = await _key(api, "Ellen", expires_at=api.clock.now() + timedelta(hours=1))
    api.clock.advance(3600)

    none = await api.client.get("/v1/experiments")
    wrong = await api.client.get("/v1/experiments", headers={"Authorization": "Bearer nonsense"})
    expired = await api.client.get("/v1/experiments", headers={"Authorization": f"Bearer {expiring}"})
    reading = await api.client.get("/v1/experiments", headers={"Authorization": f"Bearer {reader}"})
    writing = await api.client.post("/v1/experiments", json=FILE, headers={"Authorization": f"Bearer {reader}"})
    participant = await api.client.get("/v1/me", headers={"Authorization": f"Bearer {reader}"})

    assert [one.status_code for one in (none, wrong, expired)] == [401, 401, 401]
    assert none.headers["www-authenticate"] == "Bearer"
    assert reading.status_code == 200
    assert (writing.status_code, writing.json()["code"]) == (403, "not_allowed")
    assert participant.status_code == 401


async def test_keys_are_stored_as_hashes(api: Api) -> None:
    async with api.database.transaction() as session:
        rows = await session.all(text("SELECT * FROM api_keys"))

    assert all(api.key not in str(row) for row in rows)


async def test_the_experiment_of_somebody_else_is_not_there(api: Api) -> None:
    experiment_id = await api.running()
    token = await api.join(experiment_id)
    member_id = (await api.participant(token, "GET", "/v1/me")).json()["member_id"]
    stranger = {"Authorization": f"Bearer {await _key(api, 'Stranger')}"}
    address = f"/v1/experiments/{experiment_id}"

    answers = [
        await api.client.get(address, headers=stranger),
        await api.client.patch(address, headers=stranger, json={"model_mode": "mock"}),
        await api.client.post(f"{address}/start", headers=stranger),
        await api.client.get(f"{address}/members", headers=stranger),
        await api.client.get(f"{address}/cohorts", headers=stranger),
        await api.client.get(f"{address}/export", headers=stranger),
        await api.client.get(f"{address}/stream", headers=stranger),
        await api.client.post(f"/v1/members/{member_id}/remove", headers=stranger, json={"reason": "no"}),
    ]

    assert {answer.status_code for answer in answers} == {404}


async def test_the_experimenter_sees_who_is_an_agent_and_can_take_somebody_out(api: Api) -> None:
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


async def test_every_error_has_one_shape_and_the_correlation_id(api: Api) -> None:
    unknown = await api.client.get("/v1/nothing", headers={"X-Correlation-ID": "abc-1"})
    method = await api.client.delete("/v1/experiments")
    query = await api.participant("x", "GET", f"/v1/me/threads/{uuid4()}/messages", params={"limit": 0})
    strange = await api.client.get("/healthz", headers={"X-Correlation-ID": "no spaces, please"})

    assert unknown.headers["x-correlation-id"] == unknown.json()["correlation_id"] == "abc-1"
    for answer, status, code in ((unknown, 404, "not_found"), (method, 405, "method_not_allowed")):
        assert (answer.status_code, answer.json()["status"], answer.json()["code"]) == (status, status, code)
        assert answer.headers["content-type"] == "application/problem+json"
    assert query.status_code == 422
    assert query.json()["problems"] == [{"where": "limit", "found": "'0'", "expected": "greater than or equal to 1"}]
    assert strange.headers["x-correlation-id"] != "no spaces, please"


async def test_our_own_mistakes_are_told_without_details(
    api: Api, monkeypatch: pytest.MonkeyPatch, logged: list[EventDict]
) -> None:
    async def fail(*_: object) -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr("shared.db.experiments.list_of", fail)

    answer = await api.experimenter("GET", "/v1/experiments")

    assert answer.status_code == 500
    assert answer.json()["code"] == "unexpected"
    assert "secret" not in answer.text
    assert [entry["event"] for entry in logged if entry["log_level"] == "error"] == ["http.failed"]


async def test_the_log_of_a_request_holds_neither_body_nor_query_nor_key(api: Api, logged: list[EventDict]) -> None:
    token = await api.join(await api.running(), "A secret name")

    await api.client.get(f"/v1/me?token={token}", headers={"X-Correlation-ID": "abc-2"})

    entry = logged[-1]
    assert (entry["event"], entry["method"], entry["path"], entry["status"]) == ("http.request", "GET", "/v1/me", 422)
    assert not any(secret in str(logged) for secret in (token, api.key, "A secret name"))


async def test_a_deadlock_is_tried_once_more(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    real, tries = starting.set_model_mode, 0

    async def deadlocked_at_first(session: Session, *rest: Any) -> None:
        nonlocal tries
        tries += 1
        await real(session, *rest)
        if tries == 1:
            await session.run(text("DO $$ BEGIN RAISE EXCEPTION 'deadlock' USING ERRCODE = '40P01'; END $$"))

    monkeypatch.setattr(starting, "set_model_mode", deadlocked_at_first)
    created = await api.experimenter("POST", "/v1/experiments", json=FILE)

    changed = await api.experimenter("PATCH", f"/v1/experiments/{created.json()['id']}", json={"model_mode": "real"})

    assert tries == 2
    assert (changed.status_code, changed.json()["model_mode"]) == (200, "real")


async def test_health_and_readiness(api: Api, bus: InProcessBus) -> None:
    alive = await api.client.get("/healthz")
    ready = await api.client.get("/readyz")
    await bus.close()
    without_bus = await api.client.get("/readyz")

    assert alive.json() == {"status": "ok"}
    assert ready.json() == {"status": "ready", "database": True, "bus": True}
    assert (without_bus.status_code, without_bus.json()["bus"]) == (200, False)


async def test_a_gateway_without_a_database_is_alive_and_not_ready(api: Api, bus: InProcessBus) -> None:
    away = connect("postgresql://postgres@127.0.0.1:1/nothing")
    app = create_app(away, bus, api.clock, GatewaySettings(), environ={})
    async with httpx2.AsyncClient(transport=httpx2.ASGITransport(app), base_url="http://gateway") as client:
        alive = await client.get("/healthz")
        ready = await client.get("/readyz")
    await away.close()

    assert alive.status_code == 200
    assert ready.status_code == 503
    assert ready.json()["can_retry"] is True
    assert ready.headers["retry-after"] == "1"


async def test_the_api_documents_itself_without_other_hosts(api: Api) -> None:
    page = await api.client.get("/docs")
    schema = (await api.client.get("/openapi.json")).json()

    assert "http" not in page.text.replace("http-equiv", "")
    advance = schema["paths"]["/v1/me/stages/{stage_id}/advance"]["post"]
    assert "application/problem+json" in advance["responses"]["422"]["content"]
    assert advance["security"] == [{"ParticipantToken": []}]
    for operations in schema["paths"].values():
        assert all("summary" in operation for operation in operations.values())
    names = set(schema["components"]["schemas"])
    used = {ref.removeprefix("#/components/schemas/") for ref in _references(schema)}
    assert used <= names


async def test_the_bare_address_leads_to_the_documentation(api: Api) -> None:
    bare = await api.client.get("/")
    schema = (await api.client.get("/openapi.json")).json()

    assert (bare.status_code, bare.headers["location"]) == (307, "docs")
    assert "/" not in schema["paths"]
    for address in ("/", "/docs", "/openapi.json"):
        refused = await api.client.post(address)
        assert (refused.status_code, "GET" in refused.headers["allow"]) == (405, True), address


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [ref for part in value.values() for ref in _references(part)]
    return [ref for part in value for ref in _references(part)] if isinstance(value, list) else []


async def _exported(api: Api, experiment_id: str, **params: str) -> dict[str, bytes]:
    answer = await api.experimenter("GET", f"/v1/experiments/{experiment_id}/export", params=params)
    assert answer.status_code == 200, answer.text
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


async def _a_run(api: Api) -> str:
    experiment_id = await api.running()
    ada, bo = [await api.to_the_talk(experiment_id, name) for name in ("Ada", 'Bo, "B"\nthe second')]
    address = f"/v1/me/threads/{await api.thread(ada)}/messages"
    said = await api.participant(ada, "POST", address, json={"text": '=1+1;\n"ä"', "client_message_id": "m-1"})
    await api.participant(
        bo, "POST", address, json={"text": "Hi", "client_message_id": "m-1", "reply_to": said.json()["id"]}
    )
    for token in (bo, ada):
        await api.participant(token, "PUT", f"/v1/me/messages/{said.json()['id']}/reactions/heart")
    for token in (ada, bo):
        await api.advance(token, "talk")
        await api.settle(experiment_id)
    await api.advance(ada, "after", {"again": "yes"})
    await api.settle(experiment_id)
    return experiment_id


def _table(content: bytes) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(content.decode(), newline="")))


async def test_the_export_has_everything(api: Api) -> None:
    files = await _exported(api, await _a_run(api))

    everything = json.loads(files["data.json"])
    participants = _table(files["participants.csv"])
    answers = _table(files["answers.csv"])
    messages = _table(files["messages.csv"])
    manifest = json.loads(files["manifest.json"])
    assert sorted(files) == [
        "answers.csv",
        "data.json",
        "manifest.json",
        "messages.csv",
        "model_calls.csv",
        "participants.csv",
    ]
    assert [one["path"] for one in everything["members"]] == ["c1/m1", "c1/m2"]
    assert everything["experiment"]["document"]["name"] == FILE["name"]
    assert {one["type"] for one in everything["events"]} >= {"member.moved", "message.created", "stage.unlocked"}
    assert [(one["name"], one["before.age"], one["after.again"]) for one in participants] == [
        ("Ada", "33", "yes"),
        ('Bo, "B"\nthe second', "33", ""),
    ]
    assert participants[0]["status"] == "completed"
    assert participants[1]["stage"] == "after"
    assert [(one["path"], one["stage"], one["field"], one["value"]) for one in answers][:4] == [
        ("c1/m1", "welcome", "", "{}"),
        ("c1/m1", "before", "age", "33"),
        ("c1/m1", "before", "why", "Curious"),
        ("c1/m1", "talk", "", "{}"),
    ]
    assert [one["text"] for one in messages][:2] == ['=1+1;\n"ä"', "Hi"]
    assert messages[1]["reply_to_seq"] == "1"
    assert (messages[1]["reply_to_author_path"], messages[1]["reply_to_text"]) == ("c1/m1", messages[0]["text"])
    assert json.loads(messages[0]["reactions"]) == {"heart": ["c1/m1", "c1/m2"]}
    assert [(one["member_path"], one["message_seq"]) for one in everything["reactions"]] == [("c1/m1", 1), ("c1/m2", 1)]
    assert messages[0]["created_at"].endswith("Z")
    assert {row["model_mode"] for table in (participants, answers, messages) for row in table} == {"mock"}
    assert files["model_calls.csv"].decode().startswith("experiment_id,model_mode,")
    assert everything["model_mode"] == manifest["model_mode"] == "mock"
    assert manifest["rows"]["participants.csv"] == 2
    assert manifest["seed"] == 3
    assert b"NaN" not in files["data.json"]


async def test_no_secret_is_exported(api: Api) -> None:
    experiment_id = await _a_run(api)
    async with api.database.transaction() as session:
        rows = await session.all(text("SELECT token_hash FROM members WHERE token_hash IS NOT NULL"))
        hashes = [row.token_hash for row in rows]

    files = await _exported(api, experiment_id)

    everything = b"".join(files.values()).decode()
    assert len(hashes) == 2
    assert not any(secret in everything for secret in (*hashes, api.key, keys.hash_key(api.key)))


async def test_two_runs_export_the_same_but_for_ids_and_clocks(api: Api) -> None:
    first = await _exported(api, await _a_run(api))
    api.clock.advance(77)
    second = await _exported(api, await _a_run(api))

    assert first != second
    for name in first:
        assert without_ids_and_clocks(name, first[name]) == without_ids_and_clocks(name, second[name]), name


async def test_one_kind_of_files_can_be_asked_for(api: Api) -> None:
    experiment_id = await api.running()

    as_json = await _exported(api, experiment_id, format="json")
    as_csv = await _exported(api, experiment_id, format="csv")

    assert sorted(as_json) == ["data.json", "manifest.json"]
    assert "data.json" not in as_csv
    assert len(as_csv) == 5


async def test_exports_count_ten_after_two(api: Api) -> None:
    experiment_id = await api.running(cohorts=[{"seats": [{"open": True, "count": 11}], "count": 11}])

    files = await _exported(api, experiment_id, format="csv")

    paths = [one["path"] for one in _table(files["participants.csv"])]
    assert paths == [f"c{cohort}/m{seat}" for cohort in range(1, 12) for seat in range(1, 12)]


async def test_a_draft_can_be_exported(api: Api) -> None:
    created = await api.experimenter("POST", "/v1/experiments", json=FILE)

    files = await _exported(api, created.json()["id"])

    assert json.loads(files["data.json"])["members"] == []
    assert json.loads(files["manifest.json"])["status"] == "draft"


async def test_tables_have_texts_marks_scores_attributes_and_levels(api: Api) -> None:
    options = [{"id": "a", "text": "Bonn"}, {"id": "b", "text": "Berlin"}]
    questions = [
        {"id": "capital", "kind": "choice", "title": "Capital?", "options": options, "correct": "b"},
        {"id": "former", "kind": "choice", "title": "Former capital?", "options": options, "correct": "a"},
        {"id": "nicer", "kind": "choice", "title": "The nicer one?", "options": options},
    ]
    experiment_id = await api.running(
        stages=[{"id": "quiz", "kind": "survey", "questions": questions}],
        personas=[{"id": "ben", "attributes": {"age": 41}}],
        cohorts=[{"seats": [{"open": True}, {"persona": "ben"}]}],
        treatments=[{"id": "loss-short", "levels": {"framing": "loss", "length": "short"}}],
    )
    token = await api.join(experiment_id)
    await api.advance(token, "quiz", {"capital": "b", "former": "b", "nicer": "a"})

    files = await _exported(api, experiment_id, format="csv")

    (ada, ben), answers = _table(files["participants.csv"]), _table(files["answers.csv"])
    wanted = ("quiz.capital", "quiz.capital.text", "quiz.capital.correct", "quiz.former.correct", "quiz.score")
    assert [ada[name] for name in wanted] == ["b", "Berlin", "true", "false", "1"]
    assert "quiz.nicer.correct" not in ada
    assert (ada["attribute.age"], ben["attribute.age"], ben["quiz.score"]) == ("", "41", "")
    assert {(row["factor.framing"], row["factor.length"]) for row in (ada, ben, *answers)} == {("loss", "short")}
    assert [(row["field"], row["value"], row["text"], row["correct"]) for row in answers] == [
        ("capital", "b", "Berlin", "true"),
        ("former", "b", "Berlin", "false"),
        ("nicer", "a", "Bonn", ""),
    ]
