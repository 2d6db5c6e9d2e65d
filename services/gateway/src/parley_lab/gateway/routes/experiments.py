"""What experimenters do: create, start and follow experiments, look after members, take the data home."""

from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import cache
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from parley_lab.base.errors import Conflict, NotFound
from parley_lab.contracts.experiment import ModelMode, Persona
from parley_lab.contracts.real_models import model_mode_problems
from parley_lab.design import Draft, Experiment, json_schema, models_used
from parley_lab.drafts import workers
from parley_lab.drafts.called_keys import Waiting, waiting_for_keys
from parley_lab.experiments import beside, experiments, files, listing, personas, sources, starting
from parley_lab.formats.exports import reports
from parley_lab.gateway import archives, bundles, forms
from parley_lab.gateway.bundles import Bundle
from parley_lab.gateway.context import ApiKey, Context, InContext
from parley_lab.gateway.once import InOnce, by_key
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.gateway.resources.acts import ReasonRequest
from parley_lab.gateway.resources.experiments import (
    ExperimentChange,
    ExperimentCheck,
    ExperimentMeasures,
    ExperimentProgress,
    ExperimentResource,
    ExperimentSummary,
    MeasureTable,
    PausedKey,
)
from parley_lab.store import keys
from parley_lab.store.session import WHOLE_EXPERIMENT_SECONDS, Session

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)

_EXAMPLE = """parley: 1
name: A first experiment
stages:
  - {id: welcome, kind: info, lines: ["# Welcome"]}
cohorts:
  - seats: [{open: true, count: 2}]
"""
FILE_BODY = forms.described(
    "An experiment file, as `GET /v1/experiment-schema` describes it.",
    yaml=_EXAMPLE,
    json={
        "parley": 1,
        "name": "A first experiment",
        "stages": [{"id": "welcome", "kind": "info", "lines": ["# Welcome"]}],
        "cohorts": [{"seats": [{"open": True, "count": 2}]}],
    },
    also=bundles.CONTENT,
)


async def read_draft(bundle: Bundle, context: Context, owner_id: UUID) -> Draft:
    """The experiment in the bundle, with the personas that it takes from the library of its owner.

    Raises:
        InvalidInput: with all problems.
    """

    async def find_personas(named: Collection[str]) -> Mapping[str, Persona]:
        async with context.database.transaction() as session:
            return await personas.find_some(session, owner_id, named)

    draft = await context.reader.experiment(bundle.content, bundle.name, find_personas, bundle.files)
    return replace(draft, warnings=(*draft.warnings, *bundle.warnings))


@router.post("/experiments", status_code=201, summary="Store an experiment as a draft", openapi_extra=FILE_BODY)
async def create(
    request: Request,
    context: InContext,
    key: ApiKey,
    once: InOnce,
    is_test: Annotated[bool, Query(description="Marks all data as a test.")] = False,
) -> ExperimentResource:
    """All problems of the file are told at once; then nothing is stored. Personas that the file names without defining
    them are copied from the library. In a form or a zip come the tables and pictures that it names."""
    async with context.database.transaction() as session:
        owner = await keys.require_scope(session, key, context.clock.now(), "write")
    bundle = await bundles.bundle_in(request, context)
    draft = await read_draft(bundle, context, owner.id)

    async def work(session: Session) -> ExperimentResource:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        await beside.keep_pictures(session, bundle.sent.values(), now)
        experiment_id = await starting.store(session, owner.id, draft, now, is_test=is_test)
        await beside.add(session, experiment_id, bundle.sent)
        if bundle.written is not None:
            await sources.save(session, experiment_id, *bundle.written, now, saved_by=owner.name)
        return await resource_of(session, experiment_id)

    return await once.transact(ExperimentResource, work, sign_in=by_key(context, key), content=bundle.fingerprint)


@router.post("/experiments/validate", summary="Check an experiment file", openapi_extra=FILE_BODY)
async def validate(request: Request, context: InContext, key: ApiKey) -> ExperimentCheck:
    """Stores nothing; a file with problems gets the same answer as when it is created."""
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
    bundle = await bundles.bundle_in(request, context)
    draft = await read_draft(bundle, context, owner.id)
    async with context.database.transaction() as session:
        sent = beside.names_of_pictures(bundle.sent.values())
        await files.require(session, [one for one in draft.files if one[1] not in sent], context.files)
    return checked(draft)


def checked(draft: Draft) -> ExperimentCheck:
    """What a valid experiment comes to."""
    return ExperimentCheck.model_validate(draft, from_attributes=True)


@router.get("/experiment-schema", summary="The JSON Schema of experiment files")
async def schema() -> dict[str, Any]:
    return _schema()


@cache
def _schema() -> dict[str, Any]:
    """It takes half a second of CPU, and no request of any other caller is answered meanwhile."""
    return json_schema()


@router.get("/experiments/{experiment_id:uuid}", summary="An experiment and how far it is")
async def show(experiment_id: UUID, context: InContext, key: ApiKey) -> ExperimentResource:
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
        return await resource_of(session, experiment_id)


@router.patch("/experiments/{experiment_id:uuid}", summary="Change how an experiment is listed, or its models")
async def change(experiment_id: UUID, body: ExperimentChange, context: InContext, key: ApiKey) -> ExperimentResource:
    """What is left out stays as it is. The model mode can be changed while the experiment is a draft."""

    async def work(session: Session) -> ExperimentResource:
        await owned(session, context, key, experiment_id, "write")
        if body.model_mode is not None:
            await starting.set_model_mode(session, experiment_id, body.model_mode)
        await listing.change(
            session,
            experiment_id,
            context.clock.now(),
            name=body.name,
            study=body.study,
            is_archived=body.is_archived,
        )
        return await resource_of(session, experiment_id)

    return await context.database.transact(work)


