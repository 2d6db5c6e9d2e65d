"""The gateway: HTTP in, server-sent events out, exports."""

import os
from collections.abc import AsyncIterator, Collection, Mapping
from contextlib import asynccontextmanager
from importlib.metadata import version
from typing import Final

from fastapi import FastAPI
from starlette.middleware.cors import CORSMiddleware

from parley_lab.base.clock import Clock
from parley_lab.bus.contract import Bus
from parley_lab.contracts.endpoints import OPEN, Endpoints
from parley_lab.contracts.prompting import Prompts
from parley_lab.gateway import documentation, problems
from parley_lab.gateway.compression import Compressed
from parley_lab.gateway.context import Context
from parley_lab.gateway.limiting import Limits
from parley_lab.gateway.live import Live
from parley_lab.gateway.middleware import CORRELATION_HEADER, AroundRequest
from parley_lab.gateway.once import IDEMPOTENCY_HEADER
from parley_lab.gateway.presence import Presence
from parley_lab.gateway.routes import (
    acts,
    alerts,
    cohorts,
    experiments,
    files,
    guests,
    health,
    imports,
    inspecting,
    keys,
    lifecycle,
    links,
    listing,
    media,
    members,
    operators,
    own_stream,
    partial_answers,
    participants,
    persona_chats,
    personas,
    prompts,
    reactions,
    seeing,
    sign_ins,
    sources,
    staff,
    stream_tickets,
    tables,
    templates,
    threads,
    watching,
)
from parley_lab.gateway.settings import GatewaySettings
from parley_lab.store.session import Database
from parley_lab.web import app as web_pages

_SENT: Final = ("Authorization", "Content-Type", "Last-Event-ID", "If-Match", "If-None-Match", "Range")
"""The headers that scripts of other origins may send, beside those of the lab."""
# What people's pages ask for most comes first: a request is matched against one route after the other.
_ROUTES: Final = [
    route
    for module in (
        participants,
        partial_answers,
        threads,
        own_stream,
        reactions,
        links,
        stream_tickets,
        health,
        operators,
        keys,
        sign_ins,
        imports,
        listing,
        watching,
        sources,
        templates,
        experiments,
        files,
        media,
        cohorts,
        lifecycle,
        guests,
        members,
        acts,
        inspecting,
        tables,
        staff,
        alerts,
        personas,
        persona_chats,
        prompts,
        seeing,
        documentation,
    )
    for route in module.router.routes
]


def create_app(
    database: Database,
    bus: Bus,
    clock: Clock,
    settings: GatewaySettings,
    *,
    environ: Mapping[str, str] = os.environ,
    served_providers: Collection[str] | None = None,
    endpoints: Endpoints = OPEN,
    prompt_builder: Prompts | None = None,
) -> FastAPI:
    """The API over these parts, which stay the caller's: it closes none of them.

    `environ` is where the keys of model providers are looked for when an experiment is started; one whose
    provider is not among `served_providers` is refused then; None: among those that workers have announced. So is one
    that would call a model where `endpoints` do not allow it. `prompt_builder` makes previews; None: there are none.
    Live streams run while the application's lifespan does; `app.state.context.live.close()` ends them, so that a server
    can stop.
    """
    live = Live(
        database,
        ping_seconds=settings.stream_ping_seconds,
        look_seconds=settings.stream_look_seconds,
        backlog=settings.stream_backlog,
    )
    app = FastAPI(
        title="Parley",
        version=version("parley-lab"),
        description=documentation.DESCRIPTION,
        docs_url=None,
        redoc_url=None,
        lifespan=_lifespan,
    )
    presence = Presence(database, clock, beat_seconds=settings.presence_beat_seconds)
    limits = Limits(database, clock, settings)
    context = Context(
        database, bus, clock, settings, environ, live, presence, limits, served_providers, endpoints, prompt_builder
    )
    app.state.context = context
    # Not by `include_router`, with which every request would be matched twice against the routes of each router.
    app.routes[:0] = _ROUTES
    app.routes.extend(web_pages.routes())
    problems.install(app)
    documentation.install(app)
    app.add_middleware(Compressed)
    app.add_middleware(AroundRequest, max_body_bytes=settings.max_body_bytes, files=context.files)
    if settings.allowed_origins:
        # Around everything else: what is refused before it comes to a route can be read as well.
        app.add_middleware(
            CORSMiddleware,
            allow_origins=list(settings.allowed_origins),
            allow_methods=["GET", "POST", "PUT", "PATCH", "DELETE"],
            allow_headers=[*_SENT, IDEMPOTENCY_HEADER, CORRELATION_HEADER],
            expose_headers=[CORRELATION_HEADER, "Retry-After", "Content-Disposition", "Content-Range", "ETag"],
        )
    return app


@asynccontextmanager
async def _lifespan(app: FastAPI) -> AsyncIterator[None]:
    live, presence = app.state.context.live, app.state.context.presence
    await live.start()
    presence.start()
    try:
        yield
    finally:
        await app.state.context.tables.close()
        await presence.close()
        await live.close()
