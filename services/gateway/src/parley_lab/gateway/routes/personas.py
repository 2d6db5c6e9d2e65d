"""The persona library: who agents are, kept apart from the experiments that use them."""

import asyncio
from collections.abc import Sequence
from typing import Annotated, Final, Literal

from fastapi import APIRouter, Query, Request, Response

from parley_lab.contracts.experiment import Persona, PersonaId
from parley_lab.design import write_personas
from parley_lab.experiments import persona_chats, personas
from parley_lab.formats.arena import first_agents, write_agent
from parley_lab.gateway import forms
from parley_lab.gateway.context import ApiKey, Context, InContext
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.personas import PersonaImport, PersonaList, PersonaResource
from parley_lab.gateway.versions import IfMatch, tag_of, version_in
from parley_lab.store import keys
from parley_lab.store.session import Session

router = APIRouter(prefix="/v1", tags=["personas"], route_class=Route)

_EXAMPLE: Final = "profile: {name: Ana}\ntext: You drive a taxi at night and fear for your income.\n"
_ONE = forms.described(
    "A persona, with the fields that it has in experiment files; the id may be left out.",
    yaml=_EXAMPLE,
    json={"profile": {"name": "Ana"}, "text": "You drive a taxi at night and fear for your income."},
)
_SEVERAL = forms.described(
    "A persona file, as the export gives it.",
    yaml="parley: 1\npersonas:\n  - {id: ana, text: You drive a taxi at night.}\n",
    json={"parley": 1, "personas": [{"id": "ana", "text": "You drive a taxi at night."}]},
)
_AGENT: Final = forms.described(
    "An agent file of PD Arena.",
    yaml="role: a patient trader\ngoal: to be fair\nbackstory: You sell apples.\npersona_type: forgiving\n",
    json={"role": "a patient trader", "goal": "to be fair", "backstory": "You sell apples."},
)
_MEDIA_TYPES: Final = {"yaml": "application/yaml", "json": "application/json"}