@router.post("/experiments/{experiment_id}/start", summary="Start an experiment")
async def start(
    experiment_id: UUID, context: InContext, key: ApiKey, body: ReasonRequest | None = None
) -> ExperimentResource:
    """Idempotent. Real models are refused unless everything that they need says so."""
    reason = (body or ReasonRequest()).reason

    async def work(session: Session) -> ExperimentResource:
        row = await owned(session, context, key, experiment_id, "write", reason=reason)
        if row.status == "draft":
            await require_models(session, context, Experiment.model_validate(row.document), row.model_mode)
        await starting.start(session, experiment_id, context.clock.now())
        return await resource_of(session, experiment_id)

    return await context.database.transact(work, statement_seconds=WHOLE_EXPERIMENT_SECONDS)


async def require_models(
    session: Session, context: Context, experiment: Experiment, mode: ModelMode, *, also: Collection[str] = ()
) -> None:
    """`also`: the ids of personas that are to take part beside those of the file.

    Raises:
        Conflict: naming everything that is missing for real models.
    """
    # An embedded lab knows its own, otherwise the workers say which providers they serve.
    served = context.served_providers
    if served is None:
        served = await workers.served_providers(session, context.clock.now())
    problems = model_mode_problems(
        mode, models_used(experiment, also=also), context.environ, endpoints=context.endpoints, served=served
    )
    if problems:
        raise Conflict("Real models cannot be used. " + " ".join(problems), reason="real_models_refused")


@router.get(
    "/experiments/{experiment_id}/export",
    response_class=StreamingResponse,
    summary="All data of an experiment, as a zip file",
    responses={200: {"content": {"application/zip": {}}, "description": "The data files and their manifest."}},
)
async def export(
    experiment_id: UUID,
    context: InContext,
    key: ApiKey,
    format: Annotated[Literal["json", "csv"] | None, Query(description="Left out: both.")] = None,
) -> StreamingResponse:
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
    async with context.exports:
        archive = await archives.pack(context.database, experiment_id, context.clock.now(), wanted=format)
    headers = {"Content-Disposition": f'attachment; filename="parley-{experiment_id}.zip"'}
    return StreamingResponse(archives.chunks(archive), headers=headers, media_type="application/zip")


Tables = Annotated[
    list[Annotated[str, Query(max_length=200, pattern=NO_NUL)]] | None,
    Query(max_length=100, description="Only the tables with these names, such as `leaderboard`; left out: all."),
]


@router.get("/experiments/{experiment_id}/measures", summary="What the data of an experiment come to")
async def measures(
    experiment_id: UUID,
    context: InContext,
    key: ApiKey,
    tables: Tables = None,
) -> ExperimentMeasures:
    """The tables that kinds of stages make of their data; of games, measures with 95 % intervals by game, pair and
    experiment, leaderboards by convention, and what to be careful about. Complete once the experiment has ended.
    """
    async with context.database.transaction() as session:
        row = await owned(session, context, key, experiment_id, "read")
    async with context.exports, context.database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
        found = await reports(session, experiment_id)
    wanted = [table for report in found for table in report.tables if tables is None or table.name in tables]
    shown = [
        MeasureTable(name=table.name, columns=list(table.columns), rows=[dict(line) for line in table.rows])
        for table in wanted
    ]
    return ExperimentMeasures(experiment_id=experiment_id, status=row.status, model_mode=row.model_mode, tables=shown)


async def owned(
    session: Session, context: Context, key: str, experiment_id: UUID, scope: keys.Scope, *, reason: str = ""
) -> Any:
    """The row of an experiment of the key's owner; `reason` is kept with what they do.

    Raises:
        NotFound: there is none, or it belongs to another owner, in the same words.
    """
    owner = await keys.sign_in(session, key, context.clock.now(), scope=scope)
    row = await owned_by(session, owner, experiment_id)
    if scope == "write":
        keys.note(session, experiment_id, reason)
    return row


async def owned_by(session: Session, owner: keys.Experimenter, experiment_id: UUID) -> Any:
    """The row of an experiment of this owner; raises as `owned`."""
    row = await experiments.find(session, experiment_id)
    if row.owner_id != owner.id:
        raise NotFound("There is no such experiment.")
    return row


async def resource_of(session: Session, experiment_id: UUID) -> ExperimentResource:
    row = await experiments.find(session, experiment_id)
    progress = await experiments.progress(session, experiment_id)
    waiting = await waiting_for_keys(session, experiment_id)
    return ExperimentResource(
        **ExperimentSummary.model_validate(row, from_attributes=True).model_dump(),
        is_test=row.is_test,
        is_archived=row.archived_at is not None,
        document_hash=row.document_hash,
        join_code=row.join_code,
        progress=ExperimentProgress.model_validate(progress, from_attributes=True),
        paused_keys=[_paused_key(one) for one in waiting],
    )


def _paused_key(waiting: Waiting) -> PausedKey:
    gate = waiting.gate
    assert gate.paused_at is not None
    return PausedKey(
        key=gate.name, paused_at=gate.paused_at, reason=gate.reason, asked=gate.asked, answers=waiting.drafts
    )
