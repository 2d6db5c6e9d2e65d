"""What every handler works with, and the transaction in which it does its work."""

import asyncio
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, TypeVar
from uuid import UUID
from weakref import WeakValueDictionary

from fastapi import Depends, Query, Request, Security
from fastapi.security import HTTPAuthorizationCredentials, HTTPBearer

from parley_lab.base.clock import Clock
from parley_lab.base.errors import NotAllowed, NotSignedIn, Unavailable
from parley_lab.base.settings import FileSettings, read_settings
from parley_lab.base.urgency import Urgency, urgency
from parley_lab.bus.contract import Bus
from parley_lab.contracts.endpoints import OPEN, Endpoints
from parley_lab.contracts.prompting import Prompts
from parley_lab.gateway.limiting import Limits, address_of
from parley_lab.gateway.live import Live
from parley_lab.gateway.parameters import NO_NUL
from parley_lab.gateway.presence import Presence
from parley_lab.gateway.reading import Reader
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.gateway.tables import Tables
from parley_lab.members.standings import hash_token
from parley_lab.people import stream_tickets
from parley_lab.people.viewing import is_view_token, use_view
from parley_lab.store.keys import hash_key, is_made_key
from parley_lab.store.session import Database, Session
from parley_lab.store.sign_ins import is_sign_in

ResultT = TypeVar("ResultT")
EXPORTS_AT_ONCE = 2
FILES_AT_ONCE = 2
PARTS_AT_ONCE = 4
_TURN_SECONDS = 5.0
_PATIENCE_SECONDS = 10.0


class Queues:
    """Lets tasks of this process into a block one after the other, for each key.

    A turn lasts five seconds at most: then the next task goes in beside it, because the one before may wait for a
    database that is silent. A task that has waited for ten seconds is turned away, as if it waited for a connection.
    """

    def __init__(self) -> None:
        self._locks: WeakValueDictionary[UUID, asyncio.Lock] = WeakValueDictionary()

    @asynccontextmanager
    async def turn(self, key: UUID) -> AsyncIterator[None]:
        """The turn of this task, until the block ends.

        Raises:
            Unavailable: it did not come in time.
        """
        lock = self._locks.setdefault(key, asyncio.Lock())
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                await lock.acquire()
        except TimeoutError as error:
            raise Unavailable("The lab is busy: what came before is not done yet. Try again.") from error
        with ExitStack() as turn:
            turn.callback(lock.release)
            timer = asyncio.get_running_loop().call_later(_TURN_SECONDS, turn.close)
            try:
                yield
            finally:
                timer.cancel()


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
    presence: Presence
    limits: Limits
    served_providers: Collection[str] | None = None
    endpoints: Endpoints = OPEN
    prompt_builder: Prompts | None = None
    files: FileSettings = field(default_factory=lambda: read_settings(FileSettings))
    """How large files may be that stages show."""
    exports: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(EXPORTS_AT_ONCE))
    parts: asyncio.Semaphore = field(default_factory=lambda: asyncio.Semaphore(PARTS_AT_ONCE))
    """For reading parts of images, sounds and films: however many load one, connections are left for those who act."""
    reader: Reader = field(default_factory=lambda: Reader(at_once=FILES_AT_ONCE))
    posts: Queues = field(default_factory=Queues)
    """By thread: of two messages at once, each made of the thread as it was, only one would be stored."""

    tables: Tables = field(init=False)
    """The tables of data that were read last."""

    def __post_init__(self) -> None:
        object.__setattr__(self, "tables", Tables(self.database))

    @property
    def is_embedded(self) -> bool:
        """Whether all services are in this process, which knows the providers that it serves."""
        return self.served_providers is not None


# Coroutines, because FastAPI runs plain functions in threads.
async def _context(request: Request) -> Context:
    context: Context = request.app.state.context
    return context


_api_key = HTTPBearer(
    auto_error=False, scheme_name="ApiKey", description="The API key of an experimenter, or the token of a sign-in."
)
_member_token = HTTPBearer(
    auto_error=False, scheme_name="ParticipantToken", description="The token that joining has given."
)


async def _count_address(request: Request) -> None:
    context: Context = request.app.state.context
    await context.limits.of_address(address_of(request))


async def _key(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_api_key)]
) -> str:
    if credentials is None:
        raise NotSignedIn("An API key is needed: send the header 'Authorization: Bearer <key>'.")
    limits: Limits = request.app.state.context.limits
    await (limits.of_token if is_sign_in(credentials.credentials) else limits.of_key)(credentials.credentials)
    return credentials.credentials


async def _urgent_key(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_api_key)]
) -> str:
    if credentials is None:
        raise NotSignedIn("An API key is needed: send the header 'Authorization: Bearer <key>'.")
    limits: Limits = request.app.state.context.limits
    await limits.of_urgent(credentials.credentials)
    return credentials.credentials


async def _key_if_any(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_api_key)]
) -> str | None:
    return None if credentials is None else await _key(request, credentials)


