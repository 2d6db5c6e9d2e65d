"""Attention checks: sent by hand or by schedule, answered in time or missed. The deadline is a timer.

The deadline of a person runs from the moment at which their page has fetched the check: a network may hold it back, and
a person whose page fetches nothing is gone (`when_gone`). A person whose page has shown no sign of life yet cannot be
found gone; for them, and for agents, it runs from the moment at which the check is sent.

Every function holds the member's lock, or its caller does; the row of a check says how it ended.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import end_member, record_of
from parley_lab.base.errors import Paused
from parley_lab.contracts import lives
from parley_lab.contracts.experiment import AttentionChecks
from parley_lab.contracts.hints import AGENT_STEPS, Hint
from parley_lab.members.alerts import raise_alert_about
from parley_lab.members.arming import WantedTimer, arm
from parley_lab.members.standing import Standing
from parley_lab.members.standings import lock_standing
from parley_lab.store.session import ReadSession, Session

DUE: Final = "check_due"
"""The purpose of the timer that sends the next check of a schedule."""
DEADLINE: Final = "check_deadline"
"""The purpose of the timer that is set when a check is sent."""
MISSED: Final = "an attention check was not answered in time"

_RULES: Final = text("SELECT document -> 'attention_checks' AS rules FROM experiments WHERE id = :id")
_OPEN: Final = text(
    """
    WITH checked AS (
        UPDATE members SET status = 'attention_check', version = version + 1 WHERE id = :member_id
    )
    INSERT INTO attention_checks (member_id, number, sent_by, text, missed_then, opened_at)
    SELECT :member_id, count(*) + 1, :sent_by, :text, :missed_then, :now FROM attention_checks
    WHERE member_id = :member_id
    RETURNING number
    """
)


async def rules_of(session: ReadSession, experiment_id: UUID) -> AttentionChecks:
    """What the experiment's file says about checks."""
    row = await session.one(_RULES, {"id": experiment_id})
    return AttentionChecks.model_validate(row.rules or {})


async def send_check(
    session: Session, standing: Standing, now: datetime, *, sent_by: str, cause: str, words: str = ""
) -> bool:
    """Ask a member whether they are still there; False when they are asked already. `words` instead of the file's.

    Raises:
        Paused: the whole experiment is paused.
        Conflict: the member is paused, is offered a move, or takes no part.
    """
    if lives.after(standing.status, "check") == standing.status:
        return False
    if standing.is_paused:
        raise Paused
    rules = await rules_of(session, standing.experiment_id)
    said = words or rules.text
    check = {"sent_by": sent_by, "text": said, "missed_then": rules.then, "now": now}
    row = await session.one(_OPEN, {"member_id": standing.member.id, **check})
    payload: dict[str, str | None] = {"text": said, "due_at": None}
    if not await _has_page(session, standing):
        due_at = now + timedelta(seconds=rules.seconds)
        await _arm(session, whose(standing), DEADLINE, row.number, due_at, now)
        payload["due_at"] = due_at.isoformat().replace("+00:00", "Z")
    # The others see no difference.
    me = [standing.member.id]
    record_of(session, standing, "member.checked", payload, now, cause=cause, actor=sent_by, audience=me)
    if standing.member.player != "person":
        session.announce(Hint(AGENT_STEPS, "member.changed", str(standing.member.id)))
    return True


# Other requests are noted there, too, but need come from no page that would show the check.
_SEEN: Final = text("SELECT 1 FROM presence WHERE member_id = :member_id AND seen_at IS NOT NULL")


async def _has_page(session: ReadSession, standing: Standing) -> bool:
    """Whether a page of the member has had a live stream, so that the lab would find them gone without one."""
    is_person = standing.member.player == "person"
    return is_person and await session.first(_SEEN, {"member_id": standing.member.id}) is not None


_WITHOUT_DEADLINE: Final = text(
    """
    SELECT k.number FROM attention_checks k
    WHERE k.member_id = :member_id AND k.closed_at IS NULL AND NOT EXISTS (
        SELECT FROM timers t
        WHERE t.member_id = k.member_id AND t.purpose = :deadline AND t.generation = k.number)
    """
)


async def begin_deadline(session: Session, member_id: UUID, now: datetime) -> bool:
    """The page of the member has fetched the open check: its time begins. False: it has begun, or all is paused."""
    standing = await lock_standing(session, member_id)
    if standing.is_paused:
        return False
    row = await session.first(_WITHOUT_DEADLINE, {"member_id": member_id, "deadline": DEADLINE})
    if row is None:
        return False
    rules = await rules_of(session, standing.experiment_id)
    await _arm(session, whose(standing), DEADLINE, row.number, now + timedelta(seconds=rules.seconds), now)
    return True


