"""How long to wait before another attempt at a model."""

from random import Random
from typing import Final

from shared.contracts.models import ModelReply

_FIRST_WAIT_SECONDS: Final = 1.0
_LONGEST_WAIT_SECONDS: Final = 60.0


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
