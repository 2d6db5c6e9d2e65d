"""Moving one participant to another cohort: offered by the lab, accepted, declined or not answered in time.

The member keeps id and path, and its answers; the cohort is a column, and rows say when each was entered and left. To
the cohort that is left, the member is from then on one who has left. Lock order: cohort, member, threads, drafts.
"""

from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import end_member, mark_stepped, record_of, record_staying_away
from parley_lab.answers.asking import open_asks
from parley_lab.base import seeds
from parley_lab.base.errors import Conflict, Paused
from parley_lab.contracts import lives
from parley_lab.contracts.hints import AGENT_STEPS, Hint
from parley_lab.contracts.transfers import TRANSFER
from parley_lab.kinds import Ask
from parley_lab.kinds.parts import plays_together
from parley_lab.kinds.stages import parts_of
from parley_lab.members.alerts import raise_alert_about
from parley_lab.members.held_cohorts import lag_of
from parley_lab.members.names import tell_apart
from parley_lab.members.standing import Standing
from parley_lab.members.standings import lock_standing, standing_of
from parley_lab.members.stays import LEAST, MOST, path_of
from parley_lab.people.entering import Target, target_of
from parley_lab.people.notices import send_notice
from parley_lab.people.waits import WAITING
from parley_lab.store.session import ReadSession, Session
from parley_lab.talk.conversation import leave_thread

DEADLINE: Final = "transfer_deadline"
"""The purpose of the timer that is set when a move is offered."""
MOVED: Final = "the member has moved to another group"
WITHDRAWN: Final = "the move to another group is not possible any more"
STAYS: Final = "You stay in your group."
MISSED: Final = "a move to another group was not answered in time"

# A settle under way may be about to end the cohort: a member who enters it waits, and finds the result.
_LOCK_TARGET: Final = text("SELECT 1 AS one FROM cohorts WHERE id = :cohort_id FOR NO KEY UPDATE")
_OFFER: Final = text(
    f"""
    WITH offered AS (
        UPDATE members SET status = 'transfer_pending', transfer_to = :cohort_id, version = version + 1
        WHERE id = :member_id
        RETURNING id
    )
    INSERT INTO timers (id, path, cohort_id, member_id, purpose, generation, due_at)
    SELECT :timer_id, :path, :own_cohort_id, id, :purpose, :number,
        CAST(:due_at AS timestamptz) - {lag_of(":own_cohort_id")}
    FROM offered
    """  # noqa: S608 - put together from constants
)
_OFFERS: Final = text("SELECT count(*) AS made FROM timers WHERE member_id = :member_id AND purpose = :purpose")


async def offer(
    session: Session, standing: Standing, cohort_id: UUID, now: datetime, *, seconds: float, actor: str
) -> None:
    """Offer a locked participant a place in another cohort, for so many seconds.

    Raises:
        NotFound: the experiment has no such cohort.
        Paused: the experiment is paused.
        Conflict: the member may not be moved as it is, or the cohort does not take it (`target_of`).
    """
    status = lives.after(standing.status, "offer_transfer")
    assert status == "transfer_pending"
    if standing.is_paused:
        raise Paused
    if standing.member.kind != "participant":
        raise Conflict("Only participants move to another group.", reason="not_a_participant")
    target = await target_of(session, standing, cohort_id)
    number = await _offers(session, standing.member.id) + 1
    path = f"{standing.member.path}/{DEADLINE}:{number}"
    await session.run(
        _OFFER,
        {
            "member_id": standing.member.id,
            "cohort_id": target.id,
            "own_cohort_id": standing.cohort_id,
            "timer_id": seeds.row_id(standing.experiment_id, path),
            "path": path,
            "purpose": DEADLINE,
            "number": number,
            "due_at": now + timedelta(seconds=seconds),
            "now": now,
        },
    )
    payload = {"to_cohort_id": str(target.id)}
    _record(session, standing, "member.transfer_offered", payload, now, cause="request", actor=actor)
    if standing.member.player != "person":
        session.announce(Hint(AGENT_STEPS, "member.changed", str(standing.member.id)))


