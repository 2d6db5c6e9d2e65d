"""Answering: an answer is stored by the statement that closes its ask, or that writes it for a scripted member."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import text

from shared.acts.drafts import Lease
from shared.contracts.hints import FACTS, ORCHESTRATOR, Hint
from shared.db.facts import FLUSH, Event
from shared.db.session import Session, as_json
from shared.db.standings import Standing
from shared.stage import PAGE, Ask, Json, Salvaged

_ENTRY = """
    INSERT INTO answers (member_id, stage_id, key, cohort_id, value, valid, invalid, completed_at, written_at)
    SELECT a.member_id, a.stage_id, a.key, a.cohort_id, {value}, {valid}, {invalid}, :now, :now FROM answered a
    ON CONFLICT (member_id, stage_id, key) DO UPDATE
        SET value = excluded.value, valid = excluded.valid, invalid = excluded.invalid,
            completed_at = excluded.completed_at, written_at = excluded.written_at, revision = answers.revision + 1
        WHERE answers.completed_at IS NULL
    RETURNING 1
"""

# The calls are recorded in any case: they were paid.
_BY_REPLIES = """
    reply AS (
        SELECT * FROM jsonb_to_recordset(CAST(:replies AS jsonb)) AS g(
            owner uuid, value jsonb, call_id uuid, draft_id uuid, part text, attempt int, call_path text, provider text,
            model_asked text, model_returned text, endpoint text, model_mode text, settings jsonb, prompt jsonb,
            prompt_hash text, raw text, parsed jsonb, status text, error text, tokens_in int, tokens_out int,
            cost numeric, started_at timestamptz, finished_at timestamptz)
    ), call AS (
        INSERT INTO model_calls (id, draft_id, part, attempt, path, provider, model_asked, model_returned, endpoint,
            model_mode, settings, prompt, prompt_hash, raw, parsed, status, error, tokens_in, tokens_out, cost,
            started_at, finished_at)
        SELECT call_id, draft_id, part, attempt, call_path, provider, model_asked, model_returned, endpoint,
            model_mode, settings, prompt, prompt_hash, raw, parsed, status, error, tokens_in, tokens_out, cost,
            started_at, finished_at
        FROM reply
        ON CONFLICT DO NOTHING
    ), held AS (
        SELECT d.id, d.ask_id, g.owner, a.state = 'open' AS is_open, coalesce(g.value, 'null') AS value
        FROM {here} reply g JOIN drafts d ON d.id = g.draft_id AND d.lease_owner = g.owner AND d.state = 'thinking'
            JOIN asks a ON a.id = d.ask_id
    ), closed AS (
        UPDATE drafts d SET state = CASE WHEN h.is_open THEN 'answered' ELSE 'cancelled' END,
            lease_owner = NULL, lease_until = NULL, closed_at = :now
        FROM held h WHERE d.id = h.id AND d.state = 'thinking' AND d.lease_owner = h.owner
        RETURNING d.id, d.ask_id, h.value
    ), answered AS (
        UPDATE asks k SET state = 'answered', closed_at = :now FROM closed c
        WHERE k.id = c.ask_id AND k.state = 'open'
        RETURNING k.member_id, k.stage_id, k.key, k.cohort_id, c.id, c.value
    ), entry AS ({entry}), written AS (SELECT count(*) FROM entry)
"""

_BY_HAND = """
    WITH answered AS (
        UPDATE asks SET state = :state, reason = :reason, closed_at = :now WHERE id = :ask_id AND state = 'open'
        RETURNING member_id, stage_id, key, cohort_id
    ), entry AS ({entry})
    SELECT EXISTS (SELECT FROM answered) AS passed
"""
_ANSWERED = _ENTRY.format(value="a.value", valid="true", invalid="NULL")
_STORED = _BY_REPLIES.format(here="", entry=_ANSWERED)
_ANSWER_BY_REPLIES = text(f"WITH {_STORED} SELECT id FROM answered")  # noqa: S608 - put together from constants

# By somebody who does not hold the member's lock: it is taken first, and looks at the row again if it was waited for.
_HERE = """
    here AS (
        SELECT m.id FROM members m
        WHERE m.id = :member_id AND m.status = 'in_progress'
            AND (m.kind = 'mediator' OR m.stage_ids[m.position + 1] = :stage_id)
        FOR NO KEY UPDATE
    )
