"""`python -m gateway` serves the API of a distributed lab."""

import asyncio
import os
import sys

from gateway.app import create_app
from gateway.previews import client_of
from gateway.server import listening, serving
from gateway.settings import GatewayProcessSettings, GatewaySettings
from shared.contracts.endpoints import read_endpoints
from shared.db import keys
from shared.errors import SettingsInvalid
from shared.process import Parts, connected, run_process
from shared.settings import read_settings

OPERATOR = "operator"


async def serve(settings: GatewayProcessSettings) -> None:
    """Serve until a signal says otherwise."""
    own = read_settings(GatewaySettings)
    endpoints = read_endpoints(os.environ, is_open=False)
    with listening(own.host, own.port) as listener:
        async with connected(settings) as parts:
            await _store_bootstrap_key(parts, settings)
            previews = client_of(settings.prompt_builder_url)
            app = create_app(parts.database, parts.bus, parts.clock, own, endpoints=endpoints, previews=previews)
            try:
                async with serving(app, own, listener):
                    await asyncio.Event().wait()
            finally:
                await previews.aclose()


async def _store_bootstrap_key(parts: Parts, settings: GatewayProcessSettings) -> None:
    key = settings.bootstrap_api_key
    if key is None:
        return
    try:
        async with parts.database.transaction() as session:
            await keys.store_key(session, key.get_secret_value(), OPERATOR, parts.clock.now())
    except SettingsInvalid as error:
        raise SettingsInvalid(f"PARLEY_BOOTSTRAP_API_KEY cannot be used: {error.message}") from None


def main() -> int:
    return run_process("gateway", GatewayProcessSettings, serve)


if __name__ == "__main__":
    sys.exit(main())
