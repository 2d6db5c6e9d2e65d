"""Limits of requests, shared by all gateways and taken in blocks."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import httpx2
import pytest
from fastapi import FastAPI
from sqlalchemy import text

from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres

AWAY = "203.0.113.5"


@asynccontextmanager
async def gateways(
    api: Api, bus: InProcessBus, number: int, *, address: str = AWAY, **settings: Any
) -> AsyncIterator[list[httpx2.AsyncClient]]:
    """Clients of so many gateways of the same lab, which listen to the network; the clients are at this address."""
    async with AsyncExitStack() as stack:
        clients = []
        for _ in range(number):
            app: FastAPI = create_app(
                api.database,
                bus,
                api.clock,
                GatewaySettings(host="0.0.0.0", **settings),
                environ={},
            )
            await stack.enter_async_context(app.router.lifespan_context(app))
            transport = httpx2.ASGITransport(app, client=(address, 40_000))
            clients.append(
                await stack.enter_async_context(httpx2.AsyncClient(transport=transport, base_url="http://gateway"))
            )
        yield clients


def bearer(token: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {token}"}


async def asked(clients: list[httpx2.AsyncClient], path: str, token: str, times: int) -> Counter[int]:
    """How often which status came, the gateways in turn."""
    answers = [await clients[turn % len(clients)].get(path, headers=bearer(token)) for turn in range(times)]
    return Counter(answer.status_code for answer in answers)


async def test_a_token_has_twenty_requests_a_second_on_two_gateways_together(api: Api, bus: InProcessBus) -> None:
    token = await api.join(await api.running())

    async with gateways(api, bus, 2) as clients:
        first = await asked(clients, "/v1/me", token, 25)
        refused = await clients[0].get("/v1/me", headers=bearer(token))
        other = await clients[0].get("/v1/me", headers=bearer(await api.join(await api.running())))
        api.clock.advance(1)
        later = await asked(clients, "/v1/me", token, 5)

    assert first == {200: 20, 429: 5}
    assert (refused.json()["code"], refused.headers["retry-after"]) == ("too_many_requests", "1")
    assert other.status_code == 200
    assert later == {200: 5}


async def test_of_requests_at_once_no_more_are_taken_and_no_fewer(api: Api, bus: InProcessBus) -> None:
    token = await api.join(await api.running())

    async with gateways(api, bus, 2) as clients:
        answers = await asyncio.gather(*(clients[turn % 2].get("/v1/me", headers=bearer(token)) for turn in range(40)))

    assert Counter(answer.status_code for answer in answers) == {200: 20, 429: 20}


async def test_the_hundred_and_first_request_of_a_key_in_a_quarter_of_an_hour_is_refused(
    api: Api, bus: InProcessBus
) -> None:
    async with gateways(api, bus, 2) as clients:
        first = await asked(clients, "/v1/experiments", api.key, 100)
        api.clock.advance(899)
        refused = await clients[1].get("/v1/experiments", headers=bearer(api.key))
        api.clock.advance(1)
        later = await asked(clients, "/v1/experiments", api.key, 3)

    assert first == {200: 100}
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert later == {200: 3}


async def test_most_requests_cost_no_statement(api: Api, bus: InProcessBus) -> None:
    token = await api.join(await api.running())

    async with gateways(api, bus, 1) as clients:
        await asked(clients, "/v1/me", token, 15)
        async with api.database.transaction() as session:
            row = await session.one(text("SELECT taken FROM request_limits WHERE name LIKE 'token:%'"))

    # Three blocks of five: a statement each.
    assert row.taken == 15


async def test_wrong_keys_are_limited_by_address_and_right_ones_are_not(api: Api, bus: InProcessBus) -> None:
    token = await api.join(await api.running())

    async with gateways(api, bus, 2, address_requests_per_minute=4) as clients:
        wrong = [
            (await clients[turn % 2].get("/v1/experiments", headers=bearer(f"wrong-{turn}"))).status_code
            for turn in range(6)
        ]
        right = await clients[0].get("/v1/me", headers=bearer(token))
    async with gateways(api, bus, 1, address="203.0.113.6", address_requests_per_minute=4) as (elsewhere,):
        away = await elsewhere.get("/v1/experiments", headers=bearer("wrong"))

    assert wrong == [401] * 4 + [429] * 2
    assert (right.status_code, away.status_code) == (200, 401)


async def test_tokens_and_keys_that_no_one_was_given_cost_no_row(api: Api, bus: InProcessBus) -> None:
    token = await api.join(await api.running())

    async with gateways(api, bus, 1, address_requests_per_minute=0) as (client,):
        for turn in range(30):
            for path in ("/v1/me", "/v1/experiments"):
                answer = await client.get(path, headers=bearer(f"invented-{turn % 20}"))
                assert answer.status_code == 401
            answer = await client.post("/v1/stream-tickets", headers=bearer(f"pk_invented-{turn}"))
            assert answer.status_code == 401
        await client.get("/v1/me", headers=bearer(token))
        await client.get("/v1/experiments", headers=bearer(api.key))
    async with api.database.transaction() as session:
        kept = [row.name.partition(":")[0] for row in await session.all(text("SELECT name FROM request_limits"))]

    assert sorted(kept) == ["key", "token"]


async def test_joining_is_limited_by_address_but_not_on_the_machine_itself(api: Api, bus: InProcessBus) -> None:
    async def tries(client: httpx2.AsyncClient) -> list[int]:
        body = {"join_key": "a-key-of-mine"}
        return [(await client.post("/v1/join/nowhere", json=body)).status_code for _ in range(4)]

    async with gateways(api, bus, 1, address_requests_per_minute=2) as (away,):
        from_away = await tries(away)
    async with gateways(api, bus, 1, address="127.0.0.1", address_requests_per_minute=2) as (here,):
        from_here = await tries(here)

    assert from_away == [404, 404, 429, 429]
    assert from_here == [404] * 4


async def test_a_gateway_on_loopback_has_no_limits_unless_it_is_told_so(api: Api, bus: InProcessBus) -> None:
    token = await api.join(await api.running())

    async with gateways(api, bus, 1, token_requests_per_second=0, key_requests=0) as clients:
        free = await asked(clients, "/v1/me", token, 30) + await asked(clients, "/v1/experiments", api.key, 110)
    quiet = [(await api.participant(token, "GET", "/v1/me")).status_code for _ in range(30)]

    assert free == {200: 140}
    assert quiet == [200] * 30
