"""Templates: the experiments that come with the lab, and a workbook to fill in."""

import asyncio
from typing import Annotated, Final

from fastapi import APIRouter, Path
from fastapi.responses import Response

from parley_lab.formats.demos import DEMOS, find_demo
from parley_lab.formats.importing import XLSX
from parley_lab.formats.workbook.template import template as blank_workbook
from parley_lab.gateway.context import ApiKey, Context, InContext
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.gateway.resources.sources import TemplateList, TemplateResource
from parley_lab.store import keys

_WORKBOOK: Final = TemplateResource(
    id="workbook",
    title="A workbook to fill in",
    about="An example row on every sheet, and a note on every key and column. It can be run as it is.",
    media_type=XLSX,
)

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)


@router.get("/templates", summary="The experiments that come with the lab")
async def templates(context: InContext, key: ApiKey) -> TemplateList:
    await _sign_in(context, key)
    demos = [
        TemplateResource(id=name, title=demo.title, about=demo.about, media_type=demo.media_type)
        for name, demo in DEMOS.items()
    ]
    return TemplateList(templates=[*demos, _WORKBOOK])


@router.get(
    "/templates/{template_id}",
    response_class=Response,
    summary="The file of a template",
    responses={200: {"content": {"application/yaml": {}, XLSX: {}}, "description": "The file."}},
)
async def template(
    template_id: Annotated[str, Path(max_length=100, pattern=NO_NUL, examples=["deliberation"])],
    context: InContext,
    key: ApiKey,
) -> Response:
    """It can be sent to `POST /v1/experiments`; a workbook, as its `Content-Type` says, to `.../import`."""
    await _sign_in(context, key)
    if template_id == _WORKBOOK.id:
        name, content, media_type = "workbook.xlsx", await asyncio.to_thread(blank_workbook), XLSX
    else:
        path = find_demo(template_id)
        name, content, media_type = path.name, await asyncio.to_thread(path.read_bytes), DEMOS[template_id].media_type
    headers = {"Content-Disposition": f'attachment; filename="{name}"'}
    return Response(content, media_type=media_type, headers=headers)


async def _sign_in(context: Context, key: str) -> None:
    async with context.database.transaction() as session:
        await keys.sign_in(session, key, context.clock.now(), scope="read")
