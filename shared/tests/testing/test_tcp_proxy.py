"""The proxy by which tests make a server unreachable."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from parley_lab.testing.tcp_proxy import TcpProxy

pytestmark = pytest.mark.timeout(30)


@pytest.fixture
async def proxy() -> AsyncIterator[TcpProxy]:
    """A proxy before a server that answers each line with itself."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while line := await reader.readline():
            writer.write(line)
        writer.close()

    server = await asyncio.start_server(echo, "127.0.0.1", 0)
    async with TcpProxy("127.0.0.1", server.sockets[0].getsockname()[1]) as proxy:
        yield proxy
    server.close()
    await server.wait_closed()


async def said(proxy: TcpProxy, line: bytes) -> bytes:
    reader, writer = await asyncio.open_connection(proxy.host, proxy.port)
    writer.write(line)
    writer.write_eof()
    answer = await reader.read()
    writer.close()
    await writer.wait_closed()
    return answer


async def test_bytes_and_the_end_of_the_stream_pass(proxy: TcpProxy) -> None:
    assert await said(proxy, b"hello\n") == b"hello\n"


async def test_a_cut_ends_connections_and_refuses_new_ones_until_restored(proxy: TcpProxy) -> None:
    reader, writer = await asyncio.open_connection(proxy.host, proxy.port)
    writer.write(b"hello\n")
    await reader.readline()

    await proxy.cut()

    with pytest.raises((ConnectionError, asyncio.IncompleteReadError)):
        await reader.readexactly(1)
    writer.close()
    with pytest.raises(ConnectionError):
        await asyncio.open_connection(proxy.host, proxy.port)
    await proxy.restore()
    assert await said(proxy, b"again\n") == b"again\n"


async def test_a_freeze_holds_bytes_back_until_restored(proxy: TcpProxy) -> None:
    proxy.freeze()
    saying = asyncio.create_task(said(proxy, b"hello\n"))
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(asyncio.shield(saying), timeout=0.05)

    await proxy.restore()

    assert await saying == b"hello\n"


async def test_latency_delays_both_ways(proxy: TcpProxy) -> None:
    proxy.latency_seconds = 0.05
    loop = asyncio.get_running_loop()
    begun_at = loop.time()

    assert await said(proxy, b"hello\n") == b"hello\n"

    assert loop.time() - begun_at >= 0.1


async def test_what_is_swallowed_never_arrives_while_new_connections_pass(proxy: TcpProxy) -> None:
    reader, writer = await asyncio.open_connection(proxy.host, proxy.port)
    writer.write(b"hello\n")
    await reader.readline()

    proxy.swallow()
    writer.write(b"lost\n")

    assert await said(proxy, b"again\n") == b"again\n"
    await proxy.restore()
    with pytest.raises(TimeoutError):
        await asyncio.wait_for(reader.readline(), timeout=0.05)
    writer.close()
