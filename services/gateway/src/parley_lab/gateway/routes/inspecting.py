"""Reading a run: one member, conversations with their drafts, all calls of models, and how much happened when."""

from collections.abc import Sequence
from datetime import timedelta
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query

from parley_lab.contracts.experiment import Slug
from parley_lab.data import inspecting
from parley_lab.data.inspecting import figures
from parley_lab.gateway import cursors
from parley_lab.gateway.context import ApiKey, InContext
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.gateway.resources.inspecting import (
    ActivityBucket,
    ActivityResource,
    AnswerList,
    AnswerResource,
    AttemptResource,
    CallItem,
    CallList,
    DraftItem,
    DraftList,
    DraftResource,
    MemberEvent,
    MemberEventList,
    SaidList,
    SaidResource,
    ThreadItem,
    ThreadItemList,
)
from parley_lab.gateway.resources.members import MemberResource
from parley_lab.gateway.routes.experiments import owned
from parley_lab.gateway.routes.members import member_resource
from parley_lab.store import keys, ownership
from parley_lab.store.places import Place
from parley_lab.talk import pages as reads

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)

After = Annotated[str | None, Query(max_length=100, pattern=NO_NUL, description="The `next_after` of the page before.")]
Limit = Annotated[int, Query(ge=1, le=1000)]
_Seq = Annotated[int | None, Query(ge=0, le=2**31 - 1)]


def _place(after: str | None) -> Place | None:
    return None if after is None else cursors.list_cursor(after)


def _next_after(rows: Sequence[Any], limit: int, time: str) -> str | None:
    """The cursor after the page, if there are more rows."""
    if len(rows) <= limit:
        return None
    last = rows[limit - 1]
    return cursors.list_cursor_text(Place(getattr(last, time), last.id))


@router.get("/members/{member_id}", summary="One member, private parts included")
async def member(member_id: UUID, context: InContext, key: ApiKey) -> MemberResource:
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        await ownership.check_member(session, member_id, owner.id)
        return member_resource(await reads.roster_entry(session, member_id))


@router.get("/members/{member_id}/events", summary="What a member did and what happened to them, the latest first")
async def events(
    member_id: UUID,
    context: InContext,
    key: ApiKey,
    before: Annotated[int | None, Query(ge=0, le=2**62, description="Only events with a smaller `seq`.")] = None,
    limit: Limit = 200,
) -> MemberEventList:
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        await ownership.check_member(session, member_id, owner.id)
        rows = await inspecting.events_of(session, member_id, before=before, most=limit + 1)
    page = rows[:limit]
    return MemberEventList(
        events=[MemberEvent.model_validate(row, from_attributes=True) for row in page],
        next_before=page[-1].seq if len(rows) > limit else None,
    )


@router.get("/members/{member_id}/answers", summary="All answers of a member, the oldest first")
async def answers(member_id: UUID, context: InContext, key: ApiKey) -> AnswerList:
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        await ownership.check_member(session, member_id, owner.id)
        rows = await inspecting.answers_of(session, member_id)
    return AnswerList(answers=[AnswerResource.model_validate(row, from_attributes=True) for row in rows])


@router.get("/members/{member_id}/drafts", summary="What was wanted of an agent, the latest first")
async def drafts_of_member(
    member_id: UUID, context: InContext, key: ApiKey, after: After = None, limit: Limit = 200
) -> DraftList:
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        await ownership.check_member(session, member_id, owner.id)
        rows = await inspecting.drafts_of_member(session, member_id, after=_place(after), most=limit + 1)
    return _draft_list(rows, limit)


@router.get("/threads/{thread_id}/drafts", summary="All drafts of a conversation, the oldest first")
async def drafts_of_thread(
    thread_id: UUID, context: InContext, key: ApiKey, after: After = None, limit: Limit = 1000
) -> DraftList:
    """Those with the same `trigger_key` and `wave` were asked at the same time; one of them may be `published`."""
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        await ownership.check_thread(session, thread_id, owner.id)
        rows = await inspecting.drafts_of_thread(session, thread_id, after=_place(after), most=limit + 1)
    return _draft_list(rows, limit)


def _draft_list(rows: Sequence[Any], limit: int) -> DraftList:
    return DraftList(
        drafts=[DraftItem.model_validate(figures(row)) for row in rows[:limit]],
        next_after=_next_after(rows, limit, "created_at"),
    )


