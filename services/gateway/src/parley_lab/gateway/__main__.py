"""`python -m parley_lab.gateway` serves the API of a distributed lab."""

import asyncio
import os
import sys

from parley_lab.base.errors import SettingsInvalid
from parley_lab.base.metrics import STREAMS
from parley_lab.base.settings import read_settings
from parley_lab.contracts.endpoints import read_endpoints
from parley_lab.contracts.prompting import client_of
from parley_lab.gateway.app import create_app
from parley_lab.gateway.server import listening, serving
from parley_lab.gateway.settings import GatewayProcessSettings, GatewaySettings
from parley_lab.services.process import Parts, connected, reaches_database, run_process
from parley_lab.store import keys

OPERATOR = "operator"


async def serve(settings: GatewayProcessSettings) -> None:
    """Serve until a signal stops the process."""
    own = read_settings(GatewaySettings)
    endpoints = read_endpoints(os.environ, is_open=False)
    with listening(own.host, own.port) as listener:
        async with connected(settings, is_ready=reaches_database) as parts:
            await _store_bootstrap_key(parts, settings)
            prompts = client_of(settings.prompt_builder_url)
            app = create_app(parts.database, parts.bus, parts.clock, own, endpoints=endpoints, prompt_builder=prompts)
            STREAMS.set_function(app.state.context.live.count)
            try:
                async with serving(app, own, listener):
                    await asyncio.Event().wait()
            finally:
                await prompts.aclose()


async def _store_bootstrap_key(parts: Parts, settings: GatewayProcessSettings) -> None:
    key = settings.bootstrap_api_key
    if key is None:
        return
    try:
        async with parts.database.transaction() as session:
            await keys.store_bootstrap_key(session, key.get_secret_value(), OPERATOR, parts.clock.now())
    except SettingsInvalid as error:
        raise SettingsInvalid(f"PARLEY_BOOTSTRAP_API_KEY cannot be used: {error.message}") from None


def main() -> int:
    return run_process("gateway", GatewayProcessSettings, serve)


if __name__ == "__main__":
    sys.exit(main())