async def _offers(session: ReadSession, member_id: UUID) -> int:
    """How many moves the member was offered so far."""
    row = await session.one(_OFFERS, {"member_id": member_id, "purpose": DEADLINE})
    made: int = row.made
    return made


_OFFERED: Final = text("SELECT transfer_to FROM members WHERE id = :member_id")
_LEAVE: Final = text(
    """
    WITH first AS (
        INSERT INTO stays (member_id, number, cohort_id, entered_at)
        SELECT id, 0, cohort_id, coalesce(joined_at, created_at) FROM members WHERE id = :member_id
        ON CONFLICT DO NOTHING
    )
    SELECT 1 AS one
    """
)
_MOVE: Final = text(
    f"""
    WITH moved AS (
        UPDATE members SET cohort_id = :cohort_id, stage_ids = CAST(:stage_ids AS text[]), position = :position,
            status = 'in_progress', transfer_to = NULL, seat = :seat, stay = stay + 1, entered_at = :now,
            entered_position = :position, arrived_at = :now, version = version + 1,
            entered_seq = (SELECT last FROM streams WHERE cohort_id = :cohort_id)
        WHERE id = :member_id
        RETURNING id, stay
    ), closed AS (
        UPDATE stays SET left_at = :now, stage_ids = CAST(:old_stage_ids AS text[]), position = :old_position
        WHERE member_id = :member_id AND left_at IS NULL
    ), opened AS (
        INSERT INTO stays (member_id, number, cohort_id, entered_at)
        SELECT id, stay, :cohort_id, :now FROM moved
    ), asks AS (
        UPDATE asks SET state = 'cancelled', reason = :reason, closed_at = :now
        WHERE member_id = :member_id AND state = 'open' RETURNING id
    ), drafts AS (
        UPDATE drafts d SET state = 'cancelled', reason = :reason, closed_at = :now
        FROM asks WHERE d.ask_id = asks.id AND d.state IN ('wanted', 'ready')
    ), stopped AS (
        UPDATE timers SET state = 'cancelled'
        WHERE member_id = :member_id AND purpose = ANY(:ending) AND state IN ('armed', 'held')
    ), taken AS (
        UPDATE timers t SET cohort_id = :cohort_id,
            due_at = t.due_at + {lag_of("t.cohort_id")} - {lag_of(":cohort_id")}
        WHERE member_id = :member_id AND NOT purpose = ANY(:ending) AND state IN ('armed', 'held')
    ), begun AS (
        UPDATE partial_answers SET outcome = 'not_sent'
        WHERE member_id = :member_id AND NOT stage_id = ANY(:own_stages) AND outcome IS NULL
    )
    UPDATE answers SET cohort_id = :cohort_id, counted_at = NULL
    WHERE member_id = :member_id AND stage_id = ANY(:own_stages)
    """  # noqa: S608 - put together from constants
)
# Settling arms a cancelled time again, in full, once the stage opens for the member there.
_STOP_STAY: Final = text(
    """
    UPDATE timers SET state = 'cancelled'
    WHERE member_id = :member_id AND path = ANY(:paths) AND state IN ('armed', 'held')
    """
)
# Under the lock of their thread, which leaving it has taken.
_DROP_DRAFTS: Final = text(
    """
    UPDATE drafts SET state = 'cancelled', reason = :reason, closed_at = :now
    WHERE member_id = :member_id AND thread_id = :thread_id AND state IN ('wanted', 'ready')
    """
)


async def accept(session: Session, member_id: UUID, now: datetime, *, cause: str) -> Standing:
    """Move a participant to the cohort that it is offered.

    Where the place is not there any more, because the cohort has ended or a game has begun around the member, the offer
    is withdrawn: they go on where they are, and they and the experimenter are told. Takes the locks of the other cohort
    and of the member, in this order. Returns the member's standing after it.

    Raises:
        Paused: the experiment is paused.
        Conflict: no move is offered to the member, or another one by now.
    """
    wanted, standing = await _lock_offer(session, member_id)
    lives.after(standing.status, "accept_transfer")
    if standing.is_paused:
        raise Paused
    if (await session.one(_OFFERED, {"member_id": member_id})).transfer_to != wanted:
        raise Conflict("Another move is offered by now.", reason="transfer_pending")
    try:
        target = await target_of(session, standing, wanted)
    except Conflict as refused:
        await _withdraw(session, standing, wanted, refused.message, now, cause=cause)
        return await standing_of(session, member_id)
    return await move(session, standing, target, now, cause=cause)


