"""What participants do: join, see where they are, answer and go on, talk, follow, leave."""

from collections.abc import AsyncGenerator
from contextlib import aclosing
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

import orjson
from fastapi import APIRouter, Header, Query
from fastapi.responses import Response, StreamingResponse
from fastapi.sse import EventSourceResponse

from gateway import cursors, pages
from gateway.context import Context, InContext, MemberToken
from gateway.eyes import MemberEyes
from gateway.live import RETRY_MS
from gateway.resources.participants import (
    AdvanceRequest,
    AnsweredAsk,
    AnswerRequest,
    GoOnRequest,
    Joined,
    JoinRequest,
    Me,
    Page,
    StagePage,
)
from gateway.resources.threads import MessageList, MessageRequest, MessageResource
from shared.acts import advancing, answering, asking, conversation, joining
from shared.acts.asking import FoundAsk
from shared.contracts.experiment import Profile, Slug
from shared.db import pages as reads
from shared.db import standings
from shared.db.session import Session
from shared.db.standings import Standing, hash_token
from shared.errors import Conflict, InvalidInput, NotFound, Paused, Problem
from shared.stage import PAGE, Ask, Json
from shared.stages import kind_of
from shared.urgency import Urgency, urgency

router = APIRouter(prefix="/v1", tags=["participants"])

EVENTS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Events as they happen; the `data` of each is a StreamEvent.",
        "content": {"text/event-stream": {"schema": {"type": "string"}}},
    }
}
STREAM_HEADERS = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
StreamCursor = Annotated[
    str | None,
    Query(description="Where to go on; left out: from now. `start`: from the first event.", max_length=50_000),
]
LastEventId = Annotated[
    str | None, Header(description="Sent by browsers on reconnect; wins over `after`.", max_length=50_000)
]


@router.post("/experiments/{experiment_id}/join", status_code=201, summary="Take the next open seat")
async def join(experiment_id: UUID, context: InContext, body: JoinRequest | None = None) -> Joined:
    """The token in the answer is shown this once; it is the key to everything below `/v1/me`."""
    urgency.set(Urgency.PERSON)
    wanted = body or JoinRequest()
    profile = Profile(**wanted.profile.model_dump()) if wanted.profile else None

    async def work(session: Session) -> Joined:
        now = context.clock.now()
        member_id, token = await joining.join(session, experiment_id, now, cohort_id=wanted.cohort_id, profile=profile)
        standing = await standings.sign_in(session, token, lock=False)
        cursor = await reads.cursor(session, standing.cohort_id)
        return Joined(member_id=member_id, token=token, me=pages.me(standing, cursor))

    return await context.decide(work)


@router.get("/me", summary="Everything that the shell of the page shows")
async def who_am_i(context: InContext, token: MemberToken) -> Me:
    async with context.database.transaction() as session:
        cursor = await reads.cursor_of_token(session, hash_token(token))
        return pages.me(await standings.sign_in(session, token, lock=False), cursor)


@router.get("/me/stages/{stage_id}", summary="Everything that one stage shows")
async def stage(stage_id: Slug, context: InContext, token: MemberToken) -> StagePage:
    async with context.database.transaction() as session:
        standing = await standings.sign_in(session, token, lock=False)
        index = _index(standing, stage_id)
        if index > standing.position:
            raise Conflict("You have not come to this stage yet.", reason="stage_not_reached")
        company = await reads.company(session, standing.cohort_id, standing.member.id)
    return pages.stage_page(standing, standing.design.stage(stage_id), company, context.clock.now())


@router.post("/me/stages/{stage_id}/advance", summary="Answer and go on, in one request")
async def advance(stage_id: Slug, context: InContext, token: MemberToken, body: AdvanceRequest | None = None) -> Page:
    """The answer is the page where the participant is afterwards. Going on twice from one stage is going on once."""
    request = body or AdvanceRequest()
    if request.from_stage_id not in (None, stage_id):
        problem = Problem("from_stage_id", repr(request.from_stage_id), f"{stage_id!r}, as in the path")
        raise InvalidInput("The request names two stages.", [problem])

    async def work(session: Session) -> Page:
        standing = await standings.sign_in(session, token, lock=True)
        if _index(standing, stage_id) >= standing.position:
            await _leave_stage(session, context, standing, stage_id, request.answer)
        return await _page(session, context, token)

    return await context.decide(work)


