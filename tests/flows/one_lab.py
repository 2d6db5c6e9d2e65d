"""One lab for all tests of a module: a database, the lab in one loop, and a client of its API."""

import asyncio
from collections.abc import Iterator
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

import httpx2

from parley_lab.agent_worker.models import MockModel
from parley_lab.contracts.models import ModelReply, ModelRequest
from parley_lab.store.databases import connect
from parley_lab.testing.fresh_databases import FreshDatabases
from tests.flows.drain import DrainLab
from tests.flows.previewing import an_api

Json = Any


class FickleModel(MockModel):
    """The mock, which is away for members whose path begins with `out`; empty: for none."""

    out = ""

    async def reply(self, request: ModelRequest) -> ModelReply:
        if self.out and request.path.startswith(self.out):
            return ModelReply(status="unavailable", error="The model is away.")
        return await super().reply(request)


@dataclass
class Place:
    """The lab; coroutines run on its `runner`."""

    url: str
    mock: FickleModel = field(default_factory=FickleModel)
    runner: asyncio.Runner = field(default_factory=asyncio.Runner)
    stack: AsyncExitStack = field(default_factory=AsyncExitStack)

    async def open(self) -> None:
        self.database = connect(self.url)
        self.stack.push_async_callback(self.database.close)
        self.lab = DrainLab(self.database, models={"mock": self.mock})
        self.client = await self.stack.enter_async_context(an_api(self.database, self.lab))

    async def try_to(self, method: str, path: str, *, token: str | None = None, **request: Json) -> Any:
        """The answer, which is no error of the server."""
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        answer = await self.client.request(method, path, headers=headers, **request)
        assert answer.status_code < 500, (path, answer.text)
        if (method, path, answer.status_code) == ("POST", "/v1/experiments", httpx2.codes.CREATED):
            # What earlier tests have left in the lab is at rest.
            self.lab.watched = UUID(answer.json()["id"])
        await self.lab.drain()
        return answer

    async def ask(self, method: str, path: str, *, token: str | None = None, **request: Json) -> Json:
        """The content of the answer, which is no refusal."""
        answer = await self.try_to(method, path, token=token, **request)
        assert answer.status_code < 300, (path, answer.text)
        return answer.json() if answer.content else None


@contextmanager
def one_lab(databases: FreshDatabases) -> Iterator[Place]:
    """A lab on a database of its own."""
    with databases.one() as url:
        place = Place(url)
        place.runner.run(place.open())
        try:
            yield place
        finally:
            place.runner.run(place.stack.aclose())
            place.runner.close()
