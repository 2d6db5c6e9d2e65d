"""Test chats: an experimenter talks to a persona of the library before it takes part in anything."""

import asyncio
from typing import Annotated, Final
from uuid import UUID

from fastapi import APIRouter, Query

from parley_lab.base.urgency import Urgency, urgency
from parley_lab.contracts.experiment import PersonaId
from parley_lab.design.persona_chat import chat_with, why_no_reply
from parley_lab.experiments import persona_chats, personas
from parley_lab.gateway.context import ApiKey, Context, InContext
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.personas import PersonaChat, PersonaMessage, PersonaMessageRequest, ReplyFailure
from parley_lab.gateway.routes.experiments import require_models
from parley_lab.store import keys
from parley_lab.store.session import Session

router = APIRouter(prefix="/v1/personas", tags=["personas"], route_class=Route)

_LONGEST_WAIT_SECONDS: Final = 30


@router.post("/{persona_id}/chat", status_code=201, summary="Say something to a persona")
async def say(persona_id: PersonaId, body: PersonaMessageRequest, context: InContext, key: ApiKey) -> PersonaMessage:
    """The answer is your message. The reply comes when the model has it: follow the chat, or its experiment's stream.
    Until then a further message is refused (409, `awaiting_reply`). The same `client_message_id` again returns the
    stored message; another text under it is refused (409, `id_used`)."""
    # An experimenter waits for the persona's reply as a participant would.
    urgency.set(Urgency.PERSON)

    async def work(session: Session) -> PersonaMessage:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        persona = (await personas.find(session, owner.id, persona_id)).persona
        await require_models(session, context, chat_with(persona, body.model_mode), body.model_mode)
        said = await persona_chats.say(
            session,
            owner.id,
            persona_id,
            persona,
            body.text,
            now,
            client_key=body.client_message_id,
            mode=body.model_mode,
        )
        return _message(said)

    async def go_on(session: Session) -> None:
        now = context.clock.now()
        owner = await keys.require_scope(session, key, now, "write")
        await persona_chats.go_on(session, owner.id, persona_id, now)

    await context.database.transact(go_on)
    return await context.database.transact(work)


@router.get("/{persona_id}/chat", summary="What was said in the test chat with a persona")
async def show(
    persona_id: PersonaId,
    context: InContext,
    key: ApiKey,
    after_seq: Annotated[int, Query(ge=0, le=2**31 - 1)] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 1000,
    wait_seconds: Annotated[
        float, Query(ge=0, le=_LONGEST_WAIT_SECONDS, description="Wait so long for a reply that is awaited.")
    ] = 0,
) -> PersonaChat:
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        await personas.find(session, owner.id, persona_id)
        chat = await _chat(session, owner.id, persona_id, after_seq, limit)
    if chat.is_awaiting_reply and wait_seconds:
        chat = await _once_answered(context, owner.id, chat, after_seq, limit, wait_seconds)
    return chat


async def _once_answered(
    context: Context, owner_id: UUID, chat: PersonaChat, after_seq: int, limit: int, wait_seconds: float
) -> PersonaChat:
    """The chat when the reply is there or has failed, or as it is when the time is over; no connection is held."""
    clock = asyncio.get_running_loop().time
    until = clock() + wait_seconds
    while chat.is_awaiting_reply and clock() < until:
        # It listens before it looks, so that nothing falls between.
        news = asyncio.create_task(context.live.wait_for_news())
        try:
            async with context.database.transaction() as session:
                chat = await _chat(session, owner_id, chat.persona_id, after_seq, limit)
            if chat.is_awaiting_reply:
                await asyncio.wait({news}, timeout=max(0.0, until - clock()))
        finally:
            news.cancel()
    return chat


async def _chat(session: Session, owner_id: UUID, persona_id: str, after_seq: int, limit: int) -> PersonaChat:
    chat = await persona_chats.find(session, owner_id, persona_id, after_seq=after_seq, most=limit)
    return PersonaChat(
        persona_id=persona_id,
        experiment_id=chat.experiment_id if chat else None,
        model_mode=chat.model_mode if chat else None,
        is_awaiting_reply=chat is not None and chat.is_awaiting_reply,
        messages=[_message(line) for line in chat.lines] if chat else [],
        next_after_seq=chat.lines[-1].seq if chat and chat.has_more else None,
    )


@router.delete("/{persona_id}/chat", status_code=204, summary="Clear the test chat with a persona")
async def clear(persona_id: PersonaId, context: InContext, key: ApiKey) -> None:
    """The next message begins a new one. Idempotent."""

    async def work(session: Session) -> None:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        await personas.find(session, owner.id, persona_id)
        await persona_chats.clear(session, owner.id, persona_id, now)

    await context.database.transact(work)


def _message(line: persona_chats.Line) -> PersonaMessage:
    return PersonaMessage(
        id=line.id,
        seq=line.seq,
        author="persona" if line.is_persona else "you",
        text=line.text,
        created_at=line.created_at,
        reply=line.reply,
        failure=ReplyFailure(code=line.failure, detail=why_no_reply(line.failure)) if line.failure else None,
    )
