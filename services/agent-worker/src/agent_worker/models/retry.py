"""When a call that failed is made again: how long to wait, and how many of all calls may be repetitions."""

from collections import defaultdict, deque
from datetime import datetime, timedelta
from random import Random
from typing import Final

from agent_worker.models.limiter import Closed
from shared.contracts.models import ModelReply

_FIRST_WAIT_SECONDS: Final = 1.0
_LONGEST_WAIT_SECONDS: Final = 60.0
_WINDOW: Final = timedelta(minutes=1)


def backoff_seconds(reply: ModelReply, attempt: int, rng: Random) -> float | None:
    """Seconds until the next attempt after attempt number `attempt` (from 1); None when no attempt can help.

    Doubles from one second with jitter, so that a crowd refused together does not come back together. What the
    provider asks for is the least. An invalid reply is asked again at once: waiting does not make it better.
    """
    if not reply.can_retry:
        return None
    if reply.status == "invalid":
        return 0.0
    wait = min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2.0 ** min(attempt - 1, 16))
    jittered = wait * rng.uniform(0.75, 1.25)
    return jittered if reply.retry_after_seconds is None else max(reply.retry_after_seconds, 0.0) + 0.25 * jittered


class RetriesSpent(Closed):
    """So many calls of the account have failed that this one is not repeated yet."""

    def __str__(self) -> str:
        return f"too many calls with the key of {self.name!r} failed; the next attempt waits"


class RetryBudget:
    """How many calls of one account this process may repeat: so many within a minute, and a share of its calls.

    Without one an outage multiplies the load by the number of attempts just when the provider can bear it least. A
    process keeps its own count: the share holds for the sum of all processes, the least number holds for each.
    """

    def __init__(self, *, share: float = 0.2, least_per_minute: int = 10) -> None:
        self._share = share
        self._least_per_minute = least_per_minute
        self._calls: defaultdict[str, deque[datetime]] = defaultdict(deque)
        self._retries: defaultdict[str, deque[datetime]] = defaultdict(deque)

    def note_call(self, account: str, now: datetime) -> None:
        """A call was made that repeats none."""
        self._calls[account].append(now)
        _forget(self._calls[account], now)

    def take(self, account: str, now: datetime) -> bool:
        """Whether one more call may be repeated now; then it counts."""
        calls, retries = self._calls[account], self._retries[account]
        _forget(calls, now)
        _forget(retries, now)
        if len(retries) >= self._least_per_minute + int(self._share * len(calls)):
            return False
        retries.append(now)
        return True

    def wait_seconds(self, rng: Random) -> float:
        """How long to wait when there was none left; spread, so that those who wait do not come back together."""
        return _WINDOW.total_seconds() * rng.uniform(0.25, 0.75)


def _forget(moments: deque[datetime], now: datetime) -> None:
    while moments and moments[0] <= now - _WINDOW:
        moments.popleft()
