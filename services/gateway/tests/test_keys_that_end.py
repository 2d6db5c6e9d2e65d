"""A key that is revoked opens nothing more: its streams end, and so do the tokens with which its owner looks on."""

import asyncio

import pytest

from parley_lab.gateway.testing import Api
from parley_lab.gateway.testing.streams import listening, until

pytestmark = pytest.mark.postgres


async def a_second_key(api: Api) -> tuple[str, str]:
    made = await api.experimenter("POST", "/v1/keys", json={"label": "second", "scopes": ["read", "write"]})
    assert made.status_code == 201, made.text
    found = (await api.experimenter("GET", "/v1/keys")).json()["keys"]
    return next(one["id"] for one in found if one["label"] == "second"), made.json()["key"]


async def test_the_streams_of_a_key_end_when_it_is_revoked(api: Api, address: str) -> None:
    experiment_id = await api.running()
    key_id, key = await a_second_key(api)
    path = f"/v1/experiments/{experiment_id}/stream"

    async with listening(address, path, key) as ending, listening(address, path, api.key) as staying:
        await api.experimenter("DELETE", f"/v1/keys/{key_id}")
        async with asyncio.timeout(10):
            assert [one async for one in ending] == []
        await api.join(experiment_id)
        assert [one.type for one in await until(staying, "member.joined")][-1] == "member.joined"


async def test_who_looks_on_sees_nothing_more_when_their_key_is_revoked(api: Api, address: str) -> None:
    experiment_id = await api.running()
    token = await api.join(experiment_id)
    member_id = (await api.participant(token, "GET", "/v1/me")).json()["member_id"]
    key_id, key = await a_second_key(api)
    headers = {"Authorization": f"Bearer {key}"}
    view = (await api.client.post(f"/v1/members/{member_id}/view", headers=headers)).json()["token"]
    assert (await api.participant(view, "GET", "/v1/me")).status_code == 200

    async with listening(address, "/v1/me/stream", view) as looking_on:
        await api.experimenter("DELETE", f"/v1/keys/{key_id}")
        async with asyncio.timeout(10):
            assert [one async for one in looking_on] == []

    assert (await api.participant(view, "GET", "/v1/me")).status_code == 401
    assert (await api.participant(token, "GET", "/v1/me")).status_code == 200


async def test_an_open_stream_tells_of_groups_that_are_made_later(api: Api, address: str) -> None:
    plan = [{"made": "on_arrival", "count": 3, "seats": [{"open": True}]}]
    experiment_id = await api.running(cohorts=plan, stages=[{"id": "page", "kind": "info", "lines": ["Hello."]}])

    async with listening(address, f"/v1/experiments/{experiment_id}/stream", api.key) as events:
        told = []
        for _ in range(3):
            assert (await api.take_seat(experiment_id)).status_code == 201
            told += await until(events, "member.joined")

    found = [one.data for one in told if one.type == "member.joined"]
    assert len({one["cohort_id"] for one in found}) == len(found) == 3
