"""The file of an experiment as it runs, and its fork."""

import asyncio
from dataclasses import replace
from uuid import UUID

from fastapi import APIRouter
from fastapi.responses import Response

from parley_lab.base.errors import InvalidInput, TooLarge
from parley_lab.design import Draft
from parley_lab.design.editing import Change
from parley_lab.experiments import experiments, redrafting, sources, trying
from parley_lab.gateway.bundles import name_of
from parley_lab.gateway.context import ApiKey, Context, InContext
from parley_lab.gateway.once import InOnce, by_key
from parley_lab.gateway.parameters import Route
from parley_lab.gateway.resources.experiments import ExperimentResource, ForkRequest, TrialResource, TryRequest
from parley_lab.gateway.routes.experiments import owned, owned_by, resource_of
from parley_lab.store import keys
from parley_lab.store.session import Session

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)


@router.get(
    "/experiments/{experiment_id}/file",
    response_class=Response,
    summary="The file of an experiment, as JSON",
    responses={200: {"content": {"application/json": {"schema": {"type": "object"}}}}},
)
async def read_back(experiment_id: UUID, context: InContext, key: ApiKey) -> Response:
    """The document that runs, or will run: with its seed, and with factors, pairings and personas of the library
    written out. Stored as a new experiment it draws the same."""
    async with context.database.transaction() as session:
        row = await owned(session, context, key, experiment_id, "read")
    headers = {"Content-Disposition": f'attachment; filename="experiment-{experiment_id}.json"'}
    return Response(redrafting.file_of(row), media_type="application/json", headers=headers)


@router.post("/experiments/{experiment_id}/fork", status_code=201, summary="Copy an experiment as a new draft")
async def fork(
    experiment_id: UUID, context: InContext, key: ApiKey, once: InOnce, body: ForkRequest | None = None
) -> ExperimentResource:
    """The copy has the same file, with its comments and the files beside it, in whatever state the experiment is, and
    none of its data. Refused with the reason `not_valid` while the file has problems."""
    draft, source = await _make_copy(context, key, experiment_id, body or ForkRequest())

    async def work(session: Session) -> ExperimentResource:
        row = await owned(session, context, key, experiment_id, "write")
        copy = await redrafting.fork(session, row, draft, context.clock.now(), source)
        return await resource_of(session, copy)

    return await once.transact(ExperimentResource, work, sign_in=by_key(context, key))


async def _make_copy(
    context: Context, key: str, experiment_id: UUID, wanted: ForkRequest
) -> tuple[Draft, sources.Source | None]:
    """The copy, and its text where the experiment has one: as it was written, but for the name and the seed."""
    async with context.database.transaction() as session:
        owner = await keys.require_scope(session, key, context.clock.now(), "write")
        row = await owned_by(session, owner, experiment_id)
        source = await sources.find(session, experiment_id, row.document)
    draft = await asyncio.to_thread(redrafting.copy_of, row, name=wanted.name, seed=wanted.seed)
    if source.version == 0 or source.problems:
        return draft, None
    file = name_of(source.text)
    try:
        edited = await context.reader.edit(source.text, file, [Change(("name",), draft.name)])
        if wanted.seed is not None or edited.value.get("seed") is not None:
            edited = await context.reader.edit(edited.text, file, [Change(("seed",), draft.seed)])
    except (InvalidInput, TooLarge):
        # The value stands for others in the text, too, or the text is as long as it may be.
        return draft, None
    return draft, replace(source, text=edited.text, saved_by=owner.name)


@router.post("/experiments/{experiment_id}/try", status_code=201, summary="Try a study alone, against the mock")
async def try_alone(
    experiment_id: UUID, context: InContext, key: ApiKey, once: InOnce, body: TryRequest | None = None
) -> TrialResource:
    """A test copy begins with one group: one seat is open, and agents that the mock speaks for take the other ones.
    Refused with the reason `not_valid` while the file has problems."""
    wanted = body or TryRequest()

    async def work(session: Session) -> TrialResource:
        row = await owned(session, context, key, experiment_id, "write")
        copy_id = await trying.try_alone(session, row, context.clock.now(), treatment=wanted.treatment)
        copy = await experiments.find(session, copy_id)
        return TrialResource(experiment_id=copy_id, join_url=f"/join/{copy.join_code}")

    return await once.transact(TrialResource, work, sign_in=by_key(context, key))
