"""Answers that settling writes: moves of scripts, and what counts instead of answers of those who have gone or are
paused."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.answering import UNLESS_FINAL
from parley_lab.contracts.lives import OUT
from parley_lab.kinds import Json
from parley_lab.store.session import Session
from parley_lab.store.statements import as_json

PASSED: Final = "the others went on without the answer"


class MemberIsBack(Exception):
    """A member who had gone or was paused is back, or has answered before; look again."""


# Who has gone or is paused is asked again under the lock of its row: nothing may count for who is back. What a paused
# member was asked is asked no more.
_PASSED = text(
    f"""
    WITH given AS (
        SELECT * FROM jsonb_to_recordset(CAST(:answers AS jsonb)) AS g(member_id uuid, key text, value jsonb)
    ), gone AS (
        SELECT m.id FROM members m
        WHERE m.id = ANY(:member_ids) AND (m.status = ANY(:out) OR m.player = 'script' OR m.cohort_id <> :cohort_id
            OR m.kind = 'participant' AND m.position >= array_position(m.stage_ids, CAST(:stage_id AS text)))
        ORDER BY m.id FOR NO KEY UPDATE
    ), closed AS (
        UPDATE asks k SET state = 'cancelled', reason = :reason, closed_at = :now
        FROM given g JOIN gone ON gone.id = g.member_id
        WHERE k.member_id = g.member_id AND k.stage_id = :stage_id AND k.key = g.key AND k.state = 'open'
        RETURNING k.id
    ), dropped AS (
        UPDATE drafts d SET state = 'cancelled', reason = :reason, closed_at = :now
        FROM closed WHERE d.ask_id = closed.id AND d.state IN ('wanted', 'ready')
    ), begun AS (
        UPDATE partial_answers p SET outcome = 'not_sent'
        FROM given g JOIN gone ON gone.id = g.member_id
        WHERE p.member_id = g.member_id AND p.stage_id = :stage_id AND p.key = g.key AND p.outcome IS NULL
    )
    INSERT INTO answers (member_id, stage_id, key, cohort_id, value, valid, passed, completed_at, written_at,
        counted_at)
    SELECT g.member_id, :stage_id, g.key, :cohort_id, g.value, false, true, :now, :now, :as_of
    FROM given g JOIN gone ON gone.id = g.member_id
    {UNLESS_FINAL}
    """  # noqa: S608 - put together from constants
)


async def write_passed(
    session: Session,
    cohort_id: UUID,
    stage_id: str,
    answers: Mapping[tuple[UUID, str], Json],
    *,
    as_of: int,
    now: datetime,
) -> None:
    """Store what counts instead of answers of those who have gone, as final and not valid.

    The caller holds the cohort's lock. Members' locks are taken.

    Raises:
        MemberIsBack: it does not hold any more for one of them; the transaction is of no use.
    """
    rows = [{"member_id": member_id, "key": key, "value": value} for (member_id, key), value in answers.items()]
    params = {"answers": as_json(rows), "member_ids": sorted({member_id for member_id, _ in answers})}
    params["reason"] = PASSED
    where = {"cohort_id": cohort_id, "stage_id": stage_id, "out": [*sorted(OUT), "paused"], "as_of": as_of, "now": now}
    if await session.run(_PASSED, {**params, **where}) < len(rows):
        raise MemberIsBack


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
