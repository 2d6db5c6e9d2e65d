"""Time as an argument: nothing below the edges asks the operating system what time it is."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The present moment, aware and in UTC."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)
