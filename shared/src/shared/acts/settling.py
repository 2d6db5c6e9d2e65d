"""What the orchestrator reads and writes to settle a cohort. The rules are its own; this is the SQL."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import text

from shared.contracts.hints import AGENT_STEPS, FACTS, ORCHESTRATOR, Hint
from shared.db.designs import design
from shared.db.facts import Event
from shared.db.failures import LockNotAvailable
from shared.db.session import Row, Session, as_json, as_uuid
from shared.experiment import (
    Resolved,
)
from shared.stage import Json
from shared.stages import kind_of
from shared.views import Answers, Attendee, Facts, People, attendee


class CohortBusy(Exception):
    """Another settle holds the cohort; come back later."""


@dataclass(frozen=True, slots=True)
class OpenThread:
    id: UUID
    stage_id: str
    scope: str
    ended: bool
    ready: frozenset[UUID]
    opened_at: datetime
    last_seq: int
    clock_ms: int
    known: frozenset[str]
    """The keys of the lines of minutes that stand in it."""


@dataclass(frozen=True, slots=True)
class DueTimer:
    """A timer whose time has come."""

    id: UUID
    thread_id: UUID | None
    member_id: UUID | None
    purpose: str
    generation: int


@dataclass(frozen=True, slots=True)
class Counted:
    """Everything that members have answered, and what they are asked."""

    answers: Mapping[str, Answers]
    open: frozenset[tuple[str, UUID, str]]
    """The asks that are open, by stage, member and key."""


@dataclass(frozen=True, slots=True)
class CohortState:
    """A cohort under its lock."""

    id: UUID
    path: str
    name: str
    experiment_id: UUID
    seed: int
    pace: str
    status: str
    design: Resolved
    members: tuple[Attendee, ...]
    draws: Mapping[str, Mapping[str, Json]]
    """What was drawn, by unlocked stage."""
    states: Mapping[str, Mapping[str, Json]]
    """What everybody's answers came to at the last look, by stage; for stages with shared asks."""
    threads: tuple[OpenThread, ...]
    as_of: int
    """The counter of the cohort's events up to which this state is known to be true."""
    news: frozenset[str] = frozenset()
    """The subjects of what has happened since the cohort was last settled; for designs with private threads."""
    counted: Counted | None = None
    """What was answered on the stages with shared asks on which somebody is; None in a design without such stages."""

    def facts(self, draws: Mapping[str, Mapping[str, Json]]) -> Facts:
        """What rules may read, when this is drawn; everybody's answers on the stages with shared asks are counted."""
        return Facts(
            people=People(self.members),
            draws=draws,
            states=self.states,
            answers=self.counted.answers if self.counted is not None else {},
            variables=self.design.variables,
            whole=self.design.stage_ids,
        )


_LOCK = text(
    """
    SELECT c.id, c.path, c.name, c.experiment_id, c.status, c.treatment_id, e.seed, e.pace, e.version
    FROM cohorts c JOIN experiments e ON e.id = c.experiment_id
    WHERE c.id = :cohort_id
    FOR NO KEY UPDATE OF c NOWAIT
    """
)

