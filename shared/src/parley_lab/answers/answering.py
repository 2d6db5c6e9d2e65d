"""Answering: an answer is stored by the statement that closes its ask.

The page of a person who goes on alone is stored by `going_on.go_on_quietly`, answers of scripts and of members who have
gone by `parley_lab.settle.playing`.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, Final
from uuid import UUID

import orjson
from sqlalchemy import text

from parley_lab.contracts.hints import ORCHESTRATOR, Hint
from parley_lab.contracts.lives import STILL_IN, in_sql
from parley_lab.drafts.calls import CALL_COLUMNS
from parley_lab.drafts.drafts import Lease
from parley_lab.kinds import PAGE, Ask, Json, Substitute
from parley_lab.members.standing import Standing
from parley_lab.store.facts import FLUSH_WITH, Event
from parley_lab.store.session import Session
from parley_lab.store.statements import as_json

# An answer is final: only a row that is not completed is written anew.
UNLESS_FINAL: Final = """
    ON CONFLICT (member_id, stage_id, key) DO UPDATE
        SET value = excluded.value, valid = excluded.valid, passed = excluded.passed, invalid = excluded.invalid,
            marks = excluded.marks, completed_at = excluded.completed_at, written_at = excluded.written_at,
            counted_at = excluded.counted_at, revision = answers.revision + 1
        WHERE answers.completed_at IS NULL
"""

# The calls are recorded in any case: they were paid. The members' locks come first, for a caller that does not hold
# them, and a row is looked at again if it was waited for.
_ANSWERS: Final = f"""
    WITH here AS (
        SELECT m.id, m.kind, m.stage_ids[m.position + 1] AS stage_id FROM members m
        WHERE m.id = ANY(:member_ids) AND m.status IN {in_sql(STILL_IN)}
        FOR NO KEY UPDATE
    ), reply AS (
        SELECT * FROM jsonb_to_recordset(CAST(:replies AS jsonb)) AS g(
            owner uuid, value jsonb, call_id uuid, draft_id uuid, part text, attempt int, call_path text,
            provider text, model_asked text, model_returned text, endpoint text, model_mode text, settings jsonb,
            prompt jsonb, prompt_pieces uuid[], prompt_hash text, raw text, parsed jsonb, status text, error text,
            tokens_in int, tokens_out int, cost numeric, started_at timestamptz, finished_at timestamptz,
            details jsonb, read_as jsonb)
    ), call AS (
        INSERT INTO model_calls ({CALL_COLUMNS})
        SELECT call_id, draft_id, call_path, part, attempt, provider, model_asked, model_returned, endpoint,
            model_mode, prompt_hash, raw, status, error, tokens_in, tokens_out, cost, started_at, finished_at,
            prompt_pieces, settings, prompt, parsed, details, read_as
        FROM reply
        ON CONFLICT DO NOTHING
    ), held AS (
        SELECT d.id, d.ask_id, g.owner, a.state = 'open' AS is_open, coalesce(g.value, 'null') AS value
        FROM here CROSS JOIN reply g
            JOIN drafts d ON d.id = g.draft_id AND d.member_id = here.id AND d.lease_owner = g.owner
                AND d.state = 'thinking'
            JOIN asks a ON a.id = d.ask_id
        WHERE here.kind = 'mediator' OR here.stage_id = d.stage_id
    ), closed AS (
        UPDATE drafts d SET state = CASE WHEN h.is_open THEN 'answered' ELSE 'cancelled' END,
            lease_owner = NULL, lease_until = NULL, closed_at = :now
        FROM held h WHERE d.id = h.id AND d.state = 'thinking' AND d.lease_owner = h.owner
        RETURNING d.id, d.ask_id, h.value
    ), answered AS (
        UPDATE asks k SET state = 'answered', closed_at = :now FROM closed c
        WHERE k.id = c.ask_id AND k.state = 'open'
        RETURNING k.member_id, k.stage_id, k.key, k.cohort_id, c.id, c.value
    ), entry AS (
        INSERT INTO answers (member_id, stage_id, key, cohort_id, value, valid, completed_at, written_at)
        SELECT a.member_id, a.stage_id, a.key, a.cohort_id, a.value, true, :now, :now FROM answered a
        {UNLESS_FINAL}
        RETURNING 1
    )
