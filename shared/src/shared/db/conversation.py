"""Threads: writing one change, and doing everything that is due in a thread.

Lock order: member, thread, draft. A worker that saves a reply holds its own draft's row before the thread's lock; under
the thread's lock only drafts that are wanted or ready are touched, and nobody holds those while waiting for a thread.
"""

from collections.abc import Iterator
from dataclasses import asdict, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from shared.checkpoints import reached
from shared.contracts.hints import AGENT_STEPS, FACTS, Hint, provider_queue
from shared.conversation import (
    Change,
    Draft,
    NewDraft,
    NewMessage,
    Scene,
    call_off,
    end,
    go_on,
    has_more_topics,
    lose,
    next_change,
    say,
    say_goodbye,
    time_is_up,
    topic_of,
    view_of,
    wake_up,
)
from shared.db.messages import QUOTED, joined, reactions
from shared.db.scenes import AROUND, LAST, around_params, lock_scene, locked_thread, scene_of, turn_row
from shared.db.session import FLUSH, Event, Row, Session, as_json
from shared.errors import Conflict, InvalidInput, NotFound, Problem
from shared.quotes import quote_of
from shared.stage import Member
from shared.stages import kind_of

# Messages, thread, drafts and timers in one statement. Everything but the closing of the claiming draft hangs on `won`.
_CHANGE = """
    claim AS (
        INSERT INTO trigger_log (thread_id, trigger_key, member_id, draft_id, message_id, claimed_at)
        SELECT :thread_id, :claim_key, :claim_member_id, :claim_draft_id, :claim_message_id, :now
        WHERE CAST(:claim_draft_id AS uuid) IS NOT NULL
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), won AS (
        SELECT 1 WHERE CAST(:claim_draft_id AS uuid) IS NULL OR EXISTS (SELECT FROM claim)
    ), said AS (
        INSERT INTO messages (id, thread_id, seq, member_id, author_kind, text, topic, reply_to, client_key,
            trigger_key, explanation, elapsed_ms, created_at)
        SELECT m.id, :thread_id, m.seq, m.member_id, m.author_kind, m.text, m.topic, m.reply_to, m.client_key,
            m.trigger_key, m.explanation, m.elapsed_ms, :now
        FROM won, jsonb_to_recordset(CAST(:messages AS jsonb)) AS m(id uuid, seq int, member_id uuid, author_kind text,
            text text, topic text, reply_to uuid, client_key text, trigger_key text, explanation text,
            elapsed_ms bigint)
    ), thread AS (
        UPDATE threads SET last_seq = :last_seq, last_spoken_id = :last_spoken_id,
            last_spoken_trigger = :last_spoken_trigger, last_author_id = :last_author_id, agent_run = :agent_run,
            clock_ms = :clock_ms, turn_state = CAST(:turn_state AS jsonb),
            ended_at = CASE WHEN :ended THEN coalesce(ended_at, :now) ELSE ended_at END,
            end_reason = coalesce(end_reason, :end_reason)
        FROM won WHERE threads.id = :thread_id
    ), own AS (
        UPDATE drafts SET
            state = CASE WHEN EXISTS (SELECT FROM won) THEN 'published' ELSE 'lost_claim' END,
            message_id = CASE WHEN EXISTS (SELECT FROM won) THEN CAST(:claim_message_id AS uuid) END,
            lease_owner = NULL, closed_at = :now
        WHERE id = :claim_draft_id
    ), closed AS (
        UPDATE drafts d SET state = c.state, lease_owner = NULL, closed_at = :now
        FROM won, jsonb_to_recordset(CAST(:closed AS jsonb)) AS c(id uuid, state text)
        WHERE d.id = c.id AND d.state IN ('wanted', 'ready')
    ), asked AS (
        INSERT INTO drafts (id, path, cohort_id, stage_id, member_id, thread_id, trigger_key, wave, as_of_seq, purpose,
            provider, state, reply, not_before, due_at, finish_ms, created_at)
        SELECT w.id, w.path, :cohort_id, :stage_id, w.member_id, :thread_id, w.trigger_key, w.wave, w.as_of_seq,
            w.purpose, w.provider, w.state, w.reply, :now, w.due_at, w.finish_ms, :now
        FROM won, jsonb_to_recordset(CAST(:wanted AS jsonb)) AS w(id uuid, path text, member_id uuid, trigger_key text,
            wave int, as_of_seq int, purpose text, provider text, state text, reply jsonb, due_at timestamptz,
            finish_ms bigint)
        ON CONFLICT DO NOTHING
    ), armed AS (
        INSERT INTO timers (id, path, cohort_id, thread_id, purpose, generation, due_at)
        SELECT a.id, a.path, :cohort_id, :thread_id, a.purpose, a.generation, a.due_at
        FROM won, jsonb_to_recordset(CAST(:timers AS jsonb)) AS a(id uuid, path text, purpose text, generation int,
            due_at timestamptz)
        ON CONFLICT DO NOTHING
    ), stopped AS (
        UPDATE timers SET state = 'cancelled'
        FROM won WHERE :ended AND timers.thread_id = :thread_id AND timers.state IN ('armed', 'held')
    )
"""
_WON = "SELECT EXISTS (SELECT FROM won) AS won"
_WRITE = text(f"WITH {_CHANGE} {_WON}")
_FLUSH_WHEN_WON = FLUSH.format(condition_or_from="FROM won,", passed="EXISTS (SELECT FROM won)")
_WRITE_AND_FLUSH = text(f"WITH {_CHANGE}, {_FLUSH_WHEN_WON}")


