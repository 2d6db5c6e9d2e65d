"""The gateway with a prompt builder behind it, and a model that looks up the preview of what it is shown."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import httpx2

from parley_lab.agent_worker.models.mock import MockModel
from parley_lab.bus.in_process import InProcessBus
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.contracts.prompting import PromptClient
from parley_lab.gateway.app import create_app
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.prompt_builder.app import create_app as create_prompt_builder
from parley_lab.store import keys
from parley_lab.store.session import Database
from tests.flows.drain import DrainLab

Messages = list[dict[str, str]]

Look = Callable[[str, Messages], Awaitable[None]]


async def _look_nowhere(_path: str, _messages: Messages) -> None:
    pass


class LookingModel(MockModel):
    """The mock; `look` may look up the preview of whatever it is shown, at the same time."""

    def __init__(self) -> None:
        super().__init__()
        self.sent: list[tuple[str, Messages]] = []
        self.look: Look = _look_nowhere

    async def reply(self, request: ModelRequest) -> ModelReply:
        messages = [{"role": message.role, "content": message.content} for message in request.messages]
        self.sent.append((request.path, messages))
        await self.look(request.path.rpartition("/call:")[0], messages)
        return await super().reply(request)


@asynccontextmanager
async def an_api(database: Database, lab: DrainLab) -> AsyncIterator[httpx2.AsyncClient]:
    """The gateway as its owner calls it, with the prompt builder behind it."""
    transport = httpx2.ASGITransport(create_prompt_builder(database))
    prompts = PromptClient(httpx2.AsyncClient(transport=transport, base_url="http://prompts"))
    app = create_app(database, InProcessBus(), lab.clock, GatewaySettings(), environ={}, prompt_builder=prompts)
    async with database.transaction() as session:
        key = await keys.create_key(session, "Ellen", lab.clock.now())
    headers = {"Authorization": f"Bearer {key}"}
    async with httpx2.AsyncClient(
        transport=httpx2.ASGITransport(app), base_url="http://lab", headers=headers
    ) as client:
        yield client
    await prompts.aclose()
