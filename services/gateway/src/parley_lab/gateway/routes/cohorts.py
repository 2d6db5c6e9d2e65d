"""Cohorts, as experimenters see and lock them."""

from typing import Annotated
from uuid import UUID

from fastapi import APIRouter, Query

from parley_lab.design import Experiment
from parley_lab.gateway.context import ApiKey, Context, InContext
from parley_lab.gateway.once import InOnce, by_key
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.acts import CohortsRequest, ReasonRequest, SeatsRequest
from parley_lab.gateway.resources.members import CohortList, CohortResource
from parley_lab.gateway.routes.experiments import owned, require_models
from parley_lab.people import joining
from parley_lab.people.adding import add_seats
from parley_lab.people.adding_groups import add_groups
from parley_lab.store import keys, ownership
from parley_lab.store.session import Session
from parley_lab.talk import pages as reads

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)


@router.get("/experiments/{experiment_id}/cohorts", summary="The cohorts of an experiment")
async def cohorts(
    experiment_id: UUID,
    context: InContext,
    key: ApiKey,
    after: Annotated[UUID | None, Query(description="The `next_after` of the page before.")] = None,
    limit: Annotated[int, Query(ge=1, le=reads.MOST_COHORTS)] = reads.MOST_COHORTS,
) -> CohortList:
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
        rows = await reads.cohorts(session, experiment_id, after=after, most=limit + 1)
    page = rows[:limit]
    return CohortList(
        cohorts=[CohortResource.model_validate(row, from_attributes=True) for row in page],
        next_after=page[-1].id if len(rows) > limit else None,
    )


@router.post("/experiments/{experiment_id}/cohorts", status_code=201, summary="Add groups to an experiment that runs")
async def add(
    experiment_id: UUID, context: InContext, key: ApiKey, once: InOnce, body: CohortsRequest | None = None
) -> CohortList:
    """Each is like the first group of its arm in the file, with seats, agents and mediators of its own. Each request
    adds them, but the same ones under an `Idempotency-Key`."""
    wanted = body or CohortsRequest()

    async def work(session: Session) -> CohortList:
        now = context.clock.now()
        row = await owned(session, context, key, experiment_id, "write", reason=wanted.reason)
        if row.status == "running":
            experiment = Experiment.model_validate(row.document)
            await require_models(session, context, experiment, row.model_mode)
        owner = await keys.sign_in(session, key, now, scope="write")
        ids = await add_groups(session, experiment_id, wanted.count, wanted.treatment, now, actor=owner.name)
        rows = [await reads.cohort(session, one) for one in ids]
        return CohortList(
            cohorts=[CohortResource.model_validate(one, from_attributes=True) for one in rows], next_after=None
        )

    return await once.transact(CohortList, work, sign_in=by_key(context, key))


@router.post("/cohorts/{cohort_id}/seats", status_code=201, summary="Add open seats to a group that runs")
async def seats(
    cohort_id: UUID, context: InContext, key: ApiKey, once: InOnce, body: SeatsRequest | None = None
) -> CohortResource:
    """People take them by joining, and begin on the first stage. Each request adds them, but the same ones under an
    `Idempotency-Key`."""
    wanted = body or SeatsRequest()

    async def work(session: Session) -> CohortResource:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        keys.note(session, await ownership.check_cohort(session, cohort_id, owner.id), wanted.reason)
        await add_seats(session, cohort_id, wanted.count, now, actor=owner.name)
        return CohortResource.model_validate(await reads.cohort(session, cohort_id), from_attributes=True)

    return await once.transact(CohortResource, work, sign_in=by_key(context, key))


@router.post("/cohorts/{cohort_id}/lock", summary="Close a cohort for joining")
async def lock(cohort_id: UUID, context: InContext, key: ApiKey, body: ReasonRequest | None = None) -> CohortResource:
    """Members who have a seat keep it. Idempotent."""
    return await _locked(context, key, cohort_id, body, locked=True)


@router.post("/cohorts/{cohort_id}/unlock", summary="Let people join a cohort again")
async def unlock(cohort_id: UUID, context: InContext, key: ApiKey, body: ReasonRequest | None = None) -> CohortResource:
    """Idempotent."""
    return await _locked(context, key, cohort_id, body, locked=False)


async def _locked(
    context: Context, key: str, cohort_id: UUID, body: ReasonRequest | None, *, locked: bool
) -> CohortResource:
    reason = (body or ReasonRequest()).reason

    async def work(session: Session) -> CohortResource:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        keys.note(session, await ownership.check_cohort(session, cohort_id, owner.id), reason)
        await joining.set_locked(session, cohort_id, locked, now, actor=owner.name)
        return CohortResource.model_validate(await reads.cohort(session, cohort_id), from_attributes=True)

    return await context.database.transact(work)