async def _write(session: Session, scene: Scene, change: Change, cause: str, *, is_last: bool = False) -> Scene:
    """Write one change and return the scene as it is now; a lost claim closes its draft and changes nothing else.

    `is_last` says that the caller writes nothing more in this transaction unless the scene asks for it: then events and
    outbox rows go with the change. Otherwise they must wait, because the stream's counter is locked last.
    """
    draft = change.claims
    # A statement locks the counter before it gets to drafts that are closed: those must be locked before, see above.
    is_alone = not change.closed and change.end_reason is None
    if is_last and is_alone and not session.has_pending and next_change(change.after) is None:
        _tell(session, scene, change, cause)
        row = await session.flush_with(_WRITE_AND_FLUSH, _params(scene, change))
        won = row.passed
    else:
        won = (await session.one(_WRITE, _params(scene, change))).won
        if won:
            _tell(session, scene, change, cause)
    if not won:
        assert draft is not None  # only a claim can be lost
        return await _leave_after_losing(session, scene, draft, cause)
    return change.after


def _params(scene: Scene, change: Change) -> dict[str, Any]:
    after, draft = change.after, change.claims
    return {
        "thread_id": scene.thread_id,
        "cohort_id": scene.cohort_id,
        "stage_id": scene.stage.id,
        "now": scene.now,
        "claim_key": draft and draft.trigger_key,
        "claim_member_id": draft and draft.member_id,
        "claim_draft_id": draft and draft.id,
        "claim_message_id": change.messages[0].id if draft else None,
        "messages": as_json([_message_row(message) for message in change.messages]),
        "last_seq": after.last_seq,
        "last_spoken_id": after.last_spoken_id,
        "last_spoken_trigger": after.last_spoken_trigger,
        "last_author_id": after.last_author_id,
        "agent_run": after.agent_run,
        "clock_ms": after.clock_ms,
        "turn_state": as_json(turn_row(after.turn)),
        "ended": change.end_reason is not None,
        "end_reason": change.end_reason,
        "closed": as_json([{"id": closed.id, "state": state} for closed, state in change.closed]),
        "wanted": as_json([_draft_row(wanted) for wanted in change.wanted]),
        "timers": as_json([asdict(timer) for timer in change.timers]),
    }


async def _leave_after_losing(session: Session, scene: Scene, draft: Draft, cause: str) -> Scene:
    change = lose(scene, draft)
    return change.after if change.after.turn == scene.turn else await _write(session, scene, change, cause)


def _message_row(message: NewMessage) -> dict[str, Any]:
    return {
        "id": message.id,
        "seq": message.seq,
        "member_id": message.author.id if message.author else None,
        "author_kind": message.author.player if message.author else "system",
        "text": message.text,
        "topic": message.topic,
        "reply_to": message.reply_to,
        "client_key": message.client_key,
        "trigger_key": message.trigger_key,
        "explanation": message.explanation,
        "elapsed_ms": message.elapsed_ms,
    }


def _draft_row(draft: NewDraft) -> dict[str, Any]:
    return {
        "id": draft.id,
        "path": draft.path,
        "member_id": draft.member_id,
        "trigger_key": draft.trigger_key,
        "wave": draft.wave,
        "as_of_seq": draft.as_of_seq,
        "purpose": draft.purpose,
        "provider": draft.provider,
        "state": draft.state,
        "reply": {"text": draft.text} if draft.text is not None else None,
        "due_at": draft.due_at,
        "finish_ms": draft.finish_ms,
    }


def public_message(scene: Scene, message: NewMessage) -> dict[str, Any]:
    """A message as everybody in the thread sees it; who is an agent, and why it spoke, is not in it."""
    return {
        "id": str(message.id),
        "thread_id": str(scene.thread_id),
        "stage_id": scene.stage.id,
        "seq": message.seq,
        "author": message.author and {"id": str(message.author.id), "profile": message.author.profile.model_dump()},
        "text": message.text,
        "reply_to": message.quote and message.quote["id"],
        "quote": message.quote,
        "reactions": [],
        "elapsed_ms": message.elapsed_ms,
        "topic": message.topic,
        "created_at": scene.now.isoformat().replace("+00:00", "Z"),
    }


