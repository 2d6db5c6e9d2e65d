"""Reactions: one row per message, member and reaction, made and taken back under the lock of the thread."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import TextClause, text

from parley_lab.base.errors import Conflict, NotFound, Paused
from parley_lab.contracts import lives
from parley_lab.contracts.audience import may_read
from parley_lab.kinds.stages import parts_of
from parley_lab.members.designs import stage_of
from parley_lab.store.facts import Event
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row
from parley_lab.talk import pages
from parley_lab.talk.messages import reactions

_LOCK = text(
    """
    SELECT t.id, t.stage_id, t.scope, t.path, t.held, t.ended_at, e.id AS experiment_id, e.version, c.treatment_id,
        g.seq, g.member_id AS author_id, g.audience
    FROM threads t JOIN messages g ON g.thread_id = t.id
        JOIN cohorts c ON c.id = t.cohort_id JOIN experiments e ON e.id = c.experiment_id
    WHERE g.id = :message_id AND t.cohort_id = :cohort_id
    FOR NO KEY UPDATE OF t
    """
)
_ADD = text(
    """
    INSERT INTO reactions (message_id, member_id, reaction, reacted_at)
    VALUES (:message_id, :member_id, :reaction, :now)
    ON CONFLICT DO NOTHING
    """
)
_TAKE_BACK = text(
    "DELETE FROM reactions WHERE message_id = :message_id AND member_id = :member_id AND reaction = :reaction"
)
_OF_MESSAGE = text(f"SELECT {reactions(':message_id')}")


async def react(session: Session, message_id: UUID, token_hash: str, reaction: str, now: datetime) -> Mapping[str, Any]:
    """A member reacts to a message. Idempotent. Returns the message. Locks the thread.

    Raises:
        NotSignedIn: the token is unknown.
        NotFound: there is no such message, or the member may not read it.
        Conflict: the thread is over, the member is not (or no longer) in it, or it takes no reactions.
    """
    return await _change(session, message_id, token_hash, reaction, now, _ADD, "message.reacted")


async def unreact(
    session: Session, message_id: UUID, token_hash: str, reaction: str, now: datetime
) -> Mapping[str, Any]:
    """A member takes a reaction back; one that there is not is gone already. For the rest as `react`."""
    return await _change(session, message_id, token_hash, reaction, now, _TAKE_BACK, "message.unreacted")


async def _change(
    session: Session,
    message_id: UUID,
    token_hash: str,
    reaction: str,
    now: datetime,
    statement: TextClause,
    event_type: str,
) -> Mapping[str, Any]:
    member = await pages.bearer(session, token_hash)
    thread = await session.first(_LOCK, {"message_id": message_id, "cohort_id": member.cohort_id})
    # Once more: members leave the thread under its lock.
    member = await pages.bearer(session, token_hash)
    await _check(session, thread, member)
    assert thread is not None
    parameters = {"message_id": message_id, "member_id": member.member_id, "reaction": reaction, "now": now}
    if await session.run(statement, parameters):
        now_there = (await session.one(_OF_MESSAGE, {"message_id": message_id})).reactions
        _tell(session, thread, member, message_id, reaction, now_there, now, event_type)
    return await pages.message(session, message_id, member)


async def _check(session: ReadSession, thread: Row | None, member: pages.Bearer) -> None:
    """Refuse a member who cannot react here now, with the errors of `react`."""
    may_see = thread is not None and member.may_read_thread(thread.stage_id, thread.scope)
    if (
        thread is None
        or not may_see
        or not may_read(member.member_id, author=thread.author_id, audience=thread.audience)
    ):
        raise NotFound("There is no such message.")
    stage = await stage_of(session, thread.experiment_id, thread.version, thread.treatment_id, thread.stage_id)
    talk = parts_of(stage).talk
    if talk is None or not talk.rules.replies_and_reactions:
        raise Conflict("In this conversation there are no reactions.", reason="not_offered")
    if thread.ended_at is not None:
        raise Conflict("The conversation is over; nobody reacts in it any more.", reason="thread_ended")
    if thread.held:
        raise Paused
    lives.require_acting(member.status)
    if not member.is_on(thread.stage_id):
        raise Conflict("You are not in this conversation now.", reason="not_in_thread")


def _tell(
    session: Session,
    thread: Row,
    member: pages.Bearer,
    message_id: UUID,
    reaction: str,
    now_there: Any,
    now: datetime,
    event_type: str,
) -> None:
    """The event, for those who may read the message."""
    public = {
        "message_id": str(message_id),
        "thread_id": str(thread.id),
        "stage_id": thread.stage_id,
        "seq": thread.seq,
        "member_id": str(member.member_id),
        "reaction": reaction,
        "reactions": now_there,
    }
    readers = None if thread.audience is None else sorted({*thread.audience, thread.author_id} - {None})
    session.record(
        Event(
            experiment_id=member.experiment_id,
            cohort_id=member.cohort_id,
            type=event_type,
            actor=member.path,
            cause="request",
            subject=f"{thread.path}/{thread.seq}",
            subject_id=message_id,
            payload=public,
            public=public,
            audience=readers,
            at=now,
        )
    )
    session.tell(member.cohort_id)