def _index(standing: Standing, stage_id: str) -> int:
    if stage_id not in standing.stage_ids:
        raise NotFound(f"There is no stage {stage_id!r} here.")
    return standing.stage_ids.index(stage_id)


async def _leave_stage(session: Session, context: Context, standing: Standing, stage_id: str, answer: Json) -> None:
    """Store the answer and move on.

    Raises:
        InvalidInput: the answer is not one.
        Conflict: the participant is not there, or cannot go on.
    """
    current = standing.stage
    if not standing.is_in_progress:
        raise Conflict("You are not taking part any more.", reason="not_in_progress")
    if standing.is_paused:
        raise Paused
    if current is None or current.id != stage_id:
        raise Conflict("You have not come to this stage yet.", reason="stage_not_reached")
    if standing.is_locked:
        raise Conflict("This stage is not open yet; wait for the others.", reason="stage_locked")
    kind = kind_of(current)
    now = context.clock.now()
    view = standing.view(current, now)
    value = kind.page_answer(current, view) if answer is None else None
    if value is None:
        page = Ask(standing.member.id, PAGE, "page")
        value = kind.check_answer(current, page, {} if answer is None else answer, view)
    blocked_by = kind.blocked_by(current, standing.with_answer(current.id, PAGE, value).view(current, now))
    if blocked_by:
        raise Conflict(" ".join(blocked_by), reason="blocked")
    await advancing.write_page(session, standing, value, now)
    await advancing.move_on(session, standing, now, cause="request")


async def _page(session: Session, context: Context, token: str) -> Page:
    """Read anew, because others may have moved meanwhile."""
    cursor = await reads.cursor_of_token(session, hash_token(token))
    standing = await standings.sign_in(session, token, lock=False)
    company = await reads.company(session, standing.cohort_id, standing.member.id) if standing.stage else None
    return pages.page(standing, cursor, company, context.clock.now())


@router.post("/me/asks/{ask_id}/answer", summary="Answer what the lab wants now")
async def answer_ask(ask_id: UUID, body: AnswerRequest, context: InContext, token: MemberToken) -> AnsweredAsk:
    """An answer is final. The same answer again gives what stands; what follows from it, the live stream tells."""

    async def work(session: Session) -> AnsweredAsk:
        standing = await standings.sign_in(session, token, lock=True)
        found = await asking.find(session, ask_id, standing.member.id)
        value = found.answer if found.state == "answered" else None
        if found.state == "open":
            value = await _answered(session, context, standing, found, body.answer)
        elif found.state != "answered" or not _is_same(standing, found, body.answer, context.clock.now()):
            raise Conflict("This is not asked any more; the page shows what is.", reason="ask_closed")
        shown = kind_of(standing.design.stage(found.stage_id)).shown_answer(value)
        return AnsweredAsk(ask_id=ask_id, stage_id=found.stage_id, key=found.ask.key, answer=shown)

    return await context.decide(work)


async def _answered(session: Session, context: Context, standing: Standing, found: FoundAsk, answer: Json) -> Json:
    """Store the answer to an open ask, and have the cohort settled because of it.

    Raises:
        InvalidInput: the answer is not one.
        Conflict: the participant is not there any more.
    """
    if not standing.is_in_progress or standing.stage is None or standing.stage.id != found.stage_id:
        raise Conflict("You are not on this stage any more.", reason="ask_closed")
    if standing.is_paused:
        raise Paused
    now = context.clock.now()
    value = _checked(standing, found, answer, now)
    await answering.answer(session, found.id, value, now)
    answering.record_answer(session, standing, found.stage_id, found.ask, value, now, cause="request")
    return value


def _checked(standing: Standing, found: FoundAsk, answer: Json, now: datetime) -> Json:
    stage = standing.design.stage(found.stage_id)
    return kind_of(stage).check_answer(stage, found.ask, answer, standing.view(stage, now))


def _is_same(standing: Standing, found: FoundAsk, answer: Json, now: datetime) -> bool:
    """Whether this answer is the one that stands, as it was sent or as it was stored."""
    if answer == found.answer:
        return True
    try:
        return bool(_checked(standing, found, answer, now) == found.answer)
    except InvalidInput:
        return False


