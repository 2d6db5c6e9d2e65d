"""When a failed call is repeated: the back-off, and the share of calls that may be repetitions."""

from collections import defaultdict, deque
from contextlib import suppress
from datetime import datetime, timedelta
from random import Random
from typing import Final

from parley_lab.agent_worker.models.limiter import Closed
from parley_lab.contracts.models import ModelReply

_FIRST_WAIT_SECONDS: Final = 1.0
_LONGEST_WAIT_SECONDS: Final = 60.0
_WINDOW: Final = timedelta(minutes=1)


def backoff_seconds(reply: ModelReply, attempt: int, rng: Random) -> float | None:
    """Seconds until the next attempt after attempt number `attempt` (from 1); None when no attempt can help.

    Doubles from one second, with jitter, so that calls refused together are not repeated together. It is at least what
    the provider asks for. An invalid reply is asked again at once, because waiting does not improve it.
    """
    if not reply.can_retry:
        return None
    if reply.status == "invalid":
        return 0.0
    wait = min(_LONGEST_WAIT_SECONDS, _FIRST_WAIT_SECONDS * 2.0 ** min(attempt - 1, 16))
    jittered = wait * rng.uniform(0.75, 1.25)
    return jittered if reply.retry_after_seconds is None else max(reply.retry_after_seconds, 0.0) + 0.25 * jittered


class RetriesSpent(Closed):
    """Too many calls of the account have failed; this one is not repeated yet."""

    def __str__(self) -> str:
        return f"too many calls with the key of {self.name!r} failed; the next attempt waits"


class RetryBudget:
    """How many calls of one account this process may repeat: so many in a minute, and a share of its calls.

    Without a budget an outage multiplies the load by the number of attempts while the provider can bear it least. Each
    process counts for itself: the share holds for all processes together, the minimum for each.
    """

    def __init__(self, *, share: float = 0.2, least_per_minute: int = 10) -> None:
        self._share = share
        self._least_per_minute = least_per_minute
        self._calls: defaultdict[str, deque[datetime]] = defaultdict(deque)
        self._retries: defaultdict[str, deque[datetime]] = defaultdict(deque)

    def note_call(self, account: str, now: datetime) -> None:
        """Count a call that is no repetition."""
        self._calls[account].append(now)
        _forget(self._calls[account], now)

    def has_room(self, account: str, now: datetime) -> bool:
        """Whether one more call may be repeated now."""
        calls, retries = self._calls[account], self._retries[account]
        _forget(calls, now)
        _forget(retries, now)
        return len(retries) < self._least_per_minute + int(self._share * len(calls))

    def take(self, account: str, now: datetime) -> bool:
        """Whether one more call may be repeated now; then it is counted."""
        if not self.has_room(account, now):
            return False
        self._retries[account].append(now)
        return True

    def give_back(self, account: str, taken_at: datetime) -> None:
        """Count the call no longer that was taken then, because it was not made."""
        with suppress(ValueError):
            self._retries[account].remove(taken_at)

    def wait_seconds(self, rng: Random) -> float:
        """How long to wait for a budget that is spent; with jitter, so that repetitions spread."""
        return _WINDOW.total_seconds() * rng.uniform(0.25, 0.75)


def _forget(moments: deque[datetime], now: datetime) -> None:
    while moments and moments[0] <= now - _WINDOW:
        moments.popleft()
