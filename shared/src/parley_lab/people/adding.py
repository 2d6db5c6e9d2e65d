"""Lab staff add an agent, a mediator or open seats to a cohort that runs, after the seats of the file.

The cohort's lock is held, so that two who are added at once get two seats and a cohort that ends takes no member.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final, Literal
from uuid import UUID

from sqlalchemy import text

from parley_lab.answers.advancing import record_member
from parley_lab.base.errors import Conflict, InvalidInput, NotFound, Paused, Problem
from parley_lab.contracts.experiment import Persona
from parley_lab.contracts.hints import AGENT_STEPS, Hint
from parley_lab.contracts.lives import COUNTED, in_sql
from parley_lab.design import (
    CohortAssignment,
    Experiment,
    MediatorAssignment,
    Resolved,
    SeatAssignment,
    resolve,
    usual_typing_speed,
    values_of,
)
from parley_lab.design.assigning import of_participant
from parley_lab.kinds.parts import plays_together
from parley_lab.kinds.stages import parts_of
from parley_lab.members.designs import design
from parley_lab.members.names import tell_apart
from parley_lab.people.assigning import Planned, given_to_agent
from parley_lab.people.entering import require_players
from parley_lab.people.making import member_row
from parley_lab.people.own_arms import OwnArm, draw_own_arm
from parley_lab.people.spans import Span, span_of
from parley_lab.store import tables
from parley_lab.store.session import Session
from parley_lab.store.statements import Row
from parley_lab.talk.conversation import advance_thread, open_talks

Kind = Literal["participant", "mediator"]

# Before the lock of the cohort, for a participant who may draw an arm.
_LOCK_DRAWS: Final = text(
    """
    SELECT FROM joining j JOIN cohorts c ON c.experiment_id = j.experiment_id
        JOIN experiments e ON e.id = c.experiment_id
    WHERE c.id = :cohort_id AND e.document #>> '{allocation,by}' = 'participant' FOR NO KEY UPDATE OF j
    """
)
_LOCK: Final = text("SELECT id FROM cohorts WHERE id = :cohort_id FOR NO KEY UPDATE")
_COHORT: Final = text(
    f"""
    SELECT c.id AS cohort_id, c.path, c.name, c.treatment_id, c.status, c.assigned, c.alone,
        e.id, e.status AS experiment_status, e.version, e.seed, e.pace, e.model_mode, e.language, e.is_test, e.document,
        (SELECT coalesce(max(greatest(CAST(substring(m.path FROM '[0-9]+$') AS int),
                CASE WHEN m.cohort_id = c.id THEN m.seat END)), 0)
            FROM members m WHERE m.experiment_id = e.id AND m.kind = :kind
                AND (m.path LIKE c.path || '/%' OR m.cohort_id = c.id AND m.seat IS NOT NULL)) AS seats,
        (SELECT count(*) FROM members m WHERE m.cohort_id = c.id AND m.kind = 'participant'
            AND m.status IN {in_sql(COUNTED)}) AS participants,
        ARRAY(SELECT s.stage_id FROM cohort_stages s WHERE s.cohort_id = c.id) AS unlocked
    FROM cohorts c JOIN experiments e ON e.id = c.experiment_id WHERE c.id = :cohort_id
    """  # noqa: S608 - put together from constants
)


@dataclass(frozen=True, slots=True)
class Addition:
    """An agent of this persona, which is to be added. A participant begins on `stage_id`, or on the first stage of the
    group where that is None. `new`: the persona, where the experiment has none with this id."""

    persona_id: str
    kind: Kind
    stage_id: str | None = None
    new: Persona | None = None


async def add_agent(session: Session, cohort_id: UUID, wanted: Addition, now: datetime, *, actor: str) -> UUID:
    """The id of the new member. It begins as if it had come through the stages before without an
    answer; what was said there is known to it. Each call adds one.

    Raises:
        NotFound: there is no such cohort.
        InvalidInput: the experiment has no such persona, or it is no agent; the cohort does not come to the stage.
        Paused: the experiment is paused.
        Conflict: the cohort has ended, rules leave out all stages ahead, a game ahead has begun or takes no more
            players, or has no conversation.
    """
    if wanted.kind == "participant":
        await session.run(_LOCK_DRAWS, {"cohort_id": cohort_id})
    row = await _lock_running(session, cohort_id, wanted.kind)
    own = await draw_own_arm(session, row.id) if wanted.kind == "participant" else None
    arm = await design(session, row.id, row.version, row.treatment_id) if own is None else own.design
    span = await span_of(session, cohort_id)
    begins_at = _begins_at(arm, span, wanted)
    member = {**await _row_of(session, row, arm, own, wanted, now), "position": 0}
    if wanted.kind == "participant":
        member |= _way(arm, row, begins_at, span, member["assigned"])
        _require_room(arm, row, member["stage_ids"][member["position"] :])
    if not member["stage_ids"]:
        raise Conflict("Nobody talks in this group where the mediator would sit.", reason="no_conversation")
    await session.insert(tables.members, [{**member, "added_by": actor}])
    await tell_apart(session, member["id"], now, cause="request")
    payload = {"persona": wanted.persona_id, "kind": wanted.kind, "stage_id": member["stage_ids"][member["position"]]}
    where = row.id, cohort_id, member["id"], member["path"]
    record_member(session, *where, "member.added", payload, now, cause="request", actor=actor, audience=[])
    if wanted.kind == "participant":
        session.announce(Hint(AGENT_STEPS, "member.changed", str(member["id"])))
    else:
        # It greets, and is asked, where people talk already.
        for thread_id in await open_talks(session, cohort_id, map(arm.stage, member["stage_ids"])):
            await advance_thread(session, thread_id, now, cause="request")
    new_id: UUID = member["id"]
    return new_id


_HAS_JOINING: Final = text("SELECT FROM joining WHERE experiment_id = :experiment_id")


async def add_seats(session: Session, cohort_id: UUID, count: int, now: datetime, *, actor: str) -> None:
    """Add so many seats that people take by joining. Each call adds them.

    Raises:
        NotFound: there is no such cohort.
        Paused: the experiment is paused.
        Conflict: the cohort has ended, a game has begun or takes no more players, or no one joins this experiment.
    """
    row = await _lock_running(session, cohort_id, "participant")
    if await session.first(_HAS_JOINING, {"experiment_id": row.id}) is None:
        raise Conflict("The file has no open seat, so no one can join this experiment.", reason="no_open_seats")
    if (await span_of(session, cohort_id)).first is not None:
        raise Conflict("The lab made this group of people who were there; no one joins it.", reason="made_at_a_stage")
    arm = await design(session, row.id, row.version, row.treatment_id)
    _require_room(arm, row, arm.stage_ids, added=count)
    assigned = Experiment.model_validate(row.document).assigned
    cohort = CohortAssignment(row.path, row.name, arm.treatment_id, (), ())
    seats = [
        (number, SeatAssignment(f"{row.path}/m{number}", None))
        for number in range(row.seats + 1, row.seats + 1 + count)
    ]
    own = {seat.path: of_participant(assigned, row.seed, seat.path) for _, seat in seats}
    given = Planned({row.path: row.assigned}, own, {})
    members = [member_row(row, cohort, seat, "participant", arm, number, given, now) for number, seat in seats]
    await session.insert(tables.members, [{**member, "position": 0, "added_by": actor} for member in members])
    for member in members:
        payload = {"persona": None, "kind": "participant", "stage_id": member["stage_ids"][0]}
        where = row.id, cohort_id, member["id"], member["path"]
        record_member(session, *where, "member.added", payload, now, cause="request", actor=actor, audience=[])


async def _lock_running(session: Session, cohort_id: UUID, kind: Kind) -> Row:
    """The cohort, locked; `kind` is that of the members whose seats are counted.

    Raises: as `add_agent`, where the cohort is not one that runs.
    """
    await session.first(_LOCK, {"cohort_id": cohort_id})
    row = await session.first(_COHORT, {"cohort_id": cohort_id, "kind": kind})
    if row is None:
        raise NotFound("There is no such group.")
    if row.experiment_status == "paused":
        raise Paused
    if row.status != "running" or row.experiment_status != "running":
        raise Conflict("This group has ended.", reason="cohort_ended")
    if row.alone:
        raise Conflict("This is one person who waits for a group; nobody comes to them.", reason="alone")
    return row


def _begins_at(arm: Resolved, span: Span, wanted: Addition) -> str:
    """The stage at which a participant begins, if none of their rules leaves it out."""
    if wanted.stage_id is None:
        return span.first or arm.stage_ids[0]
    if wanted.kind == "mediator":
        problem = Problem("stage_id", repr(wanted.stage_id), "nothing: a mediator sits where its persona says")
        raise InvalidInput("A mediator goes through no stages.", [problem])
    if wanted.stage_id not in arm.stage_ids:
        problem = Problem("stage_id", repr(wanted.stage_id), f"one of {', '.join(arm.stage_ids)}")
        raise InvalidInput("The group has no such stage.", [problem])
    ids = arm.stage_ids
    first = 0 if span.first is None else ids.index(span.first)
    until = len(ids) if span.until is None else ids.index(span.until)
    if not first <= ids.index(wanted.stage_id) < until:
        expected = f"one of {', '.join(ids[first:until])}: the group is made at {ids[first]!r}"
        problem = Problem("stage_id", repr(wanted.stage_id), expected)
        raise InvalidInput("The group does not come to this stage.", [problem])
    return wanted.stage_id


def _way(arm: Resolved, row: Row, begins_at: str, span: Span, assigned: Mapping[str, Any]) -> dict[str, Any]:
    """The stages of a participant who begins at this one, or at the next that their rules do not leave out."""
    values = values_of(row.assigned, assigned)
    way = arm.way_at(begins_at, values, until=span.until)
    position = way.index(begins_at)
    # No answer and no role is known of them yet.
    way = arm.for_reader(values, {}).own_way(way, position - 1, values)
    if position >= len(way):
        raise Conflict(f"Rules leave out all stages from {begins_at} on for this agent.", reason="no_such_stage")
    return {"stage_ids": way, "position": position}


def _require_room(arm: Resolved, row: Row, stage_ids: Sequence[str], *, added: int = 1) -> None:
    ahead = [arm.stage(one) for one in stage_ids]
    for stage in ahead:
        if plays_together(parts_of(stage)) and stage.id in row.unlocked:
            raise Conflict(f"The game {stage.id} has begun; nobody joins it any more.", reason="in_a_game")
    require_players(ahead, row.participants + added - 1)


async def _row_of(
    session: Session, row: Row, arm: Resolved, own_arm: OwnArm | None, wanted: Addition, now: datetime
) -> dict[str, Any]:
    experiment = Experiment.model_validate(row.document)
    if wanted.new is not None:
        experiment = experiment.model_copy(update={"personas": (*experiment.personas, wanted.new)})
    resolved = resolve(experiment, arm.treatment_id, personas={wanted.persona_id})
    persona = resolved.personas.get(wanted.persona_id)
    if persona is None or persona.player != "agent":
        known = ", ".join(sorted(one.id for one in experiment.personas if one.player == "agent")) or "a persona of it"
        problem = Problem("persona", repr(wanted.persona_id), f"an agent of the experiment: {known}")
        raise InvalidInput("There is no such agent.", [problem])
    seat = _seat(row, wanted)
    own = {}
    if wanted.kind == "participant":
        own = await given_to_agent(session, experiment, row.id, row.seed, seat.path, wanted.persona_id)
    given = Planned({row.path: row.assigned}, {seat.path: own}, {})
    if own_arm is not None:
        seat = SeatAssignment(seat.path, wanted.persona_id, own_arm.id, own_arm.how)
    cohort = CohortAssignment(row.path, row.name, arm.treatment_id, (), ())
    speed = usual_typing_speed(arm.personas.values()) if row.pace == "live" else None
    return member_row(row, cohort, seat, wanted.kind, resolved, row.seats + 1, given, now, speed=speed)


def _seat(row: Row, wanted: Addition) -> SeatAssignment | MediatorAssignment:
    if wanted.kind == "mediator":
        return MediatorAssignment(f"{row.path}/med{row.seats + 1}", wanted.persona_id)
    return SeatAssignment(f"{row.path}/m{row.seats + 1}", wanted.persona_id)
