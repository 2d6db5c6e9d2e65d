"""API keys: make, see and revoke them; and what was done with them."""

from datetime import datetime
from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query, Response

from parley_lab.base.errors import InvalidInput, NotAllowed, Problem
from parley_lab.gateway.context import ApiKey, InContext
from parley_lab.gateway.once import InOnce, by_key
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.base import Time
from parley_lab.gateway.resources.keys import DeedList, DeedResource, KeyList, KeyResource, NewKey, NewKeyResource
from parley_lab.store import key_lists, keys
from parley_lab.store.keys import Experimenter
from parley_lab.store.session import Session

router = APIRouter(prefix="/v1", tags=["operators"], route_class=Route)


@router.post("/keys", status_code=201, summary="Make an API key")
async def create_key(body: NewKey, context: InContext, key: ApiKey, once: InOnce) -> NewKeyResource:
    """The answer has the key, which is shown only here. It can do no more, and is valid no longer, than the key that
    makes it. Keys for others are made with the scope `admin`. Each request makes one, but the same one under an
    `Idempotency-Key`: the answer that is kept can be read only with that and your API key together."""

    async def work(session: Session) -> NewKeyResource:
        now = context.clock.now()
        own = await keys.sign_in(session, key, now, scope="write")
        _check(body, own, now)
        ends = min((at for at in (body.expires_at, own.expires_at) if at is not None), default=None)
        made = await keys.create_key(
            session, body.experimenter or own.name, now, scopes=body.scopes, expires_at=ends, label=body.label
        )
        return NewKeyResource(key=made, experimenter=body.experimenter or own.name, expires_at=ends)

    return await once.transact(NewKeyResource, work, sign_in=by_key(context, key))


def _check(body: NewKey, own: Experimenter, now: datetime) -> None:
    more = sorted(set(body.scopes) - own.scopes)
    if more:
        raise NotAllowed(f"Your API key does not have the scope {more[0]!r}, so it cannot give it.")
    if body.experimenter not in (None, own.name) and not own.is_admin:
        raise NotAllowed("Keys for others are made with a key that has the scope 'admin'.")
    if body.expires_at is not None and body.expires_at <= now:
        problem = Problem("expires_at", "a time in the past", "a time in the future")
        raise InvalidInput("The key would have expired already.", [problem])


@router.get("/keys", summary="API keys, the oldest first")
async def list_keys(context: InContext, key: ApiKey) -> KeyList:
    """Your own, and with the scope `admin` those of everybody; without their secrets, with those that have ended."""
    async with context.database.transaction() as session:
        own = await keys.sign_in(session, key, context.clock.now(), scope="read")
        found = await key_lists.keys_of(session, None if own.is_admin else own.id)
    return KeyList(keys=[KeyResource.model_validate(one, from_attributes=True) for one in found])


@router.delete("/keys/{key_id}", status_code=204, summary="Revoke an API key")
async def revoke_key(key_id: UUID, context: InContext, key: ApiKey) -> Response:
    """It is refused from the answer on. Idempotent. With the scope `admin` also keys of others."""

    async def work(session: Session) -> None:
        now = context.clock.now()
        own = await keys.sign_in(session, key, now, scope="write")
        await key_lists.revoke(session, key_id, None if own.is_admin else own.id, now)

    await context.database.transact(work)
    return Response(status_code=204)


@router.get("/deeds", summary="Who did what, the latest first")
async def list_deeds(
    context: InContext,
    key: ApiKey,
    before: Annotated[Time | None, Query(description="Only what was done before this time.")] = None,
    experiment: Annotated[UUID | None, Query(description="Only what changed this experiment.")] = None,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> DeedList:
    """Every request with an API key that changed something, and every command that changed a run: your own, and with
    the scope `admin` everybody's."""
    async with context.database.transaction() as session:
        own = await keys.sign_in(session, key, context.clock.now(), scope="read")
        whose = None if own.is_admin else own.id
        found = await key_lists.deeds(session, whose, before=before, most=limit, experiment_id=experiment)
    return DeedList(deeds=[DeedResource.model_validate(one, from_attributes=True) for one in found])
