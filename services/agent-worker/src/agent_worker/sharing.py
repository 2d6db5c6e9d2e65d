"""Which draft a worker takes next when it has its hands full: the experiments that wait share its slots.

A hint then means "there is work for this provider", and brings the draft whose turn it is; so it does not matter whose
hint was first, or lost.
"""

import asyncio
from collections import Counter, deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final
from uuid import UUID

from shared.clock import Clock
from shared.db import due_drafts
from shared.db.session import Database

ALONE: Final = 32
"""With fewer drafts in hand there is nothing to share: a hint brings its own draft."""
_MOST_LINED_UP: Final = 256


class Sharing:
    """What one process has in hand, by experiment, and who comes next, by provider."""

    def __init__(self, database: Database, clock: Clock) -> None:
        self._database = database
        self._clock = clock
        self._in_hand: Counter[UUID] = Counter()
        self._lines: dict[str, deque[UUID]] = {}
        self._lining_up = asyncio.Lock()

    @property
    def is_full(self) -> bool:
        return self._in_hand.total() >= ALONE

    @contextmanager
    def holding(self, experiment_id: UUID) -> Iterator[None]:
        """A draft of this experiment is in hand for as long as the block lasts."""
        self._in_hand[experiment_id] += 1
        try:
            yield
        finally:
            self._in_hand[experiment_id] -= 1
            if not self._in_hand[experiment_id]:
                del self._in_hand[experiment_id]

    async def next(self, provider: str) -> UUID | None:
        """The draft whose turn it is; None when nobody waits. Others may have taken it: ask again then."""
        line = self._lines.setdefault(provider, deque())
        if not line:
            async with self._lining_up:
                if not line:
                    line.extend(await self._lined_up(provider))
        return line.popleft() if line else None

    async def _lined_up(self, provider: str) -> list[UUID]:
        async with self._database.looking() as session:
            return await due_drafts.in_turn(
                session, provider, self._clock.now(), in_hand=dict(self._in_hand), most=_MOST_LINED_UP
            )
