"""Making groups in a room, one transaction each: of those who are there, with the agents and mediators of the plan."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import end_member
from parley_lab.base import seeds
from parley_lab.contracts.experiment import StageConfig
from parley_lab.design import (
    Allocated,
    Block,
    CohortAssignment,
    Resolved,
    SeatAssignment,
    cohort_of,
    draw_arm,
    give_back,
)
from parley_lab.design.seat_names import seat_name
from parley_lab.kinds.stages import parts_of
from parley_lab.members.designs import design
from parley_lab.members.standing import Standing
from parley_lab.members.standings import lock_standing
from parley_lab.people.entering import Target
from parley_lab.people.making import InRoom, arm_of, number_of
from parley_lab.people.matching import Rule, Waiting, decide
from parley_lab.people.own_arms import draw_own_arm, lock_draws
from parley_lab.people.rooms import Room, keep, lock_room, make, note_match, row_of
from parley_lab.people.transferring import move
from parley_lab.people.waiting import WAITED_IN_VAIN
from parley_lab.store.facts import Event
from parley_lab.store.session import Session

_OWN_DRAWS: Final = text(
    """
    SELECT r.experiment_id FROM rooms r JOIN experiments e ON e.id = r.experiment_id
    WHERE r.id = :room_id AND e.document #>> '{allocation,by}' = 'participant'
    """
)


async def meet(session: Session, room_id: UUID, now: datetime) -> bool:
    """Make the next group in this room, or release those whose time is up; False when nothing was to be done.

    No person is in two groups: the room's lock makes one after another, and its people are looked at again under their
    own locks (`tests/races/test_meeting_race.py`). May be repeated, and done by several processes at once.
    """
    own_draws = await session.first(_OWN_DRAWS, {"room_id": room_id})
    if own_draws is not None:
        # A join holds this lock when it comes to the room.
        await lock_draws(session, own_draws.experiment_id)
    room = await lock_room(session, room_id)
    if room is None:
        return False
    rule = await _rule(session, room)
    row = [_waiting(one.id, one.is_there, one.time_is_up, room) for one in await row_of(session, room_id, now)]
    held: dict[UUID, Standing] = {}
    while (decision := decide(row, rule)) is not None:
        held = await _locked(session, (*decision.group, *decision.released))
        changed = {one for one, standing in held.items() if not _waits_there(standing, room)}
        if not changed:
            break
        row = [one for one in row if one.id not in changed]
    if decision is None:
        await _tell_those_who_wait(session, room, row, now)
        return False
    await _release(session, [held[one] for one in decision.released], now)
    if decision.group:
        await _make(session, room, rule, [held[one] for one in decision.group], now)
    return True


_COUNT: Final = text("UPDATE rooms SET told = :there WHERE id = :room_id AND told <> :there")
_COHORTS: Final = text(
    "SELECT m.id, m.cohort_id, m.path FROM members m WHERE m.id = ANY(:member_ids) ORDER BY m.cohort_id"
)


async def _tell_those_who_wait(session: Session, room: Room, row: Sequence[Waiting], now: datetime) -> None:
    """Have the pages of those who wait read anew when another number of them is there."""
    there = sum(one.is_there for one in row)
    if not await session.run(_COUNT, {"room_id": room.id, "there": there}):
        return
    told = {"stage_id": room.stage_id}
    for one in await session.all(_COHORTS, {"member_ids": [waiting.id for waiting in row]}):
        session.record(
            Event(
                experiment_id=room.experiment.id,
                cohort_id=one.cohort_id,
                type="stage.updated",
                actor="lab",
                cause="lab",
                subject=f"{one.path}/{room.stage_id}",
                subject_id=None,
                payload=told,
                public=told,
                audience=[one.id],
                at=now,
            )
        )
        session.tell(one.cohort_id)


def _waiting(member_id: UUID, is_there: bool | None, time_is_up: bool, room: Room) -> Waiting:
    """People who cannot come any more are not waited for."""
    in_vain = room.takes_no_more and (room.groups >= room.most or room.on_the_way < room.people)
    return Waiting(member_id, bool(is_there), time_is_up or in_vain)


async def _rule(session: Session, room: Room) -> Rule:
    if room.groups >= room.most:
        return Rule(people=room.people + room.on_the_way)
    stage = await _stage(session, room)
    agents = room.plan.participants - room.people
    progress = stage.progress
    fewest = max(progress.min_participants, parts_of(stage).players[0])
    if progress.then == "fill":
        return Rule(people=room.people, then="fill")
    return Rule(people=room.people, fewest=max(1, fewest - agents), then=progress.then)


async def _stage(session: Session, room: Room) -> StageConfig:
    """The stage where people meet, as it is in the first of the arms: how long one waits there is the same in all."""
    return (await _design(session, room, (room.arms or [_usual(room.usual_arm)])[0])).stage(room.stage_id)


async def _design(session: Session, room: Room, arm: str) -> Resolved:
    return await design(session, room.experiment.id, room.experiment.version, arm)


def _usual(arm: Allocated) -> str:
    return arm_of(CohortAssignment("", "", arm.treatment_id, (), ()))


async def _locked(session: Session, member_ids: Iterable[UUID]) -> dict[UUID, Standing]:
    """Their standings under their locks, which are taken in the order of ids."""
    return {one: await lock_standing(session, one) for one in sorted(member_ids)}


def _waits_there(standing: Standing, room: Room) -> bool:
    is_there = standing.stage is not None and standing.stage.id == room.stage_id
    return is_there and standing.is_in_progress and standing.is_alone


_RELEASED: Final = text(
    """
    UPDATE waits w SET outcome = 'released' FROM members m
    WHERE m.id = ANY(:member_ids) AND w.cohort_id = m.cohort_id AND w.stage_id = m.stage_ids[m.position + 1]
    """
)


async def _release(session: Session, people: Sequence[Standing], now: datetime) -> None:
    if people:
        await session.run(_RELEASED, {"member_ids": [one.member.id for one in people]})
    for standing in people:
        await end_member(session, standing, "released", WAITED_IN_VAIN, now, cause="timer", actor="lab")


_NAME: Final = text(
    """
    UPDATE members SET profile = profile || jsonb_build_object('name', CAST(:here AS text))
    WHERE id = :member_id AND profile ->> 'name' = :alone AND own_name IS NULL
    """
)


async def _make(session: Session, room: Room, rule: Rule, people: Sequence[Standing], now: datetime) -> None:
    """Make the group of these people, who are locked, and take them there."""
    arm, block = _arm(room)
    number, group = room.numbered + 1, room.groups + 1
    path = f"c{number}"
    name = None if room.plan.id is None else room.plan.id if room.most == 1 else f"{room.plan.id}-{group}"
    whole = cohort_of(path, name, room.plan, arm)
    taken, cohort = await _seated(session, room, rule, whole, len(people))
    await make(session, room.experiment, cohort, InRoom(room.id, stage_id=room.stage_id), now)
    cohort_id = seeds.row_id(room.experiment.id, path)
    shared = (await _design(session, room, arm_of(cohort))).stage_ids
    language = room.experiment.language
    for standing, seat in zip(people, taken, strict=True):
        # A person alone has the name of the first seat until there is another one.
        names = {"alone": seat_name("participant", 1, language), "here": seat_name("participant", seat, language)}
        await session.run(_NAME, {"member_id": standing.member.id, **names})
        stage_ids = standing.stage_ids if room.is_by_participant else shared
        target = Target(cohort_id, path, stage_ids, stage_ids.index(room.stage_id))
        await move(session, standing, target, now, cause="timer", seat=seat)
    await note_match(session, room, cohort_id, [one.member.id for one in people], number, now)
    await keep(session, room, groups=group, numbered=number, block=block)


def _arm(room: Room) -> tuple[Allocated, Block]:
    """The arm of the next group, and what is left of the draws."""
    if not room.arms:
        return room.usual_arm, room.block
    draw, rest = draw_arm(room.block, room.arms, room.experiment.seed, room.allocation, path=f"room/{room.stage_id}")
    how = {"rule": "drawn", "draw": draw.draw, "block": draw.block, "probability": draw.probability}
    return Allocated(draw.arm, how), rest


async def _seated(
    session: Session, room: Room, rule: Rule, whole: CohortAssignment, people: int
) -> tuple[list[int], CohortAssignment]:
    """The numbers of the seats that people take, and the cohort with its other seats, those of agents."""
    open_seats = [seat for seat in whole.seats if seat.persona_id is None]
    taken, empty = open_seats[:people], {seat.path for seat in open_seats[people:]}
    fill_with = None
    if empty and rule.then == "fill":
        fill_with = (await _stage(session, room)).progress.fill_with
    seats = [
        replace(seat, persona_id=seat.persona_id or fill_with)
        for seat in whole.seats
        if seat.persona_id is not None or (seat.path in empty and fill_with is not None)
    ]
    if room.is_by_participant:
        seats = [await _with_own_arm(session, room, seat) for seat in seats]
    return [number_of(seat.path) for seat in taken], replace(whole, seats=tuple(seats))


async def _with_own_arm(session: Session, room: Room, seat: SeatAssignment) -> SeatAssignment:
    own = await draw_own_arm(session, room.experiment.id)
    return seat if own is None else replace(seat, treatment_id=own.id, allocated=own.how)


_IN_VAIN: Final = text(
    """
    UPDATE matches x SET given_back_at = :now FROM cohorts c
    WHERE x.cohort_id = :cohort_id AND c.id = x.cohort_id AND x.began_at IS NULL AND x.given_back_at IS NULL
    RETURNING x.room_id, x.number, c.treatment_id, c.allocated
    """
)
_LOCK_ROOM: Final = text(
    """
    SELECT r.id, r.stage_id, r.block, r.arms_left, r.draws, e.seed
    FROM rooms r JOIN experiments e ON e.id = r.experiment_id WHERE r.id = :room_id FOR NO KEY UPDATE OF r
    """
)
_TAKE_BACK: Final = text(
    "UPDATE rooms SET groups = groups - 1, arms_left = CAST(:arms_left AS text[]) WHERE id = :room_id"
)


async def take_back(session: Session, cohort_id: UUID, now: datetime) -> bool:
    """A group has ended that never began: another one is made in its place, and its draw is given back.

    False when it has begun, was taken back, or was not made in a room. The caller holds the lock of the cohort.
    """
    match = await session.first(_IN_VAIN, {"cohort_id": cohort_id, "now": now})
    if match is None:
        return False
    room = await session.one(_LOCK_ROOM, {"room_id": match.room_id})
    block = Block(room.block, tuple(room.arms_left), room.draws)
    if _is_drawn(match.allocated):
        block = give_back(block, match.treatment_id, room.seed, path=f"room/{room.stage_id}/{match.number}")
    await session.run(_TAKE_BACK, {"room_id": room.id, "arms_left": list(block.left)})
    return True


def _is_drawn(allocated: Mapping[str, object]) -> bool:
    return allocated.get("rule") == "drawn"
