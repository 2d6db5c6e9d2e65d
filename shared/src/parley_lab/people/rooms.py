"""Rooms: stages at which groups are made of people who are there. Each person is in a cohort of one until then.

The lock of a room's row makes one group after another. Order of locks: draws of arms by participant, experiment, room,
cohort, members.
"""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.base import seeds
from parley_lab.contracts.allocation import Allocation
from parley_lab.contracts.experiment import CohortPlan
from parley_lab.contracts.lives import STILL_IN, in_sql
from parley_lab.design import (
    OF_PARTICIPANTS,
    Allocated,
    Block,
    CohortAssignment,
    Experiment,
    SeatAssignment,
)
from parley_lab.members.designs import design
from parley_lab.people.assigning import given_at_opening
from parley_lab.people.making import InRoom, arm_of, make_cohorts
from parley_lab.people.matching import Growing
from parley_lab.people.spans import next_meeting
from parley_lab.store import tables
from parley_lab.store.session import ReadSession, Session
from parley_lab.store.statements import Row

PRESENT_SECONDS: Final = 10.0
"""A person who was not seen for so long is passed over when a group is made."""


async def prepare(
    session: Session, experiment_id: UUID, experiment: Experiment, plan: Sequence[CohortAssignment]
) -> None:
    """Store the rooms of a file whose groups are made of people who are there, one for each stage where they meet."""
    numbered = sum(not cohort.together for cohort in plan)
    rows = [
        {
            "id": seeds.row_id(experiment_id, f"room/{stage_id}"),
            "experiment_id": experiment_id,
            "stage_id": stage_id,
            "plan": one.model_dump(mode="json"),
            "people": one.people,
            "most": one.count,
            "numbered": numbered,
        }
        for one in experiment.cohorts
        if one.made == "when_together"
        for stage_id in one.meetings
    ]
    await session.insert(tables.rooms, rows)


# Of a room `r`: whether people come to it when they join, and not from the group in which they were before.
_IS_FIRST: Final = "r.stage_id = coalesce(r.plan #>> '{at,0}', r.plan ->> 'at')"
_IS_FIRST_TO_FORMAT: Final = _IS_FIRST.replace("{", "{{").replace("}", "}}")

# Of a room `r`: how many people are on the way to it or wait there. A person who is away does not keep others out.
ON_THE_WAY: Final = f"""(
    SELECT count(*) FROM members m JOIN cohorts c ON c.id = m.cohort_id LEFT JOIN presence p ON p.member_id = m.id
    WHERE c.room_id = r.id AND c.alone AND c.status = 'running' AND m.kind = 'participant'
        AND m.status IN {in_sql(STILL_IN)} AND p.gone_at IS NULL)"""  # noqa: S608 - put together from constants
_GROWS_TO: Final = "CAST(r.plan -> 'match' ->> 'grows_to' AS int)"
# The groups of a room `r` that people may still join, with how many more. One of a group that has gone on from the
# stage, or a conversation that has ended, closes it to others.
_GROWING: Final = f"""
    SELECT x.cohort_id, coalesce(x.kind, '') AS kind, x.number, {_GROWS_TO} - (
        SELECT count(*) FROM members m WHERE m.cohort_id = x.cohort_id AND m.kind = 'participant'
            AND m.player = 'person' AND m.status IN {in_sql(STILL_IN)}) AS free
    FROM matches x JOIN cohorts c ON c.id = x.cohort_id
    WHERE x.room_id = r.id AND x.given_back_at IS NULL AND c.status = 'running' AND NOT EXISTS (
        SELECT FROM members m WHERE m.cohort_id = x.cohort_id AND m.kind = 'participant'
            AND m.status IN {in_sql((*STILL_IN, "completed"))}
            AND array_position(m.stage_ids, r.stage_id) <= m.position)
        AND NOT EXISTS (SELECT FROM threads t
            WHERE t.cohort_id = x.cohort_id AND t.stage_id = r.stage_id AND t.ended_at IS NOT NULL)"""  # noqa: S608 - put together from constants
# How many more people its groups take; none where groups do not grow.
_FREE: Final = f"""(CASE WHEN {_GROWS_TO} IS NULL THEN 0 ELSE (
    SELECT coalesce(sum(greatest(0, g.free)), 0) FROM ({_GROWING}) g) END)"""  # noqa: S608 - put together from constants
