"""Pages take agents time in pace `live`: answers that wait until they would have been given, pages that are read.

What waits is a row with a due time, which a pause moves: an answer is a ready draft, a page to read a timer.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base import seeds
from parley_lab.contracts.hints import ORCHESTRATOR, TIMER_ARMED, Hint
from parley_lab.drafts.drafts import Lease, save_reply
from parley_lab.kinds import Ask, Json
from parley_lab.members.arming import WantedTimer, arm
from parley_lab.members.standing import Standing
from parley_lab.store.session import ReadSession, Session

READING: Final = "reading"
"""The purpose of the timer of a page that an agent reads."""

_BUSY_UNTIL = text(
    """
    SELECT max(due_at) AS due_at FROM drafts
    WHERE member_id = :member_id AND stage_id = :stage_id AND state = 'ready' AND ask_id IS NOT NULL
    """
)


async def save_answer(
    session: Session, lease: Lease, call: Mapping[str, Any], value: Json, *, taken_seconds: float, now: datetime
) -> bool:
    """Record the call and keep the answer until it would have been given; False when the lease was lost.

    A person answers one thing at a time: what is asked at the same time adds up. The caller holds the member's lock, so
    that of two answers the later counts on the earlier.
    """
    row = await session.one(_BUSY_UNTIL, {"member_id": lease.member_id, "stage_id": lease.stage.id})
    due_at = max(now, row.due_at or now) + timedelta(seconds=taken_seconds)
    return await save_reply(session, lease, call, reply={"answer": value}, due_at=due_at) is not None


@dataclass(frozen=True, slots=True)
class DueAnswer:
    """An answer whose time has come."""

    draft_id: UUID
    ask_id: UUID
    stage_id: str
    ask: Ask
    value: Json


_DUE_ANSWERS = text(
    """
    SELECT d.id, d.ask_id, d.stage_id, d.member_id, k.key, d.purpose, d.reply -> 'answer' AS value
    FROM drafts d JOIN asks k ON k.id = d.ask_id
    WHERE d.member_id = :member_id AND d.state = 'ready' AND d.due_at <= :now ORDER BY d.due_at, d.path
    """
)
_NEXT_DUE = text(
    "SELECT min(due_at) AS due_at FROM drafts WHERE member_id = :member_id AND state = 'ready' AND ask_id IS NOT NULL"
)
_CLOSE = text(
    "UPDATE drafts SET state = :state, reason = :reason, closed_at = :now WHERE id = :draft_id AND state = 'ready'"
)


async def due_answers(session: ReadSession, member_id: UUID, now: datetime) -> list[DueAnswer]:
    """What this member would have answered by now. The caller holds the member's lock."""
    return [
        DueAnswer(row.id, row.ask_id, row.stage_id, Ask(row.member_id, row.key, row.purpose), row.value)
        for row in await session.all(_DUE_ANSWERS, {"member_id": member_id, "now": now})
    ]


async def next_due(session: ReadSession, member_id: UUID) -> datetime | None:
    """When the next answer of this member is due; None when none is kept."""
    row = await session.one(_NEXT_DUE, {"member_id": member_id})
    due_at: datetime | None = row.due_at
    return due_at


async def close_kept(session: Session, draft_id: UUID, state: str, reason: str | None, now: datetime) -> bool:
    """Close the draft of an answer that was kept; False when it was closed before."""
    params = {"draft_id": draft_id, "state": state, "reason": reason, "now": now}
    return bool(await session.run(_CLOSE, params))


_DUE_MEMBERS = text(
    """
    SELECT d.member_id FROM drafts d
        JOIN cohorts c ON c.id = d.cohort_id JOIN experiments e ON e.id = c.experiment_id
    WHERE d.state = 'ready' AND d.due_at <= :now AND d.ask_id IS NOT NULL AND e.status <> 'paused'
        AND d.member_id NOT IN (SELECT id FROM members WHERE status = 'paused')
        AND d.member_id <> ALL(CAST(:but AS uuid[]))
    GROUP BY d.member_id ORDER BY min(d.due_at) LIMIT :most
    """
)


async def due_members(
    session: ReadSession, now: datetime, *, but: Collection[UUID] = (), most: int = 200
) -> Sequence[UUID]:
    """Members who would have given an answer by now, without those `but`."""
    params = {"now": now, "but": list(but), "most": most}
    return [row.member_id for row in await session.all(_DUE_MEMBERS, params)]


_IS_OPEN = text("SELECT 1 AS one FROM timers WHERE id = :id AND state IN ('armed', 'held')")


async def still_reads(
    session: Session, standing: Standing, stage_id: str, *, taken_seconds: float, now: datetime
) -> bool:
    """Whether the member has not read this page to its end; the first look begins it, also after they were away.

    The caller holds the member's lock.
    """
    path = f"{standing.member.path}/{stage_id}/{READING}"
    timer_id = seeds.row_id(standing.experiment_id, path)
    timer = WantedTimer(standing.member.id, path, READING, now + timedelta(seconds=taken_seconds))
    if await arm(session, standing.experiment_id, standing.cohort_id, [timer], now):
        session.announce(Hint(ORCHESTRATOR, TIMER_ARMED, str(timer_id)))
        return True
    return await session.first(_IS_OPEN, {"id": timer_id}) is not None
