"""Tables of an experiment's data."""

from typing import Any

from pydantic import Field

from parley_lab.gateway.resources.base import Resource


class TableHeadResource(Resource):
    name: str = Field(examples=["participants"])
    """That of the file, without `.csv`."""
    columns: list[str]
    rows: int = Field(examples=[12])


class TableList(Resource):
    tables: list[TableHeadResource]


class TablePageResource(Resource):
    name: str = Field(examples=["participants"])
    columns: list[str]
    rows: list[list[str]]
    found: int = Field(examples=[12])
    """How many rows fit in all."""
    next_after: int | None
    """Give this as `after` to read on; null at the end."""


class ChartHead(Resource):
    id: str = Field(examples=["flow"])
    title: str = Field(examples=["How participants ended"])
    table: str = Field(examples=["participants"])
    """The table whose rows are drawn."""
    rows: int
    is_made_up: bool
    """Whether the mock or made-up people gave any of them."""


class ChartList(Resource):
    charts: list[ChartHead]


class ChartResource(Resource):
    id: str = Field(examples=["flow"])
    title: str = Field(examples=["How participants ended"])
    note: str = Field(examples=["The number of participants, people and agents, by their status."])
    """One sentence: it says what is drawn, and of whom."""
    table: str = Field(examples=["participants"])
    columns: list[str] = Field(examples=[["status", "treatment"]])
    rows: list[list[str | float | None]]
    """As in the file; what is drawn as a number is one."""
    spec: dict[str, Any]
    """Vega-Lite 6. Its data have the name `rows`: a program sets `spec["data"]` to `{"values": [...]}`."""
    is_made_up: bool
    cautions: list[str]
