"""Moving on, leaving, waking: the code that completes a member's work moves the member."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.filling_in import Mark, fill_in
from parley_lab.answers.seats_again import give_seat_again
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, Hint
from parley_lab.contracts.lives import TAKING_PART, Outcome, in_sql, leading_to
from parley_lab.design import Resolved
from parley_lab.kinds.parts import acts_on_moves
from parley_lab.kinds.stages import parts_of
from parley_lab.members.standing import Standing
from parley_lab.store.facts import Event
from parley_lab.store.session import ReadSession, Session
from parley_lab.talk.conversation import leave_thread, open_talks


def record_member(
    session: Session,
    experiment_id: UUID,
    cohort_id: UUID,
    member_id: UUID,
    path: str,
    event_type: str,
    payload: Mapping[str, Any],
    now: datetime,
    *,
    cause: str,
    actor: str | None = None,
    audience: Sequence[UUID] | None = None,
    unsettles: bool = True,
) -> None:
    """Record what has happened to a member; everybody who has to know is told after the commit.

    `audience` None: all members of the cohort. `unsettles`: have the cohort settled because of it.
    """
    session.record(
        Event(
            experiment_id=experiment_id,
            cohort_id=cohort_id,
            type=event_type,
            actor=actor or path,
            cause=cause,
            subject=path,
            subject_id=member_id,
            payload=payload,
            public=public_part(event_type, member_id, payload),
            audience=audience,
            at=now,
            unsettles=unsettles,
        )
    )
    if unsettles:
        session.announce(Hint(ORCHESTRATOR, "cohort.unsettled", str(cohort_id)))
    session.tell(cohort_id)


def record_of(
    session: Session,
    standing: Standing,
    event_type: str,
    payload: Mapping[str, Any],
    now: datetime,
    *,
    cause: str,
    actor: str | None = None,
    audience: Sequence[UUID] | None = None,
    unsettles: bool = True,
) -> None:
    """The same of a member whose standing is known."""
    record_member(
        session,
        standing.experiment_id,
        standing.cohort_id,
        standing.member.id,
        standing.member.path,
        event_type,
        payload,
        now,
        cause=cause,
        actor=actor,
        audience=audience,
        unsettles=unsettles,
    )


def public_part(event_type: str, member_id: UUID, payload: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """What members are told of something that has happened to one of them; None: nothing."""
    # Only people join, and only agents are added: to be told would be to know who is an agent.
    if event_type in ("member.joined", "member.rejoined", "member.added", "member.viewed"):
        return None
    if event_type == "member.transferred":
        return {"member_id": str(member_id)}
    # Only the member and the experimenter may know why the member is out.
    return {"member_id": str(member_id), **{key: value for key, value in payload.items() if key != "reason"}}


_MOVE = text(
    """
    WITH given AS (
        DELETE FROM partial_answers WHERE member_id = :member_id AND outcome IS NULL
    ), moved AS (
        UPDATE members SET position = position + 1, version = version + 1, arrived_at = :now,
            stepped_version = CASE WHEN :is_step THEN version + 1 ELSE stepped_version END,
            stage_ids = CAST(:stage_ids AS text[]),
            status = CASE WHEN position + 1 >= cardinality(CAST(:stage_ids AS text[])) THEN 'completed' ELSE status END,
            ended_at = CASE WHEN position + 1 >= cardinality(CAST(:stage_ids AS text[])) THEN :now ELSE ended_at END
        WHERE id = :member_id AND position = :position AND status = 'in_progress'
        RETURNING id
    )
    SELECT CASE WHEN NOT EXISTS (SELECT FROM moved)
        THEN CAST('the member is no more where it was: ' || (SELECT CAST(:member_id AS text)) AS int) END AS problem
    """
)

_CANCEL_ASKS = text(
    """
    WITH cancelled AS (
        UPDATE asks SET state = 'cancelled', reason = :reason, closed_at = :now
        WHERE member_id = :member_id AND state = 'open' RETURNING id
    )
    UPDATE drafts d SET state = 'cancelled', reason = :reason, closed_at = :now
    FROM cancelled WHERE d.ask_id = cancelled.id AND d.state IN ('wanted', 'ready')
    """
)


async def move_on(session: Session, standing: Standing, now: datetime, *, cause: str, is_step: bool = False) -> None:
    """Move this member one stage further than `standing` says.

    `is_step`: the caller takes the member's steps, and looks at what the move leads to; else an agent is woken for it.
    A member who leaves a thread is announced in it. The caller holds the member's lock, and has read `standing` under
    it: the transaction fails if the member is not there. The thread's lock is taken.
    """
    stage = standing.stage
    assert stage is not None
    params = {"member_id": standing.member.id, "position": standing.position, "is_step": is_step, "now": now}
    session.later(_MOVE, {**params, "stage_ids": list(standing.stage_ids)})
    if any(ask.stage_id == stage.id for ask in standing.asks):
        session.later(_CANCEL_ASKS, {"member_id": standing.member.id, "reason": "the member went on", "now": now})
    record_move(session, standing, now, cause=cause)
    if not is_step and standing.member.player != "person":
        session.announce(Hint(AGENT_STEPS, "member.changed", str(standing.member.id)))
    if (conversation_id := standing.conversation_id(stage)) is not None:
        await leave_thread(session, conversation_id, standing.member.id, now, cause=cause)


def record_move(session: Session, standing: Standing, now: datetime, *, cause: str) -> None:
    """Record that this member goes one stage further than `standing` says."""
    moved = {"from_stage_id": standing.stage_ids[standing.position], "to_stage_id": standing.next_stage_id}
    unsettles = not is_quiet(standing)
    record_of(session, standing, "member.moved", moved, now, cause=cause, unsettles=unsettles)


def is_quiet(standing: Standing) -> bool:
    """Whether the lab has nothing to do when this member goes one stage further.

    Where this stage and the next are read and answered by each alone, and the next one is open, it has nothing to open,
    draw, ask, begin or time; most pages of most studies are such.
    """
    left, following = standing.stage, standing.next_stage_id
    if left is None or following is None or following not in standing.unlocked:
        return False
    entered = standing.design.stage(following)
    if (
        depends_on_member(standing.design, following)
        or entered.stay.is_timed
        or acts_on_moves(parts_of(left))
        or acts_on_moves(parts_of(entered))
    ):
        return False
    # A stage that reads everybody's part of another opens when all are through with that one.
    return left.id not in standing.design.read_of_everybody


def depends_on_member(design: Resolved, following: str) -> bool:
    """Whether it is decided when a member comes there which stage follows: by a rule, or by their order of a block."""
    stage = design.stage(following)
    return stage.show_if is not None or stage.block in design.orders


_END = text(
    """
    WITH ended AS (
        UPDATE members SET status = :status, status_reason = :reason, ended_at = :now, paused_at = NULL,
            version = version + 1
        WHERE id = :member_id AND status = ANY(:sources)
        RETURNING id, transfer_to
    ), stopped AS (
        UPDATE timers t SET state = 'cancelled' FROM ended
        WHERE t.member_id = ended.id AND t.state IN ('armed', 'held')
    ), missed AS (
        UPDATE attention_checks k SET closed_at = :now, outcome = 'missed' FROM ended
        WHERE k.member_id = ended.id AND k.closed_at IS NULL
    )
    SELECT transfer_to FROM ended
    """
)
# While the whole experiment is paused its threads stay held, and are released with it.
_RELEASE = text(
    """
    UPDATE threads t SET held = false FROM experiments e
    WHERE e.id = :experiment_id AND e.status = 'running' AND t.cohort_id = :cohort_id
        AND t.scope = 'private:' || :path AND t.held
    """
)


async def end_member(
    session: Session,
    standing: Standing,
    outcome: Outcome,
    reason: str,
    now: datetime,
    *,
    cause: str,
    actor: str | None = None,
    unsent: Mark = "not_sent",
) -> bool:
    """End a member's part in the experiment for good; False when nothing leads there from where they are.

    What they have filled in and not sent is stored as far as it counts, with the mark `unsent`. What was wanted from
    them is cancelled, and those who waited for them are looked at again. `actor` is the member themself unless it says
    otherwise.
    """
    if standing.begun and standing.status in leading_to(outcome):
        standing = await fill_in(session, standing, now, mark=unsent, cause=cause)
    end = {"status": outcome, "sources": leading_to(outcome), "reason": reason, "now": now}
    ended = await session.first(_END, {"member_id": standing.member.id, **end})
    if ended is None:
        return False
    if standing.status == "transfer_pending" and ended.transfer_to is not None:
        record_staying_away(session, standing, ended.transfer_to, now, cause=cause)
    if standing.status == "paused":
        where = {"cohort_id": standing.cohort_id, "path": standing.member.path}
        await session.run(_RELEASE, {"experiment_id": standing.experiment_id, **where})
    await session.run(_CANCEL_ASKS, {"member_id": standing.member.id, "reason": reason, "now": now})
    record_of(
        session,
        standing,
        f"member.{outcome}",
        {"reason": reason},
        now,
        cause=cause,
        actor=actor,
    )
    await give_seat_again(session, standing, outcome, now)
    for thread_id in await _threads_to_leave(session, standing):
        await leave_thread(session, thread_id, standing.member.id, now, cause=cause)
    return True


def record_staying_away(session: Session, standing: Standing, cohort_id: UUID, now: datetime, *, cause: str) -> None:
    """A cohort in which the member was offered a place waits for them no more. No member is told."""
    where = standing.experiment_id, cohort_id, standing.member.id, standing.member.path
    record_member(session, *where, "member.stayed_away", {}, now, cause=cause, actor="lab", audience=[])


async def _threads_to_leave(session: ReadSession, standing: Standing) -> Sequence[UUID]:
    if standing.member.kind == "mediator":
        return await open_talks(session, standing.cohort_id, map(standing.design.stage, standing.stage_ids))
    if standing.status == "expected" or standing.stage is None:
        return []
    conversation_id = standing.conversation_id(standing.stage)
    return [] if conversation_id is None else [conversation_id]


_STEPPED = text("UPDATE members SET stepped_version = version WHERE id = :member_id AND stepped_version < version")


def mark_stepped(session: Session, member_id: UUID) -> None:
    session.later(_STEPPED, {"member_id": member_id})


_WAKE = text(
    f"""
    WITH locked AS (
        SELECT id, stepped_version >= version AS rests FROM members
        WHERE id = ANY(:member_ids) AND player <> 'person' AND status IN {in_sql(TAKING_PART)}
        ORDER BY id FOR NO KEY UPDATE
    )
    UPDATE members m SET version = version + 1 FROM locked WHERE m.id = locked.id AND locked.rests
    RETURNING m.id
    """  # noqa: S608 - put together from constants
)


async def wake_agents(session: Session, member_ids: Sequence[UUID]) -> None:
    """Update the profiles of those among them who are no people, so that each takes a step.

    Whose last update has led to no step yet is about to take one, which begins with a look at everything. Whether it
    has is asked under the member's lock: a step that is under way may have looked too early.
    """
    if not member_ids:
        return
    for row in await session.all(_WAKE, {"member_ids": sorted(member_ids)}):
        session.announce(Hint(AGENT_STEPS, "member.changed", str(row.id)))
