"""Experiments in files of other formats, such as workbooks: checked, and stored as drafts."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query, Request
from pydantic import Field
from starlette.exceptions import HTTPException

from parley_lab.experiments import starting
from parley_lab.formats.importing import IMPORTERS, Choice
from parley_lab.gateway.context import ApiKey, InContext
from parley_lab.gateway.forms import FORM, MOST_FILES, file_in_form
from parley_lab.gateway.once import InOnce, by_key
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.gateway.resources.experiments import ImportCheck, ImportedExperiments
from parley_lab.gateway.routes.experiments import checked, resource_of
from parley_lab.store import keys
from parley_lab.store.session import Session

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)

_ANY_FILE = {"type": "string", "contentMediaType": "application/octet-stream"}
_FORM = {
    "type": "object",
    "properties": {"file": {"type": "array", "items": _ANY_FILE, "maxItems": MOST_FILES}},
    "maxProperties": 1,
}
_FILE_BODY = {
    "requestBody": {
        "required": True,
        "description": "A workbook: an .xlsx file, or a zip with a CSV file for each sheet. In a form: one of these, "
        "or the CSV files themselves.",
        "content": {
            **{media_type: {"schema": {"type": "string", "contentMediaType": media_type}} for media_type in IMPORTERS},
            FORM: {"schema": _FORM},
        },
    }
}
People = Annotated[
    list[Annotated[str, Field(max_length=200, pattern=NO_NUL)]] | None,
    Query(description="A seat that a person takes by joining: a role, or session/role; once for each."),
]
Sessions = Annotated[int | None, Query(ge=1, le=2**31 - 1, description="Only so many sessions, the first ones.")]
Draws = Annotated[Literal["reference", "parley"], Query(description="How what is drawn is drawn.")]


async def _content_of(request: Request) -> tuple[bytes, str]:
    """The file in the body, and its media type.

    Raises:
        HTTPException: its media type is that of something else, or the form cannot be read.
    """
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type == FORM:
        return await file_in_form(request)
    if media_type not in IMPORTERS:
        raise HTTPException(415, f"The file is sent as {' or '.join([*IMPORTERS, FORM])}.")
    return await request.body(), media_type


@router.post(
    "/experiments/import",
    status_code=201,
    summary="Store the experiments in a workbook as drafts",
    openapi_extra=_FILE_BODY,
)
async def store(
    request: Request,
    context: InContext,
    key: ApiKey,
    once: InOnce,
    people: People = None,
    sessions: Sessions = None,
    draws: Draws = "reference",
    is_test: Annotated[bool, Query(description="Marks all data as a test.")] = False,
) -> ImportedExperiments:
    """One experiment for each permutation of constants. All problems are told at once, with their cells; then nothing
    is stored. No model is called before the mode is changed (`PATCH`) and the experiment started."""
    async with context.database.transaction() as session:
        await keys.require_scope(session, key, context.clock.now(), "write")
    content, media_type = await _content_of(request)
    drafts, warnings = await context.reader.imported(content, media_type, Choice(tuple(people or ()), sessions, draws))

    async def work(session: Session) -> ImportedExperiments:
        now = context.clock.now()
        owner = await keys.sign_in(session, key, now, scope="write")
        ids = [await starting.store(session, owner.id, draft, now, is_test=is_test) for draft in drafts]
        resources = [await resource_of(session, experiment_id) for experiment_id in ids]
        return ImportedExperiments(experiments=resources, warnings=warnings)

    return await once.transact(ImportedExperiments, work, sign_in=by_key(context, key), content=content)


@router.post("/experiments/import/validate", summary="Check a workbook", openapi_extra=_FILE_BODY)
async def check(
    request: Request,
    context: InContext,
    key: ApiKey,
    people: People = None,
    sessions: Sessions = None,
    draws: Draws = "reference",
) -> ImportCheck:
    """Stores nothing; a file with problems gets the same answer as when it is stored."""
    async with context.database.transaction() as session:
        await keys.sign_in(session, key, context.clock.now(), scope="read")
    content, media_type = await _content_of(request)
    drafts, warnings = await context.reader.imported(content, media_type, Choice(tuple(people or ()), sessions, draws))
    return ImportCheck(experiments=[checked(draft) for draft in drafts], warnings=warnings)
