"""A worker process of the claim race: thinks about its drafts and waits at the barrier before it claims."""

import asyncio
from multiprocessing.connection import Connection
from uuid import UUID

import httpx2

from parley_lab.agent_worker.settings import WorkerSettings
from parley_lab.agent_worker.thinking import Thinker
from parley_lab.base.clock import SystemClock
from parley_lab.base.failpoints import on_failpoint
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.contracts.prompting import PromptClient
from parley_lab.prompt_builder.app import create_app
from parley_lab.store.databases import connect

AT_BARRIER = "reply.current"
"""The reply is saved and was seen to be wanted still; the claim comes next."""


class Eager:
    """A model that always speaks."""

    async def reply(self, request: ModelRequest) -> ModelReply:
        parsed = {"explanation": "", "shouldRespond": True, "response": request.path, "readyToEndChat": False}
        return ModelReply(status="ok", parsed=parsed, raw="{}", model_returned="eager")

    async def aclose(self) -> None:
        pass


def main(url: str, pipe: Connection) -> None:
    asyncio.run(_serve(url, pipe))


async def _serve(url: str, pipe: Connection) -> None:
    """For every list of drafts from the pipe: work on them at once, all of them held at the barrier together."""
    database = connect(url)
    transport = httpx2.ASGITransport(app=create_app(database))
    thinker = Thinker(
        database=database,
        models={"mock": Eager()},
        prompts=PromptClient(httpx2.AsyncClient(transport=transport, base_url="http://prompts")),
        clock=SystemClock(),
        settings=WorkerSettings(),
        later=lambda delay, work: None,
    )
    loop = asyncio.get_running_loop()
    while (draft_ids := await loop.run_in_executor(None, pipe.recv)) is not None:
        barrier = _Barrier(len(draft_ids), pipe)
        on_failpoint(barrier.reached)
        await asyncio.gather(*(thinker.work_on(UUID(draft_id)) for draft_id in draft_ids))
        pipe.send("done")
    await database.close()


class _Barrier:
    """Says "here" when all of this process have come, and lets them go when it is told to."""

    def __init__(self, expected: int, pipe: Connection) -> None:
        self._missing = expected
        self._pipe = pipe
        self._open = asyncio.Event()

    async def reached(self, name: str) -> None:
        if name != AT_BARRIER:
            return
        self._missing -= 1
        if self._missing == 0:
            self._pipe.send("here")
            await asyncio.get_running_loop().run_in_executor(None, self._pipe.recv)
            self._open.set()
        await self._open.wait()
