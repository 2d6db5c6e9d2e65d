"""Signing in: a browser gets a token of its own, which ends by itself; and who asks."""

from datetime import timedelta
from uuid import UUID

from fastapi import APIRouter, Request, Response

from parley_lab.base.errors import InvalidInput, NotAllowed, NotFound, NotSignedIn, Problem
from parley_lab.gateway.context import ApiKey, ApiKeyIfAny, Context, InContext
from parley_lab.gateway.limiting import address_of
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.sign_ins import (
    NewSignInResource,
    RequestLimits,
    SignInList,
    SignInRequest,
    SignInResource,
    WhoamiResource,
)
from parley_lab.store import keys, sign_ins
from parley_lab.store.keys import OPERATORS_SCOPES, Experimenter, Scope
from parley_lab.store.session import Session
from parley_lab.store.sign_ins import Lifetime, SignIn

router = APIRouter(prefix="/v1", tags=["sign-ins"], route_class=Route)


@router.post("/sign-ins", status_code=201, summary="Sign in, with an API key or a code")
async def begin(
    request: Request, context: InContext, key: ApiKeyIfAny, body: SignInRequest | None = None
) -> NewSignInResource:
    """The token in the answer is sent wherever a key is, and is shown only here. The sign-in can do what its key can.
    It ends with its key, after eight hours without a request, and after a day in all. A code works once within ten
    minutes."""
    code = None if body is None else body.code
    if code is not None and key is not None:
        raise InvalidInput("Sign in with a code or with an API key.", [Problem("code", "a code beside a key", "one")])
    if code is not None:
        # Each try counts, right or wrong: an address has few.
        await context.limits.of_address(address_of(request))

    async def work(session: Session) -> NewSignInResource:
        now = context.clock.now()
        owner = await (_by_key(session, key, context) if code is None else sign_ins.redeem(session, code, now))
        token, made = await sign_ins.begin(session, owner, now, _lifetime(context))
        return NewSignInResource(
            **_resource(made, made.id).model_dump(), token=token, experimenter=owner.name, scopes=_scopes(owner)
        )

    return await context.database.transact(work)


async def _by_key(session: Session, key: str | None, context: Context) -> Experimenter:
    if key is None:
        raise NotSignedIn("Sign in with an API key ('Authorization: Bearer <key>') or with the code of an address.")
    if sign_ins.is_sign_in(key):
        raise NotAllowed("You sign in with an API key or a code, not with a sign-in.")
    return await keys.sign_in(session, key, context.clock.now(), scope="read")


def _lifetime(context: Context) -> Lifetime:
    settings = context.settings
    return Lifetime(timedelta(hours=settings.sign_in_hours), timedelta(hours=settings.sign_in_idle_hours))


@router.get("/sign-ins", summary="The browsers in which I am signed in, the latest first")
async def list_sign_ins(context: InContext, key: ApiKey) -> SignInList:
    async with context.database.transaction() as session:
        now = context.clock.now()
        own = await keys.sign_in(session, key, now, scope="read")
        found = await sign_ins.open_of(session, own.id, now)
    return SignInList(sign_ins=[_resource(one, own.sign_in_id) for one in found])


@router.delete("/sign-ins/current", status_code=204, summary="Sign out")
async def end_current(context: InContext, key: ApiKey) -> Response:
    """The token of this request is refused from the answer on, and its streams end within five seconds."""

    async def work(session: Session) -> None:
        own = await keys.sign_in(session, key, context.clock.now(), scope="read")
        if own.sign_in_id is None:
            raise NotFound("There is no such sign-in: this request came with an API key.")
        await sign_ins.end(session, own.sign_in_id, own.id)

    await context.database.transact(work)
    return Response(status_code=204)


@router.delete("/sign-ins/{sign_in_id}", status_code=204, summary="Sign another browser of mine out")
async def end(sign_in_id: UUID, context: InContext, key: ApiKey) -> Response:
    async def work(session: Session) -> None:
        own = await keys.sign_in(session, key, context.clock.now(), scope="read")
        await sign_ins.end(session, sign_in_id, own.id)

    await context.database.transact(work)
    return Response(status_code=204)


@router.get("/whoami", summary="Who asks, and what they may do")
async def whoami(request: Request, context: InContext, key: ApiKey) -> WhoamiResource:
    async with context.database.transaction() as session:
        now = context.clock.now()
        own = await keys.sign_in(session, key, now, scope="read")
        found = None if own.sign_in_id is None else await sign_ins.find(session, own.sign_in_id)
    most, seconds = context.limits.of(key)
    return WhoamiResource(
        experimenter=own.name,
        scopes=_scopes(own),
        key_id=own.key_id,
        sign_in=None if found is None else _resource(found, own.sign_in_id),
        version=request.app.version,
        is_embedded=context.is_embedded,
        now=now,
        limits=RequestLimits(
            requests=most,
            seconds=seconds,
            body_bytes=context.settings.max_body_bytes,
            file_bytes=context.files.max_file_bytes,
            files_bytes=context.files.max_files_bytes,
        ),
    )


def _scopes(owner: Experimenter) -> list[Scope]:
    return [scope for scope in OPERATORS_SCOPES if scope in owner.scopes]


def _resource(sign_in: SignIn, current_id: UUID | None) -> SignInResource:
    return SignInResource(
        id=sign_in.id,
        begun_at=sign_in.begun_at,
        used_at=sign_in.used_at,
        expires_at=sign_in.expires_at,
        idle_seconds=sign_in.idle_seconds,
        key_prefix=sign_in.key_prefix,
        key_label=sign_in.key_label,
        is_current=sign_in.id == current_id,
    )
