"""Signing in: what a token of a sign-in may do, when it ends, and that a code works once."""

import asyncio
from collections import Counter
from datetime import timedelta
from typing import Any

import httpx2
import pytest
from sqlalchemy import text
from structlog.typing import EventDict

from parley_lab.base.errors import NotFound
from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import FILE, Api
from parley_lab.gateway.testing.streams import listening
from parley_lab.store import keys, sign_ins

pytestmark = pytest.mark.postgres


def bearer(token: str) -> dict[str, Any]:
    return {"headers": {"Authorization": f"Bearer {token}"}}


async def signed_in(api: Api, key: str | None = None) -> str:
    made = await api.client.post("/v1/sign-ins", **bearer(key or api.key))
    assert made.status_code == 201, made.text
    token: str = made.json()["token"]
    return token


async def status(api: Api, token: str) -> int:
    return (await api.client.get("/v1/experiments", **bearer(token))).status_code


async def code_of(api: Api, name: str = "Ellen") -> str:
    async with api.database.transaction() as session:
        return await sign_ins.make_code(session, name, api.clock.now())


async def test_a_sign_in_is_accepted_where_its_key_is_and_its_acts_are_deeds_of_the_key(api: Api) -> None:
    token = await signed_in(api)

    created = await api.client.post("/v1/experiments", json=FILE, **bearer(token))
    whoami = (await api.client.get("/v1/whoami", **bearer(token))).json()

    (deed,) = (await api.experimenter("GET", "/v1/deeds")).json()["deeds"]
    assert created.status_code == 201
    assert (deed["experimenter"], deed["key_id"]) == ("Ellen", whoami["key_id"])
    assert (whoami["experimenter"], whoami["scopes"]) == ("Ellen", ["read", "write"])
    assert whoami["sign_in"]["is_current"]


async def test_no_refusal_repeats_a_key_a_token_or_a_code(api: Api) -> None:
    code = await code_of(api)
    token = (await api.client.post("/v1/sign-ins", json={"code": code})).json()["token"]
    person = await api.join(await api.running())
    await api.client.delete("/v1/sign-ins/current", **bearer(token))
    secrets = (api.key, token, code, person)

    refused = [
        await api.client.post("/v1/sign-ins", json={"code": code}),
        *[await api.client.get("/v1/experiments", **bearer(one)) for one in (token, code, person)],
        *[await api.client.get("/v1/me", **bearer(one)) for one in (api.key, token, code)],
        *[
            await api.client.post("/v1/sign-ins", json=body)
            for one in secrets
            for body in ({"code": [one]}, {"key": one})
        ],
        *[await api.participant(person, "POST", "/v1/me/stages/welcome/advance", json={"key": one}) for one in secrets],
    ]

    assert {one.status_code for one in refused} == {401, 422}
    assert [one.text for one in refused for secret in secrets if secret in one.text] == []


async def test_a_sign_in_can_do_no_more_than_its_key(api: Api) -> None:
    reader = (await api.experimenter("POST", "/v1/keys", json={"scopes": ["read"]})).json()["key"]
    token = await signed_in(api, reader)

    writing = await api.client.post("/v1/experiments", json=FILE, **bearer(token))

    assert (await status(api, token), writing.status_code) == (200, 403)


async def test_a_sign_in_ends_with_its_key(api: Api) -> None:
    soon = (api.clock.now() + timedelta(hours=1)).isoformat()
    revoked = (await api.experimenter("POST", "/v1/keys", json={"label": "mine"})).json()["key"]
    expiring = (await api.experimenter("POST", "/v1/keys", json={"expires_at": soon})).json()["key"]
    tokens = [await signed_in(api, key) for key in (revoked, expiring)]
    (key_id,) = [
        one["id"] for one in (await api.experimenter("GET", "/v1/keys")).json()["keys"] if one["label"] == "mine"
    ]

    await api.experimenter("DELETE", f"/v1/keys/{key_id}")
    api.clock.advance(3600)

    assert [await status(api, token) for token in tokens] == [401, 401]


async def test_a_sign_in_ends_after_eight_hours_without_a_request_and_after_a_day_in_all(api: Api) -> None:
    idle, busy = await signed_in(api), await signed_in(api)

    used = []
    for _ in range(3):
        api.clock.advance(7 * 3600)
        used.append(await status(api, busy))
    of_idle = await status(api, idle)
    api.clock.advance(3 * 3600)

    assert (used, of_idle) == ([200, 200, 200], 401)
    assert await status(api, busy) == 401


async def test_signing_out_ends_one_sign_in_and_no_other(api: Api) -> None:
    own, other = await signed_in(api), await signed_in(api)
    listed = (await api.client.get("/v1/sign-ins", **bearer(own))).json()["sign_ins"]
    (other_id,) = [one["id"] for one in listed if not one["is_current"]]

    by_id = await api.client.delete(f"/v1/sign-ins/{other_id}", **bearer(own))
    after = [await status(api, token) for token in (own, other)]
    out = await api.client.delete("/v1/sign-ins/current", **bearer(own))

    assert (by_id.status_code, after, out.status_code) == (204, [200, 401], 204)
    assert await status(api, own) == 401
    assert (await api.experimenter("DELETE", "/v1/sign-ins/current")).status_code == 404


