"""What participants do with messages besides writing them: react, and take that back."""

from collections.abc import Awaitable, Callable, Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from fastapi import APIRouter

from parley_lab.gateway.context import Context, InContext, MemberToken
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.threads import MessageResource, Reaction
from parley_lab.members.standings import hash_token
from parley_lab.store.session import Session
from parley_lab.talk import reactions

router = APIRouter(prefix="/v1/me/messages/{message_id}/reactions", tags=["participants"], route_class=Route)

Change = Callable[[Session, UUID, str, str, datetime], Awaitable[Mapping[str, Any]]]


@router.put("/{reaction}", summary="React to a message")
async def react(message_id: UUID, reaction: Reaction, context: InContext, token: MemberToken) -> MessageResource:
    """Sent again it changes nothing. The answer is the message with its reactions."""
    return await _changed(context, token, message_id, reaction, reactions.react)


@router.delete("/{reaction}", summary="Take a reaction back")
async def unreact(message_id: UUID, reaction: Reaction, context: InContext, token: MemberToken) -> MessageResource:
    """Taking back what is not there changes nothing."""
    return await _changed(context, token, message_id, reaction, reactions.unreact)


async def _changed(
    context: Context, token: str, message_id: UUID, reaction: Reaction, change: Change
) -> MessageResource:
    async def work(session: Session) -> MessageResource:
        message = await change(session, message_id, hash_token(token), reaction, context.clock.now())
        return MessageResource.model_validate(message)

    return await context.database.transact(work)
