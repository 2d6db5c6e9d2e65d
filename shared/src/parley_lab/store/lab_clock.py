"""The clock of a lab of several processes: each goes by Postgres' time, so that no machine's clock matters."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import monotonic
from typing import Final

from sqlalchemy import text

from parley_lab.store.session import Database

LOOK_SECONDS: Final = 10.0
"""How often a process looks what time it is; in between it counts by its monotonic clock, which does not jump."""
_TREMBLE: Final = timedelta(milliseconds=100)

_NOW = text("SELECT clock_timestamp() AS now")


class LabClock:
    """A `parley_lab.base.clock.Clock`. Until the first `look` it is the machine's."""

    def __init__(self, database: Database, *, monotonic: Callable[[], float] = monotonic) -> None:
        self._database = database
        self._monotonic = monotonic
        self._counted_from = monotonic()
        self._was = datetime.now(UTC)
        self._has_looked = False

    def now(self) -> datetime:
        return self._at(self._monotonic())

    async def look(self) -> None:
        """Ask Postgres for the time.

        The answer counts as given halfway between question and answer. It changes the clock only if it is further
        away than that can be wrong and than matters, so that a busy server makes no clock tremble.

        Raises:
            Unavailable: Postgres cannot be reached; the clock goes on.
        """
        async with self._database.read() as session:
            # Waiting for a connection is no part of the time between question and answer.
            await session.connect()
            asked_at = self._monotonic()
            then = (await session.one(_NOW)).now
            answered_at = self._monotonic()
        unsure = timedelta(seconds=(answered_at - asked_at) / 2)
        found = (then + unsure).astimezone(UTC)
        if not self._has_looked or abs(found - self._at(answered_at)) > unsure + _TREMBLE:
            self._was, self._counted_from = found, answered_at
            self._has_looked = True

    def _at(self, moment: float) -> datetime:
        return self._was + timedelta(seconds=moment - self._counted_from)
