"""What scripts of another web origin may read of an answer, and send."""

from collections.abc import AsyncIterator

import httpx2
import pytest

from parley_lab.bus.in_process import InProcessBus
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.testing import Api

pytestmark = pytest.mark.postgres

ORIGIN = "https://pages.example"


@pytest.fixture
async def elsewhere(api: Api, bus: InProcessBus) -> AsyncIterator[httpx2.AsyncClient]:
    """A client on a page of an allowed origin; its participant has two requests a second."""
    settings = GatewaySettings(allowed_origins=(ORIGIN,), token_requests_per_second=2)
    app = create_app(api.database, bus, api.clock, settings, environ={})
    async with (
        app.router.lifespan_context(app),
        httpx2.AsyncClient(
            transport=httpx2.ASGITransport(app), base_url="http://gateway", headers={"Origin": ORIGIN}
        ) as client,
    ):
        yield client


def readable(answer: httpx2.Response) -> set[str]:
    """The headers that the browser shows to the script, beside those that it always shows."""
    assert answer.headers.get("access-control-allow-origin") == ORIGIN, answer.headers
    return {name.strip().lower() for name in answer.headers["access-control-expose-headers"].split(",")}


async def test_when_the_next_request_is_taken_can_be_read(api: Api, elsewhere: httpx2.AsyncClient) -> None:
    token = await api.join(await api.running())

    answers = [await elsewhere.get("/v1/me", headers={"Authorization": f"Bearer {token}"}) for _ in range(3)]

    assert answers[-1].status_code == 429
    assert {"retry-after", "x-correlation-id"} <= readable(answers[-1]) & set(answers[-1].headers)


async def test_the_name_of_an_export_can_be_read(api: Api, elsewhere: httpx2.AsyncClient) -> None:
    path = f"/v1/experiments/{await api.running()}/export"

    answer = await elsewhere.get(path, headers={"Authorization": f"Bearer {api.key}"})

    assert "content-disposition" in readable(answer) & set(answer.headers)


async def test_the_version_of_a_file_can_be_read_and_sent(api: Api, elsewhere: httpx2.AsyncClient) -> None:
    path = f"/v1/experiments/{await api.running()}/source"

    answer = await elsewhere.get(path, headers={"Authorization": f"Bearer {api.key}"})

    assert "etag" in readable(answer) & set(answer.headers)


async def test_every_header_that_the_api_reads_can_be_sent(api: Api, elsewhere: httpx2.AsyncClient) -> None:
    operations = [one for methods in api.app.openapi()["paths"].values() for one in methods.values()]
    read = {
        parameter["name"].lower()
        for one in operations
        for parameter in one.get("parameters", ())
        if parameter["in"] == "header"
    }

    answer = await elsewhere.options(
        "/v1/experiments",
        headers={"Access-Control-Request-Method": "PUT", "Access-Control-Request-Headers": ", ".join(sorted(read))},
    )

    assert read >= {"if-match", "if-none-match", "idempotency-key", "last-event-id"}
    assert answer.status_code == 200, answer.text


async def test_why_a_request_was_too_large_can_be_read(elsewhere: httpx2.AsyncClient) -> None:
    answer = await elsewhere.post("/v1/join/some-code", headers={"Content-Length": str(10**12)}, content=b"{")

    assert answer.status_code == 413
    assert "x-correlation-id" in readable(answer)
