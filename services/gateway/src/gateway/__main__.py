"""`python -m gateway` serves the API of a distributed lab."""

import asyncio
import os
import sys

import uvloop

from gateway.app import create_app
from gateway.server import Server
from gateway.settings import GatewaySettings, ProcessSettings, read
from shared.bus.publisher import OutboxPublisher
from shared.bus.rabbit import RabbitBus
from shared.clock import SystemClock
from shared.db import keys
from shared.db.outbox import Outbox
from shared.db.session import Database, connect
from shared.errors import ParleyError, SettingsInvalid
from shared.logs import set_up_logs

OPERATOR = "operator"


async def serve(settings: GatewaySettings, process: ProcessSettings) -> None:
    """Serve until a signal says otherwise."""
    database = connect(process.parley_database_url.get_secret_value(), pool_size=process.gateway_pool_size)
    bus = RabbitBus(process.parley_amqp_url.get_secret_value())
    clock = SystemClock()
    outbox = Outbox(database)
    publisher = OutboxPublisher(bus, delete=outbox.delete, leftover=outbox.leftover)
    database.on_commit = publisher.offer
    publisher.start()
    try:
        await _store_bootstrap_key(database, clock, process)
        await Server(create_app(database, bus, clock, settings), settings).serve()
    finally:
        await publisher.stop()
        await bus.close()
        await database.close()


async def _store_bootstrap_key(database: Database, clock: SystemClock, process: ProcessSettings) -> None:
    key = process.parley_bootstrap_api_key
    if key is None:
        return
    try:
        async with database.transaction() as session:
            await keys.store_key(session, key.get_secret_value(), OPERATOR, clock.now())
    except SettingsInvalid as error:
        raise SettingsInvalid(f"PARLEY_BOOTSTRAP_API_KEY cannot be used: {error.message}") from None


def main() -> int:
    try:
        process = read(ProcessSettings)
        settings = read(GatewaySettings)
        set_up_logs("gateway", level=process.parley_log_level, as_json=process.parley_log_format == "json")
        with asyncio.Runner(loop_factory=uvloop.new_event_loop) as runner:
            runner.run(serve(settings, process))
    except ParleyError as error:
        sys.stderr.write(f"{error}{os.linesep}")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