@router.get("/drafts/{draft_id}", summary="One draft with each attempt at it")
async def draft(draft_id: UUID, context: InContext, key: ApiKey) -> DraftResource:
    """What was sent is at `/v1/drafts/{id}/prompt`."""
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        await ownership.check_draft(session, draft_id, owner.id)
        found, reply, attempts = await inspecting.draft(session, draft_id)
    return DraftResource(
        **DraftItem.model_validate(figures(found)).model_dump(),
        reply=reply,
        attempts=[AttemptResource.model_validate(figures(row)) for row in attempts],
    )


@router.get("/experiments/{experiment_id}/threads", summary="The conversations of an experiment, the oldest first")
async def threads(
    experiment_id: UUID,
    context: InContext,
    key: ApiKey,
    stage: Slug | None = None,
    cohort: UUID | None = None,
    state: Annotated[
        Literal["open", "ended"] | None, Query(description="Only those that go on, or have ended.")
    ] = None,
    q: Annotated[
        str | None,
        Query(max_length=200, pattern=NO_NUL, description="Only those in which these words were said."),
    ] = None,
    after: After = None,
    limit: Limit = 100,
) -> ThreadItemList:
    is_open = None if state is None else state == "open"
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
        rows = await inspecting.threads(
            session,
            experiment_id,
            stage_id=stage,
            cohort_id=cohort,
            is_open=is_open,
            words=q or None,
            after=_place(after),
            most=limit + 1,
        )
    return ThreadItemList(
        threads=[ThreadItem.model_validate(figures(row)) for row in rows[:limit]],
        next_after=_next_after(rows, limit, "opened_at"),
    )


@router.get("/threads/{thread_id}/messages", summary="What was said, private parts included")
async def messages(
    thread_id: UUID,
    context: InContext,
    key: ApiKey,
    after_seq: _Seq = None,
    before_seq: _Seq = None,
    limit: Limit = 200,
) -> SaidList:
    """The oldest first: from the beginning, after a number, or the last ones before a number. With the trigger and the
    explanation of agents, and who may read it."""
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        await ownership.check_thread(session, thread_id, owner.id)
        rows = await inspecting.messages(session, thread_id, after_seq=after_seq, before_seq=before_seq, most=limit)
    return SaidList(
        messages=[SaidResource.model_validate({**row._asdict(), "reactions": row.reactions or []}) for row in rows]
    )


@router.get("/experiments/{experiment_id}/calls", summary="All calls of models")
async def calls(
    experiment_id: UUID,
    context: InContext,
    key: ApiKey,
    cohort: UUID | None = None,
    member: UUID | None = None,
    stage: Slug | None = None,
    status: Annotated[
        Slug | None, Query(description="Only those with this status; `failed`: all that are not `ok`.")
    ] = None,
    order: Literal["newest", "oldest"] = "newest",
    after: After = None,
    limit: Limit = 200,
) -> CallList:
    """Failed attempts are calls, too. Without prompts and replies, which the draft has."""
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
        rows = await inspecting.calls(
            session,
            experiment_id,
            cohort_id=cohort,
            member_id=member,
            stage_id=stage,
            status=status,
            is_newest_first=order == "newest",
            after=_place(after),
            most=limit + 1,
        )
    return CallList(
        calls=[CallItem.model_validate(figures(row)) for row in rows[:limit]],
        next_after=_next_after(rows, limit, "started_at"),
    )


@router.get("/experiments/{experiment_id}/activity", summary="How much happened when")
async def activity(
    experiment_id: UUID,
    context: InContext,
    key: ApiKey,
    minutes: Annotated[
        int | None, Query(ge=1, le=60 * 24 * 365, description="The last ones; left out: from the start to the end.")
    ] = None,
    buckets: Annotated[int, Query(ge=1, le=500)] = 60,
) -> ActivityResource:
    now = context.clock.now()
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
        since, until = await inspecting.span(session, experiment_id, now)
        if minutes is not None:
            since, until = now - timedelta(minutes=minutes), now
        rows = await inspecting.activity(session, experiment_id, since, until, buckets)
    seconds = max(1.0, (until - since).total_seconds()) / buckets
    found = [
        ActivityBucket.model_validate({**figures(row), "at": since + timedelta(seconds=seconds * row.bucket)})
        for row in rows
    ]
    return ActivityResource(since=since, until=until, seconds=seconds, buckets=found)