# One snapshot for the counter and everything else: whatever comes later leaves the cohort unsettled, and an answer is
# counted exactly if the number of its event is at most `as_of`.
_PARTS = """
        counter.last AS as_of, (SELECT e.status = 'paused' FROM experiments e WHERE e.id = :experiment_id) AS is_held,
        (SELECT jsonb_agg(jsonb_build_object('id', m.id, 'path', m.path, 'kind', m.kind, 'player', m.player,
            'status', m.status, 'stage_ids', m.stage_ids, 'position', m.position, 'profile', m.profile,
            'provider', m.provider, 'script', m.agent_config -> 'script', 'chat', m.agent_config -> 'chat')
            ORDER BY m.path)
        FROM members m WHERE m.cohort_id = :cohort_id) AS members,
        (SELECT jsonb_object_agg(s.stage_id, jsonb_build_array(s.draws, s.state))
        FROM cohort_stages s WHERE s.cohort_id = :cohort_id) AS opened,
        (SELECT jsonb_agg(jsonb_build_object('id', t.id, 'stage_id', t.stage_id, 'scope', t.scope,
            'ended', t.ended_at IS NOT NULL, 'ready', t.turn_state -> 'ready',
            'opened_at', t.opened_at + t.paused_ms * interval '1 millisecond',
            'last_seq', t.last_seq, 'clock_ms', t.clock_ms, 'known', CASE WHEN t.stage_id = ANY(:with_minutes) THEN
                (SELECT jsonb_agg(g.client_key) FROM messages g WHERE g.thread_id = t.id) END
            ) ORDER BY t.path)
        FROM threads t WHERE t.cohort_id = :cohort_id) AS threads,
        (SELECT array_agg(DISTINCT e.subject) FROM events e
        WHERE :with_news AND e.cohort_id = :cohort_id AND e.stream_seq > counter.settled
            AND e.stream_seq <= counter.last) AS news
"""
_COUNTER = "counter AS (SELECT last, settled FROM streams WHERE cohort_id = :cohort_id)"
_STATE = text(f"WITH {_COUNTER} SELECT {_PARTS} FROM counter")  # noqa: S608 - put together from constants

# Each answer is marked with the moment at which it was first counted: prompts look back to it.
_STATE_AND_ANSWERS = text(
    f"""
    WITH {_COUNTER}, stage AS (
        SELECT DISTINCT m.stage_ids[m.position + 1] AS id FROM members m JOIN experiments e ON e.id = m.experiment_id
        WHERE m.cohort_id = :cohort_id AND m.kind = 'participant' AND e.status <> 'paused'
            AND m.stage_ids[m.position + 1] = ANY(:shared_stages)
    ), counted AS (
        UPDATE answers a SET counted_at = counter.last FROM counter, stage
        WHERE a.cohort_id = :cohort_id AND a.stage_id = stage.id AND a.counted_at IS NULL
        RETURNING a.stage_id, a.member_id, a.key, a.value
    )
    SELECT {_PARTS},
        (SELECT jsonb_agg(jsonb_build_array(one.stage_id, one.member_id, one.key, one.value)) FROM (
            SELECT stage_id, member_id, key, value FROM counted UNION ALL
            SELECT a.stage_id, a.member_id, a.key, a.value FROM answers a JOIN stage ON stage.id = a.stage_id
            WHERE a.cohort_id = :cohort_id AND a.counted_at IS NOT NULL) AS one) AS answers,
        (SELECT jsonb_agg(jsonb_build_array(k.stage_id, k.member_id, k.key))
            FROM asks k JOIN stage ON stage.id = k.stage_id
            WHERE k.cohort_id = :cohort_id AND k.state = 'open') AS open_asks
    FROM counter
    """  # noqa: S608 - put together from constants
)


