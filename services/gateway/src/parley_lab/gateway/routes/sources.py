"""The text of an experiment's file: read as it was written, saved over no newer one, and checked."""

import asyncio
from collections.abc import Mapping
from typing import Annotated, Any
from uuid import UUID

from fastapi import APIRouter, Query, Request, Response

from parley_lab.base.errors import InvalidInput
from parley_lab.contracts.real_models import model_mode_problems
from parley_lab.design import Draft, Experiment, FileBeside, models_used
from parley_lab.design.editing import Change
from parley_lab.design.most_calls import MostCalls, most_calls
from parley_lab.drafts import workers
from parley_lab.experiments import beside, redrafting, sources
from parley_lab.gateway.bundles import EDIT, Bundle, bundle_in, name_of, packed_of
from parley_lab.gateway.context import ApiKey, Context, InContext
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.gateway.resources.experiments import ExperimentResource
from parley_lab.gateway.resources.sources import (
    EditedText,
    EditText,
    EstimateResource,
    FileCheck,
    SourceFile,
    SourceResource,
    located,
)
from parley_lab.gateway.routes.experiments import FILE_BODY, owned, owned_by, read_draft, resource_of
from parley_lab.gateway.versions import IfMatch, tag_of, version_in
from parley_lab.store import keys
from parley_lab.store.session import Session

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)


@router.get("/experiments/{experiment_id}/source", summary="The file of an experiment as it was written")
async def read_source(experiment_id: UUID, response: Response, context: InContext, key: ApiKey) -> SourceResource:
    """With its comments and its order; an experiment without a stored text shows its document as YAML. `ETag` is its
    version, for `If-Match` of `PUT .../file`."""
    async with context.database.transaction() as session:
        row = await owned(session, context, key, experiment_id, "read")
        found = await sources.find(session, experiment_id, row.document)
        files = await beside.list_of(session, experiment_id)
    response.headers["ETag"] = tag_of(found.version)
    listed = [SourceFile.model_validate(one, from_attributes=True) for one in files]
    return SourceResource.model_validate(found, from_attributes=True).model_copy(update={"files": listed})


@router.get(
    "/experiments/{experiment_id}/source/zip",
    response_class=Response,
    summary="The file of an experiment as it was written, with its tables and pictures",
    responses={200: {"content": {"application/zip": {}}, "description": "The text and the files beside it."}},
)
async def read_packed(experiment_id: UUID, context: InContext, key: ApiKey) -> Response:
    """It can be sent to `POST /v1/experiments`."""
    async with context.database.transaction() as session:
        row = await owned(session, context, key, experiment_id, "read")
        found = await sources.find(session, experiment_id, row.document)
        names = [one.name for one in await beside.list_of(session, experiment_id)]
        files = await beside.contents(session, experiment_id, names)
    packed = await asyncio.to_thread(packed_of, found.text, found.media_type, files)
    headers = {"Content-Disposition": f'attachment; filename="experiment-{experiment_id}.zip"'}
    return Response(packed, media_type="application/zip", headers=headers)


Without = Annotated[
    list[Annotated[str, Query(max_length=200, pattern=NO_NUL)]] | None,
    Query(description="The name of a file beside the text that is stored no longer; once for each."),
]
BesideOf = Annotated[
    UUID | None,
    Query(description="The id of an experiment of mine: the text may name the files that are stored beside its text."),
]


@router.put("/experiments/{experiment_id}/file", summary="Replace the file of a draft", openapi_extra=FILE_BODY)
async def replace(
    experiment_id: UUID,
    request: Request,
    response: Response,
    context: InContext,
    key: ApiKey,
    if_match: IfMatch = None,
    keep_problems: Annotated[
        bool, Query(description="Store a file with problems, too; it cannot start before they are mended.")
    ] = False,
    without: Without = None,
) -> ExperimentResource:
    """Refused with the reason `not_a_draft` once it was started, and with 412 `changed_meanwhile` where another one has
    saved it since the version in `If-Match`; `params` say who and when. All problems of the file are told at once; then
    nothing is stored, unless `keep_problems` is set: then the text is, and `source` has the problems. Files beside the
    text stay; a form or a zip adds some, or replaces those with the same names."""
    async with context.database.transaction() as session:
        owner = await keys.require_scope(session, key, context.clock.now(), "write")
        await owned_by(session, owner, experiment_id)
        stored = await beside.files_of(session, experiment_id, without=without or ())
    bundle = await bundle_in(request, context, stored)
    draft, problems = await _read(bundle, context, owner.id, keep_problems=keep_problems)

    async def work(session: Session) -> ExperimentResource:
        now = context.clock.now()
        await owned(session, context, key, experiment_id, "write")
        if if_match is not None:
            await sources.require_version(session, experiment_id, version_in(if_match))
        await redrafting.require_draft(session, experiment_id)
        await beside.change(session, experiment_id, now, added=bundle.sent, without=without or ())
        if draft is not None:
            await redrafting.replace_draft(session, experiment_id, draft, now)
        if bundle.written is not None:
            version = await sources.save(
                session, experiment_id, *bundle.written, now, saved_by=owner.name, problems=problems
            )
            response.headers["ETag"] = tag_of(version)
        return await resource_of(session, experiment_id)

    return await context.database.transact(work)


