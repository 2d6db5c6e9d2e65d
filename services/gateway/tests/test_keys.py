"""API keys over REST: who may make which, what is shown, that a revoked key is refused, and who did what."""

from datetime import timedelta
from typing import Any, Final

import httpx2
import pytest

from parley_lab.base.errors import SettingsInvalid
from parley_lab.formats.importing import XLSX
from parley_lab.gateway.testing import FILE, Api
from parley_lab.store import keys

FIRST, SECOND = "the-first-key-of-all", "the-second-key-of-all"


def bearer(key: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {key}"}}


async def status(api: Api, key: str) -> int:
    return (await api.client.get("/v1/experiments", **bearer(key))).status_code


async def bootstrapped(api: Api, key: str) -> None:
    async with api.database.transaction() as session:
        await keys.store_bootstrap_key(session, key, "operator", api.clock.now())


async def make(api: Api, **body: Any) -> httpx2.Response:
    return await api.experimenter("POST", "/v1/keys", json=body)


async def test_a_second_key_works_and_is_shown_only_once(api: Api) -> None:
    made = await make(api, label="pilot", scopes=["read"])

    key = made.json()["key"]
    listed = (await api.experimenter("GET", "/v1/keys")).json()["keys"]
    (pilot,) = [one for one in listed if one["label"] == "pilot"]
    assert made.status_code == 201
    assert await status(api, key) == 200
    assert (pilot["scopes"], key.startswith(pilot["prefix"])) == (["read"], True)
    assert key not in str(listed)


async def test_a_revoked_key_is_refused_and_revoking_twice_is_harmless(api: Api) -> None:
    key = (await make(api, label="pilot")).json()["key"]
    (stored,) = [one for one in (await api.experimenter("GET", "/v1/keys")).json()["keys"] if one["label"] == "pilot"]

    revoked = [await api.experimenter("DELETE", f"/v1/keys/{stored['id']}") for _ in range(2)]

    assert [one.status_code for one in revoked] == [204, 204]
    assert await status(api, key) == 401
    assert await status(api, api.key) == 200


async def test_a_key_gives_no_more_than_it_has(api: Api) -> None:
    reader = (await make(api, scopes=["read"])).json()["key"]

    admin = await make(api, scopes=["read", "admin"])
    other = await make(api, experimenter="Sam")
    by_reader = await api.client.post("/v1/keys", json={}, **bearer(reader))

    assert [one.status_code for one in (admin, other, by_reader)] == [403, 403, 403]


async def test_a_key_is_valid_no_longer_than_the_one_that_made_it(api: Api) -> None:
    soon = api.clock.now() + timedelta(hours=1)
    short = (await make(api, expires_at=soon.isoformat())).json()["key"]

    child = await api.client.post("/v1/keys", json={}, **bearer(short))
    api.clock.advance(3601)

    assert child.status_code == 201
    assert [await status(api, key) for key in (short, child.json()["key"])] == [401, 401]
    assert (await make(api, expires_at=soon.isoformat())).status_code == 422


async def test_with_admin_one_makes_and_revokes_the_keys_of_others(api: Api) -> None:
    await bootstrapped(api, FIRST)

    made = await api.client.post("/v1/keys", json={"experimenter": "Sam"}, **bearer(FIRST))
    listed = (await api.client.get("/v1/keys", **bearer(FIRST))).json()["keys"]
    (of_sam,) = [one["id"] for one in listed if one["experimenter"] == "Sam"]
    by_ellen = await api.experimenter("DELETE", f"/v1/keys/{of_sam}")
    by_operator = await api.client.delete(f"/v1/keys/{of_sam}", **bearer(FIRST))

    assert made.status_code == 201
    assert {one["experimenter"] for one in listed} == {"Ellen", "operator", "Sam"}
    assert (by_ellen.status_code, by_operator.status_code) == (404, 204)
    assert await status(api, made.json()["key"]) == 401


async def test_a_changed_first_key_ends_the_one_before(api: Api) -> None:
    await bootstrapped(api, FIRST)
    await bootstrapped(api, SECOND)
    after_change = [await status(api, key) for key in (FIRST, SECOND)]

    await bootstrapped(api, FIRST)

    assert after_change == [401, 200]
    assert [await status(api, key) for key in (FIRST, SECOND)] == [200, 401]
    assert await status(api, api.key) == 200


async def test_a_short_first_key_is_refused(api: Api) -> None:
    with pytest.raises(SettingsInvalid, match="16 characters"):
        await bootstrapped(api, "short")


async def test_who_did_what_is_kept_with_the_work_and_shown_to_its_doer(api: Api) -> None:
    await bootstrapped(api, FIRST)
    created = await api.experimenter("POST", "/v1/experiments", json=FILE, headers={"X-Correlation-ID": "mine"})
    await api.experimenter("POST", "/v1/experiments", json={"nonsense": True})
    await api.experimenter("GET", "/v1/experiments")
    await api.experimenter("DELETE", f"/v1/experiments/{created.json()['id']}")

    own = (await api.experimenter("GET", "/v1/deeds")).json()["deeds"]
    of_all = (await api.client.get("/v1/deeds", **bearer(FIRST))).json()["deeds"]

    done = [(one["deed"], one["experimenter"]) for one in own]
    assert sorted(set(done)) == [
        (f"DELETE /v1/experiments/{created.json()['id']}", "Ellen"),
        ("POST /v1/experiments", "Ellen"),
    ]
    assert "mine" in [one["correlation"] for one in own]
    assert of_all == own
    assert api.key not in str(own)


REFUSED: Final[dict[str, tuple[str, str, dict[str, Any]]]] = {
    "a file": ("POST", "/v1/experiments", {"json": {"nonsense": True}}),
    "the file of a draft": ("PUT", "/v1/experiments/{id}/file", {"json": {"nonsense": True}}),
    "an old version": ("PUT", "/v1/experiments/{id}/file", {"json": FILE, "headers": {"If-Match": '"v99"'}}),
    "a workbook": ("POST", "/v1/experiments/import", {"content": b"x", "headers": {"Content-Type": XLSX}}),
    "a picture": ("POST", "/v1/files", {"content": b"x"}),
    "a persona": ("PUT", "/v1/personas/ann", {"json": {"nonsense": True}}),
    "an agent": ("PUT", "/v1/personas/ann/agent", {"json": {"nonsense": True}}),
    "personas": ("POST", "/v1/persona-library", {"json": {"nonsense": True}}),
    "a word to no persona": ("POST", "/v1/personas/ann/chat", {"json": {"text": "Hi", "client_message_id": "1"}}),
    "a word to no one": ("POST", "/v1/experiments/{id}/members/message", {"json": {"text": "Hi"}}),
    "a stranger": (
        "POST",
        "/v1/experiments/{id}/members/pause",
        {"json": {"member_ids": ["00000000-0000-0000-0000-000000000001"]}},
    ),
}


@pytest.mark.parametrize(("method", "path", "request_"), REFUSED.values(), ids=list(REFUSED))
async def test_a_request_that_changed_nothing_is_no_deed(
    api: Api, method: str, path: str, request_: dict[str, Any]
) -> None:
    experiment_id = (await api.experimenter("POST", "/v1/experiments", json=FILE)).json()["id"]
    api.clock.advance(1)

    answer = await api.experimenter(method, path.format(id=experiment_id), **request_)

    deeds = (await api.experimenter("GET", "/v1/deeds")).json()["deeds"]
    assert answer.status_code in ((200,) if "/members/" in path else (404, 412, 422)), answer.text
    assert [one["deed"] for one in deeds] == ["POST /v1/experiments"]


async def test_a_request_that_is_repeated_under_its_key_is_one_deed(api: Api) -> None:
    headers = {"Idempotency-Key": "0123456789abcdef"}

    for _ in range(2):
        await api.experimenter("POST", "/v1/experiments", json=FILE, headers=headers)

    deeds = (await api.experimenter("GET", "/v1/deeds")).json()["deeds"]
    assert [one["deed"] for one in deeds] == ["POST /v1/experiments"]


@pytest.mark.parametrize("path", ["/v1/experiments", "/v1/files", "/v1/experiments/import"])
async def test_what_a_reader_sends_is_refused_before_it_is_read(api: Api, path: str) -> None:
    reader = (await make(api, scopes=["read"])).json()["key"]

    refused = await api.client.post(path, content=b"nonsense", headers={"Authorization": f"Bearer {reader}"})

    assert refused.status_code == 403, refused.text
