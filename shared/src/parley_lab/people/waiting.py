"""Limits the time that people wait at a stage for others: a timer for each person, and what follows when one fires.

A timer only notes that the time is up, under its member's lock. What follows is for the whole cohort, and done when it
is settled, under the cohort's lock.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final, Literal
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import end_member, record_member
from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.lives import STILL_IN, TAKING_PART, in_sql
from parley_lab.kinds.attendees import Attendee
from parley_lab.members.arming import WantedTimer, arm
from parley_lab.members.cohort_state import CohortState, record
from parley_lab.members.standings import lock_standing
from parley_lab.people.standing_in import fill_seat
from parley_lab.people.waits import WAITING, path_of
from parley_lab.store.session import Session

WaitOutcome = Literal["went_on", "filled", "released"]

WAITED_IN_VAIN: Final = "waited in vain for others"
NO_ONE_CAME: Final = "nobody came in time"


async def arm_waits(
    session: Session, cohort: CohortState, stage: StageConfig, waiting: Iterable[Attendee], now: datetime
) -> None:
    """Start the time of each person who waits at this locked stage, once, and tell them until when they wait.

    The caller holds the cohort's lock.
    """
    paths = {member.id: path_of(member.path, stage.id, member.stay) for member in waiting if member.player == "person"}
    if not paths or stage.progress.at_most_seconds is None:
        return
    due_at = now + timedelta(seconds=stage.progress.at_most_seconds)
    timers = [WantedTimer(member_id, path, WAITING, due_at) for member_id, path in paths.items()]
    if armed := await arm(session, cohort.experiment_id, cohort.id, timers, now):
        told = {"stage_id": stage.id}
        record(session, cohort, "stage.updated", f"{cohort.path}/{stage.id}", told, now, audience=sorted(armed))


# Members are not told of these, because only people join and go: their pages show another number all the same.
_HAVE_COME: Final = text(
    """
    SELECT EXISTS (
        SELECT FROM events e JOIN streams s ON s.cohort_id = e.cohort_id
        WHERE e.cohort_id = :cohort_id AND e.stream_seq > s.settled AND e.type = ANY(:types)) AS it
    """
)
_UNTOLD: Final = (
    "member.joined",
    "member.added",
    "member.seated",
    "member.arrived",
    "member.replaced",
    "member.stayed_away",
    "member.gone",
    "member.returned",
)


async def tell_of_others(
    session: Session, cohort: CohortState, stages: Iterable[tuple[StageConfig, Sequence[Attendee]]], now: datetime
) -> None:
    """Have the pages of people who wait at locked stages read anew when others have come or gone since the last settle,
    of whom nothing else tells them. The caller holds the cohort's lock."""
    waiting = [
        (stage, [one.id for one in here if one.player == "person" and stage.progress.show_progress])
        for stage, here in stages
    ]
    if not any(people for _, people in waiting):
        return
    if not (await session.one(_HAVE_COME, {"cohort_id": cohort.id, "types": list(_UNTOLD)})).it:
        return
    for stage, people in waiting:
        if people:
            told = {"stage_id": stage.id}
            record(session, cohort, "stage.updated", f"{cohort.path}/{stage.id}", told, now, audience=people)


_STOP: Final = text(
    """
    UPDATE timers SET state = 'cancelled'
    WHERE path = ANY(:paths) AND cohort_id = :cohort_id AND state IN ('armed', 'held')
    """
)


async def stop_waits(session: Session, cohort: CohortState, stage: StageConfig, waiting: Iterable[Attendee]) -> None:
    """Stop the timers of those who waited at a stage that has opened. The caller holds the cohort's lock."""
    paths = [path_of(member.path, stage.id, member.stay) for member in waiting if member.player == "person"]
    if paths:
        await session.run(_STOP, {"cohort_id": cohort.id, "paths": paths})


_PATH: Final = text("SELECT path FROM timers WHERE id = :timer_id")
# A row that is there is looked for first: to insert it again would wait for a settle that has just changed it, and that
# wants the lock of the member.
_NOTE: Final = text(
    """
    INSERT INTO waits (cohort_id, stage_id, over_at) SELECT :cohort_id, :stage_id, :now
    WHERE NOT EXISTS (SELECT FROM waits WHERE cohort_id = :cohort_id AND stage_id = :stage_id)
    ON CONFLICT DO NOTHING
    """
)


