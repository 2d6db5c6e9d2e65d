"""Going on from a stage, with everything that the stage says follows from it: one transaction, once."""

from datetime import datetime
from typing import Final

from sqlalchemy import text

from shared.acts.advancing import end_member, move_on, record_member, record_move
from shared.acts.forgetting import forget
from shared.contracts.experiment import Profile
from shared.db.failures import DataError, DeadlockDetected, Overtaken
from shared.db.session import Session, as_json
from shared.db.standing import Standing
from shared.stage import PAGE, Done, End, Json, Pay, SetProfile


async def go_on(
    session: Session, standing: Standing, done: Done, now: datetime, *, cause: str, is_step: bool = False
) -> None:
    """Move the member one stage further than `standing` says, or end their part if that is what the stage says.

    `is_step` as in `move_on`. The caller holds the member's lock, and has read `standing` under it.
    """
    assert standing.stage is not None
    end = next((one for one in done.effects if isinstance(one, End)), None)
    if end is not None:
        has_ended = await end_member(session, standing, end.outcome, end.outcome, now, cause=cause)
        if has_ended and end.forgets:
            await forget(session, standing.member.id, standing.member.path, standing.member.profile.name or "")
        return
    await move_on(session, standing, now, cause=cause, is_step=is_step)
    for effect in done.effects:
        if isinstance(effect, SetProfile):
            await set_profile(session, standing, effect.profile, now, cause=cause)
        elif isinstance(effect, Pay):
            _pay(session, standing, effect, now)


# No lock is held beforehand. The statement fails if the counter of the cohort's events has changed since the member was
# read. It also fails if another transaction holds the member: after waiting it would not see the partial answer that
# was saved meanwhile. One that is committed just after the statement began stays until the next move.
# It ends as FLUSH does. The subselect of a parameter keeps Postgres from raising the error while it plans.
_GO_ON_QUIETLY: Final = text(
    """
    WITH free AS (
        SELECT id FROM members WHERE id = :member_id AND position = :position AND status = 'in_progress'
        FOR NO KEY UPDATE SKIP LOCKED
    ), here AS (
        UPDATE members m SET position = m.position + 1, version = m.version + 1, arrived_at = :now
        FROM free WHERE m.id = free.id
        RETURNING m.id
    ), begun AS (
        DELETE FROM partial_answers p USING here WHERE p.member_id = here.id
    ), entry AS (
        INSERT INTO answers (member_id, stage_id, key, cohort_id, value, invalid, completed_at, written_at)
        SELECT here.id, :stage_id, :key, :cohort_id, CAST(:value AS jsonb),
            (SELECT jsonb_object_agg(part.key, part.value) FROM answers e CROSS JOIN jsonb_each(e.invalid) part
                WHERE e.member_id = :member_id AND e.stage_id = :stage_id AND e.key <> :key),
            :now, :now
        FROM here
        ON CONFLICT (member_id, stage_id, key) DO UPDATE
            SET value = excluded.value, invalid = excluded.invalid, completed_at = excluded.completed_at,
                written_at = excluded.written_at, revision = answers.revision + 1
            WHERE answers.completed_at IS NULL
        RETURNING 1
    ), written AS (
        SELECT count(*) FROM entry
    ), passed AS (
        SELECT CASE WHEN s.last <> :cursor OR NOT EXISTS (SELECT FROM here)
            THEN CAST('something has happened since event ' || (SELECT CAST(:cursor AS bigint)) AS int) END AS problem
        FROM written, streams s WHERE s.cohort_id = :cohort_id FOR NO KEY UPDATE OF s
    ), given AS (
        SELECT e.* FROM passed, jsonb_to_recordset(CAST(:events AS jsonb)) AS e(
            rank int, experiment_id uuid, cohort_id uuid, type text, actor text, cause text, subject text,
            subject_id uuid, payload jsonb, public jsonb, audience uuid[], at timestamptz, unsettles bool,
            settled bigint)
    ), counted AS (
        UPDATE streams s
        SET last = s.last + g.n, unsettled = CASE WHEN g.unsettles THEN s.last + g.n ELSE s.unsettled END,
            settled = greatest(s.settled, g.settled)
        FROM (
            SELECT cohort_id, count(rank) AS n, bool_or(unsettles) AS unsettles, max(settled) AS settled
            FROM given GROUP BY cohort_id ORDER BY cohort_id
        ) g
        WHERE s.cohort_id = g.cohort_id AND s.cohort_id = :counter_id
        RETURNING s.cohort_id, s.last - g.n AS before, s.last
    ), recorded AS (
        INSERT INTO events (experiment_id, cohort_id, stream_seq, type, actor, cause, subject, subject_id, payload,
            public, audience, at)
        SELECT g.experiment_id, g.cohort_id, c.before + g.rank, g.type, g.actor, g.cause, g.subject, g.subject_id,
            g.payload, CASE WHEN g.public = 'null'::jsonb THEN NULL ELSE g.public END, g.audience, g.at
        FROM given g JOIN counted c USING (cohort_id)
        WHERE g.rank IS NOT NULL
        ORDER BY g.cohort_id, g.rank
        RETURNING 1
    ), announced AS (
        INSERT INTO outbox (queue, type, subject_id, correlation, urgent, created_at)
        SELECT h.queue, h.type, h.subject_id, h.correlation, h.urgent, statement_timestamp()
        FROM passed, jsonb_to_recordset(CAST(:hints AS jsonb))
            AS h(queue text, type text, subject_id text, correlation text, urgent bool)
        RETURNING id, queue, type, subject_id, correlation, urgent
    ), told AS (
        SELECT pg_notify('parley_facts', f.id) FROM passed, unnest(CAST(:facts AS text[])) AS f(id)
    )
    SELECT CASE WHEN (SELECT count(*) FROM recorded) < (SELECT count(rank) FROM given)
            THEN CAST('an event names a cohort that has no stream, of ' || (SELECT count(rank) FROM given) AS int)
        END AS problem,
        (SELECT jsonb_agg(jsonb_build_array(id, queue, type, subject_id, correlation, urgent)) FROM announced)
            AS announced,
        (SELECT count(*) FROM told) AS told,
        (SELECT jsonb_agg(jsonb_build_array(cohort_id, before, last)) FROM counted) AS counted,
        EXISTS (SELECT FROM passed) AS passed
    """
)


