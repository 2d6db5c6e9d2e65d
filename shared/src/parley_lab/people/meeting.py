"""Making groups in a room, one transaction each: of those who are there, with the agents and mediators of the plan.

Members are locked and looked at again; if one has changed, the rule is asked again. The arm is drawn with the group,
and a group that ends before its stage opens returns its draw to the block.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import end_member
from parley_lab.base import seeds
from parley_lab.base.errors import Conflict
from parley_lab.contracts.experiment import CohortPlan, StageConfig
from parley_lab.design import (
    Allocated,
    Block,
    CohortAssignment,
    Resolved,
    SeatAssignment,
    cohort_of,
    draw_arm,
    give_back,
    values_of,
)
from parley_lab.design.matching import compositions_of
from parley_lab.design.seat_names import seat_name
from parley_lab.kinds.stages import parts_of
from parley_lab.members.designs import design
from parley_lab.members.standing import Standing
from parley_lab.members.standings import lock_standing
from parley_lab.people.confirming import Answer, answer_of, ask, seconds_of
from parley_lab.people.entering import target_of, target_on
from parley_lab.people.making import InRoom, arm_of, number_of
from parley_lab.people.matching import (
    Decision,
    Growing,
    Kind,
    Rule,
    Waiting,
    decide,
    joining_only,
    stages_of,
    to_join,
    value_of,
)
from parley_lab.people.own_arms import draw_own_arm, lock_draws
from parley_lab.people.rooms import (
    Room,
    groups_to_join,
    keep,
    lock_group,
    lock_room,
    make,
    make_alone_again,
    note_joined,
    note_match,
    partners_of,
    people_by_kind,
    row_of,
)
from parley_lab.people.transferring import move
from parley_lab.people.waiting import WAITED_IN_VAIN
from parley_lab.store.facts import Event
from parley_lab.store.session import Session
from parley_lab.store.statements import Row

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
    growing = await groups_to_join(session, room)
    rule = await _rule(session, room, growing)
    by = None if room.plan.match is None else room.plan.match.by
    everybody = await row_of(session, room_id, now, stages=stages_of(by))
    row = await _row(session, room, rule, everybody, now)
    unconfirmed = {one.id for one in everybody if _answer(room, one, now) != "confirmed"}
    asked: list[UUID] = []
    held: dict[UUID, Standing] = {}
    left = row
    while (decision := decide(left, rule)) is not None:
        held = await _locked(session, (*decision.group, *decision.released))
        passed = {one for one, standing in held.items() if not _waits_there(standing, room)}
        if not passed and unconfirmed.isdisjoint(decision.group):
            break
        if not passed:
            asked += [one for one in decision.group if one in unconfirmed]
            passed = {*decision.group}
        left = [one for one in left if one.id not in passed]
    await _ask(session, room, [one for one in everybody if one.id in asked], now)
    if decision is None:
        await _tell_those_who_wait(session, room, row, now)
        return False
    await _release(session, [held[one] for one in decision.released], now)
    if not decision.group:
        return True
    people = [held[one] for one in decision.group]
    joined = await _join(session, room, to_join(growing, decision.kind, len(people)), people, now)
    if joined is None:
        # The groups that they could join are at work; the room is looked at again soon.
        return False
    if joined:
        return True
    if room.groups >= room.most:
        await _release(session, people, now)
    else:
        values = {one.id: one.value for one in row}
        await _make(session, room, rule, decision, people, values, now)
    return True


async def _join(
    session: Session, room: Room, growing: Sequence[Growing], people: Sequence[Standing], now: datetime
) -> bool | None:
    """Take these people, who are locked, to the first of these groups that takes all of them; False: none does.

    None where one that may take them is locked by another process.
    """
    for one in growing:
        if not await lock_group(session, one.id):
            return None
        still = to_join(await groups_to_join(session, room), one.kind, len(people))
        if one.id not in {other.id for other in still}:
            continue
        try:
            targets = [await target_of(session, standing, one.id) for standing in people]
        except Conflict:
            # A role there has no place for them.
            continue
        before = await note_joined(session, one.id, [standing.member.id for standing in people])
        for number, (standing, target) in enumerate(zip(people, targets, strict=True), before + 1):
            await _name_anew(session, room, standing, number)
            await move(session, standing, target, now, cause="timer")
        return True
    return False


def _answer(room: Room, one: Row, now: datetime) -> Answer:
    """Whether this person has confirmed that they are there."""
    return answer_of(one.called_at, one.confirmed_at, seconds_of(room.plan), now)


async def _ask(session: Session, room: Room, people: Sequence[Row], now: datetime) -> None:
    """Ask those of a group to confirm that they are there who were not asked for it."""
    asked = await ask(session, [one.id for one in people if _answer(room, one, now) == "not_asked"], now)
    await _have_read_anew(session, room, asked, now)


_COUNT: Final = text("UPDATE rooms SET told = :there WHERE id = :room_id AND told <> :there")
_COHORTS: Final = text(
    "SELECT m.id, m.cohort_id, m.path FROM members m WHERE m.id = ANY(:member_ids) ORDER BY m.cohort_id"
)


async def _tell_those_who_wait(session: Session, room: Room, row: Sequence[Waiting], now: datetime) -> None:
    """Have the pages of those who wait read anew when another number of them is there."""
    there = sum(one.is_there for one in row)
    if not await session.run(_COUNT, {"room_id": room.id, "there": there}):
        return
    await _have_read_anew(session, room, [one.id for one in row], now)


async def _have_read_anew(session: Session, room: Room, member_ids: Sequence[UUID], now: datetime) -> None:
    """Have the pages of these people read anew."""
    if not member_ids:
        return
    told = {"stage_id": room.stage_id}
    for one in await session.all(_COHORTS, {"member_ids": list(member_ids)}):
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


async def _row(session: Session, room: Room, rule: Rule, found: Sequence[Row], now: datetime) -> list[Waiting]:
    """Those who wait; people who can meet no one any more have waited as long as they may."""
    all_are_there = len(found) == room.on_the_way and all(one.is_there for one in found)
    in_vain = room.takes_no_more and (_makes_no_group(rule, room) or room.on_the_way < rule.least or all_are_there)
    by = None if room.plan.match is None else room.plan.match.by
    stage = await _stage_of_value(session, room)
    is_of_strangers = room.plan.match is not None and room.plan.match.never_again
    ids = [one.id for one in found] if is_of_strangers else []
    met = await partners_of(session, room.experiment.id, ids) if ids else {}
    return [
        Waiting(
            one.id,
            bool(one.is_there) and _answer(room, one, now) != "missed",
            one.time_is_up or in_vain,
            value_of(by, stage, one.pages or {}, values_of(one.assigned)),
            met.get(one.id, frozenset()),
        )
        for one in found
    ]


async def _stage_of_value(session: Session, room: Room) -> StageConfig | None:
    """The stage whose answers decide who meets whom; up to the meeting all arms are alike."""
    by = None if room.plan.match is None else room.plan.match.by
    return None if by is None or by.stage is None else (await _first_design(session, room)).stage(by.stage)


async def _rule(session: Session, room: Room, growing: Sequence[Growing]) -> Rule:
    rule = await _rule_of_new_groups(session, room)
    if room.groups < room.most:
        return rule
    rule = joining_only(rule, growing)
    can_join = bool(rule.kinds) if rule.values == "composed" else rule.people > 0
    return rule if can_join else Rule(people=room.people + room.on_the_way)


def _makes_no_group(rule: Rule, room: Room) -> bool:
    """Whether all groups are made, and none takes more people."""
    return room.groups >= room.most and rule.people > room.people


async def _rule_of_new_groups(session: Session, room: Room) -> Rule:
    stage = (await _first_design(session, room)).stage(room.stage_id)
    agents = room.plan.participants - room.people
    progress = stage.progress
    fewest = max(1, max(progress.min_participants, parts_of(stage).players[0]) - agents)
    if progress.then == "fill":
        fewest = 1
    return await _matched(session, room, Rule(people=room.people, fewest=fewest, then=progress.then))


async def _matched(session: Session, room: Room, rule: Rule) -> Rule:
    """The rule with what the file says of who meets whom."""
    match = room.plan.match
    if match is None:
        return rule
    if match.values is not None:
        return replace(rule, values=match.values)
    had = await people_by_kind(session, room.id) if match.balance else {}
    kinds = tuple(Kind(places, id, had.get(id, 0)) for id, _, places in compositions_of(match))
    return replace(rule, values="composed", kinds=kinds, is_balanced=match.balance) if kinds else rule


async def _first_design(session: Session, room: Room) -> Resolved:
    """The design of the first of the arms: how long one waits, and all before the meeting, is the same in all."""
    return await _design(session, room, (room.arms or [_usual(room.usual_arm)])[0])


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


async def _make(
    session: Session,
    room: Room,
    rule: Rule,
    decision: Decision,
    people: Sequence[Standing],
    values: Mapping[UUID, str],
    now: datetime,
) -> None:
    """Make the group of these people, who are locked, and take them there; `values`: by what they are matched."""
    arm, block = _arm(room, decision.kind)
    number, group = room.numbered + 1, room.groups + 1
    path = f"c{number}{room.name}"
    whole = cohort_of(path, _name(room, decision.kind, group), _fitted(room.plan, values[decision.group[0]]), arm)
    taken, cohort = await _seated(session, room, rule, whole, len(people))
    where = InRoom(room.id, stage_id=room.stage_id, until=room.leads_on_to)
    await make(session, room.experiment, cohort, where, now)
    cohort_id = seeds.row_id(room.experiment.id, path)
    shared = await _design(session, room, arm_of(cohort))
    for standing, seat in zip(people, taken, strict=True):
        await _name_anew(session, room, standing, seat)
        resolved = standing.design if room.is_by_participant else shared
        target = target_on(standing, cohort_id, path, resolved, room.stage_id)
        await move(session, standing, target, now, cause="timer", seat=seat)
    await note_match(session, room, cohort_id, decision.group, number, now, kind=decision.kind)
    await keep(session, room, groups=group, numbered=number, block=block)


async def _name_anew(session: Session, room: Room, standing: Standing, number: int) -> None:
    """Name a person by their number in the group: alone they have the name of the first until there is another one."""
    language = room.experiment.language
    names = {"alone": seat_name("participant", 1, language), "here": seat_name("participant", number, language)}
    await session.run(_NAME, {"member_id": standing.member.id, **names})


def _name(room: Room, kind: str, group: int) -> str | None:
    plan = kind or room.plan.id
    return plan if plan is None or room.most == 1 else f"{plan}-{group}{room.name}"


def _fitted(plan: CohortPlan, value: str) -> CohortPlan:
    """The plan with the personas that fit a group whose first person has this value."""
    seats = [seat.model_copy(update={"persona": seat.persona_for.get(value, seat.persona)}) for seat in plan.seats]
    return plan.model_copy(update={"seats": tuple(seats)})


def _arm(room: Room, kind: str) -> tuple[Allocated, Block]:
    """The arm of the next group, which is of this composition, and what is left of the draws."""
    if room.plan.match is not None and not room.is_by_participant:
        named = next((arm for id, arm, _ in compositions_of(room.plan.match) if id == kind), None)
        if named is not None:
            return Allocated(named, {"rule": "named"}), room.block
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
        fill_with = (await _first_design(session, room)).stage(room.stage_id).progress.fill_with
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


async def come_anew(session: Session, room_id: UUID, member_id: UUID, now: datetime) -> bool:
    """Take a person out of the group in which they were before, to the room where they meet others; False when another
    process is at work there, or they are not on the way to it any more. May be repeated."""
    room = await lock_room(session, room_id)
    if room is None:
        return False
    standing = await lock_standing(session, member_id)
    is_there = standing.stage is not None and standing.stage.id == room.stage_id
    if not is_there or not standing.is_in_progress or standing.is_alone:
        return False
    cohort_id, path = await make_alone_again(session, room, room.usual_arm, now)
    target = target_on(standing, cohort_id, path, standing.design, room.stage_id)
    await move(session, standing, target, now, cause="timer")
    return True


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