async def lock_cohort(session: Session, cohort_id: UUID) -> CohortState | None:
    """The cohort, under its lock until the transaction ends. Counts what was answered.

    None when there is none, or its experiment is paused.

    Raises:
        CohortBusy: somebody else is settling it. The transaction is of no use any more.
    """
    try:
        row = await session.first(_LOCK, {"cohort_id": cohort_id})
    except LockNotAvailable as error:
        raise CohortBusy from error
    if row is None:
        return None
    resolved = await design(session, row.experiment_id, row.version, row.treatment_id)
    shared = [stage.id for stage in resolved.stages if kind_of(stage).has_shared_asks]
    with_minutes = [stage.id for stage in resolved.stages if kind_of(stage).thread == "minutes"]
    with_news = any(kind_of(stage).has_private_threads for stage in resolved.stages)
    params = {
        "cohort_id": cohort_id,
        "experiment_id": row.experiment_id,
        "with_minutes": with_minutes,
        "with_news": with_news,
    }
    if shared:
        state = await session.one(_STATE_AND_ANSWERS, {**params, "shared_stages": shared})
    else:
        state = await session.one(_STATE, params)
    if state.is_held:
        return None
    opened = state.opened or {}
    return CohortState(
        id=row.id,
        path=row.path,
        name=row.name,
        experiment_id=row.experiment_id,
        seed=row.seed,
        pace=row.pace,
        status=row.status,
        design=resolved,
        members=tuple(attendee(member) for member in state.members or ()),
        draws={stage_id: draws for stage_id, (draws, _) in opened.items()},
        states={stage_id: kept for stage_id, (_, kept) in opened.items() if kept is not None},
        threads=tuple(_thread(thread) for thread in state.threads or ()),
        as_of=state.as_of,
        news=frozenset(state.news or ()),
        counted=_counted(state) if shared else None,
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
        last_seq=fields["last_seq"],
        clock_ms=fields["clock_ms"],
        known=frozenset(fields["known"] or ()),
    )


_UNLOCK = text(
    """
    INSERT INTO cohort_stages (cohort_id, stage_id, unlocked_at, draws)
    VALUES (:cohort_id, :stage_id, :now, CAST(:draws AS jsonb))
    ON CONFLICT (cohort_id, stage_id) DO UPDATE SET draws = excluded.draws
    RETURNING (xmax = 0) AS is_new
    """
)


async def unlock(
    session: Session, cohort: CohortState, stage_id: str, draws: Mapping[str, Json], now: datetime
) -> None:
    """Open a stage for the cohort, or extend its draws; the first time is recorded as an event."""
    row = await session.one(
        _UNLOCK, {"cohort_id": cohort.id, "stage_id": stage_id, "now": now, "draws": as_json(draws)}
    )
    if row.is_new:
        record(session, cohort, "stage.unlocked", f"{cohort.path}/{stage_id}", {"stage_id": stage_id}, now)


_END = text("UPDATE cohorts SET status = 'ended', ended_at = :now WHERE id = :cohort_id AND status = 'running'")

_END_MEDIATORS = text(
    """
    UPDATE members SET status = 'completed', ended_at = :now, version = version + 1
    WHERE cohort_id = :cohort_id AND kind = 'mediator' AND status IN ('in_progress', 'paused')
    """
)


async def end_cohort(session: Session, cohort: CohortState, now: datetime) -> None:
    await session.run(_END, {"cohort_id": cohort.id, "now": now})
    await session.run(_END_MEDIATORS, {"cohort_id": cohort.id, "now": now})
    record(session, cohort, "cohort.ended", cohort.path, {}, now)


def record(
    session: Session,
    cohort: CohortState,
    event_type: str,
    subject: str,
    payload: Mapping[str, Any],
    now: datetime,
    *,
    subject_id: UUID | None = None,
    audience: Sequence[UUID] | None = None,
) -> None:
    """Record what the lab has done in a cohort, and wake those who follow it; `audience` None means everybody."""
    session.record(
        Event(
            experiment_id=cohort.experiment_id,
            cohort_id=cohort.id,
            type=event_type,
            actor="lab",
            cause="orchestrator",
            subject=subject,
            subject_id=subject_id,
            payload=payload,
            public=payload,
            audience=audience,
            at=now,
        )
    )
    session.announce(Hint(FACTS, "cohort.updated", str(cohort.id)))


_IS_UNSETTLED = text("SELECT settled < unsettled AS is_unsettled FROM streams WHERE cohort_id = :cohort_id")

_UNSETTLED = text(
    """
    SELECT s.cohort_id FROM streams s JOIN cohorts c ON c.id = s.cohort_id JOIN experiments e ON e.id = c.experiment_id
    WHERE s.settled < s.unsettled AND e.status <> 'paused' LIMIT :most
    """
)

