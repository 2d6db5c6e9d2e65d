"""Starts the prompt builder as a process of its own: `python -m prompt_builder`."""

import asyncio
import sys
from socket import socket

import structlog
import uvicorn
import uvloop

from prompt_builder.app import create_app
from prompt_builder.settings import PromptBuilderSettings
from shared.db.session import connect
from shared.errors import SettingsInvalid
from shared.logs import set_up_logs
from shared.memory import collect_garbage_rarely
from shared.settings import read_settings

log = structlog.get_logger(__name__)


class _Server(uvicorn.Server):
    async def startup(self, sockets: list[socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            log.info("prompt_builder.listening", host=self.config.host, port=self.config.port)


async def serve(settings: PromptBuilderSettings) -> None:
    """Answer until the process is told to stop."""
    database = connect(settings.database_url, pool_size=settings.database_pool_size)
    try:
        config = uvicorn.Config(
            create_app(database), host=settings.host, port=settings.port, log_config=None, access_log=False
        )
        await _Server(config).serve()
    finally:
        await database.close()


def main() -> int:
    """Run until stopped; 2 when the settings do not let it start."""
    try:
        settings = read_settings(PromptBuilderSettings)
    except SettingsInvalid as error:
        print(error, file=sys.stderr)
        return 2
    collect_garbage_rarely()
    set_up_logs("prompt-builder", level=settings.log_level, as_json=settings.log_format == "json")
    with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
        runner.run(serve(settings))
    return 0


if __name__ == "__main__":
    sys.exit(main())
