"""What participants say in conversations, and read there."""

from typing import Annotated, Any
from uuid import UUID

import orjson
import structlog
from fastapi import APIRouter, Query
from fastapi.responses import Response

from parley_lab.base.errors import Conflict, InvalidInput, NotFound, Problem, Unavailable
from parley_lab.gateway import pages
from parley_lab.gateway.context import Context, InContext, MemberToken, ReaderToken, reader_of
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.participants import GoOnRequest
from parley_lab.gateway.resources.threads import MessageList, MessageRequest, MessageResource, TypingRequest
from parley_lab.members import standings
from parley_lab.members.standings import hash_token
from parley_lab.store.session import Session
from parley_lab.talk import conversation, posting
from parley_lab.talk import pages as reads
from parley_lab.talk.typing_hints import LASTS_MS, send_by_person

log = structlog.get_logger(__name__)
router = APIRouter(prefix="/v1/me/threads", tags=["participants"], route_class=Route)


@router.get("/{thread_id}/messages", summary="What was said")
async def messages(
    thread_id: UUID,
    context: InContext,
    token: ReaderToken,
    after_seq: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 200,
) -> MessageList:
    who = await reader_of(context, token)
    async with context.database.read() as session:
        reader = await reads.bearer(session, who.key)
        page = await reads.messages(session, thread_id, reader, after_seq=after_seq, most=limit)
        if reader.is_beyond(page.stage_id):
            standing = await standings.seen_by(session, who.key)
            pages.require_look_back(standing.design.stage(page.stage_id), at_all=True)
    return MessageList(
        messages=[MessageResource.model_validate(message) for message in page.messages],
        read_to=page.read_to,
        has_ended=page.has_ended,
    )


@router.post("/{thread_id}/messages", status_code=201, summary="Say something", response_model=MessageResource)
async def post_message(thread_id: UUID, body: MessageRequest, context: InContext, token: MemberToken) -> Response:
    """Posting the same again with the same `client_message_id` returns the stored message. Another text under an id
    that was used is refused (409, `id_used`)."""

    async with context.posts.turn(thread_id):
        posted = await _posted(context, thread_id, body, hash_token(token))
    # As it is: what the database gives is the resource, and this is the hottest route there is.
    return Response(orjson.dumps(posted), status_code=201, media_type="application/json")


async def _posted(context: Context, thread_id: UUID, body: MessageRequest, author: str) -> dict[str, Any]:
    async def work(session: Session) -> dict[str, Any]:
        if body.reply_to is not None:
            reader = await reads.bearer(session, author)
            if not await reads.has_message(session, thread_id, reader, body.reply_to):
                problem = Problem("reply_to", str(body.reply_to), "a message of this conversation")
                raise InvalidInput("The message answers one that is not there.", [problem])
        return await posting.post_message(
            session,
            thread_id,
            author,
            body.text,
            context.clock.now(),
            client_key=body.client_message_id,
            reply_to=body.reply_to,
        )

    async def quick() -> dict[str, Any] | None:
        return None if body.reply_to is not None else await _posted_unlocked(context, thread_id, body, author)

    try:
        return await context.database.transact(work, quick=quick)
    except NotFound:
        # Who holds no token is told so, wherever they post.
        async with context.database.read() as reading:
            await reads.bearer(reading, author)
        raise


async def _posted_unlocked(context: Context, thread_id: UUID, body: MessageRequest, author: str) -> dict[str, Any]:
    async with context.database.autocommit() as session:
        posted, is_to_be_looked_at = await posting.post_unlocked(
            session, thread_id, author, body.text, context.clock.now(), client_key=body.client_message_id
        )
    if is_to_be_looked_at:
        await _look_at(context, thread_id)
    return posted


async def _look_at(context: Context, thread_id: UUID) -> None:
    async def work(session: Session) -> None:
        await conversation.advance_thread(session, thread_id, context.clock.now(), cause="request", is_last=True)

    try:
        await context.database.transact(work)
    except Unavailable:
        # The message is stored, and the next one has the thread looked at.
        log.warning("thread.not_looked_at", thread=str(thread_id))


@router.post("/{thread_id}/typing", status_code=204, summary="Say that one is typing, or has stopped")
async def say_typing(thread_id: UUID, body: TypingRequest, context: InContext, token: MemberToken) -> None:
    """A hint, which is stored nowhere: the others' streams tell it (`thread.typing`). Say it again every few
    seconds; it is over six seconds after the last time, and with a message."""
    async with context.database.read() as session:
        for_ms = LASTS_MS if body.is_typing else 0
        if await send_by_person(session, hash_token(token), thread_id, for_ms=for_ms):
            return
        reader = await reads.bearer(session, hash_token(token))
        await reads.messages(session, thread_id, reader, after_seq=0, most=0)
    raise Conflict("You cannot say anything in this conversation now.", reason="not_in_thread")


@router.post("/{thread_id}/go-on", status_code=204, summary="Be done with the current topic")
async def go_on(thread_id: UUID, body: GoOnRequest, context: InContext, token: MemberToken) -> None:
    """When all who take part are done, the next topic begins. Idempotent."""

    async def work(session: Session) -> None:
        person = await reads.bearer(session, hash_token(token))
        await conversation.go_on_in_thread(session, thread_id, person.member_id, body.topic, context.clock.now())

    await context.database.transact(work)


@router.post("/{thread_id}/call-off", status_code=204, summary="Wait no longer for a reply")
async def call_off(thread_id: UUID, context: InContext, token: MemberToken) -> None:
    """In a private conversation: what is being thought about is dropped, and the person may write again."""

    async def work(session: Session) -> None:
        person = await reads.bearer(session, hash_token(token))
        await conversation.call_off_in_thread(session, thread_id, person.member_id, context.clock.now())

    await context.database.transact(work)
