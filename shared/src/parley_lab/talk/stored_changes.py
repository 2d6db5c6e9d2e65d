"""Writing one change of a thread, its events and its hints; everything that is due, one change after another.

A change is one statement: all of it happens or, when it loses its claim, nothing but the closing of that draft.
"""

from collections.abc import Callable, Iterator
from dataclasses import asdict
from datetime import timedelta
from typing import Any, Final, TypeVar
from uuid import UUID

import structlog
from sqlalchemy import text

from parley_lab.base.failpoints import failpoint
from parley_lab.base.logs import correlation
from parley_lab.base.metrics import CLAIMS
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, TIMER_ARMED, Hint, provider_queue
from parley_lab.contracts.turn_state import turn_row
from parley_lab.members.held_cohorts import lag_of
from parley_lab.store.facts import FLUSH_WITH, NOTHING_PENDING, Event
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import as_json
from parley_lab.talk import (
    Change,
    Draft,
    NewDraft,
    NewMessage,
    Scene,
    lose,
    next_change,
    public_message,
    topic_of,
    with_begun,
)
from parley_lab.talk.typing_hints import LASTS_MS, TypingHint, send

log = structlog.get_logger(__name__)

LOST_CLAIM: Final = "lost_claim"
"""The state of a draft whose trigger another one has claimed."""

# Messages, thread, drafts and timers in one statement, and what is pending. Everything but the closing of
# the claiming draft hangs on `passed`. The thread is locked by this transaction. Or it was read as it was when its row
# was `seen`; then nothing passes if another transaction has changed it or holds it: after waiting, what was read around
# it could be of long ago.
_CHANGE = text(
    f"""
    WITH claim AS (
        INSERT INTO trigger_log (thread_id, trigger_key, member_id, draft_id, message_id, claimed_at)
        SELECT :thread_id, :claim_key, :claim_member_id, :claim_draft_id, :claim_message_id, :now
        WHERE CAST(:claim_draft_id AS uuid) IS NOT NULL
        ON CONFLICT DO NOTHING
        RETURNING 1
    ), claimed AS (
        SELECT 1 WHERE CAST(:claim_draft_id AS uuid) IS NULL OR EXISTS (SELECT FROM claim)
    ), free AS (
        SELECT id FROM threads
        WHERE id = :thread_id AND (CAST(:seen AS text) IS NULL OR xmin = CAST(CAST(:seen AS text) AS xid))
        FOR NO KEY UPDATE SKIP LOCKED
    ), thread AS (
        UPDATE threads SET last_seq = :last_seq, last_spoken_id = :last_spoken_id,
            last_spoken_trigger = :last_spoken_trigger, last_author_id = :last_author_id, agent_run = :agent_run,
            clock_ms = :clock_ms, turn_state = CAST(:turn_state AS jsonb),
            ended_at = CASE WHEN :ended THEN coalesce(ended_at, :now) ELSE ended_at END,
            end_reason = coalesce(end_reason, :end_reason)
        FROM claimed, free WHERE threads.id = free.id
        RETURNING 1
    ), passed AS (
        SELECT 1 FROM thread
    ), said AS (
        INSERT INTO messages (id, thread_id, seq, member_id, author_kind, author_name, known_as, text, line, topic,
            reply_to, client_key, trigger_key, explanation, elapsed_ms, created_at)
        SELECT m.id, :thread_id, m.seq, m.member_id, m.author_kind, m.author_name, m.known_as, m.text,
            nullif(m.line, 'null'), m.topic, m.reply_to, m.client_key, m.trigger_key, m.explanation, m.elapsed_ms,
            :now
        FROM passed, jsonb_to_recordset(CAST(:messages AS jsonb)) AS m(id uuid, seq int, member_id uuid,
            author_kind text, author_name text, known_as text, text text, line jsonb, topic text, reply_to uuid,
            client_key text, trigger_key text, explanation text, elapsed_ms bigint)
    ), own AS (
        UPDATE drafts SET
            state = CASE WHEN EXISTS (SELECT FROM passed) THEN 'published' ELSE 'lost_claim' END,
            message_id = CASE WHEN EXISTS (SELECT FROM passed) THEN CAST(:claim_message_id AS uuid) END,
            lease_owner = NULL, closed_at = :now
        WHERE id = :claim_draft_id
    ), closed AS (
        UPDATE drafts d SET state = c.state, lease_owner = NULL, closed_at = :now
        FROM passed, jsonb_to_recordset(CAST(:closed AS jsonb)) AS c(id uuid, state text)
        WHERE d.id = c.id AND d.state IN ('wanted', 'ready')
    ), asked AS (
        INSERT INTO drafts (id, path, cohort_id, stage_id, member_id, thread_id, trigger_key, wave, as_of_seq, purpose,
            provider, state, reply, not_before, due_at, finish_ms, correlation, created_at)
        SELECT w.id, w.path, :cohort_id, :stage_id, w.member_id, :thread_id, w.trigger_key, w.wave, w.as_of_seq,
            w.purpose, w.provider, w.state, w.reply, :now, w.due_at, w.finish_ms, :correlation, :now
        FROM passed, jsonb_to_recordset(CAST(:wanted AS jsonb)) AS w(id uuid, path text, member_id uuid,
            trigger_key text, wave int, as_of_seq int, purpose text, provider text, state text, reply jsonb,
            due_at timestamptz, finish_ms bigint)
        ON CONFLICT DO NOTHING
    ), armed AS (
        INSERT INTO timers (id, path, cohort_id, thread_id, purpose, generation, due_at)
        SELECT a.id, a.path, :cohort_id, :thread_id, a.purpose, a.generation,
            a.due_at - {lag_of(":cohort_id")}
        FROM passed, jsonb_to_recordset(CAST(:timers AS jsonb)) AS a(id uuid, path text, purpose text, generation int,
            due_at timestamptz)
        ON CONFLICT DO NOTHING
    ), stopped AS (
        UPDATE timers SET state = 'cancelled'
        FROM passed WHERE :ended AND timers.thread_id = :thread_id AND timers.state IN ('armed', 'held')
    ), {FLUSH_WITH}
    """  # noqa: S608 - put together from constants
)


