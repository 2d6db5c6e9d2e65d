"""What experimenters do: create, start and follow experiments, look after members, take the data home."""

from collections.abc import AsyncGenerator, Collection, Mapping
from contextlib import aclosing, suppress
from typing import Annotated, Any, Literal
from uuid import UUID

from fastapi import APIRouter, Query, Request
from fastapi.responses import StreamingResponse

from parley_lab.base.errors import Conflict, NotFound, Unavailable
from parley_lab.contracts.experiment import ModelMode, Persona
from parley_lab.contracts.real_models import model_mode_problems
from parley_lab.design import Draft, Experiment, json_schema, models_used
from parley_lab.drafts import workers
from parley_lab.drafts.called_keys import Waiting, waiting_for_keys
from parley_lab.experiments import experiments, files, listing, personas, starting
from parley_lab.formats.exports import reports
from parley_lab.gateway import archives, cursors, forms
from parley_lab.gateway.context import ApiKey, Context, ExperimentersStream, InContext
from parley_lab.gateway.events import Frame
from parley_lab.gateway.live import RETRY_MS
from parley_lab.gateway.once import InOnce, by_key
from parley_lab.gateway.parameters import Route
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
from parley_lab.gateway.routes.own_stream import LastEventId, StreamCursor, StreamWaits, stream_responses
from parley_lab.gateway.streaming import EventStream
from parley_lab.gateway.typists import TypingFrame
from parley_lab.store import keys
from parley_lab.store.session import WHOLE_EXPERIMENT_SECONDS, Session
from parley_lab.talk import streams as stream_reads

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
)


async def read_file(request: Request, context: Context, owner_id: UUID) -> Draft:
    """The experiment in the body, with the personas that it takes from the library of its owner.

    Raises:
        InvalidInput: with all problems.
    """
    content, name = await forms.file_in(request, "experiment")

    async def find_personas(named: Collection[str]) -> Mapping[str, Persona]:
        async with context.database.transaction() as session:
            return await personas.find_some(session, owner_id, named)

    return await context.reader.experiment(content, name, find_personas)


@router.post("/experiments", status_code=201, summary="Store an experiment as a draft", openapi_extra=FILE_BODY)
async def create(
    request: Request,
    context: InContext,
    key: ApiKey,
    once: InOnce,
    is_test: Annotated[bool, Query(description="Marks all data as a test.")] = False,
) -> ExperimentResource:
    """All problems of the file are told at once; then nothing is stored. Personas that the file names without defining
    them are copied from the library."""
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="write")
    draft = await read_file(request, context, owner.id)

    async def work(session: Session) -> ExperimentResource:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        experiment_id = await starting.store(session, owner.id, draft, now, is_test=is_test)
        return await resource_of(session, experiment_id)

    return await once.transact(ExperimentResource, work, sign_in=by_key(context, key))


@router.post("/experiments/validate", summary="Check an experiment file", openapi_extra=FILE_BODY)
async def validate(request: Request, context: InContext, key: ApiKey) -> ExperimentCheck:
    """Stores nothing; a file with problems gets the same answer as when it is created."""
    async with context.database.transaction() as session:
        owner = await keys.sign_in(session, key, context.clock.now(), scope="read")
    draft = await read_file(request, context, owner.id)
    async with context.database.transaction() as session:
        await files.require(session, draft.files, context.files)
    return checked(draft)


def checked(draft: Draft) -> ExperimentCheck:
    """What a valid experiment comes to."""
    return ExperimentCheck.model_validate(draft, from_attributes=True)