"""
_STORED_IF_HERE = _BY_REPLIES.format(here="here CROSS JOIN", entry=_ANSWERED)
# Events come after `written`: the stream's counter is locked last.
_FLUSH_WHEN_ANSWERED = FLUSH.format(condition_or_from="FROM answered, written,", passed="EXISTS (SELECT FROM answered)")
_ANSWER_AND_FLUSH = text(f"WITH {_HERE}, {_STORED_IF_HERE}, {_FLUSH_WHEN_ANSWERED}")

_ANSWER = text(
    _BY_HAND.format(
        entry=_ENTRY.format(value="CAST(:value AS jsonb)", valid=":valid", invalid="CAST(:invalid AS jsonb)")
    )
)


async def answer_by_replies(
    session: Session, replies: Sequence[tuple[Lease, Mapping[str, Any], Json]], now: datetime
) -> set[UUID]:
    """Record these calls of one member and, where lease and ask still stand, close both with the answer.

    Each reply comes with its call (see `drafts.save_call`). Returns the drafts that became answers. The caller holds
    the member's lock.
    """
    if not replies:
        return set()
    stored = await session.all(_ANSWER_BY_REPLIES, {"replies": _as_rows(replies), "now": now})
    return {row.id for row in stored}


async def answer_shared_ask(
    session: Session, lease: Lease, call: Mapping[str, Any], value: Json, now: datetime, *, cause: str
) -> bool:
    """The same for one reply to a shared ask, with all that follows from it, by one statement (`Database.deciding`).

    False when nothing but the call was recorded: the lease is lost, the ask is closed or the member has left.
    """
    by_agent = lease.experiment_id, lease.cohort_id, lease.member_path, lease.member_id
    _record_answer(session, *by_agent, lease.stage.id, lease.ask, value, now, cause=cause)
    params = {"member_id": lease.member_id, "stage_id": lease.stage.id, "now": now}
    row = await session.flush_with(_ANSWER_AND_FLUSH, {**params, "replies": _as_rows([(lease, call, value)])})
    return bool(row.passed)


def _as_rows(replies: Sequence[tuple[Lease, Mapping[str, Any], Json]]) -> str:
    return as_json([{**_as_fragments(call), "owner": lease.owner, "value": value} for lease, call, value in replies])


def _as_fragments(call: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a call with what is JSON already as it is."""
    fields = dict(call)
    for name in ("settings", "prompt", "parsed"):
        if fields[name] is not None:
            fields[name] = orjson.Fragment(fields[name])
    if fields["cost"] is not None:
        fields["cost"] = str(fields["cost"])
    return fields


async def answer(session: Session, ask_id: UUID, value: Json, now: datetime) -> bool:
    """Close an open ask with its answer; False when it was closed before. The caller holds the member's lock."""
    params = {
        "ask_id": ask_id,
        "state": "answered",
        "reason": None,
        "value": as_json(value),
        "valid": True,
        "invalid": None,
    }
    return bool((await session.one(_ANSWER, {**params, "now": now})).passed)


async def answer_for_want_of_one(session: Session, ask_id: UUID, value: Json, reason: str, now: datetime) -> bool:
    """Fail an open ask and store what counts instead of an answer, marked as not valid; False when it was closed."""
    stored = {"value": as_json(value), "valid": False, "invalid": None}
    params = {"ask_id": ask_id, "state": "failed", "reason": reason, **stored}
    return bool((await session.one(_ANSWER, {**params, "now": now})).passed)


async def answer_in_part(session: Session, ask: Ask, ask_id: UUID, found: Salvaged, reason: str, now: datetime) -> bool:
    """Fail an open ask and store what was salvaged, with what is missing and why; False when it was closed.

    A page is valid even so: its other answers stand.
    """
    stored = {"value": as_json(found.value), "valid": ask.key == PAGE or not found.missing}
    missing = as_json(found.missing) if found.missing else None
    params = {"ask_id": ask_id, "state": "failed", "reason": reason, **stored, "invalid": missing}
    return bool((await session.one(_ANSWER, {**params, "now": now})).passed)


def record_answer(
    session: Session, standing: Standing, stage_id: str, ask: Ask, value: Json, now: datetime, *, cause: str
) -> None:
    """Have the cohort settled because of this answer. Nobody but the member is told, and they not what it was."""
    member = standing.member
    whose = standing.experiment_id, standing.cohort_id, member.path, member.id
    _record_answer(session, *whose, stage_id, ask, value, now, cause=cause)
    if member.player == "person":
        session.announce(Hint(FACTS, "cohort.updated", str(standing.cohort_id)))


def _record_answer(
    session: Session,
    experiment_id: UUID,
    cohort_id: UUID,
    member_path: str,
    member_id: UUID,
    stage_id: str,
    ask: Ask,
    value: Json,
    now: datetime,
    *,
    cause: str,
) -> None:
    public = {"stage_id": stage_id, "key": ask.key}
    session.record(
        Event(
            experiment_id=experiment_id,
            cohort_id=cohort_id,
            type="ask.answered",
            actor=member_path,
            cause=cause,
            subject=member_path,
            subject_id=member_id,
            payload={**public, "value": value},
            public=public,
            audience=[member_id],
            at=now,
            unsettles=True,
        )
    )
    session.announce(Hint(ORCHESTRATOR, "cohort.unsettled", str(cohort_id)))


_SCRIPTED = text(
    """
    INSERT INTO answers (member_id, stage_id, key, cohort_id, value, completed_at, written_at, counted_at)
    SELECT g.member_id, :stage_id, g.key, :cohort_id, g.value, :now, :now, :as_of
    FROM jsonb_to_recordset(CAST(:answers AS jsonb)) AS g(member_id uuid, key text, value jsonb)
    ON CONFLICT DO NOTHING
    """
)


async def write_scripted(
    session: Session,
    cohort_id: UUID,
    stage_id: str,
    answers: Mapping[tuple[UUID, str], Json],
    *,
    as_of: int,
    now: datetime,
) -> None:
    """Store what scripted members answer, as final; they have no asks. The caller holds the cohort's lock."""
    rows = [{"member_id": member_id, "key": key, "value": value} for (member_id, key), value in answers.items()]
    await session.run(
        _SCRIPTED, {"answers": as_json(rows), "cohort_id": cohort_id, "stage_id": stage_id, "as_of": as_of, "now": now}
    )
