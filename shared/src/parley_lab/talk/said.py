"""Writes the messages of people in threads that were read without a lock: one statement for several threads."""

from typing import Any, Final

from sqlalchemy import text

from parley_lab.contracts.turn_state import turn_row
from parley_lab.store.batches import items_with
from parley_lab.store.facts import COUNTERS_OF_MANY, EVENTS_OF_MANY
from parley_lab.store.session import Session
from parley_lab.talk import Change, Scene
from parley_lab.talk.stored_changes import message_row, tell, write_whole

_SAID_ITEMS: Final = items_with(
    id="uuid",
    seen="text",
    cohort_id="uuid",
    now="timestamptz",
    last_spoken_trigger="text",
    last_author_id="uuid",
    agent_run="int",
    clock_ms="bigint",
    turn_state="jsonb",
    message_id="uuid",
    seq="int",
    member_id="uuid",
    author_kind="text",
    known_as="text",
    text="text",
    topic="text",
    client_key="text",
    elapsed_ms="bigint",
    events="jsonb",
)
# One message of a person in each of several threads, if the thread is still as it was `seen`. The foreign key of a
# message would lock the author; this locks them first, without waiting. Only code that holds all threads and members
# deletes the rows to which the events refer.
_SAID = text(
    f"""
    WITH item AS (
        {_SAID_ITEMS}
    ), free AS (
        SELECT i.* FROM item i CROSS JOIN LATERAL (
            SELECT FROM threads t, members m
            WHERE t.id = i.id AND t.xmin = CAST(i.seen AS xid) AND m.id = i.member_id
            FOR NO KEY UPDATE OF t SKIP LOCKED FOR KEY SHARE OF m SKIP LOCKED
        ) t
    ), {COUNTERS_OF_MANY}, passed AS (
        SELECT f.* FROM free f JOIN counter USING (cohort_id)
    ), thread AS (
        UPDATE threads t SET last_seq = p.seq, last_spoken_id = p.message_id,
            last_spoken_trigger = p.last_spoken_trigger, last_author_id = p.last_author_id, agent_run = p.agent_run,
            clock_ms = p.clock_ms, turn_state = p.turn_state
        FROM passed p WHERE t.id = p.id
    ), said AS (
        INSERT INTO messages (id, thread_id, seq, member_id, author_kind, known_as, text, topic, client_key, elapsed_ms,
            created_at)
        SELECT p.message_id, p.id, p.seq, p.member_id, p.author_kind, p.known_as, p.text, p.topic, p.client_key,
            p.elapsed_ms, p.now
        FROM passed p
    ), {EVENTS_OF_MANY}
    """  # noqa: S608 - put together from constants
)


async def write_unlocked(session: Session, scene: Scene, change: Change, cause: str, *, seen: str) -> int | None:
    """Write a person's message, a change that `is_whole`, in a thread as it was `seen` (`parley_lab.talk.scenes`).

    Returns the number of the cohort's events before it; None, and nothing is written: the thread has changed since, or
    is locked. A message without further effects is written together with those of other threads.
    """
    if not _is_message_only(scene, change):
        is_written = await write_whole(session, scene, change, cause, seen=seen)
        return session.counted[0][1] if is_written else None
    tell(session, scene, change, cause)
    said = await session.flush_for_many(_SAID, _said(scene, change, seen))
    before: int | None = said and said.before_all
    return before


def _is_message_only(scene: Scene, change: Change) -> bool:
    """Whether the change is one person's message and nothing else: no question, timer or end, no reply to another."""
    more = change.claims, change.closed, change.wanted, change.timers, change.end_reason
    if len(change.messages) != 1 or any(more) or change.after.turn.ready != scene.turn.ready:
        return False
    return change.messages[0].client_key is not None and change.messages[0].reply_to is None


def _said(scene: Scene, change: Change, seen: str) -> dict[str, Any]:
    after, message = change.after, message_row(change.messages[0])
    assert (after.last_spoken_id, after.last_seq) == (message["id"], message["seq"])
    return {
        **message,
        "id": scene.thread_id,
        "seen": seen,
        "cohort_id": scene.cohort_id,
        "now": scene.now,
        "message_id": message["id"],
        "last_spoken_trigger": after.last_spoken_trigger,
        "last_author_id": after.last_author_id,
        "agent_run": after.agent_run,
        "clock_ms": after.clock_ms,
        "turn_state": turn_row(after.turn),
    }
