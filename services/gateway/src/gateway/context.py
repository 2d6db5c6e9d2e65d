"""What every handler works with, and the transaction in which it does its work."""

import asyncio
from collections.abc import Awaitable, Callable, Collection, Mapping
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from fastapi import Depends, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from gateway.live import Live
from gateway.previews import PreviewClient
from gateway.reading import Reader
from gateway.settings import GatewaySettings
from shared.bus.contract import Bus
from shared.clock import Clock
from shared.contracts.endpoints import OPEN, Endpoints
from shared.db.failures import is_deadlock
from shared.db.session import STATEMENT_SECONDS, Database, Session
from shared.errors import NotSignedIn
from shared.urgency import Urgency, urgency

ResultT = TypeVar("ResultT")
EXPORTS_AT_ONCE = 2
FILES_AT_ONCE = 2


@dataclass(frozen=True, slots=True)
class Context:
    """The parts of one gateway. `environ` is where the keys of model providers are looked for.

    `served_providers` are those that the workers of this lab have; None: the workers say so themselves, in a table.
    """

    database: Database
    bus: Bus
    clock: Clock
    settings: GatewaySettings
    environ: Mapping[str, str]
    live: Live
    served_providers: Collection[str] | None = None
    endpoints: Endpoints = OPEN
    previews: PreviewClient | None = None
    exports: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(EXPORTS_AT_ONCE))
    reader: Reader = field(default_factory=lambda: Reader(at_once=FILES_AT_ONCE))

    async def decide(
        self, work: Callable[[Session], Awaitable[ResultT]], *, statement_seconds: float = STATEMENT_SECONDS
    ) -> ResultT:
        """The result of `work`, which is committed when this returns; after a deadlock it is done once more."""
        try:
            return await self._once(work, statement_seconds)
        except Exception as error:
            if not is_deadlock(error):
                raise
        return await self._once(work, statement_seconds)

    async def _once(self, work: Callable[[Session], Awaitable[ResultT]], statement_seconds: float) -> ResultT:
        async with self.database.transaction(statement_seconds=statement_seconds) as session:
            return await work(session)


# Coroutines, because FastAPI runs plain functions in threads.
async def _context(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


_api_key = HTTPBearer(auto_error=False, scheme_name="ApiKey", description="The API key of an experimenter.")
_member_token = HTTPBearer(
    auto_error=False, scheme_name="ParticipantToken", description="The token that joining has given."
)


async def _key(credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_api_key)]) -> str:
    if credentials is None:
        raise NotSignedIn("An API key is needed: send the header 'Authorization: Bearer <key>'.")
    return credentials.credentials


async def _token(credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_member_token)]) -> str:
    if credentials is None:
        raise NotSignedIn("A participant token is needed: send the header 'Authorization: Bearer <token>'.")
    urgency.set(Urgency.PERSON)
    return credentials.credentials


InContext = Annotated[Context, Depends(_context)]
ApiKey = Annotated[str, Depends(_key)]
MemberToken = Annotated[str, Depends(_token)]