"""  # noqa: S608 - put together from constants
_ANSWER_BY_REPLIES = text(_ANSWERS + "SELECT (SELECT array_agg(id) FROM answered) AS answered")  # noqa: S608 - constants


async def answer_by_replies(
    session: Session, replies: Sequence[tuple[Lease, Mapping[str, Any], Json]], now: datetime
) -> set[UUID]:
    """Record these calls and, where lease and ask are still open, close both with the answer.

    Each reply comes with its call (see `drafts.save_call`). Returns the drafts that became answers. The caller holds
    the members' locks.
    """
    if not replies:
        return set()
    member_ids = list({lease.member_id for lease, _, _ in replies})
    params = {"member_ids": member_ids, "replies": _as_rows(replies), "now": now}
    row = await session.one(_ANSWER_BY_REPLIES, params)
    return set(row.answered or ())


# The counter of the pending events comes last. Where nothing is pending, the statement above takes a fifth less time.
_ANSWER_SHARED_ASK = text(
    f"""
    {_ANSWERS}, written AS (
        SELECT count(*) FROM entry
    ), passed AS (
        SELECT 1 FROM written WHERE EXISTS (SELECT FROM answered)
    ), {FLUSH_WITH}
    """  # noqa: S608 - put together from constants
)


async def answer_shared_ask(
    session: Session, lease: Lease, call: Mapping[str, Any], value: Json, now: datetime, *, cause: str
) -> bool:
    """The same for one reply to a shared ask, with all that follows from it, by one statement (`Database.autocommit`).

    False when nothing but the call was recorded: the lease is lost, the ask is closed or the member has left.
    """
    by_agent = lease.experiment_id, lease.cohort_id, lease.member_path, lease.member_id
    _record_answer(session, *by_agent, lease.stage.id, lease.ask, value, now, cause=cause)
    params = {"member_ids": [lease.member_id], "replies": _as_rows([(lease, call, value)]), "now": now}
    return bool((await session.flush_with(_ANSWER_SHARED_ASK, params)).passed)


def _as_rows(replies: Sequence[tuple[Lease, Mapping[str, Any], Json]]) -> str:
    return as_json([{**_as_fragments(call), "owner": lease.owner, "value": value} for lease, call, value in replies])


def _as_fragments(call: Mapping[str, Any]) -> dict[str, Any]:
    """The row of a call with what is JSON already as it is."""
    fields = dict(call)
    for name in ("settings", "prompt", "parsed", "details", "read_as"):
        if fields[name] is not None:
            fields[name] = orjson.Fragment(fields[name])
    if fields["cost"] is not None:
        fields["cost"] = str(fields["cost"])
    return fields


_ANSWER = text(
    f"""
    WITH answered AS (
        UPDATE asks SET state = :state, reason = :reason, closed_at = :now WHERE id = :ask_id AND state = 'open'
        RETURNING member_id, stage_id, key, cohort_id
    ), begun AS (
        DELETE FROM partial_answers p USING answered a
        WHERE (p.member_id, p.stage_id, p.key) = (a.member_id, a.stage_id, a.key)
    ), entry AS (
        INSERT INTO answers (member_id, stage_id, key, cohort_id, value, valid, invalid, marks, completed_at,
            written_at)
        SELECT a.member_id, a.stage_id, a.key, a.cohort_id, CAST(:value AS jsonb), :valid, CAST(:invalid AS jsonb),
            CAST(:marks AS jsonb), :now, :now
        FROM answered a
        {UNLESS_FINAL}
        RETURNING 1
    )
    SELECT EXISTS (SELECT FROM answered) AS passed
    """  # noqa: S608 - put together from constants
)


async def answer(
    session: Session, ask_id: UUID, value: Json, now: datetime, *, marks: Mapping[str, str] | None = None
) -> bool:
    """Close an open ask with its answer; False when it was closed before. The caller holds the member's lock.

    marks: which fields were filled in and not sent, and why; "" for the whole. None: the answer was sent.
    """
    params = {
        "ask_id": ask_id,
        "state": "answered",
        "reason": None,
        "value": as_json(value),
        "valid": True,
        "invalid": None,
        "marks": None if marks is None else as_json(dict(marks)),
    }
    return bool((await session.one(_ANSWER, {**params, "now": now})).passed)


async def answer_with_substitute(
    session: Session, ask: Ask, ask_id: UUID, found: Substitute, reason: str, now: datetime
) -> bool:
    """Fail an open ask and store what counts instead of an answer; False when it was closed before.

    It is marked as not valid. A page with some missing answers is still valid: the others are kept.
    """
    is_valid = found.missing is not None and (ask.key == PAGE or not found.missing)
    stored = {"value": as_json(found.value), "valid": is_valid, "marks": None}
    missing = as_json(found.missing) if found.missing else None
    params = {"ask_id": ask_id, "state": "failed", "reason": reason, **stored, "invalid": missing}
    return bool((await session.one(_ANSWER, {**params, "now": now})).passed)


_PAGE = text(
    f"""
    INSERT INTO answers (member_id, stage_id, key, cohort_id, value, invalid, marks, completed_at, written_at)
    VALUES (:member_id, :stage_id, :key, :cohort_id, CAST(:value AS jsonb),
        nullif(CAST(:missing AS jsonb) || coalesce((
            SELECT jsonb_object_agg(part.key, part.value) FROM answers e CROSS JOIN jsonb_each(e.invalid) part
            WHERE e.member_id = :member_id AND e.stage_id = :stage_id AND e.key <> :key), '{{}}'), '{{}}'),
        nullif(CAST(:marks AS jsonb), '{{}}'), :now, :now)
    {UNLESS_FINAL}
    """  # noqa: S608 - put together from constants
)


def write_page(
    session: Session,
    standing: Standing,
    value: Json,
    now: datetime,
    *,
    missing: Mapping[str, str] | None = None,
    marks: Mapping[str, str] | None = None,
) -> None:
    """Store the member's page answer of the stage they are on, as final; what its entries miss is missing in it.

    `missing`: why other fields are. `marks`: which fields were not sent, as in `answer`.
    """
    assert standing.stage is not None
    session.later(
        _PAGE,
        {
            "member_id": standing.member.id,
            "stage_id": standing.stage.id,
            "key": PAGE,
            "cohort_id": standing.cohort_id,
            "value": as_json(value),
            "missing": as_json(dict(missing or {})),
            "marks": as_json(dict(marks or {})),
            "now": now,
        },
    )


def record_answer(
    session: Session, standing: Standing, stage_id: str, ask: Ask, value: Json, now: datetime, *, cause: str
) -> None:
    """Have the cohort settled because of this answer. Only the member is told, without the answer itself."""
    member = standing.member
    whose = standing.experiment_id, standing.cohort_id, member.path, member.id
    _record_answer(session, *whose, stage_id, ask, value, now, cause=cause)
    if member.player == "person":
        session.tell(standing.cohort_id)


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
