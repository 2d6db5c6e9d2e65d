"""A proxy in the environment is for models of vendors: the parts of a lab reach each other without it."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from uuid import uuid4

import pytest

from parley_lab.base.errors import NotFound
from parley_lab.cli.doctor import _answers
from parley_lab.cli.rehearsing import rehearse
from parley_lab.contracts.prompting import client_of
from parley_lab.testing.network import free_port

NOTHING_HERE = b'{"detail": "not here"}'


@pytest.fixture(autouse=True)
def _proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY"):
        monkeypatch.setenv(name, f"http://127.0.0.1:{free_port()}")
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)


@asynccontextmanager
async def answering(status: bytes) -> AsyncIterator[tuple[str, list[bytes]]]:
    """The address of a server that answers so, and the first line of each request."""
    asked: list[bytes] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        asked.append((await reader.readuntil(b"\r\n\r\n")).split(b"\r\n")[0])
        head = b"HTTP/1.1 %b\r\nconnection: close\r\ncontent-length: %d\r\n\r\n" % (status, len(NOTHING_HERE))
        writer.write(head + NOTHING_HERE)
        await writer.drain()
        writer.close()

    async with await asyncio.start_server(answer, "127.0.0.1", 0) as server:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}", asked


async def test_prompts_are_asked_for_without_a_proxy() -> None:
    async with answering(b"404 Not Found") as (address, _):
        client = client_of(address)
        with pytest.raises(NotFound, match="not here"):
            await client.build(uuid4())
        await client.aclose()


async def test_made_up_people_join_without_a_proxy() -> None:
    async with answering(b"404 Not Found") as (address, asked):
        await rehearse(address, "abc", 1, 0, patience_seconds=0.01)

    assert asked == [b"POST /v1/join/abc HTTP/1.1"]


async def test_the_doctor_asks_a_lab_of_this_machine_without_a_proxy() -> None:
    async with answering(b"200 OK") as (address, _):
        assert await asyncio.to_thread(_answers, address)
