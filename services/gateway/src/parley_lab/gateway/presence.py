"""Whose live streams this gateway has, who has asked it for anything, and telling the lab of them."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime
from functools import partial
from typing import Final
from uuid import UUID, uuid4

from parley_lab.base.background import do_quietly, repeat
from parley_lab.base.clock import Clock
from parley_lab.people import presence
from parley_lab.store.session import Database

ASKED_SECONDS: Final = 1.0
"""How often the lab is told whose requests have come."""


class Presence:
    """The members who have a live stream here; a second tab counts once more."""

    def __init__(self, database: Database, clock: Clock, *, beat_seconds: float) -> None:
        self._database = database
        self._clock = clock
        self._beat_seconds = beat_seconds
        self._id = uuid4()
        self._started_at: datetime | None = None
        self._here: Counter[UUID] = Counter()
        self._asked: set[str] = set()
        self._tasks: list[asyncio.Task[None]] = []

    def start(self) -> None:
        self._started_at = self._clock.now()
        self._tasks = [
            asyncio.create_task(repeat(self.beat, every_seconds=self._beat_seconds), name="presence"),
            asyncio.create_task(repeat(self.note_asked, every_seconds=ASKED_SECONDS), name="requests"),
        ]

    async def close(self) -> None:
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []

    @property
    def streams(self) -> int:
        """How many live streams of members there are."""
        return self._here.total()

    @asynccontextmanager
    async def here(self, member_id: UUID) -> AsyncIterator[None]:
        """The member has a live stream for as long as the block lasts."""
        await self._database.transact(lambda session: presence.come(session, member_id, self._clock.now()))
        self._here[member_id] += 1
        try:
            yield
        finally:
            self._here[member_id] -= 1
            if not self._here[member_id]:
                del self._here[member_id]

    def has_asked(self, token_hash: str) -> None:
        """The person with this token has made a request."""
        self._asked.add(token_hash)

    async def note_asked(self) -> None:
        """Note who has made requests since the last time."""
        asked, self._asked = self._asked, set()
        if not asked:
            return
        now = self._clock.now()
        for member_id in await self._database.transact(lambda session: presence.have_asked(session, asked, now)):
            # Their next request brings back a member with whom this fails; the others do not wait for that.
            back = partial(presence.come_back, member_id=member_id, now=now)
            await do_quietly(partial(self._database.transact, back))

    async def beat(self) -> None:
        """Note whose streams are here now."""
        started_at = self._started_at
        if started_at is None:
            return
        async with self._database.transaction() as session:
            await presence.beat(session, self._id, started_at, self._here.keys(), self._clock.now())