@router.get("/personas", summary="My persona library")
async def list_personas(
    context: InContext,
    key: ApiKey,
    after: Annotated[PersonaId | None, Query(description="The `next_after` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> PersonaList:
    """A page of them, by id; `next_after` says from where to read on."""
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        stored = await personas.list_of(session, owner.id, after=after or "", most=limit + 1)
    page = stored[:limit]
    return PersonaList(
        personas=[_resource(one) for one in page],
        next_after=page[-1].persona.id if len(stored) > limit else None,
    )


@router.get("/personas/{persona_id}", summary="One persona")
async def show(persona_id: PersonaId, response: Response, context: InContext, key: ApiKey) -> PersonaResource:
    """`ETag` is its version, for `If-Match` of `PUT`."""
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        found = await personas.find(session, owner.id, persona_id)
    response.headers["ETag"] = tag_of(found.version)
    return _resource(found)


@router.put("/personas/{persona_id}", summary="Create or replace a persona", openapi_extra=_ONE)
async def put(
    persona_id: PersonaId,
    request: Request,
    response: Response,
    context: InContext,
    key: ApiKey,
    if_match: IfMatch = None,
) -> PersonaResource:
    """What is left out has its default, whatever was there before. Idempotent. Refused with 412 `changed_meanwhile`
    where the persona was saved since the version in `If-Match`; `params` say when."""
    await _signed_in(context, key)
    version = None if if_match is None else version_in(if_match)
    content, name = await forms.file_in(request, "persona")
    stored = await _stored(context, key, await context.reader.persona(content, name, persona_id), version)
    response.headers["ETag"] = tag_of(stored.version)
    return stored


async def _signed_in(context: Context, key: str) -> None:
    """Only files of those who may write are read."""
    async with context.database.transaction() as session:
        await keys.require_scope(session, key, context.clock.now(), "write")


async def _stored(context: Context, key: str, persona: Persona, version: int | None = None) -> PersonaResource:
    async def work(session: Session) -> PersonaResource:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        if version is not None:
            await personas.require_version(session, owner.id, persona.id, version)
        await personas.put(session, owner.id, [persona], now)
        return _resource(await personas.find(session, owner.id, persona.id))

    return await context.database.transact(work)


@router.get(
    "/personas/{persona_id}/agent",
    response_class=Response,
    summary="One persona as an agent file",
    responses={200: {"content": {"application/yaml": {}}, "description": "An agent file."}},
)
async def export_agent(persona_id: PersonaId, context: InContext, key: ApiKey) -> Response:
    """For personas that an agent file of PD Arena can describe; others are refused."""
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        stored = await personas.find(session, owner.id, persona_id)
    return Response(write_agent(stored.persona), media_type=_MEDIA_TYPES["yaml"])


@router.put("/personas/{persona_id}/agent", summary="Create or replace by an agent file", openapi_extra=_AGENT)
async def import_agent(persona_id: PersonaId, request: Request, context: InContext, key: ApiKey) -> PersonaResource:
    """Role, goal and backstory are needed. Idempotent."""
    await _signed_in(context, key)
    content, name = await forms.file_in(request, "agent")
    return await _stored(context, key, await context.reader.agent(content, name, persona_id))


@router.delete("/personas/{persona_id}", status_code=204, summary="Take a persona out of the library")
async def delete(persona_id: PersonaId, context: InContext, key: ApiKey) -> None:
    """Experiments that have used it keep their copies; the test chat with it is cleared."""

    async def work(session: Session) -> None:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="write")
        await personas.delete(session, owner.id, persona_id)
        await persona_chats.clear(session, owner.id, persona_id, context.clock.now())

    await context.database.transact(work)


@router.post("/persona-library", summary="Import personas", openapi_extra=_SEVERAL)
async def import_personas(request: Request, context: InContext, key: ApiKey) -> PersonaImport:
    """Creates what is new and replaces what has changed, all or nothing. Idempotent."""
    await _signed_in(context, key)
    content, name = await forms.file_in(request, "personas")
    return await _imported(context, key, await context.reader.personas(content, name))


@router.post("/persona-library/arena", summary="Import the first agents of an arena")
async def import_first_agents(context: InContext, key: ApiKey) -> PersonaImport:
    """Five personas, the six policies, and five players by chance, in the place of those with their ids."""
    return await _imported(context, key, first_agents())


async def _imported(context: Context, key: str, imported: Sequence[Persona]) -> PersonaImport:
    async def work(session: Session) -> PersonaImport:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        outcomes = await personas.put(session, owner.id, imported, now)
        return PersonaImport(
            created=[one.id for one in imported if outcomes[one.id] == "created"],
            replaced=[one.id for one in imported if outcomes[one.id] == "replaced"],
            unchanged=[one.id for one in imported if outcomes[one.id] == "unchanged"],
        )

    return await context.database.transact(work)


@router.get(
    "/persona-library",
    response_class=Response,
    summary="Export my personas as a file",
    responses={200: {"content": {"application/yaml": {}, "application/json": {}}, "description": "A persona file."}},
)
async def export_personas(
    context: InContext,
    key: ApiKey,
    format: Annotated[Literal["yaml", "json"], Query(description="The format of the file.")] = "yaml",
) -> Response:
    """Importing the file, here or elsewhere, gives the same personas."""
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        stored = await personas.list_of(session, owner.id)
    file = await asyncio.to_thread(write_personas, [one.persona for one in stored], format)
    headers = {"Content-Disposition": f'attachment; filename="personas.{format}"'}
    return Response(file, headers=headers, media_type=_MEDIA_TYPES[format])


def _resource(stored: personas.StoredPersona) -> PersonaResource:
    return PersonaResource(
        id=stored.persona.id,
        version=stored.version,
        created_at=stored.created_at,
        updated_at=stored.updated_at,
        persona=stored.persona,
    )
