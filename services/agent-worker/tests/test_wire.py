"""The transport of calls on sockets of our own, against a server that sends what a test says, byte by byte."""

import asyncio
import gzip
import ssl
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx2
import pytest

from agent_worker.models.wire import WireTransport, _Wire, first_of

Script = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
"""What the server does with its n-th connection."""
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


class Server:
    def __init__(self, url: str) -> None:
        self.url = url
        self.requests: list[bytes] = []
        self.connections = 0


@asynccontextmanager
async def server(*scripts: Script) -> AsyncIterator[Server]:
    """One that plays these scripts, one for each connection, the last one for all that follow."""

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        script = scripts[min(found.connections, len(scripts) - 1)]
        found.connections += 1
        try:
            await script(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError):
            pass
        finally:
            writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0)
    found = Server(f"http://127.0.0.1:{listener.sockets[0].getsockname()[1]}/v1/x?y=1")
    async with listener:
        yield found


async def read_request(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = next(
        int(line.split(b":")[1]) for line in head.split(b"\r\n") if line.lower().startswith(b"content-length")
    )
    return head + await reader.readexactly(length)


def answering(*parts: bytes, keeps: bool = True) -> Script:
    """Answers each request with these parts, one after another; ends the connection then unless it `keeps` it."""

    async def play(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            await read_request(reader)
            for part in parts:
                writer.write(part)
                await writer.drain()
            if not keeps:
                return

    return play


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    transport: Any = WireTransport(httpx2, httpx2.create_ssl_context())
    async with httpx2.AsyncClient(transport=transport) as client:
        yield client


CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nh\r\n1\r\ni\r\n0\r\n\r\n"


@pytest.mark.parametrize(
    ("script", "connections"),
    [
        (answering(OK), 1),
        (answering(*(OK[at : at + 1] for at in range(len(OK)))), 1),
        (answering(CHUNKED), 1),
        (answering(b"HTTP/1.1 100 Continue\r\n\r\n", OK), 1),
        (answering(OK.replace(b"Content", b"Connection: close\r\nContent"), keeps=False), 2),
        (answering(b"HTTP/1.1 200 OK\r\n\r\nhi", keeps=False), 2),
        (answering(b"HTTP/1.0 200 OK\r\n\r\nhi", keeps=False), 2),
    ],
    ids=["sized", "byte-by-byte", "chunked", "continue-first", "closing", "until-the-end", "old"],
)
async def test_an_answer_is_read_whichever_way_it_ends(
    client: httpx2.AsyncClient, script: Script, connections: int
) -> None:
    async with server(script) as there:
        texts = [(await client.post(there.url, content=b"{}")).text for _ in range(2)]

        assert texts == ["hi", "hi"]
        assert there.connections == connections


async def test_what_is_sent_is_one_plain_request(client: httpx2.AsyncClient) -> None:
    seen: list[bytes] = []

    async def note(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await read_request(reader))
        writer.write(OK)

    async with server(note) as there:
        await client.post(there.url, content=b'{"a":1}', headers={"x-one": "1"})

    head, _, body = seen[0].partition(b"\r\n\r\n")
    assert head.startswith(b"POST /v1/x?y=1 HTTP/1.1\r\n")
    assert b"\r\nhost: 127.0.0.1:" in head.lower()
    assert b"\r\nx-one: 1" in head.lower()
    assert body == b'{"a":1}'


async def test_a_packed_answer_is_unpacked(client: httpx2.AsyncClient) -> None:
    packed = gzip.compress(b"hi")
    head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)

    async with server(answering(head + packed)) as there:
        assert (await client.post(there.url, content=b"{}")).text == "hi"


@pytest.mark.parametrize(
    "sent",
    [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nhi", b"SSH-2.0-OpenSSH_9.2\r\n", CHUNKED[:-5]],
    ids=["nothing", "too-little", "no-http", "half"],
)
async def test_an_answer_that_breaks_off_is_an_error_and_its_connection_is_not_used_again(
    client: httpx2.AsyncClient, sent: bytes
) -> None:
    async with server(answering(sent, keeps=False), answering(OK)) as there:
        with pytest.raises(httpx2.RemoteProtocolError):
            await client.post(there.url, content=b"{}")

        assert (await client.post(there.url, content=b"{}")).text == "hi"
        assert there.connections == 2


async def test_a_call_that_was_broken_off_leaves_no_answer_for_the_next(client: httpx2.AsyncClient) -> None:
    asked, may_answer = asyncio.Event(), asyncio.Event()

    async def late(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        asked.set()
        await may_answer.wait()
        writer.write(OK.replace(b"hi", b"no"))
        await writer.drain()

    async with server(late, answering(OK)) as there:
        call = asyncio.ensure_future(client.post(there.url, content=b"{}"))
        await asked.wait()
        call.cancel()
        await asyncio.gather(call, return_exceptions=True)
        may_answer.set()

        assert (await client.post(there.url, content=b"{}")).text == "hi"
        assert there.connections == 2


async def test_what_comes_unasked_is_no_answer_to_the_next_call(client: httpx2.AsyncClient) -> None:
    """A server that sends one answer twice must not be believed to have answered the next call."""
    async with server(answering(OK + OK.replace(b"hi", b"no")), answering(OK)) as there:
        try:
            first = (await client.post(there.url, content=b"{}")).text
        except httpx2.RemoteProtocolError:
            first = "hi"

        assert first == "hi"
        assert (await client.post(there.url, content=b"{}")).text == "hi"
        assert there.connections == 2


async def test_a_connection_that_the_server_ended_while_it_was_idle_is_not_used(client: httpx2.AsyncClient) -> None:
    gone = asyncio.Event()

    async def once(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await read_request(reader)
        writer.write(OK)
        await writer.drain()
        writer.close()
        await writer.wait_closed()
        gone.set()

    async with server(once, answering(OK)) as there:
        await client.post(there.url, content=b"{}")
        await gone.wait()
        # The end comes by the same loop: what has arrived by now is seen before the next call is sent.
        reader, writer = await asyncio.open_connection("127.0.0.1", httpx2.URL(there.url).port)
        writer.write(b"POST / HTTP/1.1\r\ncontent-length: 0\r\n\r\n")
        await reader.readexactly(len(OK))
        writer.close()

        assert (await client.post(there.url, content=b"{}")).text == "hi"
        assert there.connections == 3


async def test_a_header_cannot_bring_another(client: httpx2.AsyncClient) -> None:
    async with server(answering(OK)) as there:
        with pytest.raises(httpx2.LocalProtocolError):
            await client.post(there.url, content=b"{}", headers={b"x-one": b"1\r\nx-two: 2"})

        assert there.connections == 0


async def test_nobody_listening_is_told_apart_from_a_broken_answer(client: httpx2.AsyncClient) -> None:
    async with server(answering(OK)) as there:
        url = there.url

    with pytest.raises(httpx2.ConnectError):
        await client.post(url, content=b"{}")


# Of nobody: made for this test, for the name models.test.
CERTIFICATE = """\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg/jaXlnwtLJFuNmzg
6M+6UNkOANvxqml2sbJJifN80umhRANCAAQxEwYSRilLRbWSeoNfBKM/bbFFSN3D
sUyBoTYSHkg8PfErZO52otu4OU3kViWQQD2m/z21T+gE48if8XV55PYT
-----END PRIVATE KEY-----
-----BEGIN CERTIFICATE-----
MIIBnDCCAUGgAwIBAgIUervcXs2olmUwJ/CQB6jYpsX/eewwCgYIKoZIzj0EAwIw
FjEUMBIGA1UEAwwLbW9kZWxzLnRlc3QwIBcNMjYxMTIyMTIyMjM3WhgPMjEyNjEw
MjkxMjIyMzdaMBYxFDASBgNVBAMMC21vZGVscy50ZXN0MFkwEwYHKoZIzj0CAQYI
KoZIzj0DAQcDQgAEMRMGEkYpS0W1knqDXwSjP22xRUjdw7FMgaE2Eh5IPD3xK2Tu
dqLbuDlN5FYlkEA9pv89tU/oBOPIn/F1eeT2E6NrMGkwHQYDVR0OBBYEFLv0n5NW
AHsOdCJBxrVySH89Z0uLMB8GA1UdIwQYMBaAFLv0n5NWAHsOdCJBxrVySH89Z0uL
MA8GA1UdEwEB/wQFMAMBAf8wFgYDVR0RBA8wDYILbW9kZWxzLnRlc3QwCgYIKoZI
zj0EAwIDSQAwRgIhAOvr1Hy4taoRMMq+B2SIiCL64kQOoEgiGdW16BnQXDQ9AiEA
5W9B82L9U5YTP52mfig3xhzMR4HBni60i8HyUQpdah0=
-----END CERTIFICATE-----
"""


@pytest.fixture
def certificate(tmp_path: Path) -> Path:
    path = tmp_path / "models.test.pem"
    path.write_text(CERTIFICATE)
    return path


@pytest.mark.parametrize("name", ["models.test", "other.test"])
async def test_only_the_host_that_was_meant_is_believed(certificate: Path, name: str) -> None:
    """A guarded call connects to an address; its certificate still has to be that of the host."""
    ours = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    ours.load_cert_chain(certificate)
    seen: list[bytes] = []

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        seen.append(await read_request(reader))
        writer.write(OK)
        await writer.drain()
        writer.close()

    listener = await asyncio.start_server(serve, "127.0.0.1", 0, ssl=ours)
    port = listener.sockets[0].getsockname()[1]
    transport: Any = WireTransport(httpx2, ssl.create_default_context(cafile=certificate))
    async with listener, httpx2.AsyncClient(transport=transport) as client:
        call = client.post(f"https://127.0.0.1:{port}/", content=b"{}", extensions={"sni_hostname": name})
        if name == "models.test":
            assert (await call).text == "hi"
        else:
            with pytest.raises(httpx2.ConnectError, match="certificate"):
                await call

    assert len(seen) == (name == "models.test")


class FakeWire(_Wire):
    def __init__(self) -> None:
        super().__init__()
        self.is_closed = False

    def close(self) -> None:
        self.is_closed = True


def failing() -> Coroutine[Any, Any, _Wire]:
    async def connect() -> _Wire:
        raise ConnectionRefusedError("nobody")

    return connect()


def reaching(wire: _Wire, when: asyncio.Event | None = None) -> Coroutine[Any, Any, _Wire]:
    async def connect() -> _Wire:
        if when is not None:
            await when.wait()
        return wire

    return connect()


async def test_the_next_address_is_tried_after_one_that_fails_and_beside_one_that_is_silent() -> None:
    wire = FakeWire()

    assert await first_of([failing(), reaching(FakeWire(), asyncio.Event()), reaching(wire)]) is wire
    assert not wire.is_closed


async def test_when_no_address_answers_the_last_one_says_why() -> None:
    with pytest.raises(ConnectionRefusedError):
        await first_of([failing(), failing()])


async def test_a_second_connection_that_nobody_needs_is_closed() -> None:
    second_is_there = asyncio.Event()
    first, second = FakeWire(), FakeWire()

    async def connect() -> _Wire:
        second_is_there.set()
        return second

    found = await first_of([reaching(first, second_is_there), connect()])
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    others = [wire for wire in (first, second) if wire is not found]
    assert [wire.is_closed for wire in others] == [True]
    assert found in (first, second)
