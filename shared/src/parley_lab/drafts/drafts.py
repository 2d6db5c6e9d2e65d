"""Drafts and model calls: leasing the work of an agent, recording what a model said, giving work back.

Nothing is paid without a lease, and a lease is one conditional update: of two deliveries at once one gets it.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base.replies import before_open_thought
from parley_lab.contracts.agent_config import AgentConfig
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.hints import ORCHESTRATOR, Hint
from parley_lab.contracts.lives import TAKING_PART, in_sql
from parley_lab.contracts.providers import MOCK_PROVIDER
from parley_lab.drafts.calls import INSERT_CALL
from parley_lab.kinds import PAGE, Ask, UnusableReply
from parley_lab.members.standings import stage_for
from parley_lab.store.facts import Event
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row, as_json
from parley_lab.talk.stored_changes import LOST_CLAIM, note_claim
from parley_lab.talk.typing_hints import LASTS_MS, TYPING_CHANNEL


@dataclass(frozen=True, slots=True)
class Lease:
    """The right to work on one draft, until it runs out or is renewed."""

    draft_id: UUID
    path: str
    owner: UUID
    experiment_id: UUID
    cohort_id: UUID
    thread_id: UUID | None
    ask_id: UUID | None
    member_id: UUID
    member_path: str
    member_kind: str
    purpose: str
    provider: str
    attempts: int
    calls_made: int
    last_number: int
    """The highest number of a call, those that were lost included."""
    free_calls: int
    """How many of them used up no attempt."""
    is_repeated: bool
    """Whether one of them was made since the draft was last given a new start: its key is accepted again, say."""
    first_called_at: datetime | None
    """Since when the model is asked, in vain so far; what was long ago and has been forgiven does not count."""
    as_of_seq: int | None
    seed: int
    pace: str
    model_mode: str
    clock_ms: int
    agent: AgentConfig
    stage: StageConfig
    leased_at: datetime
    """By the clock of the process that took it; renewals leave it."""
    has_call_limit: bool = False
    """Whether the experiment may make only so many calls."""
    key: str = PAGE
    """The key of the answer that is asked for; PAGE for words in a thread."""
    was_lost: bool = False
    """Whether the lease before ran out while its worker had the draft in hand: a call may have been sent."""
    times_lost: int = 0
    """How many workers ended while they had it in hand."""
    has_ended_worker: bool = False
    """Whether one of them had nothing else in hand."""
    correlation: str = ""
    """The id of the request or hint that caused the draft."""

    @property
    def attempts_left(self) -> int:
        """How many more calls may fail."""
        return max(0, self.agent.model.max_attempts - (self.calls_made - self.free_calls))

    @property
    def may_have_lost_a_call(self) -> bool:
        """Whether a call may have been sent, and paid, of which no one knows."""
        return self.was_lost and self.provider != MOCK_PROVIDER

    @property
    def first_number(self) -> int:
        """The number of its first call. A call that was lost keeps its own: its worker may record it still."""
        return self.last_number + 1 + self.may_have_lost_a_call

    @property
    def ask(self) -> Ask:
        """The question that the draft answers, as the rules of its stage see it."""
        return Ask(self.member_id, self.key, self.purpose)


# A worker that was stopped has no registration any more, and one that lives renews it: only one that ended in another
# way has an old one. So neither a deployment nor an outage of Postgres counts.
_HAS_ENDED = "w.seen_at + (w.believed_until - w.seen_at) * 0.66 <= :now"

# A lease that a crash of the server forgets costs a repeated call at most: it does not wait for the disk.
# The verdict is looked up without locking the thread: it saves a call that would be in vain, publishing decides.
# Leasing several never waits: two workers that each hold one and wait for the other's would deadlock.
_LEASE = text(
    f"""
    WITH mine AS (
        SELECT id FROM drafts WHERE id = ANY(:draft_ids) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
    ), verdict AS (
        SELECT d.id, CASE
            WHEN e.status = 'paused' OR m.status = 'paused' THEN 'held'
            WHEN m.status NOT IN {in_sql(TAKING_PART)} OR (m.kind = 'participant'
                AND (m.stage_ids[m.position + 1] IS DISTINCT FROM d.stage_id OR m.cohort_id <> d.cohort_id))
                THEN 'cancelled'
            WHEN a.state <> 'open' THEN 'cancelled'
            WHEN t.ended_at IS NOT NULL THEN 'ended'
            WHEN t.held THEN 'held'
            WHEN t.turn_state -> 'ready' ? CAST(d.member_id AS text) THEN 'cancelled'
            WHEN EXISTS (SELECT FROM trigger_log l
                WHERE l.thread_id = d.thread_id AND l.trigger_key = d.trigger_key) THEN 'lost_claim'
            WHEN t.id IS NOT NULL AND d.purpose <> 'ready' AND d.trigger_key
                <> coalesce(t.turn_state ->> 'trigger', 'message:' || t.last_spoken_id, 'start')
                AND coalesce((t.turn_state -> 'late' ->> d.trigger_key)::int, -1)
                    < (SELECT coalesce(sum(n.spoken::int), 0)
                        FROM jsonb_each_text(t.turn_state -> 'spoken') AS n(member, spoken))
                THEN CASE WHEN d.trigger_key LIKE 'turn:%' THEN 'cancelled' ELSE 'moved_on' END
        END AS closing,
        d.state = 'wanted' AND d.not_before <= :now OR d.state = 'thinking' AND d.lease_until < :now AS is_free,
        d.state = 'thinking' AS was_lost
        FROM drafts d JOIN members m ON m.id = d.member_id JOIN experiments e ON e.id = m.experiment_id
            LEFT JOIN asks a ON a.id = d.ask_id LEFT JOIN threads t ON t.id = d.thread_id
        WHERE d.id IN (SELECT id FROM mine)
    ), leased AS (
        UPDATE drafts d SET
            state = coalesce(v.closing, 'thinking'),
            lease_owner = CASE WHEN v.closing IS NULL THEN CAST(:owner AS uuid) END,
            lease_until = CASE WHEN v.closing IS NULL THEN CAST(:until AS timestamptz) END,
            lost_with = CASE WHEN v.closing IS NULL AND d.state = 'thinking' AND d.lease_worker <> ALL (d.lost_with)
                THEN d.lost_with || d.lease_worker ELSE d.lost_with END,
            lease_worker = CASE WHEN v.closing IS NULL THEN CAST(:worker AS uuid) END,
            attempts = d.attempts + CASE WHEN v.closing IS NULL THEN 1 ELSE 0 END,
            reason = NULL,
            closed_at = CASE WHEN v.closing IS NULL THEN NULL ELSE CAST(:now AS timestamptz) END
        FROM verdict v
        WHERE d.id = v.id AND v.closing IS DISTINCT FROM 'held' AND (v.closing IS NULL OR :may_close)
            AND (d.state = 'wanted' AND d.not_before <= :now OR d.state = 'thinking' AND d.lease_until < :now)
        RETURNING d.*
    )
    SELECT x.id AS looked_at,
        NOT :may_close AND v.is_free AND v.closing IS NOT NULL AND v.closing <> 'held' AS is_pointless,
        d.id, d.path, d.state, d.cohort_id, d.thread_id, d.ask_id, d.member_id, d.stage_id, d.purpose, d.provider,
        d.attempts, d.free_calls, d.as_of_seq, d.correlation, coalesce(k.key, '') AS key,
        m.path AS member_path, m.kind AS member_kind, m.agent_config, m.experiment_id,
        e.seed, e.pace, e.model_mode, e.version, t.clock_ms,
        coalesce(m.treatment_id, c.treatment_id) AS treatment_id,
        EXISTS (SELECT FROM call_limits g WHERE g.experiment_id = m.experiment_id) AS has_call_limit,
        v.was_lost, CASE WHEN d.lost_with = '{{}}' THEN 0 ELSE (SELECT count(*) FROM workers w
            WHERE w.id = ANY (d.lost_with) AND {_HAS_ENDED}) END AS times_lost,
        d.alone_with IS NOT NULL AND EXISTS (SELECT FROM workers w
            WHERE w.id = d.alone_with AND w.id = ANY (d.lost_with) AND {_HAS_ENDED}) AS has_ended_worker,
        before.calls_made, before.last_number, before.is_repeated,
        greatest(before.first_called_at, d.tried_since) AS first_called_at
    FROM (SELECT set_config('synchronous_commit', 'off', true)) AS hurry,
        mine x JOIN verdict v ON v.id = x.id LEFT JOIN leased d ON d.id = x.id
        LEFT JOIN members m ON m.id = d.member_id LEFT JOIN experiments e ON e.id = m.experiment_id
        LEFT JOIN cohorts c ON c.id = d.cohort_id LEFT JOIN threads t ON t.id = d.thread_id
        LEFT JOIN asks k ON k.id = d.ask_id
        CROSS JOIN LATERAL (SELECT count(*) FILTER (WHERE x.part = '') AS calls_made,
                coalesce(max(x.attempt), 0) AS last_number, coalesce(bool_or(x.part = ''
                    AND (d.tried_since IS NULL OR x.started_at > d.tried_since)), false) AS is_repeated,
                CASE WHEN bool_or(x.part = '') THEN greatest(min(x.started_at) FILTER (WHERE x.part = ''),
                    e.resumed_at, m.resumed_at, (SELECT o.resumed_at FROM members o
                    WHERE o.experiment_id = m.experiment_id AND t.scope = 'private:' || o.path)) END AS first_called_at
            FROM model_calls x WHERE x.draft_id = d.id) before
    """  # noqa: S608 - put together from constants
)
_WAIT_FOR = text("SELECT id FROM drafts WHERE id = :draft_id FOR NO KEY UPDATE")


async def lease(
    session: Session, draft_id: UUID, owner: UUID, now: datetime, until: datetime, *, worker: UUID | None = None
) -> Lease | None:
    """Take the draft for `owner` until `until`, once its row is free; None when there is nothing to do for it.

    `worker`: the registered worker that takes it.

    A draft that has become pointless is closed here instead, without a call.
    """
    await session.first(_WAIT_FOR, {"draft_id": draft_id})
    params = {"draft_ids": [draft_id], "owner": owner, "now": now, "until": until, "worker": worker, "may_close": True}
    row = await session.first(_LEASE, params)
    return None if row is None or row.id is None else await _lease_or_closing(session, row, owner, now)


async def lease_many(
    session: Session,
    draft_ids: Collection[UUID],
    owner: UUID,
    now: datetime,
    until: datetime,
    *,
    worker: UUID | None = None,
) -> tuple[dict[UUID, Lease | None], list[UUID]]:
    """`lease` for each of these drafts by one statement (`Database.autocommit`).

    The drafts that were passed over come second: another worker holds them, or they are pointless and to be closed.
    """
    params = {"draft_ids": [*draft_ids], "owner": owner, "now": now, "until": until, "worker": worker}
    rows = await session.all(_LEASE, {**params, "may_close": False})
    leased = {
        row.looked_at: None if row.id is None else await _lease_or_closing(session, row, owner, now)
        for row in rows
        if not row.is_pointless
    }
    return leased, [draft_id for draft_id in draft_ids if draft_id not in leased]


async def _lease_or_closing(session: Session, row: Row, owner: UUID, now: datetime) -> Lease | None:
    if row.state != "thinking":
        if row.state == LOST_CLAIM:
            note_claim(row.id, False)
        _record_closing(session, row.experiment_id, row.cohort_id, row.path, row.id, row.state, now)
        return None
    return Lease(
        draft_id=row.id,
        path=row.path,
        owner=owner,
        experiment_id=row.experiment_id,
        cohort_id=row.cohort_id,
        thread_id=row.thread_id,
        ask_id=row.ask_id,
        member_id=row.member_id,
        member_path=row.member_path,
        member_kind=row.member_kind,
        purpose=row.purpose,
        provider=row.provider,
        attempts=row.attempts,
        calls_made=row.calls_made,
        last_number=row.last_number,
        free_calls=row.free_calls,
        is_repeated=row.is_repeated,
        first_called_at=row.first_called_at if row.calls_made else None,
        as_of_seq=row.as_of_seq,
        seed=row.seed,
        pace=row.pace,
        model_mode=row.model_mode,
        clock_ms=row.clock_ms or 0,
        agent=AgentConfig.model_validate(row.agent_config).in_stage(row.stage_id),
        stage=await stage_for(session, row.member_id, row.experiment_id, row.version, row.treatment_id, row.stage_id),
        leased_at=now,
        has_call_limit=row.has_call_limit,
        key=row.key,
        was_lost=row.was_lost,
        times_lost=row.times_lost,
        has_ended_worker=row.has_ended_worker,
        correlation=row.correlation,
    )


def _record_closing(
    session: Session, experiment_id: UUID, cohort_id: UUID, path: str, draft_id: UUID, state: str, now: datetime
) -> None:
    """A draft closed without a message may be the last of its wave: the cohort is looked at again."""
    session.record(
        Event(
            experiment_id=experiment_id,
            cohort_id=cohort_id,
            type="draft.closed",
            actor="lab",
            cause="agent-worker",
            subject=path,
            subject_id=draft_id,
            payload={"state": state},
            at=now,
            unsettles=True,
        )
    )
    session.announce(Hint(ORCHESTRATOR, "cohort.unsettled", str(cohort_id)))


_RENEW = text(
    "UPDATE drafts SET lease_until = :until WHERE id = :draft_id AND lease_owner = :owner AND state = 'thinking'"
)


async def renew(session: Session, lease: Lease, until: datetime) -> bool:
    """Keep the lease; False when it is not ours any more."""
    renewed = await session.run(_RENEW, {"draft_id": lease.draft_id, "owner": lease.owner, "until": until})
    return bool(renewed)


_ALONE = text(
    """
    UPDATE drafts SET alone_with = CASE WHEN :is_alone THEN lease_worker END
    WHERE id = :draft_id AND lease_owner = :owner AND state = 'thinking'
    """
)


async def note_alone(session: Session, lease: Lease, *, is_alone: bool) -> bool:
    """Note whether its call is alone in flight from now on; False when the lease is not ours any more."""
    params = {"draft_id": lease.draft_id, "owner": lease.owner, "is_alone": is_alone}
    return bool(await session.run(_ALONE, params))


_SAVE_CALL = text(INSERT_CALL)

# Looks at the thread without its lock, so the result may be out of date; publishing looks again, and the claim decides.
_IS_AWAITED: Final = """
    t.turn_state -> 'late' ? d.trigger_key
    OR d.trigger_key IN (coalesce(t.turn_state ->> 'trigger', 'message:' || t.last_spoken_id, 'start'),
        t.last_spoken_trigger)