@router.get("/experiment-schema", summary="The JSON Schema of experiment files")
async def schema() -> dict[str, Any]:
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
async def start(experiment_id: UUID, context: InContext, key: ApiKey) -> ExperimentResource:
    """Idempotent. Real models are refused unless everything that they need says so."""

    async def work(session: Session) -> ExperimentResource:
        row = await owned(session, context, key, experiment_id, "write")
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
    "/experiments/{experiment_id}/stream",
    response_class=EventStream,
    summary="Follow everything that happens (server-sent events)",
    responses=stream_responses("ExperimenterEvent"),
)
async def stream(
    experiment_id: UUID,
    context: InContext,
    bearer: ExperimentersStream,
    after: StreamCursor = None,
    last_event_id: LastEventId = None,
    wait: StreamWaits = True,
) -> EventStream:
    """The last event of each chunk has an `id`: the cursor over all cohorts. After a reconnect some events may come
    again; `cohort_id` and `stream_seq` tell them."""
    async with context.database.transaction() as session:
        key_hash = await bearer.key_hash(session, context)
        owner = await keys.sign_in_by_hash(session, key_hash, context.clock.now(), scope="read")
        await _owned_by(session, owner, experiment_id)
        ids = await stream_reads.cohorts_of(session, experiment_id)
        newest = await stream_reads.last_of(session, ids)
    cursor = last_event_id or after
    positions = cursors.experiment_cursor(cursor, len(ids)) if cursor else [newest[one] for one in ids]
    sent = dict(zip(ids, positions, strict=True))
    if not wait:
        return EventStream(_events_until_now(context, sent))
    return EventStream(_events_of(context, experiment_id, key_hash, sent))


def _for_experimenters(frame: Frame | TypingFrame) -> bytes | None:
    return frame.for_experimenters


async def _events_until_now(context: Context, sent: dict[UUID, int]) -> AsyncGenerator[bytes, None]:
    def mark() -> bytes:
        return f"id: {cursors.experiment_cursor_text(sent.values())}\n".encode()

    yield f"retry: {RETRY_MS}\n".encode() + mark() + b"\n"
    async with aclosing(context.live.catch_up(sent, _for_experimenters, mark=mark)) as chunks:
        async for chunk in chunks:
            yield chunk


async def _events_of(
    context: Context, experiment_id: UUID, key_hash: str, sent: dict[UUID, int]
) -> AsyncGenerator[bytes, None]:
    """Until the key ends; groups that are made later are told of, too."""
    later: dict[UUID, int] = {}

    def mark() -> bytes:
        return f"id: {cursors.experiment_cursor_text(sent.values())}\n".encode()

    yield f"retry: {RETRY_MS}\n".encode() + mark() + b"\n"
    # A draft has no cohorts; they come with its start.
    while not sent and not context.live.is_closed:
        await context.live.wait_for_news()
        sent.update(dict.fromkeys(await context.live.cohorts_of(experiment_id), 0))
        if not sent:
            yield b": ping\n\n"

    async def look() -> bool:
        """Whether nothing has changed."""
        with suppress(Unavailable):
            async with context.database.read() as session:
                found = await stream_reads.cohorts_of(session, experiment_id)
                is_valid = await keys.is_valid(session, key_hash, context.clock.now())
            later.update({one: 0 for one in found if one not in sent})
            return is_valid and not later
        return True

    while True:
        async with aclosing(context.live.follow(sent, _for_experimenters, mark=mark, look=look)) as chunks:
            async for chunk in chunks:
                yield chunk
        if not later:
            return
        sent.update(later)
        later.clear()


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


@router.get("/experiments/{experiment_id}/measures", summary="What the data of an experiment come to")
async def measures(experiment_id: UUID, context: InContext, key: ApiKey) -> ExperimentMeasures:
    """The tables that kinds of stages make of their data; of games, measures with 95 % intervals by game, pair and
    experiment, leaderboards by convention, and what to be careful about. Complete once the experiment has ended.
    """
    async with context.database.transaction() as session:
        row = await owned(session, context, key, experiment_id, "read")
    async with context.exports, context.database.transaction(statement_seconds=WHOLE_EXPERIMENT_SECONDS) as session:
        found = await reports(session, experiment_id)
    tables = [
        MeasureTable(name=table.name, columns=list(table.columns), rows=[dict(line) for line in table.rows])
        for report in found
        for table in report.tables
    ]
    return ExperimentMeasures(experiment_id=experiment_id, status=row.status, model_mode=row.model_mode, tables=tables)


async def owned(session: Session, context: Context, key: str, experiment_id: UUID, scope: keys.Scope) -> Any:
    """The row of an experiment of the key's owner.

    Raises:
        NotFound: there is none, or it belongs to another owner, in the same words.
    """
    owner = await keys.sign_in(session, key, context.clock.now(), scope=scope)
    return await _owned_by(session, owner, experiment_id)


async def _owned_by(session: Session, owner: keys.Experimenter, experiment_id: UUID) -> Any:
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