# How many people it takes, those who are on the way included.
_TAKES: Final = f"(coalesce({_GROWS_TO}, r.people) * (r.most - r.groups) + {_FREE})"
PLACES: Final = f"""(
    SELECT CAST(coalesce(sum(greatest(0, {_TAKES} - {ON_THE_WAY})), 0) AS bigint) FROM rooms r
    WHERE r.experiment_id = {{experiment}} AND r.closed_at IS NULL
        AND {_IS_FIRST_TO_FORMAT})"""  # noqa: S608 - put together from constants
"""How many people the rooms of an experiment still take, as part of a statement."""
IS_OPEN: Final = f"""EXISTS (
    SELECT FROM rooms r WHERE r.experiment_id = {{experiment}} AND r.closed_at IS NULL
        AND (r.groups < r.most OR {_FREE} > 0) AND {_IS_FIRST_TO_FORMAT})"""
"""Whether people may still come to a room of the experiment, as part of a statement."""

_HAS_ROOM: Final = text("SELECT 1 AS one FROM rooms WHERE experiment_id = :experiment_id")
# A pause and the end of the experiment take a lock on this row that waits for this one.
_EXPERIMENT: Final = """
    SELECT e.id, e.status, e.seed, e.pace, e.model_mode, e.language, e.is_test, e.version,
        e.document -> 'assigned' AS assigned, e.document -> 'allocation' AS allocation,
        jsonb_path_query_array(e.document, '$.treatments[*].id') AS arms
    FROM experiments e WHERE e.id = {which} FOR SHARE
"""
_EXPERIMENT_OF_PERSON: Final = text(_EXPERIMENT.format(which=":experiment_id"))
_EXPERIMENT_OF_ROOM: Final = text(_EXPERIMENT.format(which="(SELECT experiment_id FROM rooms WHERE id = :room_id)"))
_TAKE_PLACE: Final = text(
    f"""
    UPDATE rooms r SET joined = r.joined + 1
    WHERE r.experiment_id = :experiment_id AND r.closed_at IS NULL AND {_IS_FIRST}
        AND {_TAKES} > {ON_THE_WAY}
    RETURNING r.id, r.joined
    """  # noqa: S608 - put together from constants
)


async def has_room(session: ReadSession, experiment_id: UUID) -> bool:
    """Whether the people of this experiment meet in a room."""
    return await session.first(_HAS_ROOM, {"experiment_id": experiment_id}) is not None


async def make_alone(session: Session, experiment_id: UUID, now: datetime) -> UUID | None:
    """Make a cohort for one person who comes; its id, or None when the groups that are still to be made are full.

    The caller holds the lock of `joining`: people come one after another.
    """
    row = await session.one(_EXPERIMENT_OF_PERSON, {"experiment_id": experiment_id})
    if row.status != "running":
        return None
    room = await session.first(_TAKE_PLACE, {"experiment_id": experiment_id})
    if room is None:
        return None
    path = f"w{room.joined}"
    arm = OF_PARTICIPANTS if row.arms else None
    cohort = CohortAssignment(path, path, arm, (SeatAssignment(f"{path}/m1", None),), ())
    await make(session, row, cohort, InRoom(room.id, alone=True), now)
    return seeds.row_id(experiment_id, path)


async def make(session: Session, experiment: Row, cohort: CohortAssignment, where: InRoom, now: datetime) -> None:
    """Store a cohort of a room, with its agents; `experiment` as `_EXPERIMENT` reads it."""
    given = await given_at_opening(session, experiment.assigned or [], experiment.id, experiment.seed, cohort)
    arms = {arm_of(cohort), *cohort.own_arms}
    designs = {arm: await design(session, experiment.id, experiment.version, arm) for arm in sorted(arms)}
    await make_cohorts(session, experiment, [cohort], designs, given, now, where=where)


@dataclass(frozen=True, slots=True)
class Room:
    """A room under its lock."""

    id: UUID
    experiment: Row
    stage_id: str
    plan: CohortPlan
    people: int
    most: int
    groups: int
    numbered: int
    block: Block
    takes_no_more: bool
    """Whether only those who are on the way can still come to it."""
    on_the_way: int

    @property
    def name(self) -> str:
        """What paths of cohorts end in that are made for this room; empty for the first one."""
        number = self.plan.meetings.index(self.stage_id)
        return f".{number + 1}" if number else ""

    @property
    def leads_on_to(self) -> str | None:
        """The stage where the people of its groups meet anew; None: they stay together."""
        return next_meeting(self.plan, self.stage_id)

    @property
    def arms(self) -> Sequence[str]:
        """The arms that its groups draw; none where they have no arm, or one by name."""
        return () if self.plan.treatment is not None or self.is_by_participant else tuple(self.experiment.arms)

    @property
    def allocation(self) -> Allocation:
        return Allocation.model_validate(self.experiment.allocation or {})

    @property
    def is_by_participant(self) -> bool:
        return self.allocation.by == "participant"

    @property
    def usual_arm(self) -> Allocated:
        """The arm of groups that draw none."""
        if self.is_by_participant:
            return Allocated(OF_PARTICIPANTS, {})
        return Allocated(self.plan.treatment, {} if self.plan.treatment is None else {"rule": "named"})


