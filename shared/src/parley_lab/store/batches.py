"""Statements that serve several callers at once.

Requests that come while one is under way go with the next one, so that under load a message or a page costs Postgres
and this process less. No caller waits for others to come: what is asked for alone is sent at once.
"""

import re
from collections.abc import Callable, Hashable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass
from functools import partial
from typing import Final, Protocol

from sqlalchemy import TextClause, text

from parley_lab.base.logs import correlation
from parley_lab.base.urgency import Urgency, urgency
from parley_lab.store.batcher import Batcher
from parley_lab.store.statements import Params, Row, as_json

_AT_ONCE: Final = 32
_PARAMETER: Final = re.compile(r"(?<![:\w]):(?=[a-z])")


@dataclass(frozen=True, slots=True)
class ReadForMany:
    """A SELECT that finds one row at most: for one caller, and for each of several items."""

    one: TextClause
    many: TextClause


def of_item(statement: str) -> str:
    """The statement with the columns of `item` in place of its parameters."""
    return _PARAMETER.sub("item.", statement)


def items_with(**columns: str) -> str:
    """A SELECT of the items of a statement that serves several callers: their `place`, and these columns of a type.

    Postgres guesses that there are a hundred, and would read whole tables to join them. Of those that equal something
    it guesses that there is one.
    """
    given = ", ".join(f"{name} {of}" for name, of in columns.items())
    given = f"jsonb_to_recordset(CAST(:items AS jsonb)) AS i(place int, one int, {given})"
    return f"SELECT * FROM {given} WHERE i.one = 1"  # noqa: S608 - put together from constants


def read_for_many(statement: str, **columns: str) -> ReadForMany:
    """The SELECT for one caller, and for several; `columns` are its parameters, with their types."""
    many = f"""
        SELECT found.*, item.place
        FROM ({items_with(**columns)}) item CROSS JOIN LATERAL ({of_item(statement)} OFFSET 0) found
    """  # noqa: S608 - put together from constants
    return ReadForMany(text(statement), text(many))


class _Reading(Protocol):
    async def all(self, statement: TextClause, params: Params | None = None) -> Sequence[Row]: ...


_Item = tuple[Hashable | None, Params]


class Batches:
    """Runs such statements on connections of its own, one of each statement at a time."""

    def __init__(
        self, connect: Callable[[], AbstractAsyncContextManager[_Reading]], *, patience_seconds: float
    ) -> None:
        self._connect = connect
        self._patience_seconds = patience_seconds
        self._batchers: dict[TextClause, Batcher[None, _Item, Row | None]] = {}

    async def do(self, statement: TextClause, item: Params, *, key: Hashable | None = None) -> Row | None:
        """The row whose `place` is that of this item among :items; None if there is none.

        `key`: what the item changes. The second of two items in a batch with the same key gets None.

        Raises:
            Unavailable: Postgres cannot be reached, or those before have taken too long.
        """
        if statement not in self._batchers:
            self._batchers[statement] = Batcher(
                partial(self._work, statement), most=_AT_ONCE, patience_seconds=self._patience_seconds
            )
        return await self._batchers[statement].do(None, (key, item))

    async def _work(self, statement: TextClause, asked: Sequence[_Item]) -> Sequence[Row | None]:
        # The context is that of the caller who came first.
        urgency.set(Urgency.PERSON)
        correlation.set("")
        first: dict[Hashable, int] = {}
        for place, (key, _) in enumerate(asked):
            first.setdefault(object() if key is None else key, place)
        items = as_json([{"place": place, "one": 1, **asked[place][1]} for place in first.values()])
        found: list[Row | None] = [None] * len(asked)
        async with self._connect() as session:
            for row in await session.all(statement, {"items": items}):
                found[row.place] = row
        return found