async def write(session: Session, scene: Scene, change: Change, cause: str, *, is_last: bool = False) -> Scene:
    """Write one change and return the scene as it is now; a lost claim closes its draft and changes nothing else.

    `is_last` says that the caller writes nothing more in this transaction unless the scene asks for it: then events and
    outbox rows go with the change. Otherwise they must wait, because the stream's counter is locked last.
    """
    draft = change.claims
    await tell_typing(session, scene, change)
    if is_last and not session.has_pending and is_whole(change):
        won = await write_whole(session, scene, change, cause)
    else:
        won = (await session.one(_CHANGE, {**_params(scene, change), **NOTHING_PENDING, "seen": None})).passed
        if won:
            tell(session, scene, change, cause)
    _note_claims(change, won)
    if not won:
        assert draft is not None  # only a claim can be lost
        return await _leave_after_losing(session, scene, draft, cause)
    return change.after


def is_whole(change: Change) -> bool:
    """Whether nothing follows from a change, and one statement can write it with its events.

    That statement locks the counter before it gets to drafts that are closed: those must be locked before.
    """
    return not change.closed and change.end_reason is None and next_change(change.after) is None


async def write_whole(session: Session, scene: Scene, change: Change, cause: str, *, seen: str | None = None) -> bool:
    """Write such a change with its events; False, and nothing is written, when it loses its claim.

    seen: the version of a thread that was read without its lock (`parley_lab.talk.scenes`). False, too, if it has
    changed since, or is locked.
    """
    tell(session, scene, change, cause)
    row = await session.flush_with(_CHANGE, {**_params(scene, change), "seen": seen})
    passed: bool = row.passed
    return passed


def _note_claims(change: Change, won: bool) -> None:
    """Count and log who has claimed a trigger, and who wanted it too and closes with that."""
    if change.claims is not None:
        note_claim(change.claims.id, won)
    for closed, state in change.closed if won else ():
        if state == LOST_CLAIM:
            note_claim(closed.id, False)


def note_claim(draft_id: UUID, won: bool) -> None:
    """Count and log the outcome of one draft's claim."""
    outcome = "won" if won else "lost"
    CLAIMS.labels(outcome).inc()
    log.info("reply.claimed", draft=str(draft_id), outcome=outcome)


