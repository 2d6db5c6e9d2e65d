"""The persona library over REST."""

import asyncio
from typing import Any

import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import FILE, Api
from parley_lab.store import keys

ADA = {"profile": {"name": "Ada"}, "text": "You drive a taxi at night.", "attributes": {"age": 40, "town": "no"}}
TALK = {
    **FILE,
    "stages": [{"id": "talk", "kind": "group_chat"}],
    "cohorts": [{"seats": [{"persona": "ada"}, {"open": True}], "mediators": ["mo"]}],
}


async def _put(api: Api, persona_id: str, persona: dict[str, Any]) -> dict[str, Any]:
    answer = await api.experimenter("PUT", f"/v1/personas/{persona_id}", json=persona)
    assert answer.status_code == 200, answer.text
    stored: dict[str, Any] = answer.json()
    return stored


async def _key(api: Api, name: str, *scopes: keys.Scope) -> dict[str, str]:
    async with api.database.transaction() as session:
        key = await keys.create_key(session, name, api.clock.now(), scopes=scopes or keys.ALL_SCOPES)
    return {"Authorization": f"Bearer {key}"}


async def test_a_persona_is_stored_replaced_and_deleted(api: Api) -> None:
    created = await _put(api, "ada", ADA)
    same = await _put(api, "ada", {**ADA, "id": "ada"})
    replaced = await _put(api, "ada", {"text": "You are retired."})
    listed = await api.experimenter("GET", "/v1/personas")
    deleted = await api.experimenter("DELETE", "/v1/personas/ada")
    gone = await api.experimenter("GET", "/v1/personas/ada")

    assert (created["version"], same["version"], replaced["version"]) == (1, 1, 2)
    assert created["persona"]["attributes"] == {"age": 40, "town": "no"}
    assert replaced["persona"]["attributes"] == {}
    assert [one["id"] for one in listed.json()["personas"]] == ["ada"]
    assert deleted.status_code == 204
    assert (gone.status_code, gone.json()["code"]) == (404, "not_found")
    assert (await api.experimenter("DELETE", "/v1/personas/ada")).status_code == 404


async def test_a_save_over_a_newer_persona_is_refused(api: Api) -> None:
    await _put(api, "ada", ADA)
    tag = (await api.experimenter("GET", "/v1/personas/ada")).headers["etag"]

    async def save(text: str, tag: str) -> tuple[int, str | None, int | None]:
        headers = {"If-Match": tag}
        answer = await api.experimenter("PUT", "/v1/personas/ada", json={"text": text}, headers=headers)
        return answer.status_code, answer.headers.get("etag"), answer.json().get("params", {}).get("version")

    at_once = await asyncio.gather(*(save(f"Number {number}", tag) for number in range(4)))
    again = await save("Newer", '"v2"')
    new = await api.experimenter("PUT", "/v1/personas/ben", json=ADA, headers={"If-Match": '"v1"'})
    unreadable = await api.experimenter("PUT", "/v1/personas/ada", json=ADA, headers={"If-Match": "mine"})

    assert tag == '"v1"'
    assert sorted(at_once) == [(200, '"v2"', None), *[(412, None, 2)] * 3]
    assert again == (200, '"v3"', None)
    assert (new.status_code, unreadable.status_code) == (412, 422)


@pytest.mark.parametrize(
    ("persona_id", "persona", "where"),
    [
        ("ada", {"txt": "A slip"}, "txt"),
        ("ada", {"id": "ben"}, "id"),
        ("Not an id", {}, "persona_id"),
        ("ada", {"text": "NUL \x00"}, "text"),
        ("ada", {"model": {"temperature": 3}}, "model.temperature"),
    ],
)
async def test_what_is_no_persona_is_refused_with_its_place(
    api: Api, persona_id: str, persona: dict[str, Any], where: str
) -> None:
    refused = await api.experimenter("PUT", f"/v1/personas/{persona_id}", json=persona)

    assert refused.status_code == 422
    assert [problem["where"] for problem in refused.json()["problems"]] == [where]


@pytest.mark.parametrize("form", ["yaml", "json"])
async def test_an_exported_library_is_imported_without_loss_and_is_idempotent(api: Api, form: str) -> None:
    await _put(api, "ada", ADA)
    await _put(api, "mo", {"prompts": {"group_chat": [{"type": "text", "text": "1e5"}, {"type": "task"}]}})
    before = (await api.experimenter("GET", "/v1/personas")).json()
    exported = await api.experimenter("GET", "/v1/persona-library", params={"format": form})
    await api.experimenter("DELETE", "/v1/personas/ada")
    await _put(api, "mo", {})
    file = {"content": exported.content, "headers": {"Content-Type": exported.headers["content-type"]}}

    first = await api.experimenter("POST", "/v1/persona-library", **file)
    second = await api.experimenter("POST", "/v1/persona-library", **file)
    after = (await api.experimenter("GET", "/v1/personas")).json()

    assert first.json() == {"created": ["ada"], "replaced": ["mo"], "unchanged": []}
    assert second.json() == {"created": [], "replaced": [], "unchanged": ["ada", "mo"]}
    assert [one["persona"] for one in after["personas"]] == [one["persona"] for one in before["personas"]]


async def test_an_import_with_a_problem_stores_nothing(api: Api) -> None:
    refused = await api.experimenter("POST", "/v1/persona-library", json={"parley": 1, "personas": [{"id": "a"}, {}]})

    assert [problem["where"] for problem in refused.json()["problems"]] == ["personas[1].id"]
    assert (await api.experimenter("GET", "/v1/personas")).json() == {"personas": [], "next_after": None}


