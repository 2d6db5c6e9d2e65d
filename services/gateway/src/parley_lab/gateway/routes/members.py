"""How experimenters look after members: who is where, and pausing, checking and removing one of them."""

from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query

from parley_lab.answers import advancing
from parley_lab.contracts import lives
from parley_lab.formats.exports import natural
from parley_lab.gateway.context import ApiKey, Context, InContext, UrgentKey
from parley_lab.gateway.once import InOnce, by_key
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.gateway.resources.acts import ReasonRequest
from parley_lab.gateway.resources.members import (
    CheckRequest,
    MemberList,
    MemberResource,
    NoticeRequest,
    RemovalRequest,
    TransferRequest,
    ViewRequest,
    ViewToken,
)
from parley_lab.gateway.routes.experiments import owned
from parley_lab.members import standings
from parley_lab.members.standing import Standing
from parley_lab.people import attention, holding, notices, transferring, viewing
from parley_lab.store import keys, ownership
from parley_lab.store.session import Session
from parley_lab.talk import pages as reads

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)

_FIRST = UUID(int=0)

Change = Callable[[Session, Standing, str, datetime], Awaitable[object]]
"""Does something with a locked member, for the experimenter of this name."""


@router.get("/experiments/{experiment_id}/members", summary="Who is where, private parts included")
async def list_members(
    experiment_id: UUID,
    context: InContext,
    key: ApiKey,
    cohort_id: UUID | None = None,
    external_id: Annotated[
        str | None, Query(max_length=200, pattern=NO_NUL, description="Only the person with this id.")
    ] = None,
    after: UUID = _FIRST,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
) -> MemberList:
    """Looking for an external id is a deed (`GET /v1/deeds`): it joins a person to what they have done here."""
    async with context.database.transaction() as session:
        if external_id is not None:
            await keys.sign_in(session, key, context.clock.now(), scope="read", is_deed=True)
            keys.note(session, experiment_id)
        await owned(session, context, key, experiment_id, "read")
        rows = await reads.roster(
            session, experiment_id, cohort_id=cohort_id, external_id=external_id, after=after, most=limit + 1
        )
    page = rows[:limit]
    found = [member_resource(row) for row in page]
    return MemberList(
        members=sorted(found, key=lambda member: natural(member.path)),
        next_after=page[-1].id if len(rows) > limit else None,
    )


def member_resource(row: Any) -> MemberResource:
    """A member of whom `reads.roster` tells."""
    return MemberResource(
        id=row.id,
        path=row.path,
        kind=row.kind,
        player=row.player,
        profile=row.profile,
        agent=row.agent_config,
        status=row.status,
        status_reason=row.status_reason,
        stage_id=row.stage_ids[row.position] if row.position < len(row.stage_ids) else None,
        stage_ids=row.stage_ids,
        cohort_id=row.cohort_id,
        cohort=row.cohort_name,
        treatment_id=row.treatment_id,
        allocated=row.allocated,
        joining=row.joining,
        added_by=row.added_by,
        is_test=row.is_test,
        created_at=row.created_at,
        joined_at=row.joined_at,
        arrived_at=row.arrived_at,
        paused_at=row.paused_at,
        gone_at=row.gone_at,
        ended_at=row.ended_at,
    )


@router.post("/members/{member_id}/remove", summary="Take a member out of the experiment for good")
async def remove(member_id: UUID, body: RemovalRequest, context: InContext, key: UrgentKey) -> MemberResource:
    """A person, an agent or a mediator. In an open attention check it has failed that. A group that waited for the
    member is looked at again. Idempotent."""

    async def change(session: Session, standing: Standing, actor: str, now: datetime) -> None:
        outcome = lives.outcome(standing.status, "remove")
        await advancing.end_member(session, standing, outcome, body.reason, now, cause="request", actor=actor)

    return await _changed(context, key, member_id, change, reason=body.reason)


@router.post("/members/{member_id}/pause", summary="Pause a member")
async def pause(
    member_id: UUID, context: InContext, key: UrgentKey, body: ReasonRequest | None = None
) -> MemberResource:
    """A person, an agent or a mediator. From the answer on it is asked nothing, and pays nothing; its timers keep the
    time that they had left, and stages wait for it no more. A call in flight is kept, and used after the pause. What a
    person sends is refused with the reason `paused`. Idempotent."""

    async def change(session: Session, standing: Standing, actor: str, now: datetime) -> None:
        await holding.pause_member(session, standing, now, cause="request", actor=actor)

    return await _changed(context, key, member_id, change, reason=(body or ReasonRequest()).reason)


