"""Going on from a stage, with everything that the stage says follows from it: one transaction, once."""

from dataclasses import replace
from datetime import datetime
from typing import Final

from sqlalchemy import text

from parley_lab.answers.advancing import depends_on_member, end_member, move_on, record_move
from parley_lab.answers.answering import UNLESS_FINAL
from parley_lab.kinds import PAGE, Done, End, Json, Pay
from parley_lab.kinds.effects import SetProfile
from parley_lab.members.alerts import raise_alert_about
from parley_lab.members.forgetting import forget
from parley_lab.members.names import be_known_by
from parley_lab.members.reader_texts import read_by
from parley_lab.members.standing import Standing
from parley_lab.store.batches import items_with
from parley_lab.store.facts import COUNTERS_OF_MANY, EVENTS_OF_MANY
from parley_lab.store.failures import DeadlockDetected, StaleRead
from parley_lab.store.session import Session
from parley_lab.store.statements import as_json

_SENT: Final = text("DELETE FROM partial_answers WHERE member_id = :member_id AND outcome IS NULL")


async def go_on(
    session: Session,
    standing: Standing,
    done: Done,
    now: datetime,
    *,
    cause: str,
    is_step: bool = False,
    answered: Standing | None = None,
) -> None:
    """Move the member one stage further than `standing` says, or end their part if that is what the stage says.

    Stages right ahead that their rules leave out for the member are none of theirs from now on. `answered`: the
    standing with the page that was just given, where `standing` is older. `is_step` as in `move_on`. The caller holds
    the member's lock, and has read `standing` under it.
    """
    stage = standing.stage
    assert stage is not None
    end = next((one for one in done.effects if isinstance(one, End)), None)
    if end is not None:
        # What they have begun there is what they have sent.
        session.later(_SENT, {"member_id": standing.member.id})
        standing = replace(standing, begun={})
        has_ended = await end_member(session, standing, end.outcome, end.outcome, now, cause=cause)
        if has_ended and end.outcome == "screened_out" and standing.provider is not None:
            await _tell_of_screened_out(session, standing, stage.id, now)
        if has_ended and end.forgets:
            await forget(session, standing.member.id, standing.member.path, standing.member.profile.name or "")
        return
    standing = await _on_own_way(session, standing, answered or standing, done)
    await move_on(session, standing, now, cause=cause, is_step=is_step)
    for effect in done.effects:
        if isinstance(effect, SetProfile):
            await be_known_by(session, standing.member.id, effect, stage.id, now, cause=cause)
        elif isinstance(effect, Pay):
            _pay(session, standing, effect, now)


async def _on_own_way(session: Session, standing: Standing, answered: Standing, done: Done) -> Standing:
    """The standing with the way ahead as it is for this member: with a block in their own order, without the stages
    right ahead that their rules leave out."""
    here, following = standing.stage, standing.next_stage_id
    if here is None or following is None or not depends_on_member(answered.design, following):
        return standing
    if done.page is not None:
        answered = answered.with_answer(here.id, PAGE, done.page)
    design = await read_by(session, answered.design, answered.facts, answered.member.id)
    way = design.own_way(standing.stage_ids, standing.position, answered.facts.variables)
    return replace(standing, stage_ids=tuple(way))


async def _tell_of_screened_out(session: Session, standing: Standing, stage_id: str, now: datetime) -> None:
    """Alert the experimenter to an agent that is out: few experimenters expect that of an agent."""
    await raise_alert_about(
        session,
        standing,
        "screened_out",
        "agent_screened_out",
        f"The agent {standing.member.path} is out: the stage {stage_id} screened it out, as it does with people.",
        now,
    )


_MOVES: Final = items_with(
    id="uuid",
    position="int",
    stage_id="text",
    key="text",
    cohort_id="uuid",
    value="jsonb",
    cursor="bigint",
    now="timestamptz",
    events="jsonb",
)
# No lock is held beforehand. A move is left out if the counter of the cohort's events has changed since its member was
# read. It is left out, too, if another transaction holds the member: after waiting it would not see the partial answer
# that was saved meanwhile. One that is committed just after the statement began stays until the next move.
# Moves of one cohort that were read at the same number are made together: none of them changes what others do.
_GO_ON_QUIETLY: Final = text(
    f"""
    WITH item AS (
        {_MOVES}
    ), free AS (
        SELECT i.* FROM item i CROSS JOIN LATERAL (
            SELECT FROM members m WHERE m.id = i.id AND m.position = i.position AND m.status = 'in_progress'
            FOR NO KEY UPDATE SKIP LOCKED
        ) m
    ), {COUNTERS_OF_MANY}, passed AS (
        SELECT f.* FROM free f JOIN counter c ON c.cohort_id = f.cohort_id AND c.last = f.cursor
    ), here AS (
        UPDATE members m SET position = m.position + 1, version = m.version + 1, arrived_at = p.now
        FROM passed p WHERE m.id = p.id
    ), begun AS (
        DELETE FROM partial_answers a USING passed p WHERE a.member_id = p.id AND a.outcome IS NULL
    ), entry AS (
        INSERT INTO answers (member_id, stage_id, key, cohort_id, value, invalid, completed_at, written_at)
        SELECT p.id, p.stage_id, p.key, p.cohort_id, coalesce(p.value, 'null'),
            (SELECT jsonb_object_agg(part.key, part.value) FROM answers e CROSS JOIN jsonb_each(e.invalid) part
                WHERE e.member_id = p.id AND e.stage_id = p.stage_id AND e.key <> p.key),
            p.now, p.now
        FROM passed p
        {UNLESS_FINAL}
    ), {EVENTS_OF_MANY}
    """  # noqa: S608 - put together from constants
)


async def go_on_quietly(session: Session, standing: Standing, page: Json, now: datetime, *, cause: str) -> None:
    """Store the page and move the person on, by one statement and without a lock (`Database.autocommit`).

    Under load the statement moves several people, also of other cohorts. Only for a move that `is_quiet`, without
    effects and without open asks. Of two moves of one person at once one is overtaken. The statement compares the
    counter of the cohort's events with the one in `standing`: every act that decides about moves writes an event there.

    Raises:
        StaleRead: nothing was stored, because something has happened in the cohort since `standing` was read.
    """
    assert standing.stage is not None
    record_move(session, standing, now, cause=cause)
    params = {
        "id": standing.member.id,
        "position": standing.position,
        "stage_id": standing.stage.id,
        "key": PAGE,
        "cohort_id": standing.cohort_id,
        "value": page,
        "cursor": standing.cursor,
        "now": now,
    }
    try:
        moved = await session.flush_for_many(_GO_ON_QUIETLY, params)
    except DeadlockDetected as error:
        raise StaleRead from error
    if moved is None:
        raise StaleRead


_PAY: Final = text(
    """
    INSERT INTO payments (member_id, stage_id, currency, amount, parts, paid_at)
    VALUES (:member_id, :stage_id, :currency, CAST(:amount AS numeric), CAST(:parts AS jsonb), :now)
    ON CONFLICT (member_id, stage_id) DO NOTHING
    """
)


def _pay(session: Session, standing: Standing, pay: Pay, now: datetime) -> None:
    """Store what the member is paid. Idempotent: unique for member and stage."""
    assert standing.stage is not None
    params = {"member_id": standing.member.id, "stage_id": standing.stage.id, "currency": pay.currency, "now": now}
    session.later(_PAY, {**params, "amount": str(pay.amount), "parts": as_json(pay.parts)})
