"""Asks: what the lab demands of one member, final once given; and the drafts of the agents who are to answer them.

An answer is stored by the statement that closes its ask, so that of two answers at once one counts.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

import orjson
from sqlalchemy import text

from shared import seeds
from shared.contracts.hints import FACTS, ORCHESTRATOR, Hint, provider_queue
from shared.db.drafts import Lease
from shared.db.facts import FLUSH, Event
from shared.db.members import Standing
from shared.db.session import Session, as_json
from shared.db.settling import CohortState, record
from shared.errors import NotFound
from shared.stage import PAGE, Ask, Json, Salvaged
from shared.views import Attendee

# Whoever has left meanwhile is asked nothing. The members' rows are locked by the caller or here, in the order of ids;
# a lock that was waited for looks at the row again.
_OPEN = text(
    """
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(CAST(:asks AS jsonb)) AS g(
            id uuid, path text, member_id uuid, key text, purpose text, draft_id uuid, provider text)
    ), here AS (
        SELECT m.id FROM members m
        WHERE m.id = ANY(:member_ids) AND m.status = 'in_progress'
            AND (m.kind = 'mediator' OR m.stage_ids[m.position + 1] = :stage_id)
        ORDER BY m.id FOR NO KEY UPDATE
    ), opened AS (
        INSERT INTO asks (id, path, cohort_id, stage_id, member_id, key, generation, purpose, as_of, opened_at)
        SELECT g.id, g.path, :cohort_id, :stage_id, g.member_id, g.key, 1, g.purpose, CAST(:as_of AS bigint), :now
        FROM given g JOIN here ON here.id = g.member_id
        ON CONFLICT DO NOTHING
        RETURNING id
    ), drafted AS (
        INSERT INTO drafts (id, path, cohort_id, stage_id, member_id, ask_id, purpose, provider, not_before, created_at)
        SELECT g.draft_id, g.path || '/draft', :cohort_id, :stage_id, g.member_id, g.id, g.purpose, g.provider, :now,
            :now
        FROM given g JOIN opened USING (id) WHERE g.provider IS NOT NULL
        RETURNING id, ask_id, provider
    ), kept AS (
        UPDATE cohort_stages SET state = CAST(:state AS jsonb)
        WHERE cohort_id = :cohort_id AND stage_id = :stage_id AND CAST(:state AS jsonb) IS NOT NULL
    )
    SELECT o.id, d.id AS draft_id, d.provider FROM opened o LEFT JOIN drafted d ON d.ask_id = o.id
    """
)


async def open_asks(session: Session, standing: Standing, asks: Sequence[Ask], now: datetime) -> None:
    """Open these asks of one agent on its stage, each with the draft of its answer; what is open already stays."""
    assert standing.stage is not None
    is_open = {ask.key for ask in standing.asks if ask.stage_id == standing.stage.id}
    rows = [
        _row(standing.experiment_id, standing.member.path, standing.stage.id, ask, standing.provider)
        for ask in asks
        if ask.key not in is_open
    ]
    if rows:
        await _open(session, rows, cohort_id=standing.cohort_id, stage_id=standing.stage.id, now=now)


async def open_shared_asks(
    session: Session,
    cohort: CohortState,
    stage_id: str,
    asks: Sequence[Ask],
    state: Mapping[str, Json],
    *,
    as_of: int,
    now: datetime,
) -> None:
    """Open asks of several members and keep the state of the stage, for a caller that holds the cohort's lock.

    Their prompts will show what was known at `as_of`. Agents get a draft each, people are told, of a new state too.
    """
    is_new = cohort.states.get(stage_id) != state
    if is_new:
        _record_new_state(session, cohort, stage_id, now)
    if not asks and not is_new:
        return
    members = {member.id: member for member in cohort.members}
    rows = [
        _row(cohort.experiment_id, members[ask.member_id].path, stage_id, ask, members[ask.member_id].provider)
        for ask in asks
    ]
    opened = await _open(
        session, rows, cohort_id=cohort.id, stage_id=stage_id, as_of=as_of, state=state if is_new else None, now=now
    )
    for ask, row in zip(asks, rows, strict=True):
        if row["id"] in opened and members[ask.member_id].player == "person":
            _record_opening(session, cohort, members[ask.member_id], stage_id, ask, row["id"], now)


def _row(experiment_id: UUID, member_path: str, stage_id: str, ask: Ask, provider: str | None) -> dict[str, Any]:
    path = f"{member_path}/{stage_id}/{ask.key or 'page'}"
    return {
        "id": seeds.row_id(experiment_id, path),
        "path": path,
        "member_id": ask.member_id,
        "key": ask.key,
        "purpose": ask.purpose,
        "draft_id": seeds.row_id(experiment_id, f"{path}/draft"),
        "provider": provider,
    }


async def _open(
    session: Session,
    rows: Sequence[Mapping[str, Any]],
    *,
    cohort_id: UUID,
    stage_id: str,
    as_of: int | None = None,
    state: Mapping[str, Json] | None = None,
    now: datetime,
) -> set[UUID]:
    """The ids of the asks that are new."""
    params = {
        "asks": as_json(rows),
        "member_ids": sorted({row["member_id"] for row in rows}),
        "cohort_id": cohort_id,
        "stage_id": stage_id,
        "as_of": as_of,
        "state": None if state is None else as_json(state),
        "now": now,
    }
    opened = await session.all(_OPEN, params)
    for row in opened:
        if row.draft_id is not None:
            session.announce(Hint(provider_queue(row.provider), "draft.wanted", str(row.draft_id)))
    return {row.id for row in opened}


def _record_new_state(session: Session, cohort: CohortState, stage_id: str, now: datetime) -> None:
    """Tell people that there is something new to see."""
    people = [member.id for member in cohort.members if member.player == "person"]
    if people:
        subject = f"{cohort.path}/{stage_id}"
        record(session, cohort, "stage.updated", subject, {"stage_id": stage_id}, now, audience=people)


def _record_opening(
    session: Session, cohort: CohortState, member: Attendee, stage_id: str, ask: Ask, ask_id: UUID, now: datetime
) -> None:
    payload = {"ask_id": str(ask_id), "stage_id": stage_id, "key": ask.key, "purpose": ask.purpose}
    record(session, cohort, "ask.opened", member.path, payload, now, subject_id=member.id, audience=[member.id])


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


_CLOSE = text(
    """
    UPDATE asks SET state = :state, reason = :reason, closed_at = :now WHERE id = :ask_id AND state = 'open'
    """
)


async def close_ask(session: Session, ask_id: UUID, state: str, reason: str | None, now: datetime) -> bool:
    """Fail or expire an open ask without an answer; False when it was closed before."""
    return bool(await session.run(_CLOSE, {"ask_id": ask_id, "state": state, "reason": reason, "now": now}))


@dataclass(frozen=True, slots=True)
class FoundAsk:
    """An ask as it stands; `answer` is what was stored when `state` is `answered`."""

    id: UUID
    stage_id: str
    ask: Ask
    state: str
    answer: Json


_FIND = text(
    """
    SELECT k.id, k.stage_id, k.member_id, k.key, k.purpose, k.state, a.value
    FROM asks k LEFT JOIN answers a ON (a.member_id, a.stage_id, a.key) = (k.member_id, k.stage_id, k.key)
    WHERE k.id = :ask_id AND k.member_id = :member_id
    """
)


async def find(session: Session, ask_id: UUID, member_id: UUID) -> FoundAsk:
    """One ask of this member.

    Raises:
        NotFound: there is no such ask, or it is another's.
    """
    row = await session.first(_FIND, {"ask_id": ask_id, "member_id": member_id})
    if row is None:
        raise NotFound("There is no such question to you.")
    return FoundAsk(row.id, row.stage_id, Ask(row.member_id, row.key, row.purpose), row.state, row.value)


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