async def _lock_offer(session: Session, member_id: UUID) -> tuple[UUID | None, Standing]:
    """The cohort that the member is offered, and the member's standing; takes the locks of both, in this order."""
    wanted: UUID | None = (await session.one(_OFFERED, {"member_id": member_id})).transfer_to
    if wanted is not None:
        await session.first(_LOCK_TARGET, {"cohort_id": wanted})
    return wanted, await lock_standing(session, member_id)


async def must_wait(session: Session, member_id: UUID) -> bool:
    """Whether nothing may be decided about an offer, since the experiment is paused. Takes the locks of a move."""
    _, standing = await _lock_offer(session, member_id)
    return standing.is_paused


async def move(
    session: Session, standing: Standing, target: Target, now: datetime, *, cause: str, seat: int | None = None
) -> Standing:
    """Take a locked member over to another cohort; their standing after it.

    `seat`: the number of the seat that the member gets there; None: none. The caller holds the lock of the other
    cohort, or has made it in this transaction.
    """
    member_id = standing.member.id
    thread_id = None if standing.stage is None else standing.conversation_id(standing.stage)
    whose = {"member_id": member_id, "now": now, "reason": MOVED}
    await session.run(_LEAVE, whose)
    await session.run(
        _MOVE,
        {
            **whose,
            "cohort_id": target.id,
            "stage_ids": list(target.stage_ids),
            "position": target.position,
            "seat": seat,
            "old_stage_ids": list(standing.stage_ids),
            "old_position": standing.position,
            "ending": [DEADLINE, WAITING, "reading"],
            "own_stages": _own_stages(standing, target),
        },
    )
    if thread_id is not None:
        await leave_thread(session, thread_id, member_id, now, cause=cause)
        await session.run(_DROP_DRAFTS, {**whose, "thread_id": thread_id})
    await tell_apart(session, member_id, now, cause=cause)
    moved = {"to_cohort_id": str(target.id)}
    _record(session, standing, "member.transferred", moved, now, cause=cause, actor=None, is_private=False)
    after = await standing_of(session, member_id)
    await _stop_stay(session, after)
    arrived = {"from_cohort_id": str(standing.cohort_id)}
    _record(session, after, "member.arrived", arrived, now, cause=cause, actor=None)
    if after.member.player != "person":
        session.announce(Hint(AGENT_STEPS, "member.changed", str(member_id)))
    return after


async def _stop_stay(session: Session, standing: Standing) -> None:
    """Stop the times of a stage that is not open to the member where they are now."""
    if standing.stage is not None and standing.is_locked:
        paths = [path_of(standing.member.path, standing.stage.id, purpose) for purpose in (LEAST, MOST)]
        await session.run(_STOP_STAY, {"member_id": standing.member.id, "paths": paths})


def _own_stages(standing: Standing, target: Target) -> list[str]:
    """The stages whose answers go along: not those that are about the others, or that the other cohort has not."""
    return [
        one.id
        for one in standing.design.stages
        if one.id in target.stage_ids and not plays_together(parts_of(one)) and not parts_of(one).names_others
    ]


async def decline(session: Session, standing: Standing, now: datetime, *, cause: str) -> None:
    """A participant who is offered a move does not want it, and is out. The caller holds the member's lock.

    Raises:
        Conflict: no move is offered.
    """
    outcome = lives.outcome(standing.status, "decline_transfer")
    await end_member(session, standing, outcome, "declined a move to another group", now, cause=cause)


_WITHDRAW: Final = text(
    """
    WITH stopped AS (
        UPDATE timers SET state = 'cancelled'
        WHERE member_id = :member_id AND purpose = :deadline AND state IN ('armed', 'held')
    ), asks AS (
        UPDATE asks SET state = 'cancelled', reason = :reason, closed_at = :now
        WHERE member_id = :member_id AND purpose = :purpose AND state = 'open' RETURNING id
    ), drafts AS (
        UPDATE drafts d SET state = 'cancelled', reason = :reason, closed_at = :now
        FROM asks WHERE d.ask_id = asks.id AND d.state IN ('wanted', 'ready')
    )
    UPDATE members SET status = :status, transfer_to = NULL, version = version + 1 WHERE id = :member_id
    """
)


