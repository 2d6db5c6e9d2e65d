"""Threads: what people, agents and timers do in them, and everything that is then due.

Lock order: member, thread, draft. A worker that saves a reply holds its own draft's row before the thread's lock; under
the thread's lock only drafts that are wanted or ready are touched, and no transaction holds those while it waits for a
thread.
"""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from shared import lives
from shared.acts.changes import advance, decided, public_message, write
from shared.audience import quote_of
from shared.chat.posting import seconds_to_wait
from shared.conversation import (
    Change,
    NewMessage,
    Scene,
    call_off,
    end,
    end_quiet_time,
    go_on,
    has_more_topics,
    say,
    say_for_staff,
    say_goodbye,
    time_is_up,
    view_of,
    wake_up,
)
from shared.db.designs import stage_of
from shared.db.messages import QUOTED, joined, reactions
from shared.db.scenes import AROUND, LAST, around_params, lock_scene, locked_thread, scene_of
from shared.db.session import ReadSession, Row, Session
from shared.errors import Conflict, InvalidInput, NotFound, Paused, Problem, TooSoon
from shared.stage import Member
from shared.stages import parts_of


async def advance_thread(
    session: Session, thread_id: UUID, now: datetime, *, cause: str, is_last: bool = False
) -> Scene:
    """Do everything that is due in this thread; doing it twice, at once or for nothing is harmless.

    Locks the thread. `is_last`: the caller does nothing more in this transaction.
    """
    return await advance(session, await lock_scene(session, thread_id, now), cause=cause, is_last=is_last)


# When the author stored the message that is as many back as a post limit allows.
_LIMITING = """
    (SELECT p.created_at FROM messages p WHERE p.thread_id = :thread_id AND p.member_id = author.id
        ORDER BY p.seq DESC OFFSET CAST(:posts AS int) - 1 LIMIT 1) AS limiting_at,
"""

# For a post: its author, and the stored message when this one was posted before.
_POSTING = text(
    AROUND
    + """
        , author.id AS author_id, posted.id AS posted_id, posted.seq, posted.elapsed_ms, posted.text,
        posted.created_at, posted.reply_to, posted.topic,
    """
    + _LIMITING
    + f"{QUOTED}, {reactions('posted.id')} "
    + LAST
    + """
        LEFT JOIN members author ON author.cohort_id = :cohort_id
            AND (author.id = :author_id OR author.token_hash = :token_hash)
        LEFT JOIN messages posted ON posted.thread_id = :thread_id AND posted.member_id = author.id
            AND posted.client_key = :client_key
    """
    + joined("coalesce(posted.reply_to, CAST(:reply_to AS uuid))", ":thread_id")
)


_KEY_USED = "You have said something else under this client_message_id; give each new message a new one."
_OVER = "The conversation is over; nothing can be said in it any more."
_NOT_HERE = "Nothing is posted here: answer the question that is put to you."


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
    stage = await stage_of(session, row.experiment_id, row.version, row.treatment_id, row.stage_id)
    talk = parts_of(stage).talk
    limit = None if talk is None else talk.rules.post_limit
    around = await session.one(
        _POSTING,
        {
            **around_params(row),
            "posts": None if limit is None else limit[0],
            "author_id": author if isinstance(author, UUID) else None,
            "token_hash": author if isinstance(author, str) else None,
            "client_key": client_key,
            "reply_to": reply_to,
        },
    )
    scene = await scene_of(session, row, around, now)
    if around.author_id is None:
        raise NotFound("There is no such conversation.")
    person = _in_thread(scene, around.author_id)
    if around.posted_id is not None:
        if around.text != message_text:
            raise Conflict(_KEY_USED, reason="id_used")
        return _as_posted(scene, person, around)
    if scene.ended:
        raise Conflict(_OVER, reason="thread_ended")
    if scene.held:
        raise Paused
    lives.require_acting(scene.statuses[person.id])
    if not person.present:
        raise Conflict("You are not in this conversation now.", reason="not_in_thread")
    not_now = _NOT_HERE if talk is None else talk.may_not_speak(view_of(scene), person.id)
    if not_now is not None:
        raise Conflict(not_now, reason="not_now")
    wait = seconds_to_wait(limit, around.limiting_at, now)
    if wait > 0:
        raise TooSoon(f"You have posted a lot in a short time; try again in {wait} s.", wait_seconds=wait)
    if reply_to is not None and not scene.talk.rules.replies_and_reactions:
        raise Conflict("In this conversation no message answers another.", reason="not_offered")
    scene, change = await decided(
        session, scene, lambda known: say(known, person, message_text, client_key=client_key, reply_to=reply_to)
    )
    change = _quoting(change, around)
    await advance(session, await write(session, scene, change, cause="request", is_last=True), cause="request")
    return public_message(scene, change.messages[0])


