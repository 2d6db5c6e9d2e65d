"""`python -m parley_lab.agent_worker` takes the steps of agents and calls their models in a distributed lab."""

import asyncio
import os
import sys

from parley_lab.agent_worker.models import build_models
from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.worker import Worker
from parley_lab.base.settings import ProcessSettings, read_settings
from parley_lab.contracts.endpoints import read_endpoints
from parley_lab.contracts.limits import read_limits
from parley_lab.contracts.prompting import client_of
from parley_lab.services.process import connected, run_process


class WorkerProcessSettings(ProcessSettings):
    prompt_builder_url: str = "http://127.0.0.1:8001"
    """The address of the prompt builder."""


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
