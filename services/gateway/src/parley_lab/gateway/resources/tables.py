"""Tables of an experiment's data."""

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