# Of a room `r` at which people meet anew: those who are before it, in whatever group, and those who wait there.
_STILL_TO_COME: Final = f"""(
    SELECT count(*) FROM members m JOIN cohorts c ON c.id = m.cohort_id LEFT JOIN presence p ON p.member_id = m.id
    WHERE m.experiment_id = r.experiment_id AND m.kind = 'participant' AND m.player = 'person'
        AND m.status IN {in_sql(STILL_IN)} AND p.gone_at IS NULL
        AND array_position(m.stage_ids, r.stage_id) > m.position AND NOT (c.room_id = r.id AND NOT c.alone))"""  # noqa: S608 - put together from constants
_LOCK: Final = text("SELECT id FROM rooms WHERE id = :room_id FOR NO KEY UPDATE SKIP LOCKED")
_ROOM: Final = text(
    f"""
    SELECT r.id, r.stage_id, r.plan, r.people, r.most, r.groups, r.numbered, r.block, r.arms_left, r.draws,
        r.groups >= r.most AND {_FREE} = 0 OR NOT {IS_OPEN.format(experiment="o.experiment_id")} AS takes_no_more,
        CASE WHEN {_IS_FIRST} THEN {ON_THE_WAY} ELSE {_STILL_TO_COME} END AS on_the_way
    FROM rooms r JOIN rooms o ON o.id = r.id WHERE r.id = :room_id
    """  # noqa: S608 - put together from constants
)


async def lock_room(session: Session, room_id: UUID) -> Room | None:
    """The room, under its lock; None while its experiment does not run, or another process makes a group in it."""
    experiment = await session.first(_EXPERIMENT_OF_ROOM, {"room_id": room_id})
    if experiment is None or experiment.status != "running":
        return None
    if await session.first(_LOCK, {"room_id": room_id}) is None:
        return None
    row = await session.one(_ROOM, {"room_id": room_id})
    return Room(
        id=row.id,
        experiment=experiment,
        stage_id=row.stage_id,
        plan=CohortPlan.model_validate(row.plan),
        people=row.people,
        most=row.most,
        groups=row.groups,
        numbered=row.numbered,
        block=Block(row.block, tuple(row.arms_left), row.draws),
        takes_no_more=row.takes_no_more,
        on_the_way=row.on_the_way,
    )


# Of a person in a cohort of one, where `r` is its room: whether they wait at its stage.
_WAITS: Final = "m.kind = 'participant' AND m.status = 'in_progress' AND m.stage_ids[m.position + 1] = r.stage_id"
_ALONE: Final = """
    FROM cohorts c JOIN rooms r ON r.id = c.room_id JOIN members m ON m.cohort_id = c.id
"""
_ROW: Final = text(
    f"""
    SELECT m.id, greatest(p.seen_at, p.asked_at) >= :since AS is_there, w.over_at IS NOT NULL AS time_is_up,
        m.assigned, p.confirmed_at,
        CASE WHEN CAST(:stages AS text[]) <> '{{}}' THEN (SELECT json_object_agg(a.stage_id, a.value) FROM answers a
            WHERE a.member_id = m.id AND a.stage_id = ANY(:stages) AND a.key = '' AND a.valid) END AS pages,
        CASE WHEN p.called_at IS NOT NULL THEN greatest(p.called_at, e.resumed_at) END AS called_at
    {_ALONE} JOIN experiments e ON e.id = r.experiment_id LEFT JOIN presence p ON p.member_id = m.id
        LEFT JOIN waits w ON w.cohort_id = c.id AND w.stage_id = r.stage_id
    WHERE c.room_id = :room_id AND c.alone AND c.status = 'running' AND {_WAITS}
    ORDER BY m.arrived_at, length(m.path), m.path COLLATE "C"
    """  # noqa: S608 - put together from constants
)