"""
"""Whether the thread `t` still takes a reply by the draft `d`."""
_SAVE_REPLY = text(
    f"""
    WITH call AS (
        {INSERT_CALL}
    )
    UPDATE drafts d SET state = 'ready', lease_owner = NULL, lease_until = NULL, reply = CAST(:reply AS jsonb),
        ready_to_end = :ready_to_end, due_at = :due_at, finish_ms = :finish_ms
    WHERE d.id = :draft_id AND d.lease_owner = :owner AND d.state = 'thinking'
    RETURNING (
        SELECT t.ended_at IS NULL AND ({_IS_AWAITED})
        FROM threads t WHERE t.id = d.thread_id
    ) AS is_current, (
        SELECT pg_notify('{TYPING_CHANNEL}', json_build_object('cohort_id', t.cohort_id, 'thread_id', t.id,
            'stage_id', t.stage_id, 'scope', t.scope, 'member_id', d.member_id,
            'for_ms', CAST(:typing_ms AS int))::text)
        FROM threads t WHERE t.id = d.thread_id AND CAST(:typing_ms AS int) > 0 AND NOT t.held AND t.ended_at IS NULL
            AND ({_IS_AWAITED})
    ) AS told
    """  # noqa: S608 - put together from constants
)


async def save_call(session: Session, call: Mapping[str, Any]) -> None:
    """Record one attempt at a model; `call` has the columns of `model_calls` (see `call_row`)."""
    await session.run(_SAVE_CALL, call)


_UNUSABLE = text(
    """
    SELECT coalesce(details ->> 'text', raw) AS words, parsed, coalesce(error, status) AS error FROM model_calls k
    WHERE draft_id = :draft_id AND (status IN ('ok', 'invalid', 'refused') OR status = 'too_long' AND (raw <> ''
        OR NOT EXISTS (SELECT FROM model_calls n WHERE n.draft_id = k.draft_id AND n.attempt > k.attempt)))
    ORDER BY attempt
    """
)


async def unusable_replies(session: ReadSession, draft_id: UUID) -> list[UnusableReply]:
    """What a model wrote for a draft that is given up, the oldest first; empty when no reply came at all.

    A last prompt that left no room for a reply counts as one.
    """
    rows = await session.all(_UNUSABLE, {"draft_id": draft_id})
    return [UnusableReply(before_open_thought(row.words or ""), row.parsed, row.error) for row in rows]


_SAME_REFUSALS = text(
    """
    SELECT count(DISTINCT d.member_id) AS members
    FROM model_calls k JOIN drafts d ON d.id = k.draft_id JOIN members m ON m.id = d.member_id
    WHERE m.experiment_id = :experiment_id AND d.stage_id = :stage_id AND d.state IN ('failed', 'invalid')
        AND k.status = :status AND (k.status = 'refused' OR k.raw = :raw)
    """
)


async def same_refusals(session: ReadSession, lease: Lease, status: str, raw: str) -> int:
    """How many members got no answer on this stage because a model refused, or wrote these very words."""
    params = {"experiment_id": lease.experiment_id, "stage_id": lease.stage.id, "status": status, "raw": raw}
    return int((await session.one(_SAME_REFUSALS, params)).members)


_SAID_IN_VAIN = text(
    """
    SELECT coalesce(k.details ->> 'text', k.raw, '') AS words, coalesce(k.error, k.status) AS reason,
        coalesce(k.details ->> 'finish_reason' = 'length', false) AS was_cut,
        d.tried_since IS NULL OR k.started_at > d.tried_since AS is_recent
    FROM model_calls k JOIN drafts d ON d.id = k.draft_id
    WHERE k.draft_id = :draft_id AND k.status = 'invalid' ORDER BY k.attempt
    """
)


async def said_in_vain(session: ReadSession, draft_id: UUID) -> Sequence[Row]:
    """The replies to a draft that could not be used so far, the oldest first: `words`, `reason`, `was_cut` (ended at a
    limit), `is_recent` (since the draft was last given a new start)."""
    return await session.all(_SAID_IN_VAIN, {"draft_id": draft_id})


async def save_reply(
    session: Session,
    lease: Lease,
    call: Mapping[str, Any],
    *,
    reply: Mapping[str, Any],
    due_at: datetime,
    ready_to_end: bool = False,
    finish_ms: int | None = None,
    typing_seconds: float = 0,
) -> bool | None:
    """Record the call and make the draft ready; None when the lease was lost, else whether a thread awaits it.

    The call is recorded in any case: it was paid. Its author is shown as typing for `typing_seconds` from now on;
    0: not at all.
    """
    row = await session.first(
        _SAVE_REPLY,
        {
            **call,
            "owner": lease.owner,
            "reply": as_json(reply),
            "ready_to_end": ready_to_end,
            "due_at": due_at,
            "finish_ms": finish_ms,
            "typing_ms": int(typing_seconds * 1000) + LASTS_MS if typing_seconds > 0 else 0,
        },
    )
    return None if row is None else bool(row.is_current)


_CLOSE = text(
    """
    UPDATE drafts SET state = :state, reason = :reason, lease_owner = NULL, lease_until = NULL, closed_at = :now
    WHERE id = :draft_id AND lease_owner = :owner AND state = 'thinking'
    """
)


async def close(session: Session, lease: Lease, state: str, reason: str | None, now: datetime) -> bool:
    """Close a leased draft without a message (`failed`, `invalid`) or as `answered`; False when the lease was lost."""
    closed = await session.run(
        _CLOSE, {"draft_id": lease.draft_id, "owner": lease.owner, "state": state, "reason": reason, "now": now}
    )
    if closed and state != "answered":
        _record_closing(session, lease.experiment_id, lease.cohort_id, lease.path, lease.draft_id, state, now)
    return bool(closed)


_FORGIVE = text(
    """
    UPDATE drafts SET free_calls = free_calls + 1
    WHERE id = :draft_id AND lease_owner = :owner AND state = 'thinking'
    """
)


async def forgive_call(session: Session, lease: Lease) -> None:
    """One of the calls that were made for this draft uses up no attempt."""
    await session.run(_FORGIVE, {"draft_id": lease.draft_id, "owner": lease.owner})


_GIVE_BACK = text(
    """
    UPDATE drafts SET state = 'wanted', lease_owner = NULL, lease_until = NULL, not_before = :not_before,
        reason = :reason, attempts = attempts - CASE WHEN :counts THEN 0 ELSE 1 END,
        free_calls = free_calls + :free_calls
    WHERE id = :draft_id AND lease_owner = :owner AND state = 'thinking'
    """
)


async def give_back(
    session: Session, lease: Lease, not_before: datetime, reason: str, *, counts: bool, free_calls: int = 0
) -> bool:
    """Put the draft back, to be taken again at `not_before`; `counts` says whether work on it was begun.

    `free_calls` of those that were made since it was taken use up no attempt.
    """
    returned = await session.run(
        _GIVE_BACK,
        {
            "draft_id": lease.draft_id,
            "owner": lease.owner,
            "not_before": not_before,
            "reason": reason,
            "counts": counts,
            "free_calls": free_calls,
        },
    )
    return bool(returned)


_VOID = text("UPDATE drafts SET lease_until = :now WHERE state = 'thinking'")
_ALL_ENDED = text("UPDATE workers SET believed_until = seen_at WHERE believed_until > seen_at")


async def void_leases(session: Session, now: datetime) -> int:
    """Void every lease: only for a lab that is the only one on its database and has just started."""
    await session.run(_ALL_ENDED)
    return await session.run(_VOID, {"now": now})
