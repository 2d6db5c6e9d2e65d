"""A person says something in a conversation."""

from dataclasses import replace
from datetime import datetime
from math import ceil
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import Conflict, NotFound, Paused, TooSoon
from parley_lab.contracts import lives
from parley_lab.contracts.audience import quote_of
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import Member
from parley_lab.kinds.chat.config import PostLimit
from parley_lab.kinds.stages import parts_of
from parley_lab.members.designs import stage_of
from parley_lab.store.batches import read_for_many
from parley_lab.store.failures import DeadlockDetected, StaleRead
from parley_lab.store.session import Session
from parley_lab.store.statements import Row
from parley_lab.talk import Change, NewMessage, Scene, public_message, say, view_of
from parley_lab.talk.messages import QUOTED, joined, reactions
from parley_lab.talk.said import write_unlocked
from parley_lab.talk.scenes import AROUND, LAST, UNLOCKED, around, around_params, locked_thread, scene_of
from parley_lab.talk.stored_changes import advance, decided, is_whole, write

# The author; the stored message when this one was posted before; and when the author stored the message that is as many
# back as a post limit allows.
_POSTED = f"""
    author.id AS author_id, posted.id AS posted_id, posted.seq, posted.elapsed_ms, posted.text,
    posted.created_at, posted.reply_to, posted.topic,
    (SELECT p.created_at FROM messages p WHERE p.thread_id = :thread_id AND p.member_id = author.id
        ORDER BY p.seq DESC OFFSET CAST(:posts AS int) - 1 LIMIT 1) AS limiting_at,
    {QUOTED}, {reactions("posted.id")}
"""  # noqa: S608 - put together from constants


def _by_author(cohort_id: str) -> str:
    """The joins for _POSTED; the argument is a column or parameter of the statement."""
    return f"""
        LEFT JOIN members author ON author.cohort_id = {cohort_id}
            AND (author.id = :author_id OR author.token_hash = :token_hash)
        LEFT JOIN messages posted ON posted.thread_id = :thread_id AND posted.member_id = author.id
            AND posted.client_key = :client_key
        {joined("coalesce(posted.reply_to, CAST(:reply_to AS uuid))", ":thread_id")}
    """


_POSTING = text(f"{AROUND}, {_POSTED} {LAST} {_by_author(':cohort_id')}")
_POSTING_UNLOCKED = read_for_many(
    f"SELECT t.*, {around('t.')}, {_POSTED} {UNLOCKED} {_by_author('t.cohort_id')}",
    thread_id="uuid",
    author_id="uuid",
    token_hash="text",
    client_key="text",
    reply_to="uuid",
    posts="int",
)

_USUAL_POSTS: Final = PostLimit().posts
KEY_USED: Final = "You have said something else under this client_message_id; give each new message a new one."
OVER: Final = "The conversation is over; nothing can be said in it any more."
_NOT_HERE = "Nothing is posted here: answer the question that is put to you."
_UNKNOWN = "There is no such conversation."


async def post_message(
    session: Session,
    thread_id: UUID,
    author: UUID | str,
    message_text: str,
    now: datetime,
    *,
    client_key: str,
    reply_to: UUID | None = None,
) -> dict[str, Any]:
    """A person says something; the same `client_key` again returns the stored message.

    `author` is the member's id, or the hash of their token. Returns the public message. Locks the thread.

    Raises:
        NotFound: there is no such thread, or not for this author.
        Conflict: the thread is over, the person is not (or no longer) in it, or has said something else under this key.
        TooSoon: the person has posted as much as they may for now.
    """
    row = await locked_thread(session, thread_id)
    limit = _limit_of(await stage_of(session, row.experiment_id, row.version, row.treatment_id, row.stage_id))
    posted = await session.one(
        _POSTING, {**around_params(row), **_of(author, client_key, reply_to), "posts": limit and limit[0]}
    )
    scene = await scene_of(session, row, posted, now)
    person = _author_in(scene, posted)
    if posted.posted_id is not None:
        return _as_posted(scene, person, posted, message_text)
    _require_may_post(scene, person, posted, reply_to)
    scene, change = await decided(
        session, scene, lambda known: say(known, person, message_text, client_key=client_key, reply_to=reply_to)
    )
    change = _quoting(change, posted)
    await advance(session, await write(session, scene, change, cause="request", is_last=True), cause="request")
    return public_message(scene, change.messages[0])