def _tell(session: Session, scene: Scene, change: Change, cause: str) -> None:
    left = change.after.turn.ready - scene.turn.ready
    for message in change.messages:
        public = public_message(scene, message)
        session.record(
            Event(
                experiment_id=scene.experiment_id,
                cohort_id=scene.cohort_id,
                type="message.created",
                actor=message.author.path if message.author else "lab",
                cause=cause,
                subject=f"{scene.path}/{message.seq}",
                subject_id=message.id,
                payload={**public, "trigger_key": message.trigger_key, "explanation": message.explanation},
                public=public,
                at=scene.now,
                unsettles=bool(left),
            )
        )
    for event_type, payload in _turn_news(scene, change.after):
        session.record(
            Event(
                experiment_id=scene.experiment_id,
                cohort_id=scene.cohort_id,
                type=event_type,
                actor="lab",
                cause=cause,
                subject=scene.path,
                subject_id=scene.thread_id,
                payload=payload,
                public={"thread_id": str(scene.thread_id), "stage_id": scene.stage.id, **payload},
                at=scene.now,
            )
        )
        session.announce(Hint(FACTS, "cohort.updated", str(scene.cohort_id)))
    if change.end_reason is not None:
        session.record(
            Event(
                experiment_id=scene.experiment_id,
                cohort_id=scene.cohort_id,
                type="thread.ended",
                actor="lab",
                cause=cause,
                subject=scene.path,
                subject_id=scene.thread_id,
                payload={"reason": change.end_reason},
                public={"thread_id": str(scene.thread_id), "stage_id": scene.stage.id, "reason": change.end_reason},
                at=scene.now,
                unsettles=True,
            )
        )
    for draft in change.wanted:
        if draft.state == "wanted":
            session.announce(Hint(provider_queue(draft.provider), "draft.wanted", str(draft.id)))
    for member in scene.members:
        may_move = member.id in left or change.end_reason is not None
        if may_move and member.player == "agent" and member.kind == "participant" and member.present:
            session.announce(Hint(AGENT_STEPS, "member.changed", str(member.id)))
    if change.messages or change.end_reason is not None:
        session.announce(Hint(FACTS, "cohort.updated", str(scene.cohort_id)))


def _turn_news(before: Scene, after: Scene) -> Iterator[tuple[str, dict[str, Any]]]:
    """What members are told of turn-taking: whose turn it is, what is talked about, that agents have stopped."""
    if (before.turn.number, before.turn.topic) != (after.turn.number, after.turn.topic):
        holder = after.turn.holder and str(after.turn.holder)
        yield "thread.updated", {"whose_turn": holder, "topic": topic_of(after.stage, after.turn.topic)}
    if after.turn.is_resting and not before.turn.is_resting:
        yield "thread.rested", {"agent_run": after.agent_run}


async def advance(session: Session, scene: Scene, *, cause: str, is_last: bool = False) -> Scene:
    """Write every change that is due in a locked scene, and return the scene after them; `is_last` as in `_write`."""
    while (change := next_change(scene)) is not None:
        if change.claims is not None:
            await reached("reply.claiming")
        scene = await _write(session, scene, change, cause, is_last=is_last)
        if change.claims is not None:
            await reached("reply.claimed")
    return scene


async def advance_thread(
    session: Session, thread_id: UUID, now: datetime, *, cause: str, is_last: bool = False
) -> Scene:
    """Do everything that is due in this thread; doing it twice, at once or for nothing is harmless.

    Locks the thread. `is_last`: the caller does nothing more in this transaction.
    """
    return await advance(session, await lock_scene(session, thread_id, now), cause=cause, is_last=is_last)


