"""The REST API of an embedded lab: a port that is ours before anything starts, and a server without signal handlers."""

import asyncio
import socket
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Final

from fastapi import FastAPI

from gateway.server import Server
from gateway.settings import GatewaySettings
from shared.errors import SettingsInvalid

HOST: Final = "127.0.0.1"


@contextmanager
def listening(port: int) -> Iterator[socket.socket]:
    """A socket on this port of this machine; 0 takes any free one.

    Raises:
        SettingsInvalid: another program uses the port.
    """
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listener.bind((HOST, port))
            listener.listen()
        except OSError as error:
            raise SettingsInvalid(
                f"Port {port} of {HOST} cannot be used: {error.strerror}. Stop the program that uses it "
                "(another lab?), or choose another port with --port."
            ) from error
        yield listener


class _Server(Server):
    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: who started the lab decides what Ctrl-C means."""
        yield


@asynccontextmanager
async def serving(app: FastAPI, settings: GatewaySettings, listener: socket.socket) -> AsyncIterator[None]:
    """Answer requests on this socket until the block ends."""
    server = _Server(app, settings)
    task = asyncio.create_task(server.serve(sockets=[listener]))
    try:
        yield
    finally:
        server.should_exit = True
        await task