async def _read(
    bundle: Bundle, context: Context, owner_id: UUID, *, keep_problems: bool
) -> tuple[Draft | None, list[dict[str, Any]]]:
    """The draft; or none, and the problems that are stored with the text.

    Raises:
        InvalidInput: with all problems, unless they are kept with a text that can be stored.
    """
    try:
        return await read_draft(bundle, context, owner_id), []
    except InvalidInput as error:
        if not keep_problems or bundle.written is None:
            raise
        return None, [located(one).model_dump(mode="json") for one in error.problems]


async def read_sent(request: Request, context: Context, key: str, experiment_id: UUID | None) -> Draft:
    """The experiment in the body, which may name files that are stored beside the text of this experiment.

    Raises:
        InvalidInput: with all problems.
        NotFound: there is no such experiment.
    """
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
        stored: Mapping[str, FileBeside] = {}
        if experiment_id is not None:
            await owned_by(session, owner, experiment_id)
            stored = await beside.files_of(session, experiment_id)
    return await read_draft(await bundle_in(request, context, stored), context, owner.id)


@router.post(
    "/experiments/check",
    summary="Check a file while it is written",
    openapi_extra=FILE_BODY,
    responses={404: {"description": "There is no experiment with the id in `beside`."}},
)
async def check(request: Request, context: InContext, key: ApiKey, beside: BesideOf = None) -> FileCheck:
    """Always 200: with all problems and their lines, or with what a valid file comes to and what is missing to run it
    with real models. Stores nothing."""
    try:
        draft = await read_sent(request, context, key, beside)
    except InvalidInput as error:
        return FileCheck(is_valid=False, detail=error.message, problems=[located(one) for one in error.problems])
    experiment, most = await asyncio.to_thread(_counted, draft)
    return FileCheck(
        is_valid=True,
        detail=None,
        problems=[],
        name=draft.name,
        document_hash=draft.document_hash,
        model_mode=draft.model_mode,
        stages=list(draft.stages),
        treatments=list(draft.treatments),
        cohorts=draft.cohorts,
        members=draft.members,
        warnings=list(draft.warnings),
        real_models=await _missing(context, experiment),
        estimate=EstimateResource(replies=most.replies, calls=most.calls, open_ended=list(most.open_ended)),
    )


@router.post(EDIT, summary="Change values in the text of a file")
async def edit(body: EditText, context: InContext, key: ApiKey) -> EditedText:
    """Every other byte stays as it is, comments too. A text that begins with `{` is JSON. Stores nothing, and does not
    say whether the file is valid: `check` does."""
    async with context.database.transaction() as session:
        await keys.sign_in(session, key, context.clock.now(), scope="read")
    changes = [Change(tuple(one.path), one.value) for one in body.changes]
    edited = await context.reader.edit(body.text, name_of(body.text), changes)
    return EditedText(text=edited.text, document=edited.value)


def _counted(draft: Draft) -> tuple[Experiment, MostCalls]:
    experiment = Experiment.model_validate_json(draft.document)
    return experiment, most_calls(experiment)


async def _missing(context: Context, experiment: Experiment) -> list[str]:
    """What is missing to run it with real models."""
    served = context.served_providers
    if served is None:
        async with context.database.read() as session:
            served = await workers.served_providers(session, context.clock.now())
    found = model_mode_problems(
        "real", models_used(experiment), context.environ, endpoints=context.endpoints, served=served
    )
    return list(found)
