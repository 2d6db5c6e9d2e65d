"""Opening a live stream counts as a request of its token or key; a ticket counts when it is made."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx2
import pytest

from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import Api, served
from parley_lab.testing.network import WITHOUT_TLS

pytestmark = pytest.mark.postgres


@asynccontextmanager
async def on_the_network(api: Api, bus: InProcessBus, **settings: Any) -> AsyncIterator[httpx2.AsyncClient]:
    """A client of a gateway that listens to the network, and so has limits; no time passes."""
    app = create_app(api.database, bus, api.clock, GatewaySettings(host="0.0.0.0", **settings), environ={})
    async with (
        asyncio.timeout(30),
        app.router.lifespan_context(app),
        served(app) as address,
        httpx2.AsyncClient(base_url=address, verify=WITHOUT_TLS) as client,
    ):
        yield client


def bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


async def opened(client: httpx2.AsyncClient, path: str, secret: str | None = None, **query: str) -> httpx2.Response:
    """The answer to opening a stream, which is left at once."""
    async with client.stream("GET", path, headers=bearer(secret) if secret else {}, params=query) as response:
        return response


async def tickets(client: httpx2.AsyncClient, secret: str, number: int) -> list[httpx2.Response]:
    return [await client.post("/v1/stream-tickets", headers=bearer(secret)) for _ in range(number)]


async def test_a_token_opens_as_many_streams_as_it_may_make_requests(api: Api, bus: InProcessBus) -> None:
    token = await api.join(await api.running())

    async with on_the_network(api, bus, token_requests_per_second=4) as client:
        first = [(await opened(client, "/v1/me/stream", token)).status_code for _ in range(3)]
        asked = await client.get("/v1/me", headers=bearer(token))
        refused = await opened(client, "/v1/me/stream", token)
        api.clock.advance(1)
        later = await opened(client, "/v1/me/stream", token)

    assert (first, asked.status_code) == ([200] * 3, 200)
    assert (refused.status_code, refused.headers["retry-after"]) == (429, "1")
    assert later.status_code == 200


async def test_a_key_opens_as_many_streams_as_it_may_make_requests(api: Api, bus: InProcessBus) -> None:
    path = f"/v1/experiments/{await api.running()}/stream"

    async with on_the_network(api, bus, key_requests=2) as client:
        statuses = [(await opened(client, path, api.key)).status_code for _ in range(3)]

    assert statuses == [200, 200, 429]


async def test_a_ticket_counts_when_it_is_made_and_not_when_it_is_used(api: Api, bus: InProcessBus) -> None:
    token = await api.join(await api.running())

    async with on_the_network(api, bus, token_requests_per_second=3) as client:
        made = await tickets(client, token, 4)
        given = [one.json()["ticket"] for one in made[:3]]
        streams = [(await opened(client, "/v1/me/stream", ticket=ticket)).status_code for ticket in given]

    assert [one.status_code for one in made] == [201] * 3 + [429]
    assert streams == [200] * 3


async def test_a_ticket_of_a_key_counts_for_the_key(api: Api, bus: InProcessBus) -> None:
    async with on_the_network(api, bus, key_requests=2, token_requests_per_second=0) as client:
        made = await tickets(client, api.key, 3)

    assert [one.status_code for one in made] == [201, 201, 429]


async def test_a_page_whose_stream_is_cut_again_and_again_stays_within_the_limit(api: Api, bus: InProcessBus) -> None:
    token = await api.join(await api.running())
    looks = ("/v1/me", "/v1/me/appearance", "/v1/me/stages/welcome")

    async with on_the_network(api, bus) as client:
        streams, others = [], []
        # A page waits for half a second at least before it opens a stream anew; it looks after each.
        for _ in range(3):
            streams.append((await opened(client, "/v1/me/stream", token)).status_code)
            others += [(await client.get(path, headers=bearer(token))).status_code for path in looks]

    assert (set(streams), set(others)) == ({200}, {200})
