"""The limit of a person's messages."""

from datetime import datetime
from math import ceil


def seconds_to_wait(limit: tuple[int, float] | None, limiting_at: datetime | None, now: datetime) -> int:
    """Whole seconds until a person may post again; 0: now.

    `limit`: so many messages in so many seconds. `limiting_at`: when the message was stored that has to leave the
    window first; None: the person has posted fewer than the limit.
    """
    if limit is None or limiting_at is None:
        return 0
    _, seconds = limit
    return max(0, ceil(seconds - (now - limiting_at).total_seconds()))
