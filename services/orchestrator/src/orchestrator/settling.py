"""Settling a cohort: unlocks, draws, conversations, the end. Level-triggered, one transaction, safe to repeat."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from enum import Enum, auto
from typing import Final
from uuid import UUID

import structlog

from orchestrator.asking import settle_asks
from orchestrator.minutes import settle_minutes
from orchestrator.rules import (
    has_arrived,
    is_over,
    may_open,
    on_stage,
    participants,
    place_of_thread,
    scopes_with_news,
)
from shared import seeds
from shared.acts import settling
from shared.acts.advancing import wake_agents
from shared.acts.conversation import (
    advance_thread,
    end_quiet_in_thread,
    end_thread,
    open_thread,
    time_out_thread,
    wake_thread,
)
from shared.acts.settling import CohortState, DueTimer, end_when_done
from shared.chat.speaking import EVERYONE_LEFT
from shared.contracts.experiment import StageConfig
from shared.db.session import Database, Session
from shared.stage import Json, LabView
from shared.stages import kind_of
from shared.views import Attendee, drawn, member_of

CAUSE = "orchestrator"
_MOST_BEGUN_AT_ONCE: Final = 50

log = structlog.get_logger(__name__)


async def settle(database: Database, cohort_id: UUID, now: datetime) -> int:
    """Do everything that is due in a cohort, and end its experiment when it was the last.

    Returns how many members the cohort has.

    Raises:
        CohortBusy: another process is settling it; come back later.
    """
    while (looked := await _look(database, cohort_id, now)) is not None:
        cohort, outcome = looked
        if outcome is _Outcome.ENDED:
            async with database.transaction() as session:
                await end_when_done(session, cohort.experiment_id, now)
        if outcome is not _Outcome.HAS_MORE:
            return len(cohort.members)
    return 0


async def _look(database: Database, cohort_id: UUID, now: datetime) -> "tuple[CohortState, _Outcome] | None":
    """One transaction of settling; None when there is no such cohort."""
    async with database.transaction() as session:
        cohort = await settling.lock_cohort(session, cohort_id)
        if cohort is None:
            return None
        outcome = await _settle(session, cohort, now) if cohort.status == "running" else _Outcome.DONE
        if outcome is not _Outcome.HAS_MORE:
            session.settle(cohort.id, cohort.as_of)
    return cohort, outcome


class _Outcome(Enum):
    DONE = auto()
    HAS_MORE = auto()
    """In a big cohort a look may do a part; then it is not settled yet."""
    ENDED = auto()


async def _settle(session: Session, cohort: CohortState, now: datetime) -> _Outcome:
    """One look at the cohort.

    Members are touched before any thread is locked: whoever holds a member waits for threads, never the other way
    round.
    """
    open_stages = [
        (stage, draws)
        for stage in cohort.design.stages
        if (draws := await _settle_stage(session, cohort, stage, now)) is not None
    ]
    may_act = [member.id for stage, _ in open_stages for member in _who_may_act(cohort, stage)]
    views: dict[str, LabView] = {}
    for stage, draws in open_stages:
        if kind_of(stage).has_shared_asks and on_stage(cohort.members, stage.id):
            views[stage.id], done = await settle_asks(session, cohort, stage, draws, now)
            may_act += done
    await wake_agents(session, may_act)
    has_ended = is_over(cohort)
    if has_ended:
        await settling.end_cohort(session, cohort, now)
        for thread in cohort.threads:
            await end_thread(session, thread.id, now, reason=EVERYONE_LEFT, cause=CAUSE)
        return _Outcome.ENDED
    outcome = _Outcome.DONE
    for stage, _ in open_stages:
        if kind_of(stage).thread == "conversation":
            if not await _settle_threads(session, cohort, stage, now):
                outcome = _Outcome.HAS_MORE
        elif kind_of(stage).thread == "minutes" and stage.id in views:
            await settle_minutes(session, cohort, stage, views[stage.id], now)
    return outcome


async def _settle_stage(
    session: Session, cohort: CohortState, stage: StageConfig, now: datetime
) -> Mapping[str, Json] | None:
    """Open the stage when it may, and draw for whoever is new; returns what is drawn, None while it is locked."""
    is_new = stage.id not in cohort.draws
    if is_new and not may_open(stage, cohort):
        return None
    draws = draws_of(cohort, stage)
    if is_new or draws != cohort.draws[stage.id]:
        await settling.unlock(session, cohort, stage.id, draws, now)
    return draws


def draws_of(cohort: CohortState, stage: StageConfig) -> dict[str, Json]:
    """What is drawn on a stage that is open, for everybody who has arrived."""
    arrived = [
        member_of(member, stage.id)
        for member in participants(cohort.members)
        if stage.id in member.stage_ids and has_arrived(member, stage.id)
    ]
    before = cohort.draws.get(stage.id)
    levels = cohort.design.levels
    return drawn(stage, seed=cohort.seed, cohort_name=cohort.name, arrived=arrived, before=before, levels=levels)


def _who_may_act(cohort: CohortState, stage: StageConfig) -> list[Attendee]:
    """Participants for whom something has changed here: the stage has just opened, or they are done talking."""
    here = on_stage(cohort.members, stage.id)
    if stage.id not in cohort.draws:
        return here
    threads = {thread.scope: thread for thread in cohort.threads if thread.stage_id == stage.id}
    own = ((member, threads.get(_scope_of(stage, member))) for member in here)
    return [member for member, thread in own if thread is not None and (thread.ended or member.id in thread.ready)]


def _scope_of(stage: StageConfig, member: Attendee) -> str:
    """The name of the thread of this stage in which the participant talks."""
    return f"private:{member.path}" if kind_of(stage).has_private_threads else "group"


async def _settle_threads(session: Session, cohort: CohortState, stage: StageConfig, now: datetime) -> bool:
    """Begin the stage's conversations when the first participant is there, and do what is due in them.

    False when there are more to be begun: others wait for a cohort's counter while many begin in one transaction.
    """
    threads = {thread.scope: thread for thread in cohort.threads if thread.stage_id == stage.id}
    missing = sorted({_scope_of(stage, member) for member in on_stage(cohort.members, stage.id)} - set(threads))
    for scope in missing[:_MOST_BEGUN_AT_ONCE]:
        await _begin_thread(session, cohort, stage, scope, now)
    with_news = scopes_with_news(cohort, stage) if kind_of(stage).has_private_threads else None
    for scope, thread in sorted(threads.items()):
        if not thread.ended and (with_news is None or scope in with_news):
            await advance_thread(session, thread.id, now, cause=CAUSE)
    return len(missing) <= _MOST_BEGUN_AT_ONCE


async def _begin_thread(session: Session, cohort: CohortState, stage: StageConfig, scope: str, now: datetime) -> None:
    thread_id, path = place_of_thread(cohort, stage, scope)
    await open_thread(
        session,
        thread_id=thread_id,
        cohort_id=cohort.id,
        stage_id=stage.id,
        scope=scope,
        path=path,
        now=now,
        timer=_time_limit(cohort, stage, path, now),
    )
    await advance_thread(session, thread_id, now, cause=CAUSE)


def _time_limit(cohort: CohortState, stage: StageConfig, path: str, now: datetime) -> tuple[UUID, datetime] | None:
    limit = kind_of(stage).time_limit_seconds(stage)
    if limit is None or _time_is_simulated(cohort):
        return None
    return seeds.row_id(cohort.experiment_id, f"{path}/time_limit"), now + timedelta(seconds=limit)


def _time_is_simulated(cohort: CohortState) -> bool:
    """Whether the conversation itself keeps its limit: a worker that was away for long must not show in the data."""
    return cohort.pace == "fast" and all(member.player != "person" for member in cohort.members)


async def fire_due_timers(database: Database, now: datetime) -> int:
    """Let every timer whose time has come take effect, each in a transaction of its own; returns how many did."""
    async with database.transaction() as session:
        due = await settling.due_timers(session, now)
    fired = 0
    for timer in due:
        try:
            fired += await _fire(database, timer, now)
        except Exception:
            # One that cannot take effect must not keep the others from theirs.
            log.exception("timer.failed", timer=str(timer.id))
    return fired


async def _fire(database: Database, timer: DueTimer, now: datetime) -> bool:
    async with database.transaction() as session:
        has_fired = await settling.fire(session, timer, now)
        if has_fired and timer.member_id is not None:
            await wake_agents(session, [timer.member_id])
        elif has_fired and timer.thread_id is not None:
            await _fire_in_thread(session, timer, timer.thread_id, now)
    return has_fired


async def _fire_in_thread(session: Session, timer: DueTimer, thread_id: UUID, now: datetime) -> None:
    if timer.purpose == "wake_up":
        await wake_thread(session, thread_id, timer.generation, now)
    elif timer.purpose == "quiet":
        await end_quiet_in_thread(session, thread_id, timer.generation, now)
    else:
        await time_out_thread(session, thread_id, now)
