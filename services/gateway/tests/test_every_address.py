"""What holds at every address: keys, errors, logs, health and the documentation."""

import asyncio
import json
import re
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from uuid import uuid4

import httpx2
import pytest
from sqlalchemy import text
from structlog.typing import EventDict

from parley_lab.bus.in_process import InProcessBus
from parley_lab.experiments import starting
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import FILE, Api
from parley_lab.gateway.typescript import schema_of_the_api
from parley_lab.store import keys
from parley_lab.store.databases import connect
from parley_lab.store.keys import Scope
from parley_lab.store.session import Session


async def _key(api: Api, name: str, *scopes: Scope, **more: Any) -> str:
    async with api.database.transaction() as session:
        return await keys.create_key(session, name, api.clock.now(), scopes=scopes or ("read", "write"), **more)


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


async def test_the_experiment_of_someone_else_is_not_there(api: Api) -> None:
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
        await api.client.post(f"{address}/join", headers=stranger),
        await api.client.get(f"{address}/export", headers=stranger),
        await api.client.get(f"{address}/stream", headers=stranger),
        await api.client.post(f"/v1/members/{member_id}/remove", headers=stranger, json={"reason": "no"}),
    ]

    assert {answer.status_code for answer in answers} == {404}


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

    monkeypatch.setattr("parley_lab.experiments.listing.list_of", fail)

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


async def test_readiness_takes_no_longer_than_one_of_its_questions(
    api: Api, bus: InProcessBus, monkeypatch: pytest.MonkeyPatch
) -> None:
    both_are_asked = asyncio.Barrier(2)

    async def answer_when_both_are_asked(*_: object) -> bool:
        await both_are_asked.wait()
        return True

    monkeypatch.setattr("parley_lab.gateway.routes.health.check_reachable", answer_when_both_are_asked)
    monkeypatch.setattr(bus, "ping", answer_when_both_are_asked)

    ready = await api.client.get("/readyz")

    assert ready.json() == {"status": "ready", "database": True, "bus": True}


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


async def test_parameters_are_declared_as_they_can_be_sent(api: Api) -> None:
    schema = (await api.client.get("/openapi.json")).json()

    parameters = [
        parameter
        for operations in schema["paths"].values()
        for operation in operations.values()
        for parameter in operation.get("parameters", ())
    ]
    # An address and a header hold text: there is no null in them.
    assert not [parameter for parameter in parameters if {"type": "null"} in parameter["schema"].get("anyOf", ())]
    before = next(one for one in parameters if one["name"] == "before")["schema"]
    assert (before["type"], before["format"]) == ("string", "date-time")


async def test_the_examples_of_bodies_are_taken(api: Api) -> None:
    schema = (await api.client.get("/openapi.json")).json()
    body = schema["paths"]["/v1/experiments"]["post"]["requestBody"]["content"]

    with_example = {media_type: one for media_type, one in body.items() if "example" in one}
    assert {*with_example} == {"application/yaml", "application/json"}
    for media_type, one in with_example.items():
        content = one["example"] if isinstance(one["example"], str) else json.dumps(one["example"])
        stored = await api.experimenter(
            "POST", "/v1/experiments", content=content, headers={"Content-Type": media_type}
        )
        assert stored.status_code == 201, stored.text


async def test_the_bare_address_is_a_page_for_people(api: Api) -> None:
    bare = await api.client.get("/")
    schema = (await api.client.get("/openapi.json")).json()

    assert (bare.status_code, bare.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert "<title>Parley</title>" in bare.text
    assert 'href="docs"' in bare.text
    assert "/" not in schema["paths"]
    for address in ("/", "/docs", "/openapi.json"):
        refused = await api.client.post(address)
        assert (refused.status_code, "GET" in refused.headers["allow"]) == (405, True), address


def _references(value: Any) -> list[str]:
    if isinstance(value, dict):
        own = [value["$ref"]] if isinstance(value.get("$ref"), str) else []
        return own + [ref for part in value.values() for ref in _references(part)]
    return [ref for part in value for ref in _references(part)] if isinstance(value, list) else []


def _parts(schema: Any, at: str = "") -> Iterator[tuple[str, dict[str, Any]]]:
    """Every object in a schema, with its place."""
    if isinstance(schema, dict):
        yield at, schema
    for name, part in schema.items() if isinstance(schema, dict) else enumerate(schema):
        if isinstance(part, dict | list):
            yield from _parts(part, f"{at}/{name}")


def test_the_documentation_knows_the_bounds_of_every_field() -> None:
    of_python = {"ge", "gt", "le", "lt", "min_length", "max_length", "multiple_of"}

    unknown = {at for at, part in _parts(schema_of_the_api()) if of_python & {*part} and not at.endswith("/properties")}

    assert unknown == set()


def test_no_part_of_an_address_may_have_nul() -> None:
    operations = ((path, one) for path, one in _parts(schema_of_the_api()["paths"]) if "operationId" in one)

    may = {
        f"{at}: {parameter['name']}"
        for at, operation in operations
        for parameter in operation.get("parameters", ())
        for _, part in _parts(parameter["schema"])
        if parameter["in"] == "path" and part.get("type") == "string" and not {"enum", "const", "format"} & {*part}
        if re.search(part.get("pattern", ""), "a\x00b")
    }

    assert may == set()


async def test_an_address_with_nul_is_refused(api: Api) -> None:
    addresses = [path for path in schema_of_the_api()["paths"] if "{" in path]

    answers = [
        (method, await api.client.request(method, re.sub(r"{\w+}", "a%00b", path)))
        for path in addresses
        for method in ("GET", "POST", "PUT", "DELETE")
    ]

    assert [(method, one.url) for method, one in answers if one.status_code not in (401, 404, 405, 422)] == []


def test_every_text_in_an_address_or_a_header_is_bounded() -> None:
    bounds = {"maxLength", "pattern", "enum", "const", "format"}
    operations = ((path, one) for path, one in _parts(schema_of_the_api()["paths"]) if "operationId" in one)

    unbounded = {
        f"{at}: {parameter['name']}"
        for at, operation in operations
        for parameter in operation.get("parameters", ())
        for _, part in _parts(parameter["schema"])
        if part.get("type") == "string" and not bounds & {*part}
    }

    assert unbounded == set()
