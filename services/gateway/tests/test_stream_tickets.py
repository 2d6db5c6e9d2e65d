"""Tickets open one stream, once, within a minute; they never get into a log or a table as they are."""

import asyncio
from typing import Any

import httpx2
import pytest
from sqlalchemy import text
from structlog.typing import EventDict

from parley_lab.gateway.testing import Api
from parley_lab.testing.network import WITHOUT_TLS

pytestmark = pytest.mark.postgres


async def ticket_of(api: Api, bearer: str) -> str:
    answer = await api.client.post("/v1/stream-tickets", headers={"Authorization": f"Bearer {bearer}"})
    assert answer.status_code == 201, answer.text
    return str(answer.json()["ticket"])


async def opened(address: str, path: str, **query: Any) -> tuple[int, str]:
    """The status of a stream that is opened without a header, and its first line."""
    async with (
        asyncio.timeout(10),
        httpx2.AsyncClient(base_url=address, verify=WITHOUT_TLS) as client,
        client.stream("GET", path, params=query) as response,
    ):
        return response.status_code, await anext(response.aiter_lines())


async def test_a_ticket_opens_the_stream_of_its_participant_once(api: Api, address: str) -> None:
    token = await api.join(await api.running())
    ticket = await ticket_of(api, token)

    first = await opened(address, "/v1/me/stream", ticket=ticket, after="start")
    again, _ = await opened(address, "/v1/me/stream", ticket=ticket)

    assert (first[0], again) == (200, 401)
    assert first[1].startswith("retry")


async def test_a_ticket_of_an_experimenter_opens_the_stream_of_an_own_experiment_only(api: Api, address: str) -> None:
    experiment_id = await api.running()
    token = await api.join(experiment_id)
    path = f"/v1/experiments/{experiment_id}/stream"

    own, _ = await opened(address, path, ticket=await ticket_of(api, api.key))
    of_participant, _ = await opened(address, path, ticket=await ticket_of(api, token))
    of_key, _ = await opened(address, "/v1/me/stream", ticket=await ticket_of(api, api.key))

    assert (own, of_participant, of_key) == (200, 401, 401)


async def test_of_two_who_use_a_ticket_at_once_one_gets_the_stream(api: Api, address: str) -> None:
    ticket = await ticket_of(api, await api.join(await api.running()))

    answers = await asyncio.gather(*(opened(address, "/v1/me/stream", ticket=ticket) for _ in range(4)))

    assert sorted(status for status, _ in answers) == [200, 401, 401, 401]


async def test_after_a_minute_a_ticket_is_void_and_forgotten(api: Api, address: str) -> None:
    token = await api.join(await api.running())
    ticket = await ticket_of(api, token)

    api.clock.advance(60)
    late, _ = await opened(address, "/v1/me/stream", ticket=ticket)
    await ticket_of(api, token)
    async with api.database.transaction() as session:
        row = await session.one(text("SELECT count(*) AS n FROM stream_tickets"))

    assert (late, row.n) == (401, 1)


async def test_a_key_that_was_revoked_and_its_sign_in_get_no_ticket(api: Api) -> None:
    made = (await api.experimenter("POST", "/v1/keys", json={"label": "short"})).json()["key"]
    bearer = {"Authorization": f"Bearer {made}"}
    sign_in = (await api.client.post("/v1/sign-ins", headers=bearer, json={})).json()["token"]
    (key_id,) = [
        one["id"] for one in (await api.experimenter("GET", "/v1/keys")).json()["keys"] if one["label"] == "short"
    ]
    await ticket_of(api, made)
    await ticket_of(api, sign_in)

    await api.experimenter("DELETE", f"/v1/keys/{key_id}")
    answers = [
        await api.client.post("/v1/stream-tickets", headers={"Authorization": f"Bearer {one}"})
        for one in (made, sign_in)
    ]

    assert [one.status_code for one in answers] == [401, 401], [one.text for one in answers]


async def test_a_sign_in_that_was_idle_too_long_gets_no_ticket(api: Api) -> None:
    begun = (await api.client.post("/v1/sign-ins", headers={"Authorization": f"Bearer {api.key}"}, json={})).json()
    bearer = {"Authorization": f"Bearer {begun['token']}"}

    api.clock.advance(begun["idle_seconds"])
    answer = await api.client.post("/v1/stream-tickets", headers=bearer)

    assert answer.status_code == 401, answer.text


async def test_without_a_token_there_is_no_ticket_and_without_a_ticket_no_stream(api: Api, address: str) -> None:
    bare = await api.client.post("/v1/stream-tickets")
    wrong = await api.client.post("/v1/stream-tickets", headers={"Authorization": "Bearer nonsense"})
    stream, _ = await opened(address, "/v1/me/stream")

    assert (bare.status_code, wrong.status_code, stream) == (401, 401, 401)


async def test_who_is_out_gets_no_ticket_since_no_stream_is_opened_for_them(api: Api) -> None:
    token = await api.join(await api.running())
    await api.participant(token, "POST", "/v1/me/leave")

    answer = await api.participant(token, "POST", "/v1/stream-tickets")

    assert (answer.status_code, answer.json()["reason"]) == (409, "not_in_progress")


async def test_a_ticket_is_neither_logged_nor_stored(api: Api, address: str, logged: list[EventDict]) -> None:
    ticket = await ticket_of(api, await api.join(await api.running()))
    async with api.database.transaction() as session:
        rows = await session.all(text("SELECT * FROM stream_tickets"))

    await opened(address, "/v1/me/stream", ticket=ticket)

    assert ticket not in str(rows)
    assert ticket not in str(logged)