@dataclass(frozen=True, slots=True)
class Whose:
    """The member whose check it is."""

    experiment_id: UUID
    cohort_id: UUID
    member_id: UUID
    path: str


def whose(standing: Standing) -> Whose:
    return Whose(standing.experiment_id, standing.cohort_id, standing.member.id, standing.member.path)


async def arm_schedule(session: Session, person: Whose, now: datetime) -> None:
    """Have the next check of the schedule sent to this person in time, where the file has one.

    It takes the place of one that is under way: a check that was sent by hand begins the time of the schedule anew.
    """
    rules = await rules_of(session, person.experiment_id)
    if rules.every_seconds is None:
        return
    row = await session.one(_SENT, {"member_id": person.member_id})
    await session.run(_STOP_OTHERS, {"member_id": person.member_id, "purpose": DUE, "number": row.sent + 1})
    await _arm(session, person, DUE, row.sent + 1, now + timedelta(seconds=rules.every_seconds), now)


_SENT: Final = text("SELECT count(*) AS sent FROM attention_checks WHERE member_id = :member_id")
_STOP_OTHERS: Final = text(
    """
    UPDATE timers SET state = 'cancelled'
    WHERE member_id = :member_id AND purpose = :purpose AND generation <> :number AND state IN ('armed', 'held')
    """
)
_POSTPONE: Final = text("UPDATE timers SET state = 'armed', fired_at = NULL, due_at = :due_at WHERE id = :timer_id")


async def send_due_check(session: Session, member_id: UUID, timer_id: UUID, now: datetime) -> None:
    """A timer of the schedule takes effect; it comes again where something else is open just now."""
    standing = await lock_standing(session, member_id)
    if standing.is_in_progress:
        await send_check(session, standing, now, sent_by="lab", cause="timer")
    elif standing.status in lives.STILL_IN:
        rules = await rules_of(session, standing.experiment_id)
        due_at = now + timedelta(seconds=rules.every_seconds or rules.seconds)
        await session.run(_POSTPONE, {"timer_id": timer_id, "due_at": due_at})


_PASS: Final = text(
    """
    WITH back AS (
        UPDATE members SET status = 'in_progress', version = version + 1 WHERE id = :member_id
    ), stopped AS (
        UPDATE timers SET state = 'cancelled'
        WHERE member_id = :member_id AND purpose = :deadline AND state IN ('armed', 'held')
    )
    UPDATE attention_checks SET closed_at = :now, outcome = 'passed' WHERE member_id = :member_id AND closed_at IS NULL
    """
)


async def pass_check(session: Session, standing: Standing, now: datetime, *, cause: str) -> bool:
    """The member is there; False when no check is open for them.

    Raises:
        Paused: the whole experiment is paused.
        Conflict: the member takes no part.
    """
    if lives.after(standing.status, "pass_check") == standing.status:
        return False
    if standing.is_paused:
        raise Paused
    await session.run(_PASS, {"member_id": standing.member.id, "deadline": DEADLINE, "now": now})
    record_of(session, standing, "member.check_passed", {}, now, cause=cause, audience=[standing.member.id])
    if standing.member.player == "person":
        await arm_schedule(session, whose(standing), now)
    return True


_OPEN_CHECK: Final = text(
    """
    SELECT number, missed_then FROM attention_checks WHERE member_id = :member_id AND closed_at IS NULL
    """
)


async def miss_check(session: Session, member_id: UUID, number: int, now: datetime) -> None:
    """The deadline of a check has come: its member is out, or the experimenter is told; nothing if it was answered."""
    standing = await lock_standing(session, member_id)
    row = await session.first(_OPEN_CHECK, {"member_id": member_id})
    if row is None or row.number != number:
        return
    await raise_alert_about(
        session,
        standing,
        f"check:{number}",
        "attention_missed",
        f"{standing.member.path} has not answered an attention check in time.",
        now,
    )
    if row.missed_then == "remove":
        outcome = lives.outcome(standing.status, "miss_check")
        await end_member(session, standing, outcome, MISSED, now, cause="timer", actor="lab")


async def _arm(session: Session, member: Whose, purpose: str, number: int, due_at: datetime, now: datetime) -> None:
    timer = WantedTimer(member.member_id, f"{member.path}/{purpose}:{number}", purpose, due_at, number)
    await arm(session, member.experiment_id, member.cohort_id, [timer], now)