async def row_of(session: ReadSession, room_id: UUID, now: datetime, *, stages: Collection[str] = ()) -> Sequence[Row]:
    """The people who wait in the room in the order in which they came: whether each is there, whether the time is up,
    by what they are matched, which is on their pages of `stages` or among their variables, and whether they confirm."""
    since = now - timedelta(seconds=PRESENT_SECONDS)
    return await session.all(_ROW, {"room_id": room_id, "since": since, "stages": sorted(stages)})


_GROUPS_TO_JOIN: Final = text(
    f"SELECT g.* FROM rooms r CROSS JOIN LATERAL ({_GROWING}) g WHERE r.id = :room_id ORDER BY g.number"  # noqa: S608 - put together from constants
)
_LOCK_GROUP: Final = text("SELECT id FROM cohorts WHERE id = :cohort_id FOR NO KEY UPDATE SKIP LOCKED")
_JOIN: Final = text(
    """
    UPDATE matches x SET people = x.people || CAST(:people AS uuid[]) WHERE x.cohort_id = :cohort_id
    RETURNING (SELECT count(*) FROM members m WHERE m.cohort_id = x.cohort_id AND m.kind = 'participant')
        + (SELECT count(*) FROM stays s WHERE s.cohort_id = x.cohort_id AND s.left_at IS NOT NULL) AS participants
    """
)


async def groups_to_join(session: ReadSession, room: Room) -> Sequence[Growing]:
    """The groups of this room that people may still join, the one that was made first first."""
    if room.plan.match is None or room.plan.match.grows_to is None:
        return []
    rows = await session.all(_GROUPS_TO_JOIN, {"room_id": room.id})
    return [Growing(row.cohort_id, row.kind, row.free) for row in rows if row.free > 0]


async def lock_group(session: Session, cohort_id: UUID) -> bool:
    """Lock a group that people are to join; False while another process is at work there. People's own locks are held
    already, and those who move there take the cohort's first: so this waits for nothing."""
    return await session.first(_LOCK_GROUP, {"cohort_id": cohort_id}) is not None


async def note_joined(session: Session, cohort_id: UUID, people: Sequence[UUID]) -> int:
    """Store that these people join the group; how many participants it has had before."""
    row = await session.one(_JOIN, {"cohort_id": cohort_id, "people": list(people)})
    before: int = row.participants
    return before


LATELY_SECONDS: Final = 300.0
"""The time over which arrivals are counted."""


@dataclass(frozen=True, slots=True)
class Lately:
    """How many people came to a room in the last so many seconds."""

    came: int
    seconds: float


_LATELY: Final = text(
    f"""
    SELECT count(*) AS came, min(m.joined_at) AS first FROM members m JOIN cohorts c ON c.id = m.cohort_id
    WHERE c.room_id = :room_id AND m.kind = 'participant' AND m.player = 'person' AND m.joined_at >= :since
        AND (NOT c.alone OR m.status IN {in_sql(STILL_IN)})
    """  # noqa: S608 - put together from constants
)


async def people_lately(session: ReadSession, room_id: UUID, now: datetime) -> Lately:
    """How people came of late: those who wait, are on the way or have been grouped."""
    row = await session.one(_LATELY, {"room_id": room_id, "since": now - timedelta(seconds=LATELY_SECONDS)})
    seconds = 0.0 if row.first is None else max(1.0, (now - row.first).total_seconds())
    return Lately(row.came, seconds)


_COME_ANEW: Final = text(
    f"""
    SELECT r.id AS room_id, m.id AS member_id
    FROM rooms r JOIN members m ON m.experiment_id = r.experiment_id JOIN cohorts c ON c.id = m.cohort_id
        JOIN experiments e ON e.id = r.experiment_id
    WHERE NOT ({_IS_FIRST}) AND e.status = 'running' AND m.player = 'person' AND c.room_id <> r.id AND {_WAITS}
    """  # noqa: S608 - put together from constants
)


async def people_who_come_anew(session: ReadSession) -> Sequence[Row]:
    """People who have come to a stage where they meet anew, and are in the group still in which they were before."""
    return await session.all(_COME_ANEW, {})


_NEXT_PLACE: Final = text("UPDATE rooms SET joined = joined + 1 WHERE id = :room_id RETURNING joined")