async def go_on_quietly(session: Session, standing: Standing, page: Json, now: datetime, *, cause: str) -> None:
    """Store the page and move the person on, by one statement and without a lock (`Database.autocommit`).

    Only for a move that `is_quiet`, without effects and without open asks. Of two at once one is overtaken.

    Raises:
        Overtaken: nothing was stored, because something has happened in the cohort since `standing` was read.
    """
    assert standing.stage is not None
    record_move(session, standing, now, cause=cause)
    params = {
        "member_id": standing.member.id,
        "position": standing.position,
        "stage_id": standing.stage.id,
        "key": PAGE,
        "cohort_id": standing.cohort_id,
        "value": as_json(page),
        "cursor": standing.cursor,
        "now": now,
    }
    try:
        row = await session.flush_with(_GO_ON_QUIETLY, params)
    except (DataError, DeadlockDetected) as error:
        raise Overtaken from error
    if not row.passed:
        # The cohort itself is gone.
        raise Overtaken


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


_SET_PROFILE: Final = text(
    """
    UPDATE members SET profile = CAST(:profile AS jsonb), version = version + 1
    WHERE id = :member_id AND profile <> CAST(:profile AS jsonb)
    """
)


async def set_profile(session: Session, standing: Standing, profile: Profile, now: datetime, *, cause: str) -> None:
    """Let the others know the member by this profile; nothing happens if they do already.

    The caller holds the member's lock.
    """
    member, fields = standing.member, profile.model_dump(mode="json")
    if not await session.run(_SET_PROFILE, {"member_id": member.id, "profile": as_json(fields)}):
        return
    record_member(
        session,
        standing.experiment_id,
        standing.cohort_id,
        member.id,
        member.path,
        "member.profile_changed",
        {"profile": fields},
        now,
        cause=cause,
    )
