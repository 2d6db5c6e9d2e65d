"""Making cohorts: their rows, their members and first hints; when an experiment starts, and when people come."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from secrets import token_urlsafe
from typing import Any, Final
from uuid import UUID

from parley_lab.base import seeds
from parley_lab.contracts.experiment import Persona, Profile
from parley_lab.contracts.hints import AGENT_STEPS, ORCHESTRATOR, SCRIPTED_COHORTS, Hint
from parley_lab.contracts.providers import serving_provider
from parley_lab.design import (
    CohortAssignment,
    MediatorAssignment,
    Resolved,
    SeatAssignment,
    snapshot,
    usual_typing_speed,
    values_of,
)
from parley_lab.design.seat_names import seat_name
from parley_lab.kinds.stages import parts_of
from parley_lab.people.assigning import Planned
from parley_lab.store import tables
from parley_lab.store.facts import Event
from parley_lab.store.session import Session
from parley_lab.store.statements import Row

NO_TREATMENT = "default"
"""The arm of an experiment that declares no treatments."""

_BYTES: Final = 12


def new_code() -> str:
    """A code that cannot be guessed; it gives the right to join."""
    return token_urlsafe(_BYTES)


def is_self_acting(resolved: Resolved) -> bool:
    """Whether scripted members can complete this arm without others: nothing is said, games have scripts, and all
    of them go the same way."""
    if resolved.orders or any(stage.show_if is not None for stage in resolved.stages):
        return False
    parts = [parts_of(stage) for stage in resolved.stages]
    return not any(one.has_thread or (one.state is not None and one.scripts is None) for one in parts)


@dataclass(frozen=True, slots=True)
class InRoom:
    """The room to which a cohort belongs. `alone`: it is that of one person on the way there. `stage_id`: where the
    participants of a group begin; `until`: the stage before which its agents end, because people leave it there."""

    id: UUID
    alone: bool = False
    stage_id: str | None = None
    until: str | None = None


async def make_cohorts(
    session: Session,
    row: Row,
    plan: Sequence[CohortAssignment],
    designs: Mapping[str, Resolved],
    given: Planned,
    now: datetime,
    *,
    where: InRoom | None = None,
) -> None:
    """Store these cohorts of a running experiment with their members, and wake those who have to act.

    `row` is the experiment's; `designs` has the design of each arm of cohorts and of members.
    """
    await _store_cohorts(session, row.id, plan, designs, given, now, where)
    await _store_members(session, row, plan, designs, given, now, where)
    for cohort in plan:
        _record_start(session, row.id, cohort, now)
        if where is None and _acts_by_itself(cohort, designs[arm_of(cohort)]):
            session.announce(Hint(ORCHESTRATOR, SCRIPTED_COHORTS, str(row.id)))
        else:
            _announce_cohort(session, row.id, cohort)


def _acts_by_itself(cohort: CohortAssignment, resolved: Resolved) -> bool:
    """Whether it needs neither people nor models, and can be played out with others like it."""
    if cohort.own_arms:
        return False
    players = [resolved.personas[seat.persona_id].player if seat.persona_id else "person" for seat in cohort.seats]
    return not cohort.mediators and set(players) == {"script"} and is_self_acting(resolved)


def number_of(path: str) -> int:
    """The number of a participant's seat, from its path."""
    return int(path.rpartition("/m")[2])


def arm_of(cohort: CohortAssignment) -> str:
    return NO_TREATMENT if cohort.treatment_id is None else cohort.treatment_id


async def _store_cohorts(
    session: Session,
    experiment_id: UUID,
    plan: Sequence[CohortAssignment],
    designs: Mapping[str, Resolved],
    given: Planned,
    now: datetime,
    where: InRoom | None,
) -> None:
    rows = [
        {
            "id": seeds.row_id(experiment_id, cohort.path),
            "experiment_id": experiment_id,
            "path": cohort.path,
            "name": cohort.name,
            "treatment_id": arm_of(cohort),
            "join_code": new_code(),
            "variables": dict(designs[arm_of(cohort)].variables),
            "assigned": given.cohorts.get(cohort.path, {}),
            "draws": dict(cohort.draws),
            "allocated": dict(cohort.allocated),
            "room_id": None if where is None else where.id,
            "alone": where is not None and where.alone,
            "created_at": now,
        }
        for cohort in plan
    ]
    await session.insert(tables.cohorts, rows)
    await session.insert(tables.streams, [{"cohort_id": row["id"]} for row in rows])