@router.get("/me/threads/{thread_id}/messages", summary="What was said")
async def messages(
    thread_id: UUID,
    context: InContext,
    token: MemberToken,
    after_seq: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> MessageList:
    async with context.database.transaction() as session:
        reader = await reads.bearer(session, hash_token(token))
        page = await reads.messages(session, thread_id, reader, after_seq=after_seq, most=limit)
    return MessageList(
        messages=[MessageResource.model_validate(message) for message in page.messages],
        read_to=page.read_to,
        has_ended=page.has_ended,
    )


@router.post(
    "/me/threads/{thread_id}/messages", status_code=201, summary="Say something", response_model=MessageResource
)
async def post_message(thread_id: UUID, body: MessageRequest, context: InContext, token: MemberToken) -> Response:
    """Posting the same again with the same `client_message_id` gives the message that stands. Another text under an id
    that was used is refused (409, `id_used`)."""

    async def work(session: Session) -> bytes:
        if body.reply_to is not None:
            author = await reads.bearer(session, hash_token(token))
            if not await reads.has_message(session, thread_id, author, body.reply_to):
                problem = Problem("reply_to", str(body.reply_to), "a message of this conversation")
                raise InvalidInput("The message answers one that is not there.", [problem])
        try:
            posted = await conversation.post_message(
                session,
                thread_id,
                hash_token(token),
                body.text,
                context.clock.now(),
                client_key=body.client_message_id,
                reply_to=body.reply_to,
            )
        except NotFound:
            # Who holds no token is told so, wherever they post.
            await reads.bearer(session, hash_token(token))
            raise
        return orjson.dumps(posted)

    # As it is: what the database gives is the resource, and this is the hottest route there is.
    return Response(await context.decide(work), status_code=201, media_type="application/json")


@router.post("/me/threads/{thread_id}/go-on", status_code=204, summary="Be done with the current topic")
async def go_on(thread_id: UUID, body: GoOnRequest, context: InContext, token: MemberToken) -> None:
    """When all who take part are done, the next topic begins. Saying so twice is saying it once."""

    async def work(session: Session) -> None:
        person = await reads.bearer(session, hash_token(token))
        await conversation.go_on_in_thread(session, thread_id, person.member_id, body.topic, context.clock.now())

    await context.decide(work)


@router.post("/me/threads/{thread_id}/call-off", status_code=204, summary="Wait no longer for a reply")
async def call_off(thread_id: UUID, context: InContext, token: MemberToken) -> None:
    """In a private conversation: what is being thought about is dropped, and the person may write again."""

    async def work(session: Session) -> None:
        person = await reads.bearer(session, hash_token(token))
        await conversation.call_off_in_thread(session, thread_id, person.member_id, context.clock.now())

    await context.decide(work)


@router.get(
    "/me/stream",
    response_class=StreamingResponse,
    summary="Follow what happens (server-sent events)",
    responses=EVENTS,
)
async def stream(
    context: InContext, token: MemberToken, after: StreamCursor = None, last_event_id: LastEventId = None
) -> StreamingResponse:
    """Once the participant is out, nothing more is told to them: the stream ends, and a new one is refused."""
    async with context.database.transaction() as session:
        # Before the reader: what happens to them in between is in the stream.
        newest = await reads.cursor_of_token(session, hash_token(token))
        reader = await reads.bearer(session, hash_token(token))
    if reader.is_out:
        raise Conflict("You are not taking part any more.", reason="not_in_progress")
    cursor = last_event_id or after
    # Never ahead of what was known of the reader, or the stream would miss what happens to them.
    position = min(cursors.cohort_cursor(cursor, reader.cohort_id), newest) if cursor else newest
    return EventSourceResponse(_events_of(context, reader, position), headers=STREAM_HEADERS)


async def _events_of(context: Context, reader: reads.Bearer, position: int) -> AsyncGenerator[bytes, None]:
    eyes = MemberEyes(reader)
    yield f"retry: {RETRY_MS}\nid: {reader.cohort_id}:{position}\n\n".encode()
    async with aclosing(context.live.follow({reader.cohort_id: position}, eyes.see)) as chunks:
        async for chunk in chunks:
            yield chunk
            if eyes.are_shut:
                return


@router.post("/me/leave", summary="Leave the experiment for good")
async def leave(context: InContext, token: MemberToken) -> Me:
    """Leaving twice is leaving once."""

    async def work(session: Session) -> Me:
        standing = await standings.sign_in(session, token, lock=True)
        await advancing.end_member(session, standing, "left", "left", context.clock.now(), cause="request")
        cursor = await reads.cursor(session, standing.cohort_id)
        return pages.me(await standings.sign_in(session, token, lock=False), cursor)

    return await context.decide(work)
