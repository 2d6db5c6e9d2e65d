"""A clock that only a test moves."""

from datetime import UTC, datetime, timedelta

START = datetime(2030, 1, 1, 12, tzinfo=UTC)


class FakeClock:
    """A `parley_lab.base.clock.Clock`."""

    def __init__(self, start: datetime = START) -> None:
        self._now = start

    def now(self) -> datetime:
        return self._now

    def set(self, moment: datetime) -> None:
        self._now = moment

    def advance(self, seconds: float) -> None:
        self._now += timedelta(seconds=seconds)