async def test_imports_at_once_store_every_persona_once(api: Api) -> None:
    ids = [f"p{number}" for number in range(20)]
    files = [{"parley": 1, "personas": [{"id": one} for one in order]} for order in (ids, ids[::-1])] * 3

    answers = await asyncio.gather(*(api.experimenter("POST", "/v1/persona-library", json=file) for file in files))
    stored = (await api.experimenter("GET", "/v1/personas")).json()["personas"]

    assert [answer.status_code for answer in answers] == [200] * 6
    assert sum(len(answer.json()["created"]) for answer in answers) == 20
    assert sorted(one["id"] for one in stored) == sorted(ids)
    assert {one["version"] for one in stored} == {1}


async def test_a_library_is_its_owners_and_needs_the_scopes(api: Api) -> None:
    await _put(api, "ada", ADA)
    stranger, reader = await _key(api, "Sam"), await _key(api, "Ellen", "read")

    others = await api.client.get("/v1/personas/ada", headers=stranger)
    read = await api.client.get("/v1/personas/ada", headers=reader)
    written = await api.client.put("/v1/personas/ada", json={}, headers=reader)
    imported = await api.client.post("/v1/persona-library", json={}, headers=reader)
    deleted = await api.client.delete("/v1/personas/ada", headers=reader)

    assert (others.status_code, read.status_code) == (404, 200)
    assert [written.status_code, imported.status_code, deleted.status_code] == [403, 403, 403]
    assert (await api.client.get("/v1/personas")).status_code == 401
    assert (await api.client.get("/v1/persona-library", headers=stranger)).text == "parley: 1\npersonas: []\n"


async def test_an_experiment_takes_what_it_does_not_define_from_the_library_as_it_is_then(api: Api) -> None:
    await _put(api, "ada", ADA)
    await _put(api, "mo", {"text": "Be strict."})
    body = {**TALK, "personas": [{"id": "mo", "text": "The file's own."}]}

    created = await api.experimenter("POST", "/v1/experiments", json=body)
    await _put(api, "ada", {"text": "Changed since."})
    experiment_id = created.json()["id"]
    await api.experimenter("POST", f"/v1/experiments/{experiment_id}/start")
    members = (await api.experimenter("GET", f"/v1/experiments/{experiment_id}/members")).json()["members"]
    async with api.database.transaction() as session:
        row = await session.one(text("SELECT document FROM experiments"))

    texts = {member["agent"]["persona_id"]: member["agent"]["text"] for member in members if member["agent"]}
    assert texts == {"ada": ADA["text"], "mo": "The file's own."}
    assert [one["id"] for one in row.document["personas"]] == ["mo", "ada"]


@pytest.mark.parametrize("path", ["/v1/experiments", "/v1/experiments/validate"])
async def test_a_persona_that_no_one_has_is_refused_and_that_of_a_stranger_is_none(api: Api, path: str) -> None:
    await _put(api, "mo", {})
    await api.client.put("/v1/personas/ada", json={}, headers=await _key(api, "Sam"))

    refused = await api.experimenter("POST", path, json=TALK)

    assert refused.status_code == 422
    [problem] = refused.json()["problems"]
    assert (problem["where"], problem["found"]) == ("cohorts[0].seats[0].persona", "'ada'")
    assert "persona library" in problem["expected"]


async def test_an_agent_file_is_put_and_given_back_without_loss(api: Api) -> None:
    path = "/v1/personas/trader/agent"
    file = "role: a trader\ngoal: to be fair\nbackstory: You sell apples.\ntemperature: 0.7\npersona_type: forgiving\n"

    put = await api.experimenter("PUT", path, content=file, headers={"Content-Type": "application/yaml"})
    given = await api.experimenter("GET", path)
    again = await api.experimenter("PUT", path, content=given.text, headers={"Content-Type": "application/yaml"})

    assert put.status_code == 200, put.text
    assert put.json()["persona"]["model"]["model"] == "gpt-4.1-mini"
    assert put.json()["persona"]["script"] == {"matrix_game": {"persona": "forgiving"}}
    assert given.headers["content-type"] == "application/yaml"
    assert given.text == file
    assert again.json() == put.json()


async def test_what_is_no_agent_is_refused_with_its_place(api: Api) -> None:
    refused = await api.experimenter("PUT", "/v1/personas/trader/agent", json={"role": "r", "backstory": "b"})
    assert refused.status_code == 422
    assert [problem["where"] for problem in refused.json()["problems"]] == ["goal"]
    await _put(api, "ada", ADA)
    assert (await api.experimenter("GET", "/v1/personas/ada/agent")).status_code == 409


async def test_the_first_agents_of_an_arena_are_put_into_ones_own_library_once(api: Api) -> None:
    await _put(api, "tft", {"text": "Another one."})
    reader = await _key(api, "Ellen", "read")

    first = await api.experimenter("POST", "/v1/persona-library/arena")
    second = await api.experimenter("POST", "/v1/persona-library/arena")
    refused = await api.client.post("/v1/persona-library/arena", headers=reader)
    listed = (await api.experimenter("GET", "/v1/personas")).json()["personas"]
    agent = await api.experimenter("GET", "/v1/personas/forgiving-agent/agent")

    assert first.status_code == 200, first.text
    assert (len(first.json()["created"]), first.json()["replaced"]) == (15, ["tft"])
    assert (second.json()["created"], second.json()["replaced"], len(second.json()["unchanged"])) == ([], [], 16)
    assert refused.status_code == 403
    assert len(listed) == 16
    assert agent.text.startswith("role: a player who gives second chances\n")