_UNSTEPPED = text(
    """
    SELECT m.id FROM members m JOIN experiments e ON e.id = m.experiment_id
    WHERE m.player <> 'person' AND m.status = 'in_progress' AND m.stepped_version < m.version
        AND m.kind = 'participant' AND e.status <> 'paused'
    LIMIT :most
    """
)


async def is_unsettled(session: Session, cohort_id: UUID) -> bool:
    """Whether something has happened in the cohort that nobody has looked at yet."""
    row = await session.first(_IS_UNSETTLED, {"cohort_id": cohort_id})
    return row is not None and bool(row.is_unsettled)


async def unsettled(session: Session, *, most: int = 20_000) -> list[Hint]:
    """Hints for cohorts in which something has happened that nobody has looked at yet."""
    return [
        Hint(ORCHESTRATOR, "cohort.unsettled", str(row.cohort_id))
        for row in await session.all(_UNSETTLED, {"most": most})
    ]


async def unstepped(session: Session, *, most: int = 20_000) -> list[Hint]:
    """Hints for agents whose profile was updated and who have not taken their step."""
    return [Hint(AGENT_STEPS, "member.changed", str(row.id)) for row in await session.all(_UNSTEPPED, {"most": most})]


_DUE = text(
    """
    SELECT id, thread_id, member_id, purpose, generation FROM timers
    WHERE state = 'armed' AND due_at <= :now ORDER BY due_at LIMIT :most
    """
)
_FIRE = text(
    "UPDATE timers SET state = 'fired', fired_at = :now WHERE id = :timer_id AND state = 'armed' AND due_at <= :now"
)
_LOCK_THREAD = text("SELECT FROM threads WHERE id = :thread_id FOR NO KEY UPDATE")
_LOCK_MEMBER = text("SELECT FROM members WHERE id = :member_id FOR NO KEY UPDATE")


async def due_timers(session: Session, now: datetime, *, most: int = 200) -> Sequence[DueTimer]:
    """Timers of threads and members whose time has come."""
    rows = await session.all(_DUE, {"now": now, "most": most})
    return [DueTimer(row.id, row.thread_id, row.member_id, row.purpose, row.generation) for row in rows]


_DUE_AT = text("SELECT due_at FROM timers WHERE id = :timer_id AND state = 'armed'")


async def due_at(session: Session, timer_id: UUID) -> datetime | None:
    """When this timer is due; None when it is not armed any more."""
    row = await session.first(_DUE_AT, {"timer_id": timer_id})
    return None if row is None else row.due_at


async def fire(session: Session, timer: DueTimer, now: datetime) -> bool:
    """Take a due timer under its owner's lock; True exactly once, and its effect belongs in this transaction."""
    if timer.thread_id is not None:
        await session.first(_LOCK_THREAD, {"thread_id": timer.thread_id})
    else:
        await session.first(_LOCK_MEMBER, {"member_id": timer.member_id})
    return bool(await session.run(_FIRE, {"timer_id": timer.id, "now": now}))


_RUNNING = text(
    """
    SELECT e.id FROM experiments e WHERE e.status = 'running'
        AND NOT EXISTS (SELECT FROM cohorts c WHERE c.experiment_id = e.id AND c.status = 'running')
    """
)


async def finished_experiments(session: Session) -> Sequence[UUID]:
    """Running experiments all of whose cohorts have ended."""
    return [row.id for row in await session.all(_RUNNING)]


_END_EXPERIMENT = text(
    """
    UPDATE experiments SET status = 'ended', ended_at = :now
    WHERE id = :id AND status = 'running'
        AND NOT EXISTS (SELECT FROM cohorts WHERE experiment_id = :id AND status = 'running')
    """
)


async def end_when_done(session: Session, experiment_id: UUID, now: datetime) -> bool:
    """End the experiment once all its cohorts have; to be called in a transaction after the one that ended a cohort."""
    return bool(await session.run(_END_EXPERIMENT, {"id": experiment_id, "now": now}))
