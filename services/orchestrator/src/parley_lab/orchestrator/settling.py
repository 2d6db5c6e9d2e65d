"""Settling a cohort: unlocks, draws, conversations, the end. Level-triggered, one transaction, safe to repeat."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from enum import Enum, auto
from functools import partial
from typing import Final
from uuid import UUID

import structlog

from parley_lab.answers import staying
from parley_lab.answers.advancing import wake_agents
from parley_lab.base import seeds
from parley_lab.base.logs import new_correlation
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.lives import ARRIVED
from parley_lab.kinds import PAGE, Json, LabView
from parley_lab.kinds.attendees import Attendee
from parley_lab.kinds.chat.speaking import EVERYONE_LEFT
from parley_lab.kinds.stages import parts_of
from parley_lab.members.cohort_state import CohortState
from parley_lab.members.guarding import Guard
from parley_lab.members.parts import answers_on, drawn_before, with_parts
from parley_lab.members.stays import MOST
from parley_lab.orchestrator.asking import settle_asks
from parley_lab.orchestrator.minutes import CAUSE, settle_minutes
from parley_lab.orchestrator.rules import (
    has_arrived,
    is_over,
    is_result_due,
    may_open,
    on_stage,
    opens_for_some,
    participants,
    place_of_thread,
    scopes_with_news,
)
from parley_lab.orchestrator.waiting import settle_waits
from parley_lab.people import attention, meeting, rooms, transferring, waiting
from parley_lab.people.waits import WAITING
from parley_lab.settle import settling, timers
from parley_lab.settle.playing import MemberIsBack
from parley_lab.settle.settling import end_when_done
from parley_lab.settle.timers import DueTimer
from parley_lab.store.session import Database, Session
from parley_lab.talk.conversation import (
    advance_thread,
    end_quiet_in_thread,
    end_thread,
    open_thread,
    time_out_thread,
    wake_thread,
)
from parley_lab.views.builder import lab_view, member_of, resulted
from parley_lab.views.playing import drawn, seated

_MOST_BEGUN_AT_ONCE: Final = 50

log = structlog.get_logger(__name__)


async def settle(database: Database, cohort_id: UUID, now: datetime, *, only_unsettled: bool = False) -> int:
    """Do everything that is due in a cohort, and end its experiment when it was the last.

    `only_unsettled`: nothing is due if nothing has happened since it was last settled. Returns how many members the
    cohort has, 0 where nothing was looked at.

    Raises:
        CohortBusy: another process is settling it; come back later.
    """
    while True:
        try:
            looked = await _look(database, cohort_id, now, only_unsettled=only_unsettled)
        except MemberIsBack:
            continue
        if looked is None:
            return 0
        cohort, outcome = looked
        if outcome is _Outcome.ENDED:
            async with database.transaction() as session:
                await end_when_done(session, cohort.experiment_id, now)
        if outcome is not _Outcome.HAS_MORE:
            return len(cohort.members)


async def _look(
    database: Database, cohort_id: UUID, now: datetime, *, only_unsettled: bool
) -> "tuple[CohortState, _Outcome] | None":
    """One transaction of settling; None when there is nothing to look at."""

    async def look(session: Session) -> "tuple[CohortState, _Outcome] | None":
        cohort = await settling.lock_cohort(session, cohort_id, only_unsettled=only_unsettled)
        if cohort is None:
            return None
        outcome = await _settle(session, cohort, now) if cohort.status == "running" else _Outcome.DONE
        if outcome is not _Outcome.HAS_MORE:
            session.settle(cohort.id, cohort.as_of)
        return cohort, outcome

    # Settling locks conversations stage by stage, other transactions lock them by id: a deadlock is possible, and then
    # `transact` repeats the work.
    return await database.transact(look)


class _Outcome(Enum):
    DONE = auto()
    HAS_MORE = auto()
    """In a big cohort a look may do a part; then it is not settled yet."""
    ENDED = auto()


async def _settle(session: Session, cohort: CohortState, now: datetime) -> _Outcome:
    """One look at the cohort.

    Members are touched before any thread is locked: a transaction that holds a member waits for threads, never the
    other way round.
    """
    if await settle_waits(session, cohort, now):
        return _Outcome.HAS_MORE
    cohort = await _with_results(session, cohort)
    open_stages = [
        (stage, draws)
        for stage in cohort.design.stages
        if (draws := await _settle_stage(session, cohort, stage, now)) is not None
    ]
    opened = {stage.id for stage, _ in open_stages}
    locked = [(one, on_stage(cohort.members, one.id)) for one in cohort.design.stages if one.id not in opened]
    await waiting.tell_of_others(session, cohort, [one for one in locked if one[0].id != cohort.meets_at], now)
    if not _time_is_simulated(cohort):
        for stage, _ in open_stages:
            await staying.arm_stays(session, cohort, stage, on_stage(cohort.members, stage.id), now)
    may_act = [member.id for stage, draws in open_stages for member in _who_may_act(cohort, stage, draws)]
    for stage, _ in open_stages:
        if stage.id in cohort.draws and opens_for_some(stage):
            here = [member.id for member in on_stage(cohort.members, stage.id)]
            may_act += await settling.resting(session, stage.id, here)
    views: dict[str, LabView] = {}
    for stage, draws in open_stages:
        if parts_of(stage).state is not None and on_stage(cohort.members, stage.id):
            for part, own_stage in cohort.by_arm(stage):
                if stage.id in views:
                    # It says nothing of others, so it is the same in all arms, and is kept once.
                    part = replace(part, states={**part.states, stage.id: views[stage.id].state})
                views[stage.id], done = await settle_asks(session, part, own_stage, draws, now)
                may_act += done
    await wake_agents(session, may_act)
    has_ended = is_over(cohort)
    if has_ended:
        await settling.end_cohort(session, cohort, now)
        if cohort.made_at is not None:
            await meeting.take_back(session, cohort.id, now)
        for thread in cohort.threads:
            await end_thread(session, thread.id, now, reason=EVERYONE_LEFT, cause=CAUSE)
        return _Outcome.ENDED
    outcome = _Outcome.DONE
    for stage, _ in open_stages:
        if parts_of(stage).talk is not None:
            if not await _settle_threads(session, cohort, stage, now):
                outcome = _Outcome.HAS_MORE
        elif parts_of(stage).minutes is not None and stage.id in views:
            await settle_minutes(session, cohort, stage, views[stage.id], now)
    return outcome


async def _with_results(session: Session, cohort: CohortState) -> CohortState:
    """Makes the results of the stages that all are through with, before any stage that reads them opens."""
    for stage in cohort.design.stages:
        if is_result_due(stage, cohort):
            facts = cohort.facts(cohort.draws).with_answers(stage.id, await answers_on(session, cohort.id, stage.id))
            result = resulted(stage, lab_view(await with_parts(session, facts, cohort.id, [stage]), stage)) or {}
            await settling.keep_result(session, cohort.id, stage.id, result)
            cohort = replace(cohort, results={**cohort.results, stage.id: result})
    return cohort


async def _settle_stage(
    session: Session, cohort: CohortState, stage: StageConfig, now: datetime
) -> Mapping[str, Json] | None:
    """Open the stage when it may, and draw for newcomers; returns the draws, None while it is locked."""
    is_new = stage.id not in cohort.draws
    if is_new and not may_open(stage, cohort):
        return None
    draws = draws_of(cohort, stage, await _brought(session, cohort, stage))
    if is_new or draws != cohort.draws[stage.id]:
        here = _for_whom(stage, cohort.draws.get(stage.id) or {}, draws, on_stage(cohort.members, stage.id))
        await settling.unlock(session, cohort, stage.id, draws, now, here=here)
    if is_new and stage.id == cohort.made_at:
        await rooms.note_began(session, cohort.id, now)
    if is_new and stage.progress.at_most_seconds is not None:
        await waiting.stop_waits(session, cohort, stage, on_stage(cohort.members, stage.id))
    return draws


def _for_whom(
    stage: StageConfig, before: Mapping[str, Json], draws: Mapping[str, Json], here: Sequence[Attendee]
) -> Sequence[Attendee]:
    """Those on the stage who may see something else for what was drawn since: where each is alone, who is named."""
    if not parts_of(stage).is_each_alone:
        return here
    new = set(_new_names(before, draws))
    return [one for one in here if str(one.id) in new or one.path in new] or here


def _new_names(before: Mapping[str, Json], draws: Mapping[str, Json]) -> Iterator[str]:
    for name, value in draws.items():
        if name not in before:
            yield name
        elif isinstance(value, Mapping) and isinstance(before[name], Mapping):
            yield from _new_names(before[name], value)


async def _brought(session: Session, cohort: CohortState, stage: StageConfig) -> dict[str, Json]:
    """What members have brought to the cohort for whom the stage, where they were on it or beyond, draws no more."""
    draws, known = parts_of(stage).draws, cohort.draws.get(stage.id) or {}
    if draws is None:
        return {}
    there = [one for one in participants(cohort.members) if one.status in ARRIVED]
    new = [one for one in there if not (draws.brought(one.id, None) or {}).keys() <= known.keys()]
    past = [one.id for one in new if one.is_beyond(stage.id)]
    came = [one.id for one in new if one.stay > 0 and one.stage_id == stage.id]
    pages = await answers_on(session, cohort.id, stage.id) if past else {}
    elsewhere = await drawn_before(session, stage.id, came) if came else {}
    found: dict[str, Json] = {}
    for member_id in past:
        found.update(draws.brought(member_id, pages.get(member_id, {}).get(PAGE)) or {})
    for member_id, drawn_there in elsewhere.items():
        found.update(draws.brought(member_id, None, drawn_there) or {})
    return found


def draws_of(cohort: CohortState, stage: StageConfig, brought: Mapping[str, Json] | None = None) -> dict[str, Json]:
    """What is drawn on a stage that is open, for everybody whom it seats."""
    found = dict(cohort.draws.get(stage.id) or {})
    for part, own_stage in cohort.by_arm(stage):
        found = _draws_of(part, own_stage, found, brought or {})
    return found


def _draws_of(
    cohort: CohortState, stage: StageConfig, before: dict[str, Json], brought: Mapping[str, Json]
) -> dict[str, Json]:
    if parts_of(stage).draws is None:
        return before
    there = [
        member
        for member in participants(cohort.members)
        if stage.id in member.stage_ids and has_arrived(member, stage.id)
    ]
    arrived = [
        # The seats of this cohort are those of its own members.
        member_of(member, stage.id, seat=member.seat_in(cohort.path))
        for member in seated(cohort.members, stage, there)
    ]
    return drawn(
        stage,
        seed=cohort.seed,
        cohort_name=cohort.name,
        arrived=arrived,
        before=before,
        brought=brought,
        given=cohort.given.get(stage.id),
        levels=cohort.design.levels,
        language=cohort.language,
    )


def _who_may_act(cohort: CohortState, stage: StageConfig, draws: Mapping[str, Json]) -> list[Attendee]:
    """Participants for whom something has changed here.

    The stage has just opened, they are done talking, or something was drawn for who came late, which nothing but a step
    finds where no asks are shared.
    """
    here = on_stage(cohort.members, stage.id)
    has_drawn = parts_of(stage).state is None and draws != cohort.draws.get(stage.id)
    if stage.id not in cohort.draws or has_drawn:
        return here
    threads = {thread.scope: thread for thread in cohort.threads if thread.stage_id == stage.id}
    own = ((member, threads.get(_scope_of(stage, member))) for member in here)
    return [member for member, thread in own if thread is not None and (thread.ended or member.id in thread.ready)]


def _scope_of(stage: StageConfig, member: Attendee) -> str:
    """The name of the thread of this stage in which the participant talks."""
    return f"private:{member.path}" if parts_of(stage).is_private else "group"


async def _settle_threads(session: Session, cohort: CohortState, stage: StageConfig, now: datetime) -> bool:
    """Begin the stage's conversations when the first participant is there, and do what is due in them.

    False when there are more to be begun: others wait for a cohort's counter while many begin in one transaction.
    """
    threads = {thread.scope: thread for thread in cohort.threads if thread.stage_id == stage.id}
    missing = sorted({_scope_of(stage, member) for member in on_stage(cohort.members, stage.id)} - set(threads))
    for scope in missing[:_MOST_BEGUN_AT_ONCE]:
        await _begin_thread(session, cohort, stage, scope, now)
    with_news = scopes_with_news(cohort, stage) if parts_of(stage).is_private else None
    for scope, thread in sorted(threads.items()):
        if not thread.ended and (with_news is None or scope in with_news):
            await advance_thread(session, thread.id, now, cause=CAUSE)
    return len(missing) <= _MOST_BEGUN_AT_ONCE


async def _begin_thread(session: Session, cohort: CohortState, stage: StageConfig, scope: str, now: datetime) -> None:
    thread_id, path = place_of_thread(cohort, stage, scope)
    await open_thread(
        session,
        thread_id=thread_id,
        experiment_id=cohort.experiment_id,
        cohort_id=cohort.id,
        stage_id=stage.id,
        scope=scope,
        path=path,
        now=now,
        timer=_time_limit(cohort, stage, path, now),
        cause=CAUSE,
    )
    await advance_thread(session, thread_id, now, cause=CAUSE)


def _time_limit(cohort: CohortState, stage: StageConfig, path: str, now: datetime) -> tuple[UUID, datetime] | None:
    talk = parts_of(stage).talk
    limit = None if talk is None else talk.rules.time_limit_seconds
    if limit is None or _time_is_simulated(cohort):
        return None
    return seeds.row_id(cohort.experiment_id, f"{path}/time_limit"), now + timedelta(seconds=limit)


def _time_is_simulated(cohort: CohortState) -> bool:
    """Whether the conversation itself keeps its limit: a worker that was away for long must not show in the data."""
    return cohort.pace == "fast" and all(member.player != "person" for member in cohort.members)


async def fire_due_timers(database: Database, now: datetime, guard: Guard | None = None) -> int:
    """Let every timer whose time has come take effect, each in a transaction of its own; returns how many did."""
    guard = guard or Guard(database)
    async with database.transaction() as session:
        found = await timers.due_timers(session, now, but=guard.held("timer", now))
    due = {timer.id: timer for timer in found}

    async def fire(timer_id: UUID) -> bool:
        new_correlation()
        return await database.transact(partial(_fire, timer=due[timer_id], now=now))

    return sum(await guard.each("timer", due, fire, now))


async def _fire(session: Session, timer: DueTimer, now: datetime) -> bool:
    has_fired = await timers.fire(session, timer, now)
    if has_fired and timer.member_id is not None:
        await _fire_of_member(session, timer, timer.member_id, now)
    elif has_fired and timer.thread_id is not None:
        await _fire_in_thread(session, timer, timer.thread_id, now)
    return has_fired


async def _fire_of_member(session: Session, timer: DueTimer, member_id: UUID, now: datetime) -> None:
    if timer.purpose == attention.DUE:
        await attention.send_due_check(session, member_id, timer.id, now)
    elif timer.purpose == MOST:
        await staying.end_stay(session, timer.id, member_id, now)
    elif timer.purpose == WAITING:
        await waiting.end_wait(session, timer.id, member_id, now)
    elif timer.purpose == attention.DEADLINE:
        await attention.miss_check(session, member_id, timer.generation, now)
    elif timer.purpose == transferring.DEADLINE:
        await transferring.miss(session, member_id, timer.generation, now)
    else:
        await wake_agents(session, [member_id])


async def _fire_in_thread(session: Session, timer: DueTimer, thread_id: UUID, now: datetime) -> None:
    if timer.purpose == "wake_up":
        await wake_thread(session, thread_id, timer.generation, now)
    elif timer.purpose == "quiet":
        await end_quiet_in_thread(session, thread_id, timer.generation, now)
    else:
        await time_out_thread(session, thread_id, now)
