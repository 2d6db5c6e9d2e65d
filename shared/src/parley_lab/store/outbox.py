"""The outbox for the publisher: reads rows that were left behind, deletes confirmed ones."""

from collections.abc import Sequence

from sqlalchemy import text

from parley_lab.base.failpoints import failpoint
from parley_lab.contracts.hints import Hint
from parley_lab.store.session import Database

# The database's clock wrote created_at, so the age of a row is measured by the same clock.
_LEFTOVER = text(
    """
    SELECT id, queue, type, subject_id, correlation, urgent FROM outbox
    WHERE created_at <= statement_timestamp() - make_interval(secs => :age_seconds)
    ORDER BY urgent DESC, id LIMIT :most
    """
)
_DELETE = text("DELETE FROM outbox WHERE id = ANY(:ids)")


class Outbox:
    """The outbox of one database. Rows younger than `age_seconds` are left to the process that wrote them."""

    def __init__(self, database: Database, *, age_seconds: float = 10.0) -> None:
        self._database = database
        self._age_seconds = age_seconds

    async def leftover(self, limit: int) -> Sequence[tuple[int, Hint]]:
        """Rows that are not published and deleted yet, urgent ones first; two processes may find the same."""
        async with self._database.read() as session:
            rows = await session.all(_LEFTOVER, {"age_seconds": self._age_seconds, "most": limit})
        return [(row.id, Hint(row.queue, row.type, row.subject_id, row.correlation, row.urgent)) for row in rows]

    async def delete(self, ids: Sequence[int]) -> None:
        """Delete confirmed rows; missing ones are no error."""
        await failpoint("outbox.confirmed")
        async with self._database.autocommit() as session:
            await session.run(_DELETE, {"ids": sorted(ids)})