def _in_thread(scene: Scene, member_id: UUID) -> Member:
    for member in scene.members:
        if member.id == member_id:
            return member
    raise NotFound("There is no such conversation.")


def _quoting(change: Change, row: Row) -> Change:
    """The change, its message with what it answers."""
    said, *others = change.messages
    return replace(change, messages=(replace(said, quote=quote_of(row.quoted, None)), *others))


def _as_posted(scene: Scene, author: Member, row: Row) -> dict[str, Any]:
    message = NewMessage(
        id=row.posted_id,
        seq=row.seq,
        author=author,
        text=row.text,
        elapsed_ms=row.elapsed_ms,
        topic=row.topic,
        reply_to=row.reply_to,
        quote=quote_of(row.quoted, None),
    )
    return {**public_message(replace(scene, now=row.created_at), message), "reactions": row.reactions}


_SAID_BY_STAFF = text(
    """
    SELECT id, seq, text, elapsed_ms, topic, author_name, created_at FROM messages
    WHERE thread_id = :thread_id AND author_kind = 'experimenter' AND author_name = :actor AND client_key = :client_key
    """
)


async def say_as_staff(
    session: Session, thread_id: UUID, words: str, now: datetime, *, client_key: str, actor: str
) -> dict[str, Any]:
    """An experimenter says something in a conversation, to all who are there, as a line of the lab.

    It is no member's message: no agent is asked for a reply, and those who speak later have read it. The same
    `client_key` of the same experimenter again returns the stored message. Returns the public message. Locks the
    thread, under which the key is looked up.

    Raises:
        NotFound: there is no such thread.
        Conflict: nothing is said on this stage, the thread is over or held, or something else was said under this key.
    """
    scene = await lock_scene(session, thread_id, now)
    whose = {"thread_id": thread_id, "actor": actor, "client_key": client_key}
    stored = await session.first(_SAID_BY_STAFF, whose)
    if stored is not None:
        if stored.text != words:
            raise Conflict(_KEY_USED, reason="id_used")
        line = NewMessage(stored.id, stored.seq, None, stored.text, stored.elapsed_ms, topic=stored.topic)
        return public_message(replace(scene, now=stored.created_at), line)
    if parts_of(scene.stage).talk is None:
        raise Conflict("Members do not talk on this stage; say it to each of them.", reason="no_conversation")
    if scene.ended:
        raise Conflict(_OVER, reason="thread_ended")
    if scene.held:
        raise Paused
    change = say_for_staff(scene, words, client_key=client_key, said_by=actor)
    await write(session, scene, change, cause="request", is_last=True)
    return public_message(scene, change.messages[0])


_OPEN_THREADS = text(
    """
    SELECT id FROM threads WHERE cohort_id = :cohort_id AND stage_id = ANY(:stage_ids) AND ended_at IS NULL ORDER BY id
    """
)


async def open_threads(session: ReadSession, cohort_id: UUID, stage_ids: Sequence[str]) -> list[UUID]:
    """The conversations on these stages that are going on, in the order of their locks."""
    where = {"cohort_id": cohort_id, "stage_ids": list(stage_ids)}
    return [row.id for row in await session.all(_OPEN_THREADS, where)]


async def leave_thread(session: Session, thread_id: UUID, member_id: UUID, now: datetime, *, cause: str) -> None:
    """The lab's line that the member has left, and whatever follows from their leaving. Locks the thread."""
    scene = await lock_scene(session, thread_id, now)
    goodbye = say_goodbye(scene, _in_thread(scene, member_id))
    if goodbye is not None:
        scene = await write(session, scene, goodbye, cause)
    await advance(session, scene, cause=cause)


async def end_thread(session: Session, thread_id: UUID, now: datetime, *, reason: str, cause: str) -> bool:
    """Close the thread for good; False when it was closed before. Locks the thread."""
    scene = await lock_scene(session, thread_id, now)
    if scene.ended:
        return False
    await write(session, scene, end(scene, reason), cause)
    return True


async def time_out_thread(session: Session, thread_id: UUID, now: datetime) -> None:
    """The thread's time limit takes effect. Locks the thread."""
    scene = await lock_scene(session, thread_id, now)
    if not scene.ended:
        await advance(session, await write(session, scene, time_is_up(scene), "timer"), cause="timer")


