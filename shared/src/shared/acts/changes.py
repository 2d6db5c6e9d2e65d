"""Writing one change of a thread, its events and its hints; everything that is due, one change after another.

A change is one statement: all of it happens or, when it loses its claim, nothing but the closing of that draft.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from typing import Any, TypeVar

from sqlalchemy import text

from shared.checkpoints import reached
from shared.contracts.experiment import Profile
from shared.contracts.hints import AGENT_STEPS, FACTS, ORCHESTRATOR, TIMER_ARMED, Hint, provider_queue
from shared.conversation import (
    Change,
    Draft,
    NewDraft,
    NewMessage,
    Scene,
    lose,
    next_change,
    topic_of,
    with_begun,
)
from shared.db.facts import FLUSH, Event
from shared.db.scenes import turn_row
from shared.db.session import Session, as_json
from shared.stage import Member

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
        INSERT INTO messages (id, thread_id, seq, member_id, author_kind, author_name, text, topic, reply_to,
            client_key, trigger_key, explanation, elapsed_ms, created_at)
        SELECT m.id, :thread_id, m.seq, m.member_id, m.author_kind, m.author_name, m.text, m.topic, m.reply_to,
            m.client_key, m.trigger_key, m.explanation, m.elapsed_ms, :now
        FROM won, jsonb_to_recordset(CAST(:messages AS jsonb)) AS m(id uuid, seq int, member_id uuid, author_kind text,
            author_name text, text text, topic text, reply_to uuid, client_key text, trigger_key text, explanation text,
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


async def write(session: Session, scene: Scene, change: Change, cause: str, *, is_last: bool = False) -> Scene:
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
    return change.after if change.after.turn == scene.turn else await write(session, scene, change, cause)


def _message_row(message: NewMessage) -> dict[str, Any]:
    return {
        "id": message.id,
        "seq": message.seq,
        "member_id": message.author.id if message.author else None,
        "author_kind": message.author.player if message.author else "system",
        "author_name": message.author_name,
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
        "author": message.author and {"id": str(message.author.id), "profile": _profile_in(message, message.author)},
        "text": message.text,
        "reply_to": message.quote and message.quote["id"],
        "quote": message.quote,
        "reactions": [],
        "elapsed_ms": message.elapsed_ms,
        "topic": message.topic,
        "created_at": scene.now.isoformat().replace("+00:00", "Z"),
    }


def _profile_in(message: NewMessage, author: Member) -> dict[str, str]:
    """How the others know the author here."""
    known = author.profile if message.author_name is None else Profile(name=message.author_name)
    return known.model_dump()


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
    for timer in change.timers:
        if timer.purpose == "quiet":
            session.announce(Hint(ORCHESTRATOR, TIMER_ARMED, str(timer.id)))
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
    while True:
        scene, change = await decided(session, scene, next_change)
        if change is None:
            return scene
        if change.claims is not None:
            await reached("reply.claiming")
        scene = await write(session, scene, change, cause, is_last=is_last)
        if change.claims is not None:
            await reached("reply.claimed")


_STILL_WANTED = text("SELECT id FROM drafts WHERE id = ANY(:draft_ids) AND state = 'wanted' FOR NO KEY UPDATE")

ChangeT = TypeVar("ChangeT", bound=Change | None)


async def decided(session: Session, scene: Scene, rule: Callable[[Scene], ChangeT]) -> tuple[Scene, ChangeT]:
    """What the rule makes of a locked scene, and the scene that it was made of.

    Where it takes back drafts on which nobody works, these are locked first: when a worker has begun on one meanwhile,
    the rule decides once more, knowing that. So nobody is asked again whose call has just gone out.
    """
    while True:
        change = rule(scene)
        closed = () if change is None else change.closed
        taken_back = {draft.id for draft, state in closed if (draft.state, state) == ("wanted", "moved_on")}
        if not taken_back:
            return scene, change
        rows = await session.all(_STILL_WANTED, {"draft_ids": list(taken_back)})
        begun = taken_back - {row.id for row in rows}
        if not begun:
            return scene, change
        scene = with_begun(scene, begun)
