"""Work that is done row by row: a row that fails is tried again with growing pauses, and holds up no other.

The pauses are those of one process; another one learns by its own failure. The alert is one per row, whatever process
raises it.
"""

from collections.abc import Awaitable, Callable, Iterable
from datetime import datetime, timedelta
from functools import partial
from typing import Final, Literal, TypeVar
from uuid import UUID

import structlog
from sqlalchemy import text

from parley_lab.base.background import do_quietly
from parley_lab.base.errors import GivenUp, Unavailable
from parley_lab.members.alerts import raise_alert
from parley_lab.members.held_cohorts import COHORT_HELD, have_pages_read
from parley_lab.store.session import Database

log = structlog.get_logger(__name__)

Kind = Literal["cohort", "experiment", "member", "room", "thread", "timer"]
ResultT = TypeVar("ResultT")

WORK_FAILED: Final = "work_failed"
"""The type of the alert about a row that fails."""
_FIRST_PAUSE: Final = timedelta(seconds=1)
_LONGEST_PAUSE: Final = timedelta(minutes=5)
_OF_COHORT: Final = "JOIN cohorts c ON c.id = t.cohort_id WHERE t.id = :id"
_WHOSE: Final = {
    "cohort": text("SELECT experiment_id, id AS cohort_id, path FROM cohorts WHERE id = :id"),
    "experiment": text(
        "SELECT id AS experiment_id, CAST(NULL AS uuid) AS cohort_id, '' AS path FROM experiments WHERE id = :id"
    ),
    "member": text("SELECT experiment_id, cohort_id, path FROM members WHERE id = :id"),
    "room": text("SELECT experiment_id, CAST(NULL AS uuid) AS cohort_id, stage_id AS path FROM rooms WHERE id = :id"),
    "thread": text(f"SELECT c.experiment_id, t.cohort_id, t.path FROM threads t {_OF_COHORT}"),  # noqa: S608 - constants
    "timer": text(f"SELECT c.experiment_id, t.cohort_id, t.path FROM timers t {_OF_COHORT}"),  # noqa: S608 - constants
}


class Guard:
    """The rows that have failed in one process, and when each may be tried again."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._pauses: dict[tuple[Kind, UUID], tuple[datetime, timedelta]] = {}

    def held(self, kind: Kind, now: datetime) -> list[UUID]:
        """The rows of this kind that are not to be tried yet."""
        return [row_id for (of_kind, row_id), (until, _) in self._pauses.items() if of_kind == kind and until > now]

    def seconds_left(self, kind: Kind, row_id: UUID, now: datetime) -> float:
        """How long the row is not to be tried; 0: it may be tried now."""
        until, _ = self._pauses.get((kind, row_id), (now, _FIRST_PAUSE))
        return max(0.0, (until - now).total_seconds())

    async def each(
        self, kind: Kind, row_ids: Iterable[UUID], work: Callable[[UUID], Awaitable[ResultT]], now: datetime
    ) -> list[ResultT]:
        """The results for the rows that may be tried now and do not fail.

        Raises:
            Unavailable: Postgres is away; that is no fault of a row.
        """
        found = [await self.do(kind, row_id, partial(work, row_id), now) for row_id in row_ids]
        return [one for one in found if one is not None]

    async def do(
        self, kind: Kind, row_id: UUID, work: Callable[[], Awaitable[ResultT]], now: datetime
    ) -> ResultT | None:
        """The result of work on one row; None where it fails, or is not to be tried yet.

        Raises:
            Unavailable: Postgres is away; that is no fault of a row.
        """
        if self.seconds_left(kind, row_id, now):
            return None
        try:
            result = await work()
        except GivenUp as error:
            await self._push_back(kind, row_id, now, error)
        except Unavailable:
            raise
        except Exception as error:  # noqa: BLE001 - logged, and told to the experimenter
            await self._push_back(kind, row_id, now, error)
        else:
            self._pauses.pop((kind, row_id), None)
            return result
        return None

    async def _push_back(self, kind: Kind, row_id: UUID, now: datetime, error: Exception) -> None:
        """Let the row rest, for twice as long as the last time."""
        # A row that was not tried again in its time is done elsewhere, or deleted.
        self._pauses = {
            row: (until, pause) for row, (until, pause) in self._pauses.items() if until + _LONGEST_PAUSE > now
        }
        _, last = self._pauses.get((kind, row_id), (now, _FIRST_PAUSE / 2))
        pause = min(2 * last, _LONGEST_PAUSE)
        log.error("row.failed", kind=kind, id=str(row_id), again_in_seconds=pause.total_seconds(), exc_info=error)
        self._pauses[kind, row_id] = now + pause, pause
        await do_quietly(partial(self._alert_once, kind, row_id, now, error))

    async def _alert_once(self, kind: Kind, row_id: UUID, now: datetime, error: Exception) -> None:
        is_new = await self._alert(kind, row_id, now, error)
        if is_new and kind == "cohort":
            # Apart from the alert, which is stored whatever fails in the cohort.
            async with self._database.transaction() as session:
                await have_pages_read(session, row_id, now)

    async def _alert(self, kind: Kind, row_id: UUID, now: datetime, error: Exception) -> bool:
        async with self._database.transaction() as session:
            row = await session.first(_WHOSE[kind], {"id": row_id})
            if row is None:
                return False
            return await raise_alert(
                session,
                experiment_id=row.experiment_id,
                cohort_id=row.cohort_id,
                path=f"{row.path}/{kind}/failed".removeprefix("/"),
                alert_type=COHORT_HELD if kind == "cohort" else WORK_FAILED,
                text=_in_words(kind, row.path, error),
                now=now,
            )


def _in_words(kind: Kind, path: str, error: Exception) -> str:
    # Only what kind of error it is: its message may hold what people wrote.
    name = type(error).__name__
    if kind == "cohort":
        return (
            f"The rules of a stage of {path} fail ({name}). Nothing goes on there until they do not; its clocks wait."
        )
    work = f"Work of the lab on {path or 'this experiment'} ({kind}) fails: {name}."
    return f"{work} It is tried again, ever more rarely; the log has the error."
