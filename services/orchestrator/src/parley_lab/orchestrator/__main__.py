"""`python -m parley_lab.orchestrator` settles the cohorts of a distributed lab."""

import asyncio
import sys

from parley_lab.base.settings import ProcessSettings, read_settings
from parley_lab.orchestrator import lab_numbers
from parley_lab.orchestrator.service import Orchestrator
from parley_lab.orchestrator.settings import OrchestratorSettings
from parley_lab.services.process import Parts, connected, run_process


async def serve(settings: ProcessSettings) -> None:
    """Work until cancelled, then finish what is in hand."""
    own = read_settings(OrchestratorSettings)

    async def look(parts: Parts) -> None:
        await lab_numbers.look(parts.database, parts.bus, parts.clock, own)

    async with connected(settings, look=look) as parts:
        orchestrator = Orchestrator(database=parts.database, bus=parts.bus, clock=parts.clock, settings=own)
        await orchestrator.start()
        try:
            await asyncio.Event().wait()
        finally:
            await orchestrator.stop()


def main() -> int:
    return run_process("orchestrator", ProcessSettings, serve)


if __name__ == "__main__":
    sys.exit(main())
