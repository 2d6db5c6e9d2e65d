"""The HTTP server of a gateway, in a process of its own or in a lab's."""

from socket import socket

import uvicorn
from fastapi import FastAPI

from gateway.settings import GatewaySettings

LONGEST_GOODBYE_SECONDS = 5


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
                timeout_graceful_shutdown=LONGEST_GOODBYE_SECONDS,
            )
        )
        self._live = app.state.context.live

    async def shutdown(self, sockets: list[socket] | None = None) -> None:
        await self._live.close()
        await super().shutdown(sockets)
