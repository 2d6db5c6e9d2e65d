"""Threads: what people, agents and timers do in them, and everything that is then due.

Lock order: member, thread, draft. A worker that saves a reply holds its own draft's row before the thread's lock; under
the thread's lock only drafts that are wanted or ready are touched, and no transaction holds those while it waits for a
thread.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.errors import Conflict, InvalidInput, Paused, Problem
from parley_lab.contracts import lives
from parley_lab.contracts.experiment import StageConfig
from parley_lab.kinds import Member
from parley_lab.kinds.stages import parts_of
from parley_lab.members.held_cohorts import lag_of
from parley_lab.store.facts import Event
from parley_lab.store.session import ReadSession, Session
from parley_lab.talk import (
    NewMessage,
    Scene,
    call_off,
    end,
    end_quiet_time,
    go_on,
    has_more_topics,
    public_message,
    say_for_staff,
    say_goodbye,
    time_is_up,
    view_of,
    wake_up,
)
from parley_lab.talk.posting import KEY_USED, OVER, member_in
from parley_lab.talk.scenes import lock_scene
from parley_lab.talk.stored_changes import advance, decided, write


async def advance_thread(
    session: Session, thread_id: UUID, now: datetime, *, cause: str, is_last: bool = False
) -> Scene:
    """Do everything that is due in this thread; doing it twice, at once or for nothing is harmless.

    Locks the thread. `is_last`: the caller does nothing more in this transaction.
    """
    return await advance(session, await lock_scene(session, thread_id, now), cause=cause, is_last=is_last)


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
            raise Conflict(KEY_USED, reason="id_used")
        line = NewMessage(stored.id, stored.seq, None, stored.text, stored.elapsed_ms, topic=stored.topic)
        return public_message(replace(scene, now=stored.created_at), line)
    if parts_of(scene.stage).talk is None:
        raise Conflict("Members do not talk on this stage; say it to each of them.", reason="no_conversation")
    if scene.ended:
        raise Conflict(OVER, reason="thread_ended")
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


async def open_talks(session: ReadSession, cohort_id: UUID, stages: Iterable[StageConfig]) -> list[UUID]:
    """The conversations on these stages that are going on, in the order of their locks; minutes are none."""
    talks = [stage.id for stage in stages if parts_of(stage).talk is not None]
    return [row.id for row in await session.all(_OPEN_THREADS, {"cohort_id": cohort_id, "stage_ids": talks})]


async def leave_thread(session: Session, thread_id: UUID, member_id: UUID, now: datetime, *, cause: str) -> None:
    """The lab's line that the member has left, and whatever follows from their leaving. Locks the thread."""
    scene = await lock_scene(session, thread_id, now)
    goodbye = say_goodbye(scene, member_in(scene, member_id))
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
    member = member_in(scene, member_id)
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

OPENED: Final = "thread.opened"
TIME_LIMIT: Final = "time_limit"
"""The purpose of the timer that ends a conversation."""
_ARM = text(
    f"""
    INSERT INTO timers (id, path, cohort_id, thread_id, purpose, due_at)
    VALUES (:id, :path, :cohort_id, :thread_id, :purpose,
        CAST(:due_at AS timestamptz) - {lag_of(":cohort_id")})
    ON CONFLICT DO NOTHING
    """  # noqa: S608 - put together from constants
)


async def open_thread(
    session: Session,
    *,
    thread_id: UUID,
    experiment_id: UUID,
    cohort_id: UUID,
    stage_id: str,
    scope: str,
    path: str,
    now: datetime,
    timer: tuple[UUID, datetime] | None,
    cause: str,
) -> bool:
    """Create the thread and its time limit (`timer`: id and due time), and tell it to those who may read it.

    False when it is there already; then nothing is told.
    """
    opened = await session.run(
        _OPEN,
        {"id": thread_id, "cohort_id": cohort_id, "stage_id": stage_id, "scope": scope, "path": path, "now": now},
    )
    if not opened:
        return False
    place = {"thread_id": str(thread_id), "stage_id": stage_id}
    session.record(
        Event(
            experiment_id=experiment_id,
            cohort_id=cohort_id,
            type=OPENED,
            actor="lab",
            cause=cause,
            subject=path,
            subject_id=thread_id,
            payload=place,
            public=place,
            at=now,
        )
    )
    session.tell(cohort_id)
    if timer is not None:
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
                "now": now,
            },
        )
    return True
