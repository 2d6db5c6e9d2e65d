"""`python -m agent_worker` takes the steps of agents and calls their models in a distributed lab."""

import asyncio
import os
import sys

from agent_worker.models import build_models
from agent_worker.settings import WorkerSettings
from agent_worker.worker import Worker
from shared.contracts.endpoints import read_endpoints
from shared.limits import read_limits
from shared.process import connected, run_process
from shared.prompting import client_of
from shared.settings import ProcessSettings, read_settings


class WorkerProcessSettings(ProcessSettings):
    prompt_builder_url: str = "http://127.0.0.1:8001"
    """Where the prompt builder answers."""


async def serve(settings: WorkerProcessSettings) -> None:
    """Work until cancelled, then finish the drafts and steps that were begun."""
    own = read_settings(WorkerSettings)
    limits = read_limits(os.environ)
    endpoints = read_endpoints(os.environ, is_open=False)
    prompts = client_of(settings.prompt_builder_url)
    try:
        async with connected(settings) as parts:
            worker = Worker(
                database=parts.database,
                bus=parts.bus,
                models=build_models(os.environ, endpoints=endpoints, longest_reply_bytes=own.longest_reply_bytes),
                prompts=prompts,
                clock=parts.clock,
                settings=own,
                limits=limits,
            )
            await worker.start()
            try:
                await asyncio.Event().wait()
            finally:
                await worker.stop()
    finally:
        await prompts.aclose()


def main() -> int:
    return run_process("agent-worker", WorkerProcessSettings, serve)


if __name__ == "__main__":
    sys.exit(main())
