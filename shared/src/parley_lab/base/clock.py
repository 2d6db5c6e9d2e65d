"""Time as an argument: only the edges of the program ask the operating system for the time."""

from datetime import UTC, datetime
from typing import Protocol


class Clock(Protocol):
    def now(self) -> datetime:
        """The present time, aware and in UTC."""


class SystemClock:
    def now(self) -> datetime:
        return datetime.now(UTC)
