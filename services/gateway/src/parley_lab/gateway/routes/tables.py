"""The tables of an experiment's data, as the export writes them."""

from collections.abc import Sequence
from typing import Annotated, Any, Final, Literal
from uuid import UUID

from fastapi import APIRouter, Path, Query
from fastapi.responses import Response, StreamingResponse

from parley_lab.base.errors import InvalidInput, Problem
from parley_lab.gateway.context import ApiKey, InContext
from parley_lab.gateway.parameters import NO_NUL, Route
from parley_lab.gateway.resources.tables import (
    ChartHead,
    ChartList,
    ChartResource,
    TableHeadResource,
    TableList,
    TablePageResource,
)
from parley_lab.gateway.routes.experiments import owned

router = APIRouter(prefix="/v1", tags=["experiments"], route_class=Route)

Where = Annotated[
    list[Annotated[str, Query(max_length=500, pattern=NO_NUL)]],
    Query(description="`column:value`: only rows with this value; once for each column.", max_length=20),
]
_CSV: Final[dict[int | str, dict[str, Any]]] = {
    200: {"content": {"text/csv": {"schema": {"type": "string"}}}, "description": "The page, or all rows."}
}


@router.get("/experiments/{experiment_id}/tables", summary="The tables of the data")
async def list_tables(experiment_id: UUID, context: InContext, key: ApiKey) -> TableList:
    """What the export writes, by name, with columns and the number of rows. Of an experiment that goes on they may be
    a quarter of a minute old."""
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
    found = await context.tables.heads(experiment_id, context.clock.now())
    return TableList(tables=[TableHeadResource.model_validate(one, from_attributes=True) for one in found])


@router.get(
    "/experiments/{experiment_id}/tables/{name:path}",
    summary="Rows of a table of the data",
    response_model=TablePageResource,
    responses=_CSV,
)
async def read_table(
    experiment_id: UUID,
    name: Annotated[str, Path(max_length=200, pattern=NO_NUL)],
    context: InContext,
    key: ApiKey,
    where: Where = [],  # noqa: B006 - FastAPI copies it
    after: Annotated[int, Query(ge=0, le=2**31 - 1, description="How many rows to leave out.")] = 0,
    limit: Annotated[int, Query(ge=1, le=1000)] = 100,
    format: Annotated[Literal["json", "csv"], Query(description="`csv`: all rows, as a file.")] = "json",
) -> Response:
    """The values are texts, as in the file. The name of a table in a folder is its path."""
    wanted = _values(where)
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
    now = context.clock.now()
    if format == "csv":
        pieces = await context.tables.csv(experiment_id, name, now, wanted, after=after)
        headers = {"Content-Disposition": f'attachment; filename="{name.replace("/", "-")}.csv"'}
        return StreamingResponse(pieces, media_type="text/csv", headers=headers)
    found = await context.tables.page(experiment_id, name, now, wanted, after=after, most=limit)
    end = after + len(found.rows)
    page = TablePageResource(
        name=name,
        columns=list(found.columns),
        rows=[list(row) for row in found.rows],
        found=found.found,
        next_after=end if end < found.found else None,
    )
    return Response(page.model_dump_json(), media_type="application/json")


@router.get("/experiments/{experiment_id}/charts", summary="The charts of the data")
async def list_charts(experiment_id: UUID, context: InContext, key: ApiKey) -> ChartList:
    """Made of the same files as the tables."""
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
    found = await context.tables.charts(experiment_id, context.clock.now())
    return ChartList(charts=[ChartHead.model_validate(one, from_attributes=True) for one in found])


@router.get("/experiments/{experiment_id}/charts/{chart_id}", summary="A chart with its rows")
async def read_chart(
    experiment_id: UUID, chart_id: Annotated[str, Path(max_length=400, pattern=NO_NUL)], context: InContext, key: ApiKey
) -> ChartResource:
    """A Vega-Lite specification, and the rows of the data file that it draws."""
    async with context.database.transaction() as session:
        await owned(session, context, key, experiment_id, "read")
    found = await context.tables.chart(experiment_id, chart_id, context.clock.now())
    return ChartResource.model_validate(found, from_attributes=True)


def _values(where: Sequence[str]) -> dict[str, str]:
    values = {}
    for one in where:
        column, colon, value = one.partition(":")
        if not colon:
            raise InvalidInput("The rows cannot be chosen.", [Problem("where", repr(one), "column:value")])
        values[column] = value
    return values
