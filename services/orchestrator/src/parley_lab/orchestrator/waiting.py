"""Waiting rooms: how long a cohort waits at a stage for those who have not come, and what happens then."""

from collections.abc import Sequence
from datetime import datetime

from parley_lab.answers.seats_again import are_released_seats_given
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.lives import COUNTED
from parley_lab.kinds.attendees import Attendee
from parley_lab.members.cohort_state import CohortState
from parley_lab.orchestrator.rules import fewest, has_arrived, may_open, on_stage, participants, waits_in_vain
from parley_lab.people import waiting
from parley_lab.people.waiting import WaitOutcome
from parley_lab.store.session import Session


async def settle_waits(session: Session, cohort: CohortState, now: datetime) -> bool:
    """Start the times of people who wait, and do what follows where a time is up. Agents that are left alone and too
    few for a stage are released there.

    Where groups are made of those who are there, their room sees to that (`people/meeting.py`).

    True when members have changed by that, so that the cohort is to be looked at again.
    """
    has_changed = False
    for stage in cohort.design.stages:
        if stage.id in cohort.draws:
            continue
        if stage.id in cohort.waits and stage.id != cohort.meets_at:
            has_changed |= await _end(session, cohort, stage, now)
        elif waits_in_vain(stage, cohort):
            has_changed |= await waiting.release(session, on_stage(cohort.members, stage.id), now)
        elif stage.progress.at_most_seconds is None:
            continue
        elif stage.id not in cohort.waits and not may_open(stage, cohort):
            await waiting.arm_waits(session, cohort, stage, on_stage(cohort.members, stage.id), now)
    return has_changed


async def _end(session: Session, cohort: CohortState, stage: StageConfig, now: datetime) -> bool:
    outcome = outcome_of(stage, cohort)
    has_changed = await waiting.decide(session, cohort, stage, outcome, now)
    empty = [member for member in participants(cohort.members) if member.status == "expected"]
    if outcome == "filled" and stage.progress.fill_with is not None:
        return await waiting.fill_seats(session, empty, stage.progress.fill_with, now) or has_changed
    here = on_stage(cohort.members, stage.id)
    opened = [cohort.design.stage(one) for one in cohort.draws]
    if outcome == "released" and await are_released_seats_given(session, cohort.id, opened):
        people = [member for member in here if member.player == "person"]
        has_changed |= await waiting.release(session, people, now)
        return await waiting.begin_anew(session, cohort, stage, people) or has_changed
    has_changed |= await waiting.close_seats(session, empty, now)
    if outcome == "released":
        has_changed |= await waiting.release(session, here, now)
    return has_changed


def outcome_of(stage: StageConfig, cohort: CohortState) -> WaitOutcome:
    """The outcome of a waiting room whose time is up. Once people are released, people who come later are
    released, too, unless the file gives the seats of released people to others.

    Agents count as if they had come: they are on their way, and nothing but their failure stops them. Where the file
    has no limit, an experimenter has ended the wait, for those who have come.
    """
    then = "go_on" if stage.progress.at_most_seconds is None else stage.progress.then
    counted = [
        member for member in participants(cohort.members) if member.status in COUNTED and stage.id in member.stage_ids
    ]
    if then == "release" or cohort.waits.get(stage.id) == "released":
        return "released"
    if then == "fill":
        return "filled" if len(counted) >= fewest(stage, cohort) else "released"
    return "went_on" if len(_sure(counted, stage)) >= fewest(stage, cohort) else "released"


def _sure(counted: Sequence[Attendee], stage: StageConfig) -> list[Attendee]:
    return [member for member in counted if member.player != "person" or has_arrived(member, stage.id)]