def _params(scene: Scene, change: Change) -> dict[str, Any]:
    after, draft = change.after, change.claims
    return {
        "thread_id": scene.thread_id,
        "cohort_id": scene.cohort_id,
        "stage_id": scene.stage.id,
        "now": scene.now,
        "correlation": correlation.get(),
        "claim_key": draft and draft.trigger_key,
        "claim_member_id": draft and draft.member_id,
        "claim_draft_id": draft and draft.id,
        "claim_message_id": change.messages[0].id if draft else None,
        "messages": as_json([message_row(message) for message in change.messages]),
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
    await tell_stopped(session, scene, draft)
    change = lose(scene, draft)
    return change.after if change.after.turn == scene.turn else await write(session, scene, change, cause)


def message_row(message: NewMessage) -> dict[str, Any]:
    """The columns of a message that come from it alone."""
    return {
        "id": message.id,
        "seq": message.seq,
        "member_id": message.author.id if message.author else None,
        "author_kind": _author_kind(message),
        "author_name": message.author_name or message.said_by,
        "known_as": message.author.profile.name if message.author else None,
        "text": message.text,
        "line": message.line,
        "topic": message.topic,
        "reply_to": message.reply_to,
        "client_key": message.client_key,
        "trigger_key": message.trigger_key,
        "explanation": message.explanation,
        "elapsed_ms": message.elapsed_ms,
    }


def _author_kind(message: NewMessage) -> str:
    if message.author is not None:
        return message.author.player
    return "system" if message.said_by is None else "experimenter"


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


def tell(session: Session, scene: Scene, change: Change, cause: str) -> None:
    """Record the events of a change, and announce what follows from it."""
    left = change.after.turn.ready - scene.turn.ready
    for message in change.messages:
        public = public_message(scene, message)
        kept = {key: value for key, value in public.items() if key != "line"}
        session.record(
            Event(
                experiment_id=scene.experiment_id,
                cohort_id=scene.cohort_id,
                type="message.created",
                actor=message.author.path if message.author else message.said_by or "lab",
                cause=cause,
                subject=f"{scene.path}/{message.seq}",
                subject_id=message.id,
                payload={**kept, "trigger_key": message.trigger_key, "explanation": message.explanation},
                public=public,
                at=scene.now,
                unsettles=bool(left),
            )
        )
    for event_type, payload, is_told in _turn_news(scene, change.after):
        place = {"thread_id": str(scene.thread_id), "stage_id": scene.stage.id}
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
                public={**place, **payload} if is_told else None,
                at=scene.now,
            )
        )
        session.tell(scene.cohort_id)
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
        session.tell(scene.cohort_id)


def _turn_news(before: Scene, after: Scene) -> Iterator[tuple[str, dict[str, Any], bool]]:
    """The events of turn-taking: whose turn it is, the topic; and that agents have stopped, which members
    are not told: it says who is an agent."""
    if (before.turn.number, before.turn.topic) != (after.turn.number, after.turn.topic):
        holder = after.turn.holder and str(after.turn.holder)
        yield "thread.updated", {"whose_turn": holder, "topic": topic_of(after.stage, after.turn.topic)}, True
    if after.turn.is_resting and not before.turn.is_resting:
        yield "thread.rested", {"agent_run": after.agent_run}, False


async def advance(session: Session, scene: Scene, *, cause: str, is_last: bool = False) -> Scene:
    """Write every change that is due in a locked scene, and return the scene after them; `is_last` as in `write`."""
    while True:
        scene, change = await decided(session, scene, next_change)
        if change is None:
            return scene
        if change.claims is not None:
            await failpoint("reply.claiming")
        scene = await write(session, scene, change, cause, is_last=is_last)
        if change.claims is not None:
            await failpoint("reply.claimed")


_STILL_WANTED = text("SELECT id FROM drafts WHERE id = ANY(:draft_ids) AND state = 'wanted' FOR NO KEY UPDATE")

ChangeT = TypeVar("ChangeT", bound=Change | None)


async def decided(session: Session, scene: Scene, rule: Callable[[Scene], ChangeT]) -> tuple[Scene, ChangeT]:
    """What the rule makes of a locked scene, and the scene that it was made of.

    Where it takes back drafts without a worker, these are locked first: when a worker has begun on one meanwhile,
    the rule decides once more, knowing that. So no agent is asked again whose call has just gone out.
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


async def tell_typing(session: ReadSession, scene: Scene, change: Change) -> None:
    """Show that a member types an opening line, and that a member stops whose reply is dropped before it is said."""
    if scene.pace != "live":
        return
    dropped = [_hint(scene, draft.member_id, 0) for draft, _ in change.closed if draft.state == "ready"]
    begun = [
        _hint(scene, draft.member_id, int((draft.due_at - scene.now) / timedelta(milliseconds=1)) + LASTS_MS)
        for draft in change.wanted
        if draft.state == "ready" and draft.text is not None and draft.due_at is not None and draft.due_at > scene.now
    ]
    await send(session, dropped + begun)


async def tell_stopped(session: ReadSession, scene: Scene, draft: Draft) -> None:
    """The author of a reply that has lost its claim stops."""
    if scene.pace == "live":
        await send(session, [_hint(scene, draft.member_id, 0)])


def _hint(scene: Scene, member_id: UUID, for_ms: int) -> TypingHint:
    return TypingHint(scene.cohort_id, scene.thread_id, scene.stage.id, scene.scope, member_id, for_ms)