# For somebody who posts: who that is, and the message that stands when this one was posted before.
_POSTING = text(
    AROUND
    + """
        , author.id AS author_id, posted.id AS posted_id, posted.seq, posted.elapsed_ms, posted.text,
        posted.created_at, posted.reply_to, posted.topic,
    """
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
    """A person says something; the same `client_key` again returns the message that stands.

    `author` is the member's id, or the hash of their token. Returns the public message. Locks the thread.

    Raises:
        NotFound: there is no such thread, or not for this author.
        Conflict: the thread is over, or the person is not (or no longer) in it.
    """
    row = await locked_thread(session, thread_id)
    around = await session.one(
        _POSTING,
        {
            **around_params(row),
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
        return _as_posted(scene, person, around)
    if scene.ended:
        raise Conflict("The conversation is over; nothing can be said in it any more.", reason="thread_ended")
    if not person.present or scene.held:
        raise Conflict("You are not in this conversation now.", reason="not_in_thread")
    not_now = kind_of(scene.stage).may_not_speak(scene.stage, view_of(scene), person.id)
    if not_now is not None:
        raise Conflict(not_now, reason="not_now")
    if reply_to is not None and not kind_of(scene.stage).has_replies_and_reactions(scene.stage):
        raise Conflict("In this conversation no message answers another.", reason="not_offered")
    change = _quoting(say(scene, person, message_text, client_key=client_key, reply_to=reply_to), around)
    await advance(session, await _write(session, scene, change, cause="request", is_last=True), cause="request")
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


async def leave_thread(session: Session, thread_id: UUID, member_id: UUID, now: datetime, *, cause: str) -> None:
    """The lab's line that the member has left, and whatever follows from their leaving. Locks the thread."""
    scene = await lock_scene(session, thread_id, now)
    goodbye = say_goodbye(scene, _in_thread(scene, member_id))
    if goodbye is not None:
        scene = await _write(session, scene, goodbye, cause)
    await advance(session, scene, cause=cause)


async def end_thread(session: Session, thread_id: UUID, now: datetime, *, reason: str, cause: str) -> bool:
    """Close the thread for good; False when it was closed before. Locks the thread."""
    scene = await lock_scene(session, thread_id, now)
    if scene.ended:
        return False
    await _write(session, scene, end(scene, reason), cause)
    return True


async def time_out_thread(session: Session, thread_id: UUID, now: datetime) -> None:
    """The thread's time limit takes effect. Locks the thread."""
    scene = await lock_scene(session, thread_id, now)
    if not scene.ended:
        await advance(session, await _write(session, scene, time_is_up(scene), "timer"), cause="timer")


async def wake_thread(session: Session, thread_id: UUID, number: int, now: datetime) -> None:
    """Everybody is asked again after a silence, unless somebody has spoken meanwhile. Locks the thread."""
    scene = await lock_scene(session, thread_id, now)
    change = wake_up(scene, number)
    if change is not None:
        await advance(session, await _write(session, scene, change, "timer"), cause="timer")


async def go_on_in_thread(session: Session, thread_id: UUID, member_id: UUID, topic: str, now: datetime) -> None:
    """A person is done with this topic; saying so twice, or when the next one has begun, changes nothing.

    Locks the thread.

    Raises:
        NotFound: there is no such thread, or not for this member.
        InvalidInput: the conversation has no such topic.
        Conflict: the thread is over or has no further topic, or the person is not (or no longer) in it.
    """
    scene, member = await _talking(session, thread_id, member_id, now)
    topics = [topic_id for topic_id, _ in kind_of(scene.stage).topics(scene.stage)]
    if topics and topic not in topics:
        problem = Problem("topic", repr(topic), f"one of {', '.join(topics)}")
        raise InvalidInput("The conversation has no such topic.", [problem])
    if topics and topics.index(topic) < scene.turn.topic:
        return
    if topics and topics.index(topic) > scene.turn.topic:
        raise Conflict("That topic has not begun yet.", reason="not_yet")
    if not has_more_topics(scene):
        raise Conflict("No further topic follows: go on to the next page when you are done.", reason="no_more_topics")
    change = go_on(scene, member)
    if change is not None:
        await advance(session, await _write(session, scene, change, "request"), cause="request")


async def call_off_in_thread(session: Session, thread_id: UUID, member_id: UUID, now: datetime) -> None:
    """A person waits no longer for the reply to what they said. Locks the thread.

    Raises:
        NotFound: there is no such thread, or not for this member.
        Conflict: nothing is there to be called off, or this conversation does not allow it.
    """
    scene, member = await _talking(session, thread_id, member_id, now)
    if not kind_of(scene.stage).may_call_off(scene.stage, view_of(scene), member.id):
        raise Conflict("There is no reply that could be called off.", reason="nothing_to_call_off")
    await advance(session, await _write(session, scene, call_off(scene), "request"), cause="request")


async def _talking(session: Session, thread_id: UUID, member_id: UUID, now: datetime) -> tuple[Scene, Member]:
    scene = await lock_scene(session, thread_id, now)
    member = _in_thread(scene, member_id)
    if scene.ended:
        raise Conflict("The conversation is over.", reason="thread_ended")
    if not member.present or scene.held:
        raise Conflict("You are not in this conversation now.", reason="not_in_thread")
    return scene, member


_OPEN = text(
    """
    INSERT INTO threads (id, cohort_id, stage_id, scope, path, opened_at)
    VALUES (:id, :cohort_id, :stage_id, :scope, :path, :now)
    ON CONFLICT DO NOTHING
    """
)

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
                "path": f"{path}/time_limit",
                "cohort_id": cohort_id,
                "thread_id": thread_id,
                "purpose": "time_limit",
                "due_at": due_at,
            },
        )
    return bool(opened)