async def post_unlocked(
    session: Session, thread_id: UUID, author: UUID | str, message_text: str, now: datetime, *, client_key: str
) -> tuple[dict[str, Any], bool]:
    """The same by two statements and without a lock (`Database.autocommit`), for a message that answers none.

    Under load they serve several messages of other threads, too.

    Also returns whether something else has happened in the cohort meanwhile. A member who came to the thread then has
    not been asked about this message: have the thread looked at (`advance_thread`).

    Raises:
        StaleRead: nothing was stored: the thread is locked or has changed since it was read, or more follows
            from the message than one statement writes. Post it under the lock.
        NotFound, Conflict, TooSoon: as `post_message` does.
    """
    place = {"thread_id": thread_id, "posts": _USUAL_POSTS, **_of(author, client_key, None)}
    row = await session.first_for_many(_POSTING_UNLOCKED, place)
    if row is None:
        raise NotFound(_UNKNOWN)
    scene = await scene_of(session, row, row, now)
    limit = _limit_of(scene.stage)
    # What workers do with drafts does not always change the thread.
    if scene.drafts or (limit is not None and limit[0] != _USUAL_POSTS):
        raise StaleRead
    person = _author_in(scene, row)
    if row.posted_id is not None:
        return _as_posted(scene, person, row, message_text), False
    _require_may_post(scene, person, row, None)
    change = say(scene, person, message_text, client_key=client_key)
    if not is_whole(change):
        raise StaleRead
    try:
        before = await write_unlocked(session, scene, change, "request", seen=row.seen)
    except DeadlockDetected as error:
        raise StaleRead from error
    if before is None:
        raise StaleRead
    return public_message(scene, change.messages[0]), before != row.cursor


def _of(author: UUID | str, client_key: str, reply_to: UUID | None) -> dict[str, Any]:
    return {
        "author_id": author if isinstance(author, UUID) else None,
        "token_hash": author if isinstance(author, str) else None,
        "client_key": client_key,
        "reply_to": reply_to,
    }


def _limit_of(stage: StageConfig) -> tuple[int, float] | None:
    talk = parts_of(stage).talk
    return None if talk is None else talk.rules.post_limit


def _author_in(scene: Scene, posted: Row) -> Member:
    if posted.author_id is None:
        raise NotFound(_UNKNOWN)
    return member_in(scene, posted.author_id)


def member_in(scene: Scene, member_id: UUID) -> Member:
    """Raises: NotFound: there is no such member in this conversation."""
    for member in scene.members:
        if member.id == member_id:
            return member
    raise NotFound(_UNKNOWN)


def _require_may_post(scene: Scene, person: Member, posted: Row, reply_to: UUID | None) -> None:
    if scene.ended:
        raise Conflict(OVER, reason="thread_ended")
    if scene.held:
        raise Paused
    lives.require_acting(scene.statuses[person.id])
    if not person.present:
        raise Conflict("You are not in this conversation now.", reason="not_in_thread")
    talk = parts_of(scene.stage).talk
    not_now = _NOT_HERE if talk is None else talk.may_not_speak(view_of(scene), person.id)
    if not_now is not None:
        raise Conflict(not_now, reason="not_now")
    wait = seconds_to_wait(_limit_of(scene.stage), posted.limiting_at, scene.now)
    if wait > 0:
        raise TooSoon(f"You have posted a lot in a short time; try again in {wait} s.", wait_seconds=wait)
    if reply_to is not None and not scene.talk.rules.replies_and_reactions:
        raise Conflict("In this conversation no message answers another.", reason="not_offered")


def _quoting(change: Change, posted: Row) -> Change:
    """The change, its message with what it answers."""
    said, *others = change.messages
    return replace(change, messages=(replace(said, quote=quote_of(posted.quoted, None)), *others))


def _as_posted(scene: Scene, author: Member, posted: Row, message_text: str) -> dict[str, Any]:
    """The stored message. Raises: Conflict: it is another one."""
    if posted.text != message_text:
        raise Conflict(KEY_USED, reason="id_used")
    message = NewMessage(
        id=posted.posted_id,
        seq=posted.seq,
        author=author,
        text=posted.text,
        elapsed_ms=posted.elapsed_ms,
        topic=posted.topic,
        reply_to=posted.reply_to,
        quote=quote_of(posted.quoted, None),
    )
    return {**public_message(replace(scene, now=posted.created_at), message), "reactions": posted.reactions}


def seconds_to_wait(limit: tuple[int, float] | None, limiting_at: datetime | None, now: datetime) -> int:
    """Whole seconds until a person may post again; 0: now.

    `limit`: so many messages in so many seconds. `limiting_at`: when the message was stored that has to leave the
    window first; None: the person has posted fewer than the limit.
    """
    if limit is None or limiting_at is None:
        return 0
    _, seconds = limit
    return max(0, ceil(seconds - (now - limiting_at).total_seconds()))
