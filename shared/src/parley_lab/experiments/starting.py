"""Experiments: storing a file, and starting it with its treatments, cohorts and members."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

import orjson
from sqlalchemy import text

from parley_lab.base.errors import Conflict, NotFound
from parley_lab.base.settings import FileSettings, read_settings
from parley_lab.contracts.experiment import ModelMode
from parley_lab.design import (
    OF_PARTICIPANTS,
    CohortAssignment,
    Draft,
    Experiment,
    Resolved,
    allocate,
    draft_of,
    resolve,
)
from parley_lab.drafts.limits import set_most_calls
from parley_lab.experiments import files, sources
from parley_lab.experiments.experiments import ALL, find
from parley_lab.people import joining, rooms
from parley_lab.people.assigning import keep_arrivals, planned
from parley_lab.people.making import NO_TREATMENT, arm_of, make_cohorts, new_code
from parley_lab.people.opening import keep_for_arrivals
from parley_lab.store import tables
from parley_lab.store.session import Session


async def create(
    session: Session, owner_id: UUID, experiment: Experiment, now: datetime, *, is_test: bool = False
) -> UUID:
    """Store an experiment as a draft; one without a seed gets one. The files that it shows are stored before."""
    return await store(session, owner_id, draft_of(experiment), now, is_test=is_test)


async def store(session: Session, owner_id: UUID, draft: Draft, now: datetime, *, is_test: bool = False) -> UUID:
    experiment_id = uuid4()
    await session.insert(
        tables.experiments,
        [
            {
                "id": experiment_id,
                "owner_id": owner_id,
                **columns_of(draft),
                "document": orjson.Fragment(draft.document),
                "is_test": is_test,
                "join_code": new_code(),
                "created_at": now,
            }
        ],
    )
    if draft.most_calls is not None:
        await set_most_calls(session, experiment_id, draft.most_calls)
    await use_files(session, experiment_id, draft, now)
    return experiment_id


def columns_of(draft: Draft) -> dict[str, str | int | None]:
    """The columns of an experiment's row that come from its file, without the document."""
    return {
        "study": draft.study,
        "name": draft.name,
        "seed": draft.seed,
        "pace": draft.pace,
        "model_mode": draft.model_mode,
        "language": draft.language,
        "document_hash": draft.document_hash,
    }


async def use_files(session: Session, experiment_id: UUID, draft: Draft, now: datetime) -> None:
    """Note which files the experiment of this draft shows.

    Raises:
        InvalidInput: with each that is not stored.
        TooLarge: they have more bytes than the files of an experiment may.
    """
    digests = await files.require(session, draft.files, read_settings(FileSettings))
    await files.use(session, experiment_id, digests, now)


_LOCK = text(f"SELECT {ALL} FROM experiments e WHERE e.id = :id FOR NO KEY UPDATE")  # noqa: S608 - put together from constants

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
    """Draw treatments, create cohorts and members, and wake everybody who has to act. Idempotent.

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
    await sources.require_valid(session, experiment_id)
    await session.run(_START, {"id": experiment_id, "now": now})
    # A large experiment takes a while, in which the process serves others.
    experiment, plan, designs = await asyncio.to_thread(_planned, row.document, row.seed)
    ahead = [cohort for cohort in plan if not cohort.on_arrival and not cohort.together]
    given = planned(experiment, ahead, row.seed)
    await _store_treatments(session, experiment_id, experiment, designs)
    await make_cohorts(session, row, ahead, designs, given, now)
    await keep_arrivals(session, experiment_id, given)
    await keep_for_arrivals(session, experiment_id, plan)
    await rooms.prepare(session, experiment_id, experiment, plan)
    await joining.prepare(session, experiment_id, experiment, plan)


def _planned(document: Any, seed: int) -> tuple[Experiment, Sequence[CohortAssignment], dict[str, Resolved]]:
    """The seats of all members, and the design of each arm with members, or that people or groups may draw."""
    experiment = Experiment.model_validate(document)
    plan = allocate(experiment, seed)
    all_arms = [one.id for one in experiment.treatments]
    own_arms = all_arms if experiment.allocation.by == "participant" else []
    # Each arm with its own personas only: a tournament has an arm for every pair.
    present: dict[str, set[str]] = {}
    fitting = {one for each in experiment.cohorts for seat in each.seats for one in seat.persona_for.values()}
    for cohort in plan:
        later = [OF_PARTICIPANTS, *all_arms] if cohort.together and all_arms else own_arms
        for arm in (arm_of(cohort), *later):
            present.setdefault(arm, set()).update(cohort.persona_ids, experiment.stand_ins, fitting)
    designs = {arm: _design(experiment, arm, ids) for arm, ids in present.items()}
    return experiment, plan, designs


def _design(experiment: Experiment, arm: str, personas: set[str]) -> Resolved:
    if arm == OF_PARTICIPANTS and experiment.allocation.by == "cohort":
        # Of people on the way to a group, which draws its arm: up to there all arms are the same.
        first = resolve(experiment, experiment.treatments[0].id, personas=personas)
        return first.model_copy(update={"treatment_id": None, "levels": {}})
    return resolve(experiment, None if arm in (NO_TREATMENT, OF_PARTICIPANTS) else arm, personas=personas)


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