async def _store_members(
    session: Session,
    row: Row,
    plan: Sequence[CohortAssignment],
    designs: Mapping[str, Resolved],
    given: Planned,
    now: datetime,
    where: InRoom | None,
) -> None:
    rows = []
    first, until = (None, None) if where is None else (where.stage_id, where.until)
    for cohort in plan:
        resolved = designs[arm_of(cohort)]
        # First steps are not announced in a cohort that is played out; settled instead, it wakes its members itself.
        has_step_due = where is not None or not _acts_by_itself(cohort, resolved)
        # Who never types would be first in every race with those who do.
        is_typed = row.pace == "live"
        speed = usual_typing_speed(resolved.personas[one] for one in sorted(cohort.persona_ids)) if is_typed else None
        rows += [
            {
                **member_row(
                    row,
                    cohort,
                    seat,
                    "participant",
                    own,
                    number_of(seat.path),
                    given,
                    now,
                    has_step_due=has_step_due,
                    speed=speed,
                ),
                **({"position": 0} if first is None else _way(own, first, until, _values_of_seat(given, cohort, seat))),
            }
            for seat in cohort.seats
            for own in [resolved if seat.treatment_id is None else designs[seat.treatment_id]]
        ]
        rows += [
            {**member_row(row, cohort, seat, "mediator", resolved, n, given, now, speed=speed), "position": 0}
            for n, seat in enumerate(cohort.mediators, 1)
        ]
    await session.insert(tables.members, rows)


def _way(own: Resolved, first: str, until: str | None, values: Mapping[str, Any]) -> dict[str, Any]:
    """The stages of an agent in a group that is made at a stage, and its place there."""
    ids = own.way_at(first, values, until=until)
    return {"stage_ids": ids, "position": ids.index(first)}


def _values_of_seat(
    given: Planned, cohort: CohortAssignment, seat: SeatAssignment | MediatorAssignment
) -> Mapping[str, Any]:
    """The values that are assigned to the member of this seat."""
    return values_of(given.cohorts.get(cohort.path, {}), given.seats.get(seat.path, {}))


def member_row(
    experiment: Row,
    cohort: CohortAssignment,
    seat: SeatAssignment | MediatorAssignment,
    kind: str,
    resolved: Resolved,
    number: int,
    given: Planned,
    now: datetime,
    *,
    has_step_due: bool = True,
    speed: float | None = None,
) -> dict[str, Any]:
    """The row of one seat, `number` of its kind, before its first stage. `speed`: for personas that do not say how fast
    they type."""
    own = given.seats.get(seat.path, {})
    known = _values_of_seat(given, cohort, seat)
    persona = resolved.persona_for(seat.persona_id, known) if seat.persona_id is not None else None
    profile = persona.profile if persona else Profile()
    if not profile.name:
        profile = profile.model_copy(update={"name": seat_name(kind, number, experiment.language)})
    agent = snapshot(persona, typing_speed=speed) if persona else None
    threads_only = kind == "mediator"
    return {
        "id": seeds.row_id(experiment.id, seat.path),
        "experiment_id": experiment.id,
        "cohort_id": seeds.row_id(experiment.id, cohort.path),
        "path": seat.path,
        "kind": kind,
        "player": persona.player if persona else "person",
        "profile": profile.model_dump(mode="json"),
        "agent_config": agent.model_dump(mode="json") if agent else None,
        "provider": _provider(experiment, persona),
        "status": "in_progress" if agent else "expected",
        "stage_ids": resolved.seats_of_mediator(persona) if threads_only else [*resolved.stage_ids],
        "version": 1,
        "stepped_version": 0 if has_step_due else 1,
        "is_test": experiment.is_test,
        "assigned": own,
        **_own_arm(seat),
        "created_at": now,
        "joined_at": now if agent else None,
        "arrived_at": now if agent else None,
    }


def _own_arm(seat: SeatAssignment | MediatorAssignment) -> dict[str, Any]:
    if isinstance(seat, MediatorAssignment):
        return {"treatment_id": None, "allocated": None}
    return {"treatment_id": seat.treatment_id, "allocated": dict(seat.allocated) or None}


def _provider(experiment: Row, persona: Persona | None) -> str | None:
    """The provider of the member's model; none for a person or a script."""
    if persona is None or persona.player == "script":
        return None
    return serving_provider(experiment.model_mode, persona.model.provider)


def _record_start(session: Session, experiment_id: UUID, cohort: CohortAssignment, now: datetime) -> None:
    cohort_id = seeds.row_id(experiment_id, cohort.path)
    session.record(
        Event(
            experiment_id=experiment_id,
            cohort_id=cohort_id,
            type="cohort.started",
            actor="lab",
            cause="request",
            subject=cohort.path,
            subject_id=cohort_id,
            payload={"treatment_id": arm_of(cohort)},
            public={},
            at=now,
            unsettles=True,
        )
    )
    session.tell(cohort_id)


def _announce_cohort(session: Session, experiment_id: UUID, cohort: CohortAssignment) -> None:
    session.announce(Hint(ORCHESTRATOR, "cohort.unsettled", str(seeds.row_id(experiment_id, cohort.path))))
    for seat in cohort.seats:
        if seat.persona_id:
            session.announce(Hint(AGENT_STEPS, "member.changed", str(seeds.row_id(experiment_id, seat.path))))
