"""Alerts both ways, as rows: a participant asks for help, the lab says something to a participant."""

from datetime import datetime
from typing import Final
from uuid import UUID, uuid4

from sqlalchemy import text

from parley_lab.answers.advancing import record_of
from parley_lab.base.errors import Conflict, NotFound
from parley_lab.members.alerts import raise_alert_about
from parley_lab.members.held_cohorts import COHORT_HELD
from parley_lab.members.standing import Standing
from parley_lab.store.facts import Event
from parley_lab.store.session import Session

_CALLS: Final = text("SELECT count(*) AS n FROM alerts WHERE member_id = :member_id AND type = 'help'")


async def ask_for_help(session: Session, standing: Standing, words: str, now: datetime) -> None:
    """A participant asks for help: an alert of its own each time. The caller holds the member's lock."""
    row = await session.one(_CALLS, {"member_id": standing.member.id})
    await raise_alert_about(session, standing, f"help:{row.n + 1}", "help", words, now)
    record_of(session, standing, "member.asked_for_help", {"text": words}, now, cause="request", audience=[])


_SEND: Final = text(
    """
    INSERT INTO notices (id, member_id, text, sent_by, created_at) VALUES (:id, :member_id, :text, :sent_by, :now)
    """
)


async def send_notice(session: Session, standing: Standing, words: str, now: datetime, *, sent_by: str) -> None:
    """The lab says something to one person. The caller holds the member's lock.

    Raises:
        Conflict: no person is there.
    """
    if standing.member.player != "person" or standing.status == "expected":
        raise Conflict("Only people who have joined can be sent a message.", reason="not_a_person")
    notice_id = uuid4()
    notice = {"id": notice_id, "member_id": standing.member.id, "text": words, "sent_by": sent_by, "now": now}
    await session.run(_SEND, notice)
    payload = {"notice_id": str(notice_id), "text": words}
    me = [standing.member.id]
    record_of(session, standing, "member.messaged", payload, now, cause="request", actor=sent_by, audience=me)


_READ: Final = text(
    """
    UPDATE notices SET read_at = coalesce(read_at, :now) WHERE id = :id AND member_id = :member_id
    """
)


async def read_notice(session: Session, notice_id: UUID, member_id: UUID, now: datetime) -> None:
    """The participant has read it. Idempotent.

    Raises:
        NotFound: there is no such message for this participant.
    """
    if not await session.run(_READ, {"id": notice_id, "member_id": member_id, "now": now}):
        raise NotFound("There is no such message for you.")


_HOLDS_A_COHORT: Final = text(
    f"""
    SELECT 1 AS one FROM alerts a JOIN cohorts c ON c.id = a.cohort_id JOIN experiments e ON e.id = a.experiment_id
    WHERE a.id = :id AND a.type = '{COHORT_HELD}' AND a.resolved_at IS NULL AND c.status = 'running'
        AND e.status <> 'ended'
    """  # noqa: S608 - put together from constants
)
_RESOLVE: Final = text(
    """
    UPDATE alerts SET resolved_at = :now, resolved_by = :by WHERE id = :id AND resolved_at IS NULL
    RETURNING experiment_id, cohort_id, path, type
    """
)


async def resolve_alert(session: Session, alert_id: UUID, now: datetime, *, by: str) -> bool:
    """Mark the alert as resolved; False when it was already.

    Raises:
        Conflict: it holds the clocks of a cohort that still runs.
    """
    if await session.first(_HOLDS_A_COHORT, {"id": alert_id}) is not None:
        raise Conflict(
            "The clocks of this cohort wait while its rules fail. The lab resolves the alert once they do not.",
            reason="cohort_held",
        )
    row = await session.first(_RESOLVE, {"id": alert_id, "by": by, "now": now})
    if row is None:
        return False
    if row.cohort_id is not None:
        session.record(
            Event(
                experiment_id=row.experiment_id,
                cohort_id=row.cohort_id,
                type="alert.resolved",
                actor=by,
                cause="request",
                subject=row.path,
                subject_id=alert_id,
                payload={"type": row.type},
                at=now,
            )
        )
    return True
