"""Many rows at once: lines in the format of COPY, and inserts of JSON."""

import re
from collections.abc import Sequence
from functools import cache, lru_cache

from sqlalchemy import TextClause, text

CopyLine = Sequence[str | None]
"""The values of one row, as text, in the order of the columns that a COPY names."""


@cache
def insert_into(table: str, columns: Sequence[str]) -> TextClause:
    names = ", ".join(columns)
    rows = f"jsonb_populate_recordset(CAST(NULL AS {table}), CAST(:rows AS jsonb))"
    return text(f"INSERT INTO {table} ({names}) SELECT {names} FROM {rows}")  # noqa: S608 - names of parley_lab.store.tables


def copied(line: CopyLine) -> str:
    return "\t".join(map(_field, line)) + "\n"


@lru_cache(maxsize=4096)
def _field(value: str | None) -> str:
    """A value in COPY's format; cached, because most values repeat in the next line."""
    if value is None:
        return r"\N"
    return value.translate(_ESCAPED) if _SPECIAL.search(value) else value


_SPECIAL = re.compile(r"[\\\t\n\r]")
_ESCAPED = str.maketrans({"\\": r"\\", "\t": r"\t", "\n": r"\n", "\r": r"\r"})
