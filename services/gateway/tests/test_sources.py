"""The text of a file is kept as written, saved over no newer one, and checked with lines."""

import asyncio
from collections import Counter
from typing import Any

import httpx2
import pytest
from sqlalchemy import text

from parley_lab.gateway.testing import FILE, Api

pytestmark = pytest.mark.postgres

TEXT = """# A pilot for Ada
parley: 1
name: Pilot   # not final
stages:
  - {id: page, kind: info, lines: ["Hello"]}
cohorts:
  - seats: [{open: true, count: 2}]
"""
OTHER = """parley: 1
name: Buses
study: Traffic
seed: 7
pace: fast
model_mode: real
language: de
limits: {calls: 9}
stages:
  - {id: page, kind: info, lines: ["Hallo"]}
cohorts:
  - seats: [{open: true}]
"""
BROKEN = TEXT.replace("kind: info", "kind: inf")


async def send(api: Api, method: str, path: str, text: str, **more: Any) -> httpx2.Response:
    headers = {"Content-Type": "application/yaml", **more.pop("headers", {})}
    return await api.experimenter(method, path, content=text.encode(), headers=headers, **more)


async def stored(api: Api, text: str = TEXT) -> str:
    made = await send(api, "POST", "/v1/experiments", text)
    assert made.status_code == 201, made.text
    return f"/v1/experiments/{made.json()['id']}"


async def source(api: Api, address: str) -> httpx2.Response:
    found = await api.experimenter("GET", f"{address}/source")
    assert found.status_code == 200, found.text
    return found


async def test_a_text_is_given_back_byte_for_byte_with_who_saved_it(api: Api) -> None:
    address = await stored(api)

    found = await source(api, address)

    assert (found.json()["text"], found.json()["media_type"]) == (TEXT, "application/yaml")
    assert (found.json()["version"], found.json()["saved_by"], found.headers["etag"]) == (1, "Ellen", '"v1"')


async def test_an_experiment_without_a_text_shows_its_document_as_yaml(api: Api) -> None:
    address = await stored(api)
    trial = (await api.experimenter("POST", f"{address}/try")).json()["experiment_id"]

    found = (await source(api, f"/v1/experiments/{trial}")).json()
    again = await send(api, "POST", "/v1/experiments/check", found["text"])

    assert (found["version"], found["saved_at"]) == (0, None)
    assert again.json()["is_valid"]


async def test_a_fork_has_the_text_with_its_comments_and_another_name_and_seed(api: Api) -> None:
    texts = []
    for written, seed in ((TEXT, None), (OTHER, 9), (OTHER, None)):
        address = await stored(api, written)
        forked = (await api.experimenter("POST", f"{address}/fork", json={"name": "Second", "seed": seed})).json()
        found = (await source(api, f"/v1/experiments/{forked['id']}")).json()
        assert (found["version"], found["saved_by"]) == (1, "Ellen")
        texts.append((found["text"], forked["seed"]))

    (plain, _), (given, _), (drawn, seed) = texts
    assert plain == TEXT.replace("Pilot ", "Second ")
    assert given == OTHER.replace("Buses", "Second").replace("seed: 7", "seed: 9")
    assert drawn == OTHER.replace("Buses", "Second").replace("seed: 7", f"seed: {seed}")
    assert seed != 7


async def test_a_save_over_a_newer_text_is_refused_with_who_and_when_and_both_survive(api: Api) -> None:
    address = await stored(api)
    first, second = TEXT.replace("Pilot ", "First "), TEXT.replace("Pilot ", "Second ")

    saved = await send(api, "PUT", f"{address}/file", first, headers={"If-Match": '"v1"'})
    late = await send(api, "PUT", f"{address}/file", second, headers={"If-Match": '"v1"'})
    over = await send(api, "PUT", f"{address}/file", second, headers={"If-Match": saved.headers["etag"]})

    assert (saved.status_code, saved.headers["etag"]) == (200, '"v2"')
    assert (late.status_code, late.json()["code"]) == (412, "changed_meanwhile")
    assert (late.json()["params"]["version"], late.json()["params"]["saved_by"]) == (2, "Ellen")
    assert (over.status_code, (await source(api, address)).json()["text"]) == (200, second)


async def test_of_two_saves_of_the_same_version_at_once_one_is_stored(api: Api) -> None:
    address = await stored(api)
    texts = [TEXT.replace("Pilot ", f"Number {number} ") for number in range(4)]

    answers = await asyncio.gather(
        *(send(api, "PUT", f"{address}/file", one, headers={"If-Match": '"v1"'}) for one in texts)
    )

    assert Counter(one.status_code for one in answers) == {200: 1, 412: 3}
    assert (await source(api, address)).json()["version"] == 2


