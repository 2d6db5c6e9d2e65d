"""SQL as the driver takes it."""

from collections.abc import Mapping, Sequence
from functools import cache
from typing import Any

import orjson
from sqlalchemy import TextClause
from sqlalchemy.dialects.postgresql.psycopg import PGDialect_psycopg

Params = Mapping[str, Any]
Row = Any
"""A named tuple of the columns."""
_DIALECT = PGDialect_psycopg(paramstyle="numeric_dollar")  # type: ignore[no-untyped-call]  # it says nothing of them


def as_json(value: Any) -> str:
    """JSON text for a `CAST(:name AS jsonb)` parameter."""
    return orjson.dumps(value, option=orjson.OPT_NON_STR_KEYS).decode()


@cache
def compiled(statement: TextClause) -> tuple[bytes, Sequence[str]]:
    """The statement with Postgres' own placeholders, and the names of its parameters in their order.

    Compiled once, as statements are constants. With its own placeholders the driver would read long ones every time.
    """
    found = statement.compile(dialect=_DIALECT)
    return str(found).encode(), tuple(found.positiontup or ())


def in_order(names: Sequence[str], params: Params | None) -> Sequence[Any] | None:
    return [(params or {})[name] for name in names] or None
