"""Live streams: one reader per followed cohort reads new events once, for all its streams.

Postgres tells of a fact with the commit, which wakes the reader; whenever the connection that hears of them is back,
and every few seconds, all that are behind are woken. Readers that are awake at the same time read by one statement. No
other database connection is held and no transaction is open while a stream waits or sends. A client that reads too
slowly is cut off and resumes from the last cursor it has seen.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Final
from uuid import UUID

import structlog
from fastapi.sse import KEEPALIVE_COMMENT

from parley_lab.base.background import repeat
from parley_lab.base.urgency import Urgency, urgency
from parley_lab.gateway.events import Frame
from parley_lab.gateway.typists import TypingFrame, Typists
from parley_lab.store.batcher import Batcher
from parley_lab.store.session import Database
from parley_lab.store.statements import Row
from parley_lab.talk import streams
from parley_lab.talk.streams import hear_facts

log = structlog.get_logger(__name__)

BATCH = 500
_COHORTS_AT_ONCE: Final = 256
_EVENTS_AT_ONCE: Final = 8_000
"""Of all cohorts that are read together: more would hold up everything else that the process does."""
RETRY_MS = 2000


@dataclass(frozen=True, slots=True)
class Tick:
    """What a stream says besides events: asked for every so many seconds, empty when there is nothing to say."""

    every_seconds: float
    tell: Callable[[], Awaitable[bytes]]


Frames = tuple[Frame | TypingFrame, ...]
Show = Callable[[Frame | TypingFrame], bytes | None]
"""What a stream sends of an event or a hint; None for one that its reader may not see."""


class Listener:
    """The bounded inbox of one stream: a client whose inbox is full is cut off.

    It uses no queue and no event of asyncio: each keeps lists of waiting tasks, which take 4 KiB of an idle stream.
    """

    def __init__(self, backlog: int) -> None:
        self._backlog = backlog
        self._inbox: list[Frames] = []
        self._waiting: asyncio.Future[None] | None = None
        self.is_over = False

    def offer(self, frames: Frames) -> None:
        if self.is_over:
            return
        if len(self._inbox) == self._backlog:
            log.warning("stream.too_slow")
            self.end()
            return
        self._inbox.append(frames)
        self._wake()

    def end(self) -> None:
        self.is_over = True
        self._wake()

    async def next(self, timeout_seconds: float) -> Frames:
        """All that has come; nothing after the time-out, or at the end."""
        if not (self._inbox or self.is_over):
            loop = asyncio.get_running_loop()
            self._waiting = loop.create_future()
            timer = loop.call_later(timeout_seconds, self._wake)
            try:
                await self._waiting
            finally:
                timer.cancel()
        come, self._inbox = self._inbox, []
        return tuple(chain.from_iterable(come))

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)


Place = tuple[UUID, int]
"""A cohort, and the number of the event up to which it was read."""
News = tuple[Sequence[Row], bool]
"""The next events of a cohort, and whether there may be more."""


class _Reader:
    """Reads the events of one cohort from `position` on, for everybody who listens."""

    def __init__(
        self,
        reading: Batcher[None, Place, News],
        cohort_id: UUID,
        position: int,
        before_telling: Callable[[UUID, Sequence[Row]], None],
    ) -> None:
        self._reading = reading
        self._before_telling = before_telling
        self._cohort_id = cohort_id
        self.position = position
        self.listeners: set[Listener] = set()
        # Awake at first: something may have happened since `position` was looked up.
        self.wake = asyncio.Event()
        self.wake.set()
        self.task = asyncio.create_task(repeat(self._read_on, woken_by=self.wake), name=f"stream {cohort_id}")

    def stop(self) -> None:
        """Read no more. What is being read is read to its end: broken off, it would cost its database connection."""
        self.task.cancel()

    async def _read_on(self) -> None:
        while await self._read():
            pass

    async def _read(self) -> bool:
        rows, may_be_more = await self._reading.do(None, (self._cohort_id, self.position))
        if rows:
            frames = tuple(Frame(row) for row in rows)
            self.position = frames[-1].seq
            self._before_telling(self._cohort_id, rows)
            self.tell(frames)
        return may_be_more

    def tell(self, frames: Frames) -> None:
        for listener in tuple(self.listeners):
            listener.offer(frames)


class Live:
    """All live streams of this gateway."""

    def __init__(self, database: Database, *, ping_seconds: float, look_seconds: float, backlog: int) -> None:
        self._database = database
        self._ping_seconds = ping_seconds
        self._look_seconds = look_seconds
        self._backlog = backlog
        self._readers: dict[UUID, _Reader] = {}
        self._reading = Batcher[None, Place, News](self._read, most=_COHORTS_AT_ONCE)
        self._tasks: set[asyncio.Task[None]] = set()
        self._typists = Typists(self._tell_of_typing)
        self._listeners: set[Listener] = set()
        self._look_now = asyncio.Event()
        self._looking: list[asyncio.Task[None]] = []
        self._news = asyncio.Condition()
        self._waiting_for_news = 0
        self._closed = False

    async def start(self) -> None:
        """Listen to Postgres, and look by ourselves from time to time."""
        self._closed = False
        self._looking = [
            asyncio.create_task(
                repeat(self._look, woken_by=self._look_now, every_seconds=self._look_seconds), name="streams"
            ),
            asyncio.create_task(
                hear_facts(self._database.url, self._hear_of, self._look_now.set, self._typists.hear), name="facts"
            ),
        ]

    def count(self) -> int:
        """How many streams there are."""
        return len(self._listeners)

    async def close(self) -> None:
        """End every stream, and listen no more; safe to repeat."""
        self._closed = True
        for listener in tuple(self._listeners):
            listener.end()
        for task in self._looking:
            task.cancel()
        await asyncio.gather(*self._looking, return_exceptions=True)
        self._looking = []
        self._typists.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._readers.clear()

    async def follow(
        self,
        sent: dict[UUID, int],
        show: Show,
        *,
        mark: Callable[[], bytes] | None = None,
        look: Callable[[], Awaitable[bool]] | None = None,
        tick: Tick | None = None,
    ) -> AsyncGenerator[bytes, None]:
        """What `show` gives for every event after the positions in `sent`, without a gap, until it is ended.

        `sent` is kept up to date. `mark`, if there is one, gives the line before the last event of a chunk. `look` is
        asked every few seconds whether it goes on.
        """
        # One read may bring news of each cohort before the stream gets to send any.
        listener = Listener(self._backlog + len(sent))
        try:
            ends = await self._attach(listener, sent)
            for cohort_id, end in ends.items():
                async for frames in self._backlog_of(cohort_id, sent[cohort_id], end):
                    if chunk := _shown(frames, sent, show, mark):
                        yield chunk
            # An idle stream keeps nothing of what it has sent: with it, it takes a fifth more memory.
            frames, chunk = (), b""
            clock = asyncio.get_running_loop().time
            told_at = looked_at = ticked_at = clock()
            while not (listener.is_over or self._closed):
                until = told_at + self._ping_seconds
                if look is not None:
                    until = min(until, looked_at + self._look_seconds)
                if tick is not None:
                    until = min(until, ticked_at + tick.every_seconds)
                frames = await listener.next(max(0.0, until - clock()))
                if listener.is_over:
                    return
                if look is not None and clock() >= looked_at + self._look_seconds:
                    if not await look():
                        return
                    looked_at = clock()
                chunk = _shown(frames, sent, show, mark)
                if tick is not None and clock() >= ticked_at + tick.every_seconds:
                    chunk += await tick.tell()
                    ticked_at = clock()
                # What happens to others is no sign of life for who is not shown it.
                if not chunk and clock() >= told_at + self._ping_seconds:
                    chunk = KEEPALIVE_COMMENT
                if chunk:
                    yield chunk
                    told_at = clock()
                frames, chunk = (), b""
        finally:
            self._detach(listener, sent)

    async def catch_up(
        self, sent: dict[UUID, int], show: Show, *, mark: Callable[[], bytes] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """What `show` gives for every event after the positions in `sent` until now."""
        async with self._database.read() as session:
            ends = await streams.last_of(session, list(sent))
        for cohort_id, end in ends.items():
            async for frames in self._backlog_of(cohort_id, sent[cohort_id], end):
                if chunk := _shown(frames, sent, show, mark):
                    yield chunk

    async def cohorts_of(self, experiment_id: UUID) -> list[UUID]:
        async with self._database.read() as session:
            return await streams.cohorts_of(session, experiment_id)

    async def wait_for_news(self) -> None:
        """Return when something has happened somewhere, or after a while."""
        self._waiting_for_news += 1
        try:
            async with asyncio.timeout(min(self._look_seconds, self._ping_seconds)), self._news:
                await self._news.wait()
        except TimeoutError:
            pass
        finally:
            self._waiting_for_news -= 1

    def typing_in(self, cohort_id: UUID) -> tuple[TypingFrame, ...]:
        """Who types in the conversations of the cohort now."""
        return self._typists.now(cohort_id)

    @property
    def is_closed(self) -> bool:
        return self._closed

    async def _attach(self, listener: Listener, cohort_ids: Iterable[UUID]) -> dict[UUID, int]:
        """Have the listener told of every event after the returned positions."""
        wanted = list(cohort_ids)
        async with self._database.read() as session:
            newest = await streams.last_of(session, wanted)
        self._listeners.add(listener)
        ends = {}
        # No waiting from here on: nothing can come between knowing a position and listening from it.
        for cohort_id in wanted:
            reader = self._readers.get(cohort_id)
            if reader is None:
                reader = self._readers[cohort_id] = _Reader(
                    self._reading, cohort_id, newest.get(cohort_id, 0), self._typists.notice
                )
                self._tasks.add(reader.task)
                reader.task.add_done_callback(self._tasks.discard)
            reader.listeners.add(listener)
            ends[cohort_id] = reader.position
            if typing := self._typists.now(cohort_id):
                listener.offer(typing)
        return ends

    def _detach(self, listener: Listener, cohort_ids: Iterable[UUID]) -> None:
        self._listeners.discard(listener)
        for cohort_id in cohort_ids:
            reader = self._readers.get(cohort_id)
            if reader is not None:
                reader.listeners.discard(listener)
                if not reader.listeners:
                    self._readers.pop(cohort_id).stop()

    async def _read(self, places: Sequence[Place]) -> list[News | Exception]:
        urgency.set(Urgency.TELLING)
        most = min(BATCH, _EVENTS_AT_ONCE // len(places))
        async with self._database.read() as session:
            # A cohort may be here twice: by a reader that has just stopped, and by the one after it.
            found = await streams.events_after(session, [(*place, streams.NEWEST) for place in places], most=most)
        return [(rows, len(rows) == most) for rows in found]

    async def _backlog_of(self, cohort_id: UUID, after: int, until: int) -> AsyncIterator[Frames]:
        while after < until:
            async with self._database.read() as session:
                (rows,) = await streams.events_after(session, [(cohort_id, after, until)], most=BATCH)
            if not rows:
                return
            frames = tuple(Frame(row) for row in rows)
            after = frames[-1].seq
            yield frames

    def _hear_of(self, cohort_id: str) -> None:
        reader = self._readers.get(UUID(cohort_id))
        if reader is not None:
            reader.wake.set()
        elif self._waiting_for_news:
            self._look_now.set()

    def _tell_of_typing(self, cohort_id: UUID, frame: TypingFrame) -> None:
        reader = self._readers.get(cohort_id)
        if reader is not None:
            reader.tell((frame,))

    async def _look(self) -> None:
        async with self._news:
            self._news.notify_all()
        await self._wake_those_behind()

    async def _wake_those_behind(self) -> None:
        if not self._readers:
            return
        async with self._database.read() as session:
            newest = await streams.last_of(session, tuple(self._readers))
        for cohort_id, last in newest.items():
            reader = self._readers.get(cohort_id)
            if reader is not None and reader.position < last:
                reader.wake.set()


def _shown(
    frames: Iterable[Frame | TypingFrame], sent: dict[UUID, int], show: Show, mark: Callable[[], bytes] | None
) -> bytes:
    """The frames that were not sent before, encoded; `sent` is moved on."""
    chunks = []
    for frame in frames:
        if isinstance(frame, Frame):
            if frame.seq <= sent[frame.cohort_id]:
                continue
            sent[frame.cohort_id] = frame.seq
        if (chunk := show(frame)) is not None:
            chunks.append(chunk)
    if chunks and mark is not None:
        chunks.insert(-1, mark())
    return b"".join(chunks)
