"""The small health server answers what a container asks, and survives nonsense."""

import asyncio
from contextlib import suppress

import pytest

from shared.process import answering_health


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

    async with answering_health("127.0.0.1", 0, is_ready) as port:
        answer = await ask(port, f"GET {path} HTTP/1.1\r\nhost: x\r\n\r\n".encode())

    assert answer.split(b" ", 2)[1] == status


async def test_a_request_without_an_end_does_not_stop_the_server() -> None:
    async def is_ready() -> bool:
        return True

    async with answering_health("127.0.0.1", 0, is_ready) as port:
        with suppress(ConnectionError):
            await ask(port, b"x" * 100_000 + b"\r\n")
        answer = await ask(port, b"GET /healthz HTTP/1.1\r\n\r\n")

    assert answer.startswith(b"HTTP/1.1 200 OK")