async def _token(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_member_token)]
) -> str:
    if credentials is None:
        raise NotSignedIn("A participant token is needed: send the header 'Authorization: Bearer <token>'.")
    context: Context = request.app.state.context
    await context.limits.of_token(credentials.credentials)
    return credentials.credentials


async def _own_token(
    request: Request, credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_member_token)]
) -> str:
    token = await _token(request, credentials)
    if is_view_token(token):
        raise NotAllowed("With this token one looks on; only the participant does things here.")
    urgency.set(Urgency.PERSON)
    context: Context = request.app.state.context
    context.presence.has_asked(hash_token(token))
    return token


async def _any_bearer(
    request: Request,
    token: Annotated[HTTPAuthorizationCredentials | None, Security(_member_token)],
    key: Annotated[HTTPAuthorizationCredentials | None, Security(_api_key)],
) -> str:
    found = token or key
    if found is None:
        raise NotSignedIn("A participant token or an API key is needed: send 'Authorization: Bearer <token>'.")
    limits: Limits = request.app.state.context.limits
    await (limits.of_key if is_made_key(found.credentials) else limits.of_token)(found.credentials)
    return found.credentials


@dataclass(frozen=True, slots=True)
class PageReader:
    """Who reads a participant's pages: the participant, or lab staff who look on until `until`.

    `key` finds the member: an id, or the hash of a token.
    """

    key: UUID | str
    until: datetime | None = None
    view: str = ""
    """The hash of the token of lab staff."""


async def reader_of(context: Context, token: str) -> PageReader:
    """Whose pages this token shows. Of a token for looking on each use is counted.

    Raises:
        NotSignedIn: it is one for looking on, and its time is over.
    """
    if not is_view_token(token):
        urgency.set(Urgency.PERSON)
        context.presence.has_asked(hash_token(token))
        return PageReader(hash_token(token))
    async with context.database.autocommit() as session:
        view = await use_view(session, token, context.clock.now())
    return PageReader(view.member_id, view.expires_at, hash_token(token))


@dataclass(frozen=True, slots=True)
class StreamBearer:
    """Who opens a stream: by a header, or by a ticket in the address."""

    token: str | None
    ticket: str | None

    async def page_reader(self, context: Context) -> PageReader:
        """Raises:
        NotSignedIn: there is neither, or it is not valid.
        """
        if self.ticket is None:
            return await reader_of(context, self._token)
        async with context.database.autocommit() as session:
            return PageReader(await stream_tickets.redeem(session, self.ticket, context.clock.now()))

    async def key_hash(self, session: Session, context: Context) -> str:
        """Raises:
        NotSignedIn: there is neither, or the ticket is not valid.
        """
        if self.ticket is None:
            return hash_key(self._token)
        return await stream_tickets.redeem(session, self.ticket, context.clock.now())

    @property
    def _token(self) -> str:
        if self.token is None:
            raise NotSignedIn("Send the header 'Authorization: Bearer <token>', or a ticket (POST /v1/stream-tickets).")
        return self.token


Ticket = Annotated[
    str | None,
    Query(
        description="In place of the header, from `POST /v1/stream-tickets`: opens one stream.",
        max_length=200,
        pattern=NO_NUL,
    ),
]


# A ticket was counted when it was made, and opens one stream.
async def _participants_stream(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_member_token)],
    ticket: Ticket = None,
) -> StreamBearer:
    if ticket is not None or credentials is None:
        return StreamBearer(None, ticket)
    return StreamBearer(await _token(request, credentials), None)


async def _experimenters_stream(
    request: Request,
    credentials: Annotated[HTTPAuthorizationCredentials | None, Security(_api_key)],
    ticket: Ticket = None,
) -> StreamBearer:
    if ticket is not None or credentials is None:
        return StreamBearer(None, ticket)
    return StreamBearer(await _key(request, credentials), None)


InContext = Annotated[Context, Depends(_context)]
ApiKey = Annotated[str, Depends(_key)]
"""An experimenter's API key, or the token of their sign-in."""
UrgentKey = Annotated[str, Depends(_urgent_key)]
"""The same for what must be done at once, such as a pause: such requests are counted by themselves."""
ApiKeyIfAny = Annotated[str | None, Depends(_key_if_any)]
MemberToken = Annotated[str, Depends(_own_token)]
"""A participant's own token; one for looking on is refused."""
ReaderToken = Annotated[str, Depends(_token)]
"""A participant's own token, or one for looking on; see `reader_of`."""
CountedByAddress = Depends(_count_address)
"""Of a route that is open to everybody: only so many requests come from one address."""
AnyBearer = Annotated[str, Depends(_any_bearer)]
"""The token of a participant, or the key of an experimenter."""
ParticipantsStream = Annotated[StreamBearer, Depends(_participants_stream)]
ExperimentersStream = Annotated[StreamBearer, Depends(_experimenters_stream)]