async def wake_thread(session: Session, thread_id: UUID, number: int, now: datetime) -> None:
    """Ask all agents again after a silence, unless a member has spoken meanwhile. Locks the thread."""
    scene = await lock_scene(session, thread_id, now)
    change = wake_up(scene, number)
    if change is not None:
        await advance(session, await write(session, scene, change, "timer"), cause="timer")


async def end_quiet_in_thread(session: Session, thread_id: UUID, number: int, now: datetime) -> None:
    """What people said in a quiet time is asked about. Locks the thread."""
    scene = await lock_scene(session, thread_id, now)
    scene, change = await decided(session, scene, lambda quiet: end_quiet_time(quiet, number))
    if change is not None:
        await advance(session, await write(session, scene, change, "timer"), cause="timer")


async def go_on_in_thread(session: Session, thread_id: UUID, member_id: UUID, topic: str, now: datetime) -> None:
    """A person is done with this topic; saying so twice, or when the next one has begun, changes nothing.

    Locks the thread.

    Raises:
        NotFound: there is no such thread, or not for this member.
        InvalidInput: the conversation has no such topic.
        Conflict: the thread is over or has no further topic, or the person is not (or no longer) in it.
    """
    scene, member = await _talking(session, thread_id, member_id, now)
    talk = parts_of(scene.stage).talk
    topics = [] if talk is None else [topic_id for topic_id, _ in talk.rules.topics]
    if topics and topic not in topics:
        problem = Problem("topic", repr(topic), f"one of {', '.join(topics)}")
        raise InvalidInput("The conversation has no such topic.", [problem])
    if topics and topics.index(topic) < scene.turn.topic:
        return
    if topics and topics.index(topic) > scene.turn.topic:
        raise Conflict("That topic has not begun yet.", reason="not_yet")
    if talk is None or not has_more_topics(scene):
        raise Conflict("No further topic follows: go on to the next page when you are done.", reason="no_more_topics")
    change = go_on(scene, member)
    if change is not None:
        await advance(session, await write(session, scene, change, "request"), cause="request")


async def call_off_in_thread(session: Session, thread_id: UUID, member_id: UUID, now: datetime) -> None:
    """A person waits no longer for the reply to what they said. Locks the thread.

    Raises:
        NotFound: there is no such thread, or not for this member.
        Conflict: nothing is there to be called off, or this conversation does not allow it.
    """
    scene, member = await _talking(session, thread_id, member_id, now)
    talk = parts_of(scene.stage).talk
    if talk is None or not talk.may_call_off(view_of(scene), member.id):
        raise Conflict("There is no reply that could be called off.", reason="nothing_to_call_off")
    await advance(session, await write(session, scene, call_off(scene), "request"), cause="request")


async def _talking(session: Session, thread_id: UUID, member_id: UUID, now: datetime) -> tuple[Scene, Member]:
    scene = await lock_scene(session, thread_id, now)
    member = _in_thread(scene, member_id)
    if scene.ended:
        raise Conflict("The conversation is over.", reason="thread_ended")
    if scene.held:
        raise Paused
    lives.require_acting(scene.statuses[member.id])
    if not member.present:
        raise Conflict("You are not in this conversation now.", reason="not_in_thread")
    return scene, member


_OPEN = text(
    """
    INSERT INTO threads (id, cohort_id, stage_id, scope, path, opened_at)
    VALUES (:id, :cohort_id, :stage_id, :scope, :path, :now)
    ON CONFLICT DO NOTHING
    """
)

TIME_LIMIT: Final = "time_limit"
"""The purpose of the timer that ends a conversation."""
_ARM = text(
    """
    INSERT INTO timers (id, path, cohort_id, thread_id, purpose, due_at)
    VALUES (:id, :path, :cohort_id, :thread_id, :purpose, :due_at)
    ON CONFLICT DO NOTHING
    """
)


async def open_thread(
    session: Session,
    *,
    thread_id: UUID,
    cohort_id: UUID,
    stage_id: str,
    scope: str,
    path: str,
    now: datetime,
    timer: tuple[UUID, datetime] | None,
) -> bool:
    """Create the thread and its time limit (`timer`: id and due time); False when it is there already."""
    opened = await session.run(
        _OPEN,
        {"id": thread_id, "cohort_id": cohort_id, "stage_id": stage_id, "scope": scope, "path": path, "now": now},
    )
    if opened and timer is not None:
        timer_id, due_at = timer
        await session.run(
            _ARM,
            {
                "id": timer_id,
                "path": f"{path}/{TIME_LIMIT}",
                "cohort_id": cohort_id,
                "thread_id": thread_id,
                "purpose": TIME_LIMIT,
                "due_at": due_at,
            },
        )
    return bool(opened)
