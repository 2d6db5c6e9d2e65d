"""What the orchestrator reads and writes to settle a cohort. The rules are its own; this is the SQL."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.lives import in_sql, sources
from parley_lab.kinds import Json
from parley_lab.kinds.attendees import Attendee, as_uuid, attendee
from parley_lab.kinds.stages import parts_of
from parley_lab.members.attendance import ATTENDANCE
from parley_lab.members.cohort_state import CohortState, Counted, OpenThread, record
from parley_lab.members.designs import cohorts_design
from parley_lab.members.held_cohorts import held_since
from parley_lab.people.rooms import IS_OPEN
from parley_lab.store.failures import LockNotAvailable
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row, as_json


class CohortBusy(Exception):
    """Another settle holds the cohort; come back later."""


_LOCK = text(
    """
    SELECT c.id, c.path, c.name, c.experiment_id, c.status, c.treatment_id, c.draws, c.assigned, e.seed, e.pace,
        e.language, e.version, CASE
            WHEN c.alone THEN (SELECT r.stage_id FROM rooms r WHERE r.id = c.room_id)
            WHEN c.room_id IS NOT NULL THEN (
                SELECT n.stage_id FROM rooms r CROSS JOIN LATERAL (
                    SELECT a.stage_id, lag(a.stage_id) OVER (ORDER BY a.place) AS before
                    FROM jsonb_array_elements_text(CASE jsonb_typeof(r.plan -> 'at') WHEN 'array' THEN r.plan -> 'at'
                        ELSE '[]' END) WITH ORDINALITY AS a(stage_id, place)
                ) n WHERE r.id = c.room_id AND n.before = r.stage_id)
            END AS meets_at,
        (SELECT r.stage_id FROM rooms r WHERE r.id = c.room_id AND r.stage_id <> r.plan #>> '{at,0}') AS begins_at,
        CASE WHEN c.room_id IS NOT NULL THEN (SELECT r.stage_id FROM matches x JOIN rooms r ON r.id = x.room_id
            WHERE x.cohort_id = c.id AND x.began_at IS NULL) END AS made_at,
        (SELECT v.settled < v.unsettled FROM streams v WHERE v.cohort_id = c.id) AS is_unsettled
    FROM cohorts c JOIN experiments e ON e.id = c.experiment_id
    WHERE c.id = :cohort_id
    FOR NO KEY UPDATE OF c NOWAIT
    """
)

# One snapshot for the counter and everything else: whatever comes later leaves the cohort unsettled, and an answer is
# counted exactly if the number of its event is at most `as_of`.
# What is due in a thread that is opened has been done by then, so that it opens is no news.
# Each answer is marked with the moment at which it was first counted: prompts look back to it. In a design without
# shared asks none is looked at.
_STATE = text(
    f"""
    WITH counter AS (
        SELECT last, settled FROM streams WHERE cohort_id = :cohort_id
    ), stage AS (
        SELECT DISTINCT m.stage_ids[m.position + 1] AS id FROM members m JOIN experiments e ON e.id = m.experiment_id
        WHERE :with_answers AND m.cohort_id = :cohort_id AND m.kind = 'participant' AND e.status <> 'paused'
            AND m.stage_ids[m.position + 1] = ANY(:shared_stages)
    ), counted AS (
        UPDATE answers a SET counted_at = counter.last FROM counter, stage
        WHERE :with_answers AND a.cohort_id = :cohort_id AND a.stage_id = stage.id AND a.counted_at IS NULL
        RETURNING a.stage_id, a.member_id, a.key, a.value
    )
    SELECT counter.last AS as_of,
        (SELECT e.status = 'paused' FROM experiments e WHERE e.id = :experiment_id) AS is_held,
        (SELECT jsonb_agg(jsonb_build_object('id', m.id, 'path', m.path, 'kind', m.kind, 'player', m.player,
            'status', m.status, 'stage_ids', m.stage_ids, 'position', m.position, 'stay', m.stay,
            'has_moved', m.has_moved, 'entered', m.entered, 'seat', m.seat, 'treatment', m.treatment_id,
            'profile', m.profile, 'provider', m.provider, 'script', m.agent_config -> 'script',
            'chat', m.agent_config -> 'chat')
            ORDER BY m.path)
        FROM {ATTENDANCE} m WHERE m.cohort_id = :cohort_id) AS members,
        (SELECT jsonb_agg(jsonb_build_object('id', m.id, 'path', m.path, 'kind', m.kind, 'player', m.player,
            'status', m.status, 'stage_ids', m.stage_ids, 'position', m.position, 'profile', m.profile))
        FROM members m WHERE m.transfer_to = :cohort_id AND m.status = 'transfer_pending') AS incoming,
        (SELECT jsonb_object_agg(s.stage_id, jsonb_build_array(s.draws, s.state, s.result))
        FROM cohort_stages s WHERE s.cohort_id = :cohort_id) AS opened,
        (SELECT jsonb_object_agg(w.stage_id, w.outcome) FROM waits w WHERE w.cohort_id = :cohort_id) AS waits,
        (SELECT jsonb_agg(jsonb_build_object('id', t.id, 'stage_id', t.stage_id, 'scope', t.scope,
            'ended', t.ended_at IS NOT NULL, 'ready', t.turn_state -> 'ready',
            'opened_at', t.opened_at, 'paused_ms', t.paused_ms, 'held_since', {held_since("t.cohort_id")},
            'last_seq', t.last_seq, 'clock_ms', t.clock_ms, 'known', CASE WHEN t.stage_id = ANY(:with_minutes) THEN
                (SELECT jsonb_agg(g.client_key) FROM messages g WHERE g.thread_id = t.id) END
            ) ORDER BY t.path)
        FROM threads t WHERE t.cohort_id = :cohort_id) AS threads,
        (SELECT array_agg(DISTINCT e.subject) FROM events e
        WHERE :with_news AND e.cohort_id = :cohort_id AND e.stream_seq > counter.settled
            AND e.stream_seq <= counter.last AND e.type <> 'thread.opened') AS news,
        (SELECT jsonb_agg(jsonb_build_array(one.stage_id, one.member_id, one.key, one.value)) FROM (
            SELECT stage_id, member_id, key, value FROM counted UNION ALL
            SELECT a.stage_id, a.member_id, a.key, a.value FROM answers a JOIN stage ON stage.id = a.stage_id
            WHERE :with_answers AND a.cohort_id = :cohort_id AND a.counted_at IS NOT NULL) AS one) AS answers,
        (SELECT jsonb_agg(jsonb_build_array(k.stage_id, k.member_id, k.key))
            FROM asks k JOIN stage ON stage.id = k.stage_id
            WHERE :with_answers AND k.cohort_id = :cohort_id AND k.state = 'open') AS open_asks
    FROM counter
    """  # noqa: S608 - put together from constants
)


async def lock_cohort(session: Session, cohort_id: UUID, *, only_unsettled: bool = False) -> CohortState | None:
    """The cohort, under its lock until the transaction ends. Counts what was answered.

    None when there is none, or its experiment is paused; with `only_unsettled` also when nothing has happened since it
    was last settled.

    Raises:
        CohortBusy: another process is settling it. The transaction must be rolled back.
    """
    try:
        row = await session.first(_LOCK, {"cohort_id": cohort_id})
    except LockNotAvailable as error:
        raise CohortBusy from error
    if row is None or (only_unsettled and not row.is_unsettled):
        return None
    resolved = await cohorts_design(session, row.experiment_id, row.version, row.treatment_id, row.assigned)
    shared = [stage.id for stage in resolved.stages if parts_of(stage).state is not None]
    params = {
        "cohort_id": cohort_id,
        "experiment_id": row.experiment_id,
        "with_minutes": [stage.id for stage in resolved.stages if parts_of(stage).minutes is not None],
        "with_news": any(parts_of(stage).is_private for stage in resolved.stages),
        "with_answers": bool(shared),
        "shared_stages": shared,
    }
    state = await session.one(_STATE, params)
    if state.is_held:
        return None
    opened = state.opened or {}
    members = tuple(attendee(member) for member in state.members or ())
    own_arms = sorted({member.treatment for member in members if member.treatment is not None})
    return CohortState(
        id=row.id,
        path=row.path,
        name=row.name,
        experiment_id=row.experiment_id,
        seed=row.seed,
        pace=row.pace,
        language=row.language,
        status=row.status,
        design=resolved,
        members=members,
        given=row.draws,
        draws={stage_id: draws for stage_id, (draws, _, _) in opened.items()},
        states={stage_id: kept for stage_id, (_, kept, _) in opened.items() if kept is not None},
        results={stage_id: result for stage_id, (_, _, result) in opened.items() if result is not None},
        threads=tuple(_thread(thread) for thread in state.threads or ()),
        as_of=state.as_of,
        news=frozenset(state.news or ()),
        incoming=tuple(attendee(member) for member in state.incoming or ()),
        waits=state.waits or {},
        counted=_counted(state) if shared else None,
        meets_at=row.meets_at,
        begins_at=row.begins_at,
        made_at=row.made_at,
        own_designs={
            arm: await cohorts_design(session, row.experiment_id, row.version, arm, row.assigned) for arm in own_arms
        },
    )


def _counted(state: Row) -> Counted:
    answers: dict[str, dict[UUID, dict[str, Json]]] = {}
    for stage_id, member_id, key, value in state.answers or ():
        answers.setdefault(stage_id, {}).setdefault(as_uuid(member_id), {})[key] = value
    return Counted(
        answers=answers,
        open=frozenset((stage_id, as_uuid(member_id), key) for stage_id, member_id, key in state.open_asks or ()),
    )


def _thread(fields: Mapping[str, Any]) -> OpenThread:
    return OpenThread(
        id=UUID(fields["id"]),
        stage_id=fields["stage_id"],
        scope=fields["scope"],
        ended=fields["ended"],
        ready=frozenset(map(UUID, fields["ready"] or ())),
        opened_at=datetime.fromisoformat(fields["opened_at"]),
        paused_ms=fields["paused_ms"],
        held_since=None if fields["held_since"] is None else datetime.fromisoformat(fields["held_since"]),
        last_seq=fields["last_seq"],
        clock_ms=fields["clock_ms"],
        known=frozenset(fields["known"] or ()),
    )


_UNLOCK = text(
    """
    INSERT INTO cohort_stages (cohort_id, stage_id, audience, unlocked_at, draws)
    VALUES (:cohort_id, :stage_id, :audience, :now, CAST(:draws AS jsonb))
    ON CONFLICT (cohort_id, stage_id) DO UPDATE SET draws = excluded.draws
    RETURNING (xmax = 0) AS is_new
    """
)


async def unlock(
    session: Session,
    cohort: CohortState,
    stage_id: str,
    draws: Mapping[str, Json],
    now: datetime,
    *,
    here: Sequence[Attendee] = (),
) -> None:
    """Open a stage for the cohort, or extend its draws. That it opens is told to all, later draws to the people among
    `here`, who are on the stage and may wait for theirs."""
    opened = {"cohort_id": cohort.id, "stage_id": stage_id, "audience": cohort.design.stage(stage_id).audience}
    row = await session.one(_UNLOCK, {**opened, "now": now, "draws": as_json(draws)})
    if row.is_new:
        record(session, cohort, "stage.unlocked", f"{cohort.path}/{stage_id}", {"stage_id": stage_id}, now)
    elif people := [one.id for one in here if one.player == "person"]:
        told = {"stage_id": stage_id}
        record(session, cohort, "stage.updated", f"{cohort.path}/{stage_id}", told, now, audience=people)


_RESTING = text(
    """
    SELECT m.id FROM members m
    WHERE m.id = ANY(:member_ids) AND m.player <> 'person' AND m.stepped_version >= m.version
        AND NOT EXISTS (SELECT FROM asks k WHERE k.member_id = m.id AND k.stage_id = :stage_id)
        AND NOT EXISTS (SELECT FROM answers a WHERE a.member_id = m.id AND a.stage_id = :stage_id)
    """
)


async def resting(session: ReadSession, stage_id: str, member_ids: Sequence[UUID]) -> list[UUID]:
    """Those of these members who are no people, have taken their step, and were asked nothing on the stage so far."""
    if not member_ids:
        return []
    rows = await session.all(_RESTING, {"member_ids": member_ids, "stage_id": stage_id})
    return [row.id for row in rows]


_KEEP_RESULT = text(
    """
    UPDATE cohort_stages SET result = CAST(:result AS jsonb)
    WHERE cohort_id = :cohort_id AND stage_id = :stage_id AND result IS NULL
    """
)


async def keep_result(session: Session, cohort_id: UUID, stage_id: str, result: Mapping[str, Json]) -> None:
    """Keep what the stage has come to, once and for all. The caller holds the cohort's lock."""
    await session.run(_KEEP_RESULT, {"cohort_id": cohort_id, "stage_id": stage_id, "result": as_json(result)})


_END = text("UPDATE cohorts SET status = 'ended', ended_at = :now WHERE id = :cohort_id AND status = 'running'")

_END_MEDIATORS = text(
    f"""
    WITH ended AS (
        UPDATE members SET status = 'completed', ended_at = :now, paused_at = NULL, version = version + 1
        WHERE cohort_id = :cohort_id AND kind = 'mediator' AND status IN {in_sql(sources("close"))}
        RETURNING id
    ), stopped AS (
        UPDATE timers t SET state = 'cancelled' FROM ended
        WHERE t.member_id = ended.id AND t.state IN ('armed', 'held')
    )
    UPDATE attention_checks k SET closed_at = :now, outcome = 'missed' FROM ended
    WHERE k.member_id = ended.id AND k.closed_at IS NULL
    """  # noqa: S608 - put together from constants
)


async def end_cohort(session: Session, cohort: CohortState, now: datetime) -> None:
    await session.run(_END, {"cohort_id": cohort.id, "now": now})
    await session.run(_END_MEDIATORS, {"cohort_id": cohort.id, "now": now})
    record(session, cohort, "cohort.ended", cohort.path, {}, now)


_END_EXPERIMENT = text(
    f"""
    UPDATE experiments SET status = 'ended', ended_at = :now
    WHERE id = :id AND status = 'running'
        AND NOT EXISTS (SELECT FROM cohorts WHERE experiment_id = :id AND status = 'running')
        AND NOT EXISTS (SELECT FROM planned_cohorts WHERE experiment_id = :id)
        AND NOT {IS_OPEN.format(experiment=":id")}
    """  # noqa: S608 - put together from constants
)


async def end_when_done(session: Session, experiment_id: UUID, now: datetime) -> bool:
    """End the experiment once all its cohorts have; to be called in a transaction after the one that ended a cohort."""
    return bool(await session.run(_END_EXPERIMENT, {"id": experiment_id, "now": now}))