@router.post("/members/{member_id}/resume", summary="Let a paused member go on")
async def resume(
    member_id: UUID, context: InContext, key: UrgentKey, body: ReasonRequest | None = None
) -> MemberResource:
    """It goes on where it was. Idempotent."""

    async def change(session: Session, standing: Standing, actor: str, now: datetime) -> None:
        await holding.resume_member(session, standing, now, cause="request", actor=actor)

    return await _changed(context, key, member_id, change, reason=(body or ReasonRequest()).reason)


@router.post("/members/{member_id}/check", summary="Ask a member whether they are still there")
async def check(member_id: UUID, context: InContext, key: ApiKey, body: CheckRequest | None = None) -> MemberResource:
    """How long they have, and what happens without an answer, the file says (`attention_checks`). Agents pass it in
    their next step. While one is open no other is sent."""
    wanted = body or CheckRequest()

    async def change(session: Session, standing: Standing, actor: str, now: datetime) -> None:
        await attention.send_check(session, standing, now, sent_by=actor, cause="request", words=wanted.text)

    return await _changed(context, key, member_id, change, reason=wanted.reason)


@router.post("/members/{member_id}/message", summary="Say something to a participant")
async def message(
    member_id: UUID, body: NoticeRequest, context: InContext, key: UrgentKey, once: InOnce
) -> MemberResource:
    """It is on the participant's own page (`notices` in `GET /v1/me`) until they have read it, and no one else is
    told. Each request is a notice of its own, but the same one again under an `Idempotency-Key`."""

    async def change(session: Session, standing: Standing, actor: str, now: datetime) -> None:
        await notices.send_notice(session, standing, body.text, now, sent_by=actor)

    work = _changing(context, key, member_id, change, reason=body.reason)
    return await once.transact(MemberResource, work, sign_in=by_key(context, key))


@router.post("/members/{member_id}/view", status_code=201, summary="See what a participant sees")
async def view(member_id: UUID, context: InContext, key: ApiKey, body: ViewRequest | None = None) -> ViewToken:
    """A token with which `GET /v1/me` and all that can be read below it answer as to the participant; what writes
    refuses it (403). It does not make the participant present, and its use is counted. Each request gives another."""
    seconds = (body or ViewRequest()).seconds

    async def work(session: Session) -> ViewToken:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="read")
        await ownership.check_member(session, member_id, owner.id)
        standing = await standings.lock_standing(session, member_id)
        token, until = await viewing.open_view(session, standing, now, seconds=seconds, actor=owner.name)
        return ViewToken(token=token, expires_at=until)

    return await context.database.transact(work)


@router.post("/members/{member_id}/transfer", summary="Offer a participant a place in another cohort")
async def transfer(member_id: UUID, body: TransferRequest, context: InContext, key: ApiKey) -> MemberResource:
    """They keep their id, their answers and the stage on which they are; the other cohort must have it. Without an
    answer in time their part is over (`transfer_timed_out`). Agents answer in their next step, as their persona
    says."""

    async def change(session: Session, standing: Standing, actor: str, now: datetime) -> None:
        await transferring.offer(session, standing, body.cohort_id, now, seconds=body.seconds, actor=actor)

    return await _changed(context, key, member_id, change, reason=body.reason)


async def _changed(context: Context, key: str, member_id: UUID, change: Change, *, reason: str = "") -> MemberResource:
    return await context.database.transact(_changing(context, key, member_id, change, reason=reason))


def _changing(
    context: Context, key: str, member_id: UUID, change: Change, *, reason: str = ""
) -> Callable[[Session], Awaitable[MemberResource]]:
    """Gives the member after `change`, which holds its lock."""

    async def work(session: Session) -> MemberResource:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        keys.note(session, await ownership.check_member(session, member_id, owner.id), reason)
        await change(session, await standings.lock_standing(session, member_id), owner.name, now)
        return member_resource(await reads.roster_entry(session, member_id))

    return work