async def end_wait(session: Session, timer_id: UUID, member_id: UUID, now: datetime) -> None:
    """The time of a member who waits is up; nothing happens if the stage has opened meanwhile."""
    standing = await lock_standing(session, member_id)
    stage = standing.stage
    row = await session.one(_PATH, {"timer_id": timer_id})
    if stage is None or not standing.is_locked or standing.status not in STILL_IN:
        return
    if row.path != path_of(standing.member.path, stage.id, standing.stay):
        return
    await note_over(session, standing.cohort_id, stage.id, now)
    record_member(
        session,
        standing.experiment_id,
        standing.cohort_id,
        member_id,
        standing.member.path,
        "member.waited",
        {"stage_id": stage.id},
        now,
        cause="timer",
        actor="lab",
        audience=[],
    )


async def note_over(session: Session, cohort_id: UUID, stage_id: str, now: datetime) -> None:
    """The wait of a cohort at this stage is over; settling decides what follows. Idempotent."""
    await session.run(_NOTE, {"cohort_id": cohort_id, "stage_id": stage_id, "now": now})


_DECIDE: Final = text(
    """
    UPDATE waits SET outcome = :outcome
    WHERE cohort_id = :cohort_id AND stage_id = :stage_id AND outcome IS DISTINCT FROM :outcome
    """
)


async def decide(
    session: Session, cohort: CohortState, stage: StageConfig, outcome: WaitOutcome, now: datetime
) -> bool:
    """Store the outcome of a wait that is over; False if it was stored before. The caller holds the cohort's lock."""
    whose = {"cohort_id": cohort.id, "stage_id": stage.id, "outcome": outcome}
    if not await session.run(_DECIDE, whose):
        return False
    told = {"stage_id": stage.id, "outcome": outcome}
    record(session, cohort, "stage.wait_ended", f"{cohort.path}/{stage.id}", told, now, audience=[])
    return True


_BEGIN_ANEW: Final = text(
    f"""
    DELETE FROM waits WHERE cohort_id = :cohort_id AND stage_id = :stage_id AND NOT EXISTS (
        SELECT FROM members m WHERE m.id = ANY(:people) AND m.status IN {in_sql(TAKING_PART)})
    """  # noqa: S608 - put together from constants
)


async def begin_anew(session: Session, cohort: CohortState, stage: StageConfig, people: Sequence[Attendee]) -> bool:
    """Let the cohort wait at this stage as if none had come, once these people are released; False until all are, of
    whom some have something to answer first. The caller holds the cohort's lock: those who come meanwhile wait anew."""
    whose = {"cohort_id": cohort.id, "stage_id": stage.id, "people": [one.id for one in people]}
    return bool(await session.run(_BEGIN_ANEW, whose))


async def close_seats(session: Session, empty: Sequence[Attendee], now: datetime) -> bool:
    """Take these empty seats out of the run; False when that was done. The caller holds the cohort's lock."""
    done = False
    for member in sorted(empty, key=lambda one: one.id):
        standing = await lock_standing(session, member.id)
        if standing.status == "expected":
            done |= await end_member(session, standing, "removed", NO_ONE_CAME, now, cause="timer", actor="lab")
    return done


async def fill_seats(session: Session, empty: Sequence[Attendee], persona_id: str, now: datetime) -> bool:
    """Let agents of this persona take the empty seats; False when none was. The caller holds the cohort's lock."""
    filled = [await fill_seat(session, one.id, persona_id, now) for one in sorted(empty, key=lambda one: one.id)]
    return any(filled)


async def release(session: Session, waiting: Sequence[Attendee], now: datetime) -> bool:
    """Release those who wait; those who have something to answer first are released after that.

    False when no member was released. The caller holds the cohort's lock.
    """
    done = False
    for member in sorted(waiting, key=lambda one: one.id):
        standing = await lock_standing(session, member.id)
        done |= await end_member(session, standing, "released", WAITED_IN_VAIN, now, cause="timer", actor="lab")
    return done
