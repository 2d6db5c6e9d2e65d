"""The HTTP server of a gateway, in a process of its own or in a lab's: a port that is ours before anything starts."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager

import uvicorn
from fastapi import FastAPI

from parley_lab.base.errors import SettingsInvalid
from parley_lab.gateway.settings import GatewaySettings

LONGEST_GOODBYE_SECONDS = 5
SILENCE_SECONDS = 20


@contextmanager
def listening(host: str, port: int) -> Iterator[socket.socket]:
    """A socket on this port; 0 takes any free one.

    Raises:
        SettingsInvalid: another program uses the port.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        break_off_silent_connections(listener)
        try:
            listener.bind((host, port))
            listener.listen()
        except OSError as error:
            raise SettingsInvalid(
                f"Port {port} of {host} cannot be used: {error.strerror}. Stop the program that uses it "
                '(another lab?), or choose another port: --port 8001, make run ARGS="--port 8001", or for a gateway '
                "of its own GATEWAY_PORT."
            ) from error
        yield listener


def break_off_silent_connections(listener: socket.socket) -> None:
    """Have connections end whose other side has confirmed nothing for a while, such as a laptop that sleeps.

    Streams write at least every few seconds; otherwise the kernel would go on trying for a quarter of an hour.
    """
    if hasattr(socket, "TCP_USER_TIMEOUT"):
        listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENCE_SECONDS * 1000)


class Server(uvicorn.Server):
    """A uvicorn that ends live streams when it is to stop; otherwise it would wait for their readers to go."""

    def __init__(self, app: FastAPI, settings: GatewaySettings) -> None:
        super().__init__(
            uvicorn.Config(
                app,
                host=settings.host,
                port=settings.port,
                log_config=None,
                access_log=False,
                server_header=False,
                forwarded_allow_ips=settings.trusted_proxies,
                timeout_graceful_shutdown=LONGEST_GOODBYE_SECONDS,
            )
        )
        self._live = app.state.context.live

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        await self._live.close()
        await super().shutdown(sockets)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: the code that started the process handles them."""
        yield


@asynccontextmanager
async def serving(app: FastAPI, settings: GatewaySettings, listener: socket.socket) -> AsyncIterator[None]:
    """Answer requests on this socket until the block ends."""
    server = Server(app, settings)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await task