async def _withdraw(
    session: Session, standing: Standing, cohort_id: UUID, why: str, now: datetime, *, cause: str
) -> None:
    """The member stays, with a word to them and to the experimenter."""
    whose = {"member_id": standing.member.id, "deadline": DEADLINE, "purpose": TRANSFER}
    status = lives.after(standing.status, "withdraw_transfer")
    await session.run(_WITHDRAW, {**whose, "status": status, "reason": WITHDRAWN, "now": now})
    _record(session, standing, "member.transfer_withdrawn", {"reason": why}, now, cause=cause, actor="lab")
    record_staying_away(session, standing, cohort_id, now, cause=cause)
    if standing.member.player == "person":
        await send_notice(session, standing, f"{STAYS} {why}", now, sent_by="lab")
    else:
        session.announce(Hint(AGENT_STEPS, "member.changed", str(standing.member.id)))
    number = await _offers(session, standing.member.id)
    await raise_alert_about(
        session,
        standing,
        f"{TRANSFER}:{number}",
        "transfer_withdrawn",
        f"{standing.member.path} accepted a move that is not possible any more, and stays. {why}",
        now,
    )


async def miss(session: Session, member_id: UUID, number: int, now: datetime) -> None:
    """The deadline of an offer has come; nothing happens if it was answered. An agent that has not decided accepts."""
    standing = await standing_of(session, member_id)
    is_agent = standing.member.player != "person"
    # A move takes the lock of the other cohort first.
    standing = standing if is_agent else await lock_standing(session, member_id)
    if standing.status != "transfer_pending" or await _offers(session, member_id) != number:
        return
    if is_agent:
        with suppress(Conflict):
            await accept(session, member_id, now, cause="timer")
    else:
        outcome = lives.outcome(standing.status, "miss_transfer")
        await end_member(session, standing, outcome, MISSED, now, cause="timer", actor="lab")


async def resolve(session: Session, member_id: UUID, now: datetime, *, cause: str) -> None:
    """What an agent does about an offer: what its persona says, without a call of a model; `ask` has its model asked.

    Idempotent.
    """
    standing = await standing_of(session, member_id)
    if standing.status != "transfer_pending" or standing.member.player == "person" or standing.is_paused:
        return
    row = await session.one(_CHOICE, {"member_id": member_id})
    if row.choice == "accept":
        await accept(session, member_id, now, cause=cause)
        return
    standing = await lock_standing(session, member_id)
    if standing.status != "transfer_pending":
        return
    if row.choice == "decline":
        await decline(session, standing, now, cause=cause)
        return
    key = f"{TRANSFER}:{await _offers(session, member_id)}"
    open_asks(session, standing, [Ask(member_id, key, TRANSFER)], now)
    mark_stepped(session, member_id)


async def decide(session: Session, member_id: UUID, now: datetime, *, accepts: bool, cause: str) -> None:
    """What the model of an agent has decided about an offer; nothing happens where it was answered by now."""
    if accepts:
        with suppress(Conflict):
            await accept(session, member_id, now, cause=cause)
        return
    standing = await lock_standing(session, member_id)
    if standing.status == "transfer_pending":
        await decline(session, standing, now, cause=cause)


_CHOICE: Final = text(
    """
    SELECT CASE WHEN player = 'agent' THEN coalesce(agent_config ->> 'transfers', 'accept') ELSE 'accept' END AS choice
    FROM members WHERE id = :member_id
    """
)


def _record(
    session: Session,
    standing: Standing,
    event_type: str,
    payload: dict[str, str],
    now: datetime,
    *,
    cause: str,
    actor: str | None,
    is_private: bool = True,
) -> None:
    """The old cohort is told that the member has gone; the arrival is told to experimenters only."""
    mine = [] if event_type == "member.arrived" else [standing.member.id]
    record_of(
        session,
        standing,
        event_type,
        payload,
        now,
        cause=cause,
        actor=actor,
        audience=mine if is_private else None,
    )