async def test_a_draft_with_problems_is_kept_and_cannot_start_before_they_are_mended(api: Api) -> None:
    address = await stored(api)

    refused = await send(api, "PUT", f"{address}/file", BROKEN)
    kept = await send(api, "PUT", f"{address}/file?keep_problems=true", BROKEN)
    found = (await source(api, address)).json()
    started = await api.experimenter("POST", f"{address}/start")
    mended = await send(api, "PUT", f"{address}/file", TEXT)
    after = await api.experimenter("POST", f"{address}/start")
    late = await send(api, "PUT", f"{address}/file?keep_problems=true", BROKEN)

    assert (refused.status_code, kept.status_code) == (422, 200)
    assert (found["text"], [one["line"] for one in found["problems"]]) == (BROKEN, [5])
    assert (started.status_code, started.json()["reason"]) == (409, "not_valid")
    assert (mended.status_code, after.status_code) == (200, 200)
    assert (late.status_code, late.json()["reason"]) == (409, "not_a_draft")
    assert (await source(api, address)).json()["problems"] == []


@pytest.mark.parametrize("what", ["fork", "try"])
async def test_a_draft_with_problems_is_neither_copied_nor_tried_before_they_are_mended(api: Api, what: str) -> None:
    address = await stored(api)
    await send(api, "PUT", f"{address}/file?keep_problems=true", BROKEN)

    refused = await api.experimenter("POST", f"{address}/{what}")
    await send(api, "PUT", f"{address}/file", TEXT)
    made = await api.experimenter("POST", f"{address}/{what}")

    assert (refused.status_code, refused.json().get("reason")) == (409, "not_valid")
    assert made.status_code == 201


async def test_a_replaced_file_is_stored_like_a_new_one(api: Api) -> None:
    replaced, new = await stored(api), await stored(api, OTHER)

    saved = await send(api, "PUT", f"{replaced}/file", OTHER)

    assert saved.status_code == 200, saved.text
    async with api.database.transaction() as session:
        rows = [await session.one(_ROW, {"id": address.rpartition("/")[2]}) for address in (replaced, new)]
    assert rows[0].fields["language"] == "de"
    assert rows[0].fields == rows[1].fields


_ROW = text(
    """
    SELECT (to_jsonb(e) || jsonb_build_object('calls', (
        SELECT jsonb_agg(to_jsonb(l) - 'experiment_id') FROM call_limits l WHERE l.experiment_id = e.id
    ))) - CAST('{id,join_code,secret,version,created_at}' AS text[]) AS fields
    FROM experiments e WHERE e.id = CAST(:id AS uuid)
    """
)


async def test_a_check_is_always_200_with_lines_or_with_what_a_file_comes_to(api: Api) -> None:
    broken = await send(api, "POST", "/v1/experiments/check", BROKEN)
    no_yaml = await send(api, "POST", "/v1/experiments/check", "stages: [\n  {id: a")
    valid = await send(api, "POST", "/v1/experiments/check", TEXT)
    none = (await api.experimenter("GET", "/v1/experiments")).json()["experiments"]

    assert [one.status_code for one in (broken, no_yaml, valid)] == [200, 200, 200]
    assert (broken.json()["is_valid"], broken.json()["problems"][0]["line"]) == (False, 5)
    assert no_yaml.json()["problems"][0]["line"] is not None
    assert valid.json()["is_valid"]
    assert (valid.json()["stages"], valid.json()["members"]) == (["page"], 2)
    assert valid.json()["estimate"] == {"replies": 0, "calls": 0, "open_ended": []}
    assert none == []


async def test_an_edit_changes_a_value_of_a_text_and_gives_its_values(api: Api) -> None:
    text = "parley: 1\nname: Buses  # by night\n"

    async def edit(*changes: dict[str, Any]) -> httpx2.Response:
        return await api.experimenter("POST", "/v1/experiments/edit", json={"text": text, "changes": [*changes]})

    changed = await edit({"path": ["name"], "value": "Trains"}, {"path": ["pairings", "replicates"], "value": 2})
    refused = await edit({"path": ["name", 3], "value": 1})

    assert changed.json() == {
        "text": "parley: 1\nname: Trains  # by night\npairings: {replicates: 2}\n",
        "document": {"parley": 1, "name": "Trains", "pairings": {"replicates": 2}},
    }
    assert (refused.status_code, refused.json()["problems"][0]["where"]) == (422, "name[3]")


async def test_the_longest_text_can_be_edited_though_json_writes_it_longer(api: Api) -> None:
    # It is no YAML from its first character on, so that nothing reads all of it.
    text = "@" + '"' * (api.app.state.context.settings.max_body_bytes - 1)

    answer = await api.experimenter("POST", "/v1/experiments/edit", json={"text": text, "changes": []})

    assert answer.status_code == 422


async def test_a_check_says_what_is_missing_for_real_models(api: Api) -> None:
    persona = {"id": "ada", "text": "You are Ada.", "model": {"provider": "openai", "model": "gpt-5"}}
    seats = [{"persona": "ada"}]
    file = {**FILE, "personas": [persona], "cohorts": [{"seats": seats}]}

    found = (await api.experimenter("POST", "/v1/experiments/check", json=file)).json()

    assert found["is_valid"], found
    assert found["real_models"]
    assert found["estimate"]["replies"] > 0


@pytest.mark.parametrize("tag", ["*", '"x"', "v" * 50])
async def test_a_strange_version_is_refused(api: Api, tag: str) -> None:
    address = await stored(api)

    refused = await send(api, "PUT", f"{address}/file", TEXT, headers={"If-Match": tag})

    assert refused.status_code == 422
