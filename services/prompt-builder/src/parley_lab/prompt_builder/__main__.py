"""Starts the prompt builder as a process of its own: `python -m parley_lab.prompt_builder`."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket

import structlog
import uvicorn

from parley_lab.prompt_builder.app import create_app
from parley_lab.prompt_builder.settings import PromptBuilderSettings
from parley_lab.services.process import run_process, wait_for_schema
from parley_lab.store.databases import connect

log = structlog.get_logger(__name__)


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            log.info("prompt_builder.listening", host=self.config.host, port=self.config.port)

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals alone: `run_process` says what they mean."""
        yield


async def serve(settings: PromptBuilderSettings) -> None:
    """Answer until the process is told to stop."""
    database = connect(settings.database_url, pool_size=settings.database_pool_size)
    has_schema = asyncio.Event()
    app = create_app(database, may_be_ready=has_schema.is_set)
    server = _Server(uvicorn.Config(app, host=settings.host, port=settings.port, log_config=None, access_log=False))
    serving = asyncio.create_task(server.serve())
    try:
        # It answers health checks meanwhile.
        await wait_for_schema(database)
        has_schema.set()
        await asyncio.shield(serving)
    finally:
        server.should_exit = True
        await serving
        await database.close()


def main() -> int:
    return run_process("prompt-builder", PromptBuilderSettings, serve)


if __name__ == "__main__":
    sys.exit(main())
