"""Experiments: storing a file, and starting it with its treatments, cohorts and members."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import orjson
from sqlalchemy import text

from shared import seeds
from shared.acts import joining
from shared.acts.courses import is_self_acting
from shared.contracts.experiment import ModelMode, Persona, Profile
from shared.contracts.hints import AGENT_STEPS, FACTS, ORCHESTRATOR, SCRIPTED_COHORTS, Hint
from shared.contracts.providers import serving_provider
from shared.db import tables
from shared.db.call_limits import set_most_calls
from shared.db.experiments import find
from shared.db.facts import Event
from shared.db.session import Row, Session
from shared.errors import Conflict, NotFound
from shared.experiment import (
    CohortAssignment,
    Draft,
    Experiment,
    MediatorAssignment,
    Resolved,
    SeatAssignment,
    allocate,
    draft_of,
    resolve,
    snapshot,
    usual_typing_speed,
)
from shared.stages import kind_of

NO_TREATMENT = "default"
"""The arm of an experiment that declares no treatments."""


async def create(
    session: Session, owner_id: UUID, experiment: Experiment, now: datetime, *, is_test: bool = False
) -> UUID:
    """Store an experiment as a draft; one without a seed gets one."""
    return await store(session, owner_id, draft_of(experiment), now, is_test=is_test)


async def store(session: Session, owner_id: UUID, draft: Draft, now: datetime, *, is_test: bool = False) -> UUID:
    experiment_id = uuid4()
    await session.insert(
        tables.experiments,
        [
            {
                "id": experiment_id,
                "owner_id": owner_id,
                "study": draft.study,
                "name": draft.name,
                "seed": draft.seed,
                "pace": draft.pace,
                "model_mode": draft.model_mode,
                "is_test": is_test,
                "document": orjson.Fragment(draft.document),
                "document_hash": draft.document_hash,
                "created_at": now,
            }
        ],
    )
    if draft.most_calls is not None:
        await set_most_calls(session, experiment_id, draft.most_calls)
    return experiment_id


_LOCK = text("SELECT * FROM experiments WHERE id = :id FOR NO KEY UPDATE")

_SET_MODE = text(
    """
    UPDATE experiments SET model_mode = :mode, version = version + 1,
        document = jsonb_set(document, '{model_mode}', to_jsonb(CAST(:mode AS text)))
    WHERE id = :id AND status = 'draft'
    """
)


async def set_model_mode(session: Session, experiment_id: UUID, mode: ModelMode) -> None:
    """Choose mock or real models; only while the experiment is a draft.

    Raises:
        Conflict: it was started already.
    """
    if not await session.run(_SET_MODE, {"id": experiment_id, "mode": mode}):
        await find(session, experiment_id)
        raise Conflict("The model mode can be changed only before the experiment is started.", reason="not_a_draft")


_START = text("UPDATE experiments SET status = 'running', started_at = :now WHERE id = :id AND status = 'draft'")


async def start(session: Session, experiment_id: UUID, now: datetime) -> None:
    """Draw treatments, create cohorts and members, and wake everybody who has to act; twice is once.

    Raises:
        NotFound, and Conflict when the experiment is paused or has ended.
    """
    row = await session.first(_LOCK, {"id": experiment_id})
    if row is None:
        raise NotFound("There is no such experiment.")
    if row.status == "ended":
        raise Conflict("This experiment has ended; create it again to run it again.", reason="ended")
    if row.status == "paused":
        raise Conflict("This experiment is paused; resume it instead.", reason="paused")
    if row.status == "running":
        return
    await session.run(_START, {"id": experiment_id, "now": now})
    # A large experiment takes a while, in which the process serves others.
    experiment, plan, designs = await asyncio.to_thread(_planned, row.document, row.seed)
    await _store_treatments(session, experiment_id, experiment, designs)
    await _store_cohorts(session, experiment_id, plan, designs, now)
    await _store_members(session, row, plan, designs, now)
    await joining.prepare(session, experiment_id, experiment, plan)
    for cohort in plan:
        _record_start(session, experiment_id, cohort, now)
        if _acts_by_itself(cohort, designs[_arm(cohort)]):
            session.announce(Hint(ORCHESTRATOR, SCRIPTED_COHORTS, str(experiment_id)))
        else:
            _announce_cohort(session, experiment_id, cohort)


def _acts_by_itself(cohort: CohortAssignment, resolved: Resolved) -> bool:
    """Whether it needs neither people nor models, and can be played out with others like it."""
    players = [resolved.personas[seat.persona_id].player if seat.persona_id else "person" for seat in cohort.seats]
    return not cohort.mediators and set(players) == {"script"} and is_self_acting(resolved)


def _arm(cohort: CohortAssignment) -> str:
    return cohort.treatment_id or NO_TREATMENT


def _planned(document: Any, seed: int) -> tuple[Experiment, Sequence[CohortAssignment], dict[str, Resolved]]:
    """Who sits where, and what each arm that somebody is in comes to."""
    experiment = Experiment.model_validate(document)
    plan = allocate(experiment, seed)
    # Each arm with its own personas only: a tournament has an arm for every pair.
    present: dict[str, set[str]] = {}
    for cohort in plan:
        present.setdefault(_arm(cohort), set()).update(cohort.persona_ids)
    designs = {
        arm: resolve(experiment, None if arm == NO_TREATMENT else arm, personas=ids) for arm, ids in present.items()
    }
    return experiment, plan, designs


async def _store_treatments(
    session: Session, experiment_id: UUID, experiment: Experiment, designs: Mapping[str, Resolved]
) -> None:
    levels = {treatment.id: treatment for treatment in experiment.treatments}
    await session.insert(
        tables.treatments,
        [
            {
                "experiment_id": experiment_id,
                "id": arm,
                "levels": levels[arm].model_dump(mode="json") if arm in levels else {},
                "resolved": resolved.model_dump(mode="json"),
            }
            for arm, resolved in sorted(designs.items())
        ],
    )


async def _store_cohorts(
    session: Session,
    experiment_id: UUID,
    plan: Sequence[CohortAssignment],
    designs: Mapping[str, Resolved],
    now: datetime,
) -> None:
    rows = [
        {
            "id": seeds.row_id(experiment_id, cohort.path),
            "experiment_id": experiment_id,
            "path": cohort.path,
            "name": cohort.name,
            "treatment_id": _arm(cohort),
            "variables": dict(designs[_arm(cohort)].variables),
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
    now: datetime,
) -> None:
    rows = []
    for cohort in plan:
        resolved = designs[_arm(cohort)]
        # Nobody announces first steps in a cohort that is played out; settled instead, it wakes its members itself.
        has_step_due = not _acts_by_itself(cohort, resolved)
        # Who never types would be first in every race with those who do.
        is_typed = row.pace == "live"
        speed = usual_typing_speed(resolved.personas[one] for one in sorted(cohort.persona_ids)) if is_typed else None
        rows += [
            _member_row(row, cohort, seat, "participant", resolved, n, now, has_step_due=has_step_due, speed=speed)
            for n, seat in enumerate(cohort.seats, 1)
        ]
        rows += [
            _member_row(row, cohort, seat, "mediator", resolved, n, now, speed=speed)
            for n, seat in enumerate(cohort.mediators, 1)
        ]
    await session.insert(tables.members, rows)


def _member_row(
    experiment: Row,
    cohort: CohortAssignment,
    seat: SeatAssignment | MediatorAssignment,
    kind: str,
    resolved: Resolved,
    number: int,
    now: datetime,
    *,
    has_step_due: bool = True,
    speed: float | None = None,
) -> dict[str, Any]:
    persona = resolved.personas[seat.persona_id] if seat.persona_id is not None else None
    profile = persona.profile if persona else Profile()
    if not profile.name:
        profile = profile.model_copy(update={"name": f"{kind.capitalize()} {number}"})
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
        "stage_ids": [stage.id for stage in resolved.stages if not threads_only or kind_of(stage).thread],
        "version": 1,
        "stepped_version": 0 if has_step_due else 1,
        "is_test": experiment.is_test,
        "created_at": now,
        "joined_at": now if agent else None,
        "arrived_at": now if agent else None,
    }


def _provider(experiment: Row, persona: Persona | None) -> str | None:
    """Who speaks for the member; nobody does for a person or a script."""
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
            payload={"treatment_id": _arm(cohort)},
            public={},
            at=now,
            unsettles=True,
        )
    )
    session.announce(Hint(FACTS, "cohort.updated", str(cohort_id)))


def _announce_cohort(session: Session, experiment_id: UUID, cohort: CohortAssignment) -> None:
    session.announce(Hint(ORCHESTRATOR, "cohort.unsettled", str(seeds.row_id(experiment_id, cohort.path))))
    for seat in cohort.seats:
        if seat.persona_id:
            session.announce(Hint(AGENT_STEPS, "member.changed", str(seeds.row_id(experiment_id, seat.path))))
