"""The small health server answers what a container asks, and survives nonsense."""

import asyncio
from contextlib import suppress

import pytest
from prometheus_client.parser import text_string_to_metric_families

from shared.metrics import OPEN_ASKS
from shared.process import answering_health


async def no_look() -> None:
    """Nothing is read."""


async def ask(port: int, request: bytes) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(request)
    answer = await reader.read()
    writer.close()
    return answer


@pytest.mark.parametrize(
    ("path", "ready", "status"),
    [("/healthz", False, b"200"), ("/readyz", True, b"200"), ("/readyz", False, b"503"), ("/other", True, b"404")],
)
async def test_health_and_readiness_are_told_apart(path: str, ready: bool, status: bytes) -> None:
    async def is_ready() -> bool:
        return ready

    async with answering_health("127.0.0.1", 0, is_ready, no_look) as port:
        answer = await ask(port, f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())

    assert answer.split(b" ", 2)[1] == status


async def test_a_request_without_an_end_does_not_stop_the_server() -> None:
    async def is_ready() -> bool:
        return True

    async with answering_health("127.0.0.1", 0, is_ready, no_look) as port:
        with suppress(ConnectionError):
            await ask(port, b"x" * 100_000 + b"\r\n")
        answer = await ask(port, b"GET /healthz HTTP/1.1\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200 OK")


async def test_metrics_are_told_in_the_words_of_prometheus_after_a_look() -> None:
    async def is_ready() -> bool:
        return False

    async def look() -> None:
        OPEN_ASKS.set(3)

    async with answering_health("127.0.0.1", 0, is_ready, look) as port:
        answer = await ask(port, b"GET /metrics HTTP/1.1\r\n\r\n")

    head, _, body = answer.partition(b"\r\n\r\n")
    told = {family.name: family for family in text_string_to_metric_families(body.decode())}
    assert b"text/plain; version=0.0.4" in head
    assert [sample.value for sample in told["parley_asks_open"].samples] == [3.0]
    assert told["parley_model_calls"].type == "counter"