async def make_alone_again(session: Session, room: Room, arm: Allocated, now: datetime) -> tuple[UUID, str]:
    """The id and the path of a new cohort for one person of a group, who will meet others in this room. The caller
    holds its lock."""
    place = await session.one(_NEXT_PLACE, {"room_id": room.id})
    path = f"w{place.joined}{room.name}"
    cohort = CohortAssignment(path, path, arm.treatment_id, (), (), allocated=arm.how)
    await make(session, room.experiment, cohort, InRoom(room.id, alone=True), now)
    return seeds.row_id(room.experiment.id, path), path


_PARTNERS: Final = text(
    """
    WITH met AS (
        SELECT p.id, o.id AS other
        FROM matches x JOIN rooms r ON r.id = x.room_id CROSS JOIN LATERAL unnest(x.people) AS p(id)
            CROSS JOIN LATERAL unnest(x.people) AS o(id)
        WHERE r.experiment_id = :experiment_id AND p.id = ANY(:member_ids)
        UNION SELECT p.member_id, o.member_id
        FROM stays p JOIN cohorts c ON c.id = p.cohort_id AND c.room_id IS NOT NULL AND NOT c.alone
            JOIN stays o ON o.cohort_id = p.cohort_id AND o.entered_at < coalesce(p.left_at, 'infinity')
                AND p.entered_at < coalesce(o.left_at, 'infinity')
        WHERE p.member_id = ANY(:member_ids)
    )
    SELECT id, array_agg(other) AS met FROM met WHERE other <> id GROUP BY id
    """
)


async def partners_of(
    session: ReadSession, experiment_id: UUID, member_ids: Sequence[UUID]
) -> Mapping[UUID, frozenset[UUID]]:
    """With whom each of these people has been in a group, also with those who moved there."""
    rows = await session.all(_PARTNERS, {"experiment_id": experiment_id, "member_ids": list(member_ids)})
    return {row.id: frozenset(row.met) for row in rows}


_WITH_PEOPLE: Final = text(
    f"""
    SELECT DISTINCT r.id {_ALONE} JOIN experiments e ON e.id = r.experiment_id
    WHERE c.alone AND c.status = 'running' AND e.status = 'running' AND {_WAITS}
    """
)


async def with_people(session: ReadSession) -> list[UUID]:
    """The rooms of running experiments in which a person waits."""
    return [row.id for row in await session.all(_WITH_PEOPLE)]


_KEEP: Final = text(
    """
    UPDATE rooms SET groups = :groups, numbered = :numbered, block = :block, arms_left = CAST(:arms_left AS text[]),
        draws = :draws
    WHERE id = :room_id
    """
)


async def keep(session: Session, room: Room, *, groups: int, numbered: int, block: Block) -> None:
    """Store how many groups the room has, and what is left of its draws. The caller holds its lock."""
    kept = {"block": block.number, "arms_left": list(block.left), "draws": block.draws}
    await session.run(_KEEP, {"room_id": room.id, "groups": groups, "numbered": numbered, **kept})


async def note_match(
    session: Session, room: Room, cohort_id: UUID, people: Sequence[UUID], number: int, now: datetime, *, kind: str
) -> None:
    made = {"cohort_id": cohort_id, "room_id": room.id, "number": number, "people": list(people), "made_at": now}
    await session.insert(tables.matches, [{**made, "kind": kind or None}])


_BY_KIND: Final = text(
    """
    SELECT kind, CAST(sum(cardinality(people)) AS bigint) AS people FROM matches
    WHERE room_id = :room_id AND kind IS NOT NULL AND given_back_at IS NULL GROUP BY kind
    """
)


async def people_by_kind(session: ReadSession, room_id: UUID) -> Mapping[str, int]:
    """How many people the groups of each composition have had."""
    return {row.kind: row.people for row in await session.all(_BY_KIND, {"room_id": room_id})}


_CLOSE: Final = text("UPDATE rooms SET closed_at = :now WHERE experiment_id = :experiment_id AND closed_at IS NULL")


async def close_rooms(session: Session, experiment_id: UUID, now: datetime) -> None:
    """Let only those who are on the way come to the rooms of this experiment."""
    await session.run(_CLOSE, {"experiment_id": experiment_id, "now": now})


_BEGAN: Final = text("UPDATE matches SET began_at = :now WHERE cohort_id = :cohort_id AND began_at IS NULL")


async def note_began(session: Session, cohort_id: UUID, now: datetime) -> None:
    """The stage has opened for a group that was made there. The caller holds the cohort's lock."""
    await session.run(_BEGAN, {"cohort_id": cohort_id, "now": now})
