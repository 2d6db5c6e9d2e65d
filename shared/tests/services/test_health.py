"""The small health server answers what a container asks, and survives nonsense."""

import asyncio
import socket
from contextlib import suppress

import psycopg
import pytest
from prometheus_client.parser import text_string_to_metric_families

from parley_lab.base.errors import SettingsInvalid
from parley_lab.base.metrics import OPEN_ASKS
from parley_lab.base.settings import ProcessSettings
from parley_lab.services.process import answering_health, connected


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


def settings_of(database_url: str, amqp_url: str) -> ProcessSettings:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    return ProcessSettings(
        database_url=database_url, amqp_url=amqp_url, amqp_prefix="nobody.", health_host="127.0.0.1", health_port=port
    )


async def status(settings: ProcessSettings, path: str) -> bytes:
    try:
        return (await ask(settings.health_port, f"GET {path} HTTP/1.1\r\n\r\n".encode())).split(b" ", 2)[1]
    except ConnectionRefusedError:
        return b""


async def until(settings: ProcessSettings, path: str, wanted: bytes) -> None:
    async with asyncio.timeout(30):
        while await status(settings, path) != wanted:  # noqa: ASYNC110 - the process sends no word of it
            await asyncio.sleep(0.01)


async def test_a_process_is_alive_and_not_ready_until_it_knows_the_tables(database_url: str, amqp_url: str) -> None:
    settings, end = settings_of(database_url, amqp_url), asyncio.Event()

    async def work() -> None:
        async with connected(settings):
            await end.wait()

    with psycopg.connect(database_url) as other:
        other.execute("LOCK TABLE alembic_version")
        working = asyncio.create_task(work())
        await until(settings, "/healthz", b"200")
        before = await status(settings, "/readyz")
        other.rollback()

    await until(settings, "/readyz", b"200")
    end.set()
    await working

    assert before == b"503"


async def test_a_process_that_needs_newer_tables_says_so_and_ends(database_url: str, amqp_url: str) -> None:
    with psycopg.connect(database_url, autocommit=True) as other:
        other.execute("UPDATE alembic_version SET version_num = '0001'")

    with pytest.raises(SettingsInvalid, match=r"revision 0001, this service needs \d+\. Run first: python -m"):
        async with connected(settings_of(database_url, amqp_url)):
            pass