async def test_the_sign_ins_of_others_are_not_there(api: Api) -> None:
    async with api.database.transaction() as session:
        stranger = await keys.create_key(session, "Stranger", api.clock.now())
    await signed_in(api)
    (found,) = (await api.experimenter("GET", "/v1/sign-ins")).json()["sign_ins"]

    ended = await api.client.delete(f"/v1/sign-ins/{found['id']}", **bearer(stranger))
    listed = await api.client.get("/v1/sign-ins", **bearer(stranger))

    assert (ended.status_code, listed.json()) == (404, {"sign_ins": []})


async def test_a_sign_in_makes_no_sign_in_and_nothing_does_neither(api: Api) -> None:
    token = await signed_in(api)

    again = await api.client.post("/v1/sign-ins", **bearer(token))
    nothing = await api.client.post("/v1/sign-ins", json={})

    assert (again.status_code, nothing.status_code) == (403, 401)


async def test_a_code_signs_in_once_of_two_at_the_same_time(api: Api) -> None:
    code = await code_of(api)

    answers = await asyncio.gather(*(api.client.post("/v1/sign-ins", json={"code": code}) for _ in range(4)))

    assert Counter(one.status_code for one in answers) == {201: 1, 401: 3}
    (made,) = [one.json() for one in answers if one.status_code == 201]
    assert (made["experimenter"], await status(api, made["token"])) == ("Ellen", 200)


async def test_a_code_is_over_after_ten_minutes_and_with_its_key(api: Api) -> None:
    late, of_revoked = await code_of(api), await code_of(api)
    api.clock.advance(601)
    too_late = await api.client.post("/v1/sign-ins", json={"code": late})
    of_revoked = await code_of(api)
    (key,) = (await api.experimenter("GET", "/v1/keys")).json()["keys"]
    await api.experimenter("DELETE", f"/v1/keys/{key['id']}")

    revoked = await api.client.post("/v1/sign-ins", json={"code": of_revoked})

    assert (too_late.status_code, revoked.status_code) == (401, 401)


async def test_a_code_needs_an_experimenter_with_a_key(api: Api) -> None:
    with pytest.raises(NotFound, match="parley keys create Unknown"):
        await code_of(api, "Unknown")


async def test_codes_and_tokens_are_stored_as_hashes_and_in_no_log(api: Api, logged: list[EventDict]) -> None:
    code = await code_of(api)
    token = (await api.client.post("/v1/sign-ins", json={"code": code})).json()["token"]
    unused = await code_of(api)

    async with api.database.transaction() as session:
        statements = (text("SELECT * FROM sign_ins"), text("SELECT * FROM sign_in_codes"))
        rows = [str(row) for statement in statements for row in await session.all(statement)]

    assert len(rows) == 2
    assert not any(secret in one for secret in (code, token, unused) for one in [*rows, str(logged)])


async def test_codes_are_tried_only_so_often_from_one_address(api: Api, bus: InProcessBus) -> None:
    settings = GatewaySettings(host="0.0.0.0", address_requests_per_minute=4)
    app = create_app(api.database, bus, api.clock, settings, environ={})
    transport = httpx2.ASGITransport(app, client=("203.0.113.5", 40_000))
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://lab") as client,
    ):
        tried = [(await client.post("/v1/sign-ins", json={"code": f"code-{turn}"})).status_code for turn in range(4)]
        right = await client.post("/v1/sign-ins", json={"code": await code_of(api)})

    assert tried[-1] == right.status_code == 429


async def test_a_sign_in_makes_twenty_requests_a_second(api: Api, bus: InProcessBus) -> None:
    token = await signed_in(api)
    app = create_app(api.database, bus, api.clock, GatewaySettings(host="0.0.0.0"), environ={})
    transport = httpx2.ASGITransport(app, client=("203.0.113.5", 40_000))
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(transport=transport, base_url="http://lab") as client,
    ):
        found = Counter[int]()
        for _ in range(6):
            found += Counter([(await client.get("/v1/whoami", **bearer(token))).status_code for _ in range(22)])
            api.clock.advance(1)
        limits = (await client.get("/v1/whoami", **bearer(token))).json()["limits"]

    assert found == {200: 120, 429: 12}
    assert (limits["requests"], limits["seconds"]) == (20, 1)


async def test_the_streams_of_a_sign_in_end_with_it(api: Api, address: str) -> None:
    experiment_id = await api.running()
    token = await signed_in(api)

    async with listening(address, f"/v1/experiments/{experiment_id}/stream", token) as events:
        await api.client.delete("/v1/sign-ins/current", **bearer(token))
        async with asyncio.timeout(10):
            assert [one async for one in events] == []


async def test_a_ticket_of_a_sign_in_opens_a_stream(api: Api, address: str) -> None:
    experiment_id = await api.running()
    token = await signed_in(api)
    ticket = (await api.client.post("/v1/stream-tickets", **bearer(token))).json()["ticket"]

    async with httpx2.AsyncClient(base_url=address) as client:
        path = f"/v1/experiments/{experiment_id}/stream"
        async with client.stream("GET", path, params={"ticket": ticket}) as response:
            assert response.status_code == 200


async def test_no_answer_of_the_api_is_kept_by_a_browser_but_files(api: Api) -> None:
    answers = [
        await api.experimenter("GET", "/v1/experiments"),
        await api.client.post("/v1/sign-ins", **bearer(api.key)),
        await api.client.get("/v1/experiments"),
    ]

    assert {one.headers["cache-control"] for one in answers} == {"no-store"}
