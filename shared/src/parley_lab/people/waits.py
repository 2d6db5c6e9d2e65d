"""The wait of a person at a locked stage: who is missing, and until when it lasts at most."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.contracts.experiment import CohortPlan, Profile, StageConfig
from parley_lab.contracts.lives import ARRIVED, COUNTED, in_sql
from parley_lab.kinds.parts import plays_together, shows_members
from parley_lab.kinds.stages import parts_of
from parley_lab.members.standing import Standing
from parley_lab.members.standings import FREE_AGAIN
from parley_lab.people.confirming import answer_of, seconds_of
from parley_lab.people.rooms import Lately, people_lately, row_of
from parley_lab.store.session import ReadSession
from parley_lab.store.statements import Row

WAITING: Final = "waiting"
"""The purpose of the timer after which the wait at a stage is over, one for each person who waits."""


@dataclass(frozen=True, slots=True)
class Met:
    """Another participant whom the person has met on an earlier stage."""

    id: UUID
    profile: Profile
    has_arrived: bool


@dataclass(frozen=True, slots=True)
class Wait:
    """`missing`: how many more have to come; None when the stage does not say. `names`: of those among them whom the
    person has met. `until`: when the time is up; None: there is no limit, or a pause holds it. `met`: all whom the
    person has met and who go to the stage."""

    stage_id: str
    missing: int | None
    names: tuple[str, ...]
    until: datetime | None
    met: tuple[Met, ...] = ()
    arrived: int | None = None
    """Where a group is made of those who are there: how many are there for the next one."""
    expected: int | None = None
    """How many people that group has."""
    position: int | None = None
    """Which place in the row of those who are there the person has there, from 1."""
    wait_seconds: int | None = None
    """How long they may have to wait there if people come as they did lately; None: that is not known."""
    confirm_until: datetime | None = None
    """Until when they are asked to confirm that they are there; None: they are not asked."""
    is_passed_over: bool = False
    """Whether they have not confirmed it in time, and no group is made with them before they do."""


def path_of(member_path: str, stage_id: str, stay: int) -> str:
    """The path of the timer of a member who waits at a stage, in this stay in a cohort."""
    return f"{member_path}/{stage_id}/{WAITING}:{stay}"


_OTHERS: Final = text(
    f"""
    SELECT o.id, o.profile, o.stay,
        CASE WHEN o.status <> 'expected' THEN o.stage_ids[1 : (o.position + 1)] END AS come_to,
        o.status IN {in_sql(ARRIVED)} AND array_position(o.stage_ids, :stage_id) <= o.position + 1 AS has_arrived
    FROM members o
    WHERE o.cohort_id = :cohort_id AND o.kind = 'participant' AND o.status IN {in_sql(COUNTED)}
        AND :stage_id = ANY(o.stage_ids) AND NOT {FREE_AGAIN}
    ORDER BY length(o.path), o.path COLLATE "C"
    """  # noqa: S608 - put together from constants
)
_UNTIL: Final = text(
    """
    SELECT min(t.due_at) AS until FROM timers t JOIN members m ON m.id = t.member_id
    WHERE t.cohort_id = :cohort_id AND t.purpose = :purpose AND t.state = 'armed'
        AND m.stage_ids[m.position + 1] = :stage_id
    """
)


async def wait_of(session: ReadSession, standing: Standing, stage: StageConfig, now: datetime) -> Wait:
    """The wait of a member at this locked stage, as the member reads it.

    Nothing may show who is an agent, and agents are there from the start. So it names only members whom this one has
    met on an earlier stage.
    """
    where = {"cohort_id": standing.cohort_id, "stage_id": stage.id}
    until = (await session.one(_UNTIL, {**where, "purpose": WAITING})).until
    if not stage.progress.show_progress:
        return Wait(stage.id, None, (), until)
    if standing.is_alone:
        return await _for_a_group(session, standing, stage, until, now)
    others = await session.all(_OTHERS, where)
    absent = [one for one in others if not one.has_arrived]
    needed = stage.progress.min_participants - (len(others) - len(absent))
    missing = max(len(absent) if _waits_for_all(stage) else 0, needed)
    met = _met(standing, others)
    names = tuple(one.profile.name for one in met if not one.has_arrived) if missing else ()
    return Wait(stage.id, missing, names, until, met)


_ROOM: Final = text(
    """
    SELECT r.id, r.people, r.stage_id, r.plan FROM cohorts c JOIN rooms r ON r.id = c.room_id WHERE c.id = :cohort_id
    """
)


async def _for_a_group(
    session: ReadSession, standing: Standing, stage: StageConfig, until: datetime | None, now: datetime
) -> Wait:
    """A person on the way to a group has met no one before."""
    room = await session.one(_ROOM, {"cohort_id": standing.cohort_id})
    if room.stage_id != stage.id:
        return Wait(stage.id, None, (), until)
    seconds = seconds_of(CohortPlan.model_validate(room.plan))
    row = {one.id: one for one in await row_of(session, room.id, now)}
    answers = {id: answer_of(one.called_at, one.confirmed_at, seconds, now) for id, one in row.items()}
    me = standing.member.id
    there = [id for id, one in row.items() if id == me or (one.is_there and answers[id] != "missed")]
    position = there.index(me) + 1 if me in there else None
    arrived = min(room.people, len(there))
    is_asked = seconds is not None and answers.get(me) == "asked"
    return Wait(
        stage.id,
        room.people - arrived,
        (),
        until,
        arrived=arrived,
        expected=room.people,
        position=position,
        wait_seconds=wait_from(position or 1, len(there), room.people, await people_lately(session, room.id, now)),
        confirm_until=row[me].called_at + timedelta(seconds=seconds) if is_asked and seconds is not None else None,
        is_passed_over=answers.get(me) == "missed",
    )


def wait_from(position: int, there: int, people: int, lately: Lately) -> int | None:
    """The seconds until the group of the person at this position is complete, among so many who are in the row.

    None while it is not known how fast people come.
    """
    missing = -(-position // people) * people - there
    if missing <= 0:
        return 0
    return None if lately.came < _FEWEST_CAME else round(missing * lately.seconds / lately.came)


_FEWEST_CAME: Final = 3
"""From how many arrivals on they say how people come."""


def _waits_for_all(stage: StageConfig) -> bool:
    return stage.progress.wait_for_all or any(read.everybody for read in parts_of(stage).reads)


def _met(standing: Standing, others: Sequence[Row]) -> tuple[Met, ...]:
    """Those whom the member has met; of members who have moved between cohorts it is not known."""
    if standing.stay:
        return ()
    meetings = [one for one in standing.stage_ids[: standing.position] if _meets(standing.design.stage(one))]
    return tuple(
        Met(one.id, Profile.model_validate(one.profile), one.has_arrived)
        for one in others
        if one.id != standing.member.id and not one.stay and any(stage in (one.come_to or ()) for stage in meetings)
    )


def _meets(stage: StageConfig) -> bool:
    """Whether members know each other's names from the stage; in minutes they have those of their roles."""
    parts = parts_of(stage)
    return shows_members(parts) or (plays_together(parts) and parts.minutes is None)
