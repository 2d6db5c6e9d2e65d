"""Live streams: one reader per cohort that somebody follows reads new events once, for all its streams.

A fact wakes the reader, told by Postgres with the commit or by the bus; whenever one of them is back, and every few
seconds, all that are behind are woken. No database
connection is held and no transaction is open while a stream waits or sends. Whoever reads too slowly is cut off and
resumes from the last cursor it has seen.
"""

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from typing import Any, Protocol
from uuid import UUID

import orjson
import structlog
from fastapi.sse import KEEPALIVE_COMMENT, format_sse_event

from shared.audience import told_as
from shared.bus.contract import Bus, Subscription
from shared.contracts.hints import Hint
from shared.db import streams
from shared.db.session import Database
from shared.db.streams import hear_facts
from shared.errors import ParleyError, Unavailable

log = structlog.get_logger(__name__)

BATCH = 500
RETRY_MS = 2000


class EventRow(Protocol):
    """One event as the database gives it; `payload` and `public` are JSON text."""

    cohort_id: UUID
    stream_seq: int
    type: str
    actor: str
    cause: str
    subject: str
    subject_id: UUID | None
    audience: Sequence[UUID] | None
    payload: str
    public: str | None
    at: Any
    thread_id: str | None
    thread_stage_id: str | None
    thread_scope: str | None


@dataclass(frozen=True)
class Frame:
    """An event on its way to streams, encoded once for each kind of reader."""

    event: EventRow

    @property
    def cohort_id(self) -> UUID:
        return self.event.cohort_id

    @property
    def seq(self) -> int:
        return self.event.stream_seq

    @cached_property
    def for_members(self) -> bytes:
        """With the cursor of the cohort as id."""
        event_type = told_as(self.event.type)
        data = f'{{{self._head(event_type)},"data":{self.event.public}}}'
        return format_sse_event(data_str=data, event=event_type, id=f"{self.cohort_id}:{self.seq}")

    @cached_property
    def for_experimenters(self) -> bytes:
        """Without id: the cursor of an experiment is made of those of all its cohorts."""
        event = self.event
        about = (
            f'"actor":{_quoted(event.actor)},"cause":{_quoted(event.cause)},"subject":{_quoted(event.subject)},'
            f'"subject_id":{_quoted(event.subject_id)}'
        )
        return format_sse_event(
            data_str=f'{{{self._head(event.type)},{about},"data":{event.payload}}}', event=event.type
        )

    def _head(self, event_type: str) -> str:
        at = self.event.at.astimezone(UTC).isoformat().replace("+00:00", "Z")
        return f'"type":{_quoted(event_type)},"cohort_id":"{self.cohort_id}","stream_seq":{self.seq},"at":"{at}"'


def _quoted(value: object) -> str:
    return "null" if value is None else orjson.dumps(str(value)).decode()


Show = Callable[[Frame], bytes | None]
"""What a stream sends of an event; None for an event that its reader may not see."""


class Listener:
    """The inbox of one stream, bounded: whoever lets it run full is cut off."""

    def __init__(self, backlog: int) -> None:
        self._inbox: asyncio.Queue[tuple[Frame, ...]] = asyncio.Queue(backlog)
        self._over = asyncio.Event()

    def offer(self, frames: tuple[Frame, ...]) -> None:
        if self.is_over:
            return
        try:
            self._inbox.put_nowait(frames)
        except asyncio.QueueFull:
            log.warning("stream.too_slow")
            self.end()

    def end(self) -> None:
        self._over.set()
        # Wakes a stream that waits; one whose inbox is full is awake.
        with suppress(asyncio.QueueFull):
            self._inbox.put_nowait(())

    @property
    def is_over(self) -> bool:
        return self._over.is_set()

    async def next(self, timeout_seconds: float) -> tuple[Frame, ...]:
        """What has come; nothing after the time-out."""
        try:
            async with asyncio.timeout(timeout_seconds):
                return await self._inbox.get()
        except TimeoutError:
            return ()


class _Reader:
    """Reads the events of one cohort from `position` on, for everybody who listens."""

    def __init__(self, database: Database, cohort_id: UUID, position: int) -> None:
        self._database = database
        self._cohort_id = cohort_id
        self.position = position
        self.listeners: set[Listener] = set()
        # Awake at first: something may have happened since `position` was looked up.
        self.wake = asyncio.Event()
        self.wake.set()
        self.task = asyncio.create_task(self._run(), name=f"stream {cohort_id}")

    async def _run(self) -> None:
        while True:
            await self.wake.wait()
            self.wake.clear()
            try:
                while await self._read() == BATCH:
                    pass
            except Unavailable as error:
                log.warning("stream.database_away", reason=error.message)
            except Exception:
                log.exception("stream.read_failed")

    async def _read(self) -> int:
        async with self._database.looking() as session:
            rows = await streams.events_after(session, self._cohort_id, self.position, most=BATCH)
        if rows:
            frames = tuple(Frame(row) for row in rows)
            self.position = frames[-1].seq
            for listener in tuple(self.listeners):
                listener.offer(frames)
        return len(rows)


class Live:
    """All live streams of this gateway."""

    def __init__(self, database: Database, bus: Bus, *, ping_seconds: float, look_seconds: float, backlog: int) -> None:
        self._database = database
        self._bus = bus
        self._ping_seconds = ping_seconds
        self._look_seconds = look_seconds
        self._backlog = backlog
        self._readers: dict[UUID, _Reader] = {}
        self._listeners: set[Listener] = set()
        self._subscription: Subscription | None = None
        self._look_now = asyncio.Event()
        self._looking: list[asyncio.Task[None]] = []
        self._news = asyncio.Condition()
        self._waiting_for_news = 0
        self._closed = False

    async def start(self) -> None:
        """Listen to Postgres and to the bus, and look by ourselves from time to time."""
        self._closed = False
        self._subscription = await self._bus.listen(self._hear)
        self._bus.on_reconnect(self._look_now.set)
        self._looking = [
            asyncio.create_task(self._keep_looking(), name="streams"),
            asyncio.create_task(hear_facts(self._database.url, self._hear_of, self._look_now.set), name="facts"),
        ]

    async def close(self) -> None:
        """End every stream, and listen no more; safe to repeat."""
        self._closed = True
        for listener in tuple(self._listeners):
            listener.end()
        for task in self._looking:
            task.cancel()
        await asyncio.gather(*self._looking, return_exceptions=True)
        self._looking = []
        if self._subscription is not None:
            await self._subscription.cancel()
            self._subscription = None
        for cohort_id in tuple(self._readers):
            self._let_go(cohort_id)

    async def follow(
        self, sent: dict[UUID, int], show: Show, *, mark: Callable[[], bytes] | None = None
    ) -> AsyncGenerator[bytes, None]:
        """What `show` gives for every event after the positions in `sent`, without a gap, until somebody ends it.

        `sent` is kept up to date. `mark`, if there is one, gives the line that stands before the last event of a chunk.
        """
        listener = Listener(self._backlog)
        try:
            ends = await self._attach(listener, sent)
            for cohort_id, end in ends.items():
                async for frames in self._backlog_of(cohort_id, sent[cohort_id], end):
                    if chunk := _shown(frames, sent, show, mark):
                        yield chunk
            while not (listener.is_over or self._closed):
                frames = await listener.next(self._ping_seconds)
                if listener.is_over:
                    return
                if chunk := _shown(frames, sent, show, mark):
                    yield chunk
                elif not frames:
                    yield KEEPALIVE_COMMENT
        finally:
            self._detach(listener, sent)

    async def cohorts_of(self, experiment_id: UUID) -> list[UUID]:
        async with self._database.transaction() as session:
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

    @property
    def is_closed(self) -> bool:
        return self._closed

    async def _attach(self, listener: Listener, cohort_ids: Iterable[UUID]) -> dict[UUID, int]:
        """Have the listener told of every event after the returned positions."""
        wanted = list(cohort_ids)
        async with self._database.transaction() as session:
            newest = await streams.last_of(session, wanted)
        self._listeners.add(listener)
        ends = {}
        # No waiting from here on: nothing can come between knowing a position and listening from it.
        for cohort_id in wanted:
            reader = self._readers.get(cohort_id)
            if reader is None:
                reader = self._readers[cohort_id] = _Reader(self._database, cohort_id, newest.get(cohort_id, 0))
            reader.listeners.add(listener)
            ends[cohort_id] = reader.position
        return ends

    def _detach(self, listener: Listener, cohort_ids: Iterable[UUID]) -> None:
        self._listeners.discard(listener)
        for cohort_id in cohort_ids:
            reader = self._readers.get(cohort_id)
            if reader is not None:
                reader.listeners.discard(listener)
                if not reader.listeners:
                    self._let_go(cohort_id)

    def _let_go(self, cohort_id: UUID) -> None:
        self._readers.pop(cohort_id).task.cancel()

    async def _backlog_of(self, cohort_id: UUID, after: int, until: int) -> AsyncIterator[tuple[Frame, ...]]:
        while after < until:
            async with self._database.transaction() as session:
                rows = await streams.events_after(session, cohort_id, after, until=until, most=BATCH)
            if not rows:
                return
            frames = tuple(Frame(row) for row in rows)
            after = frames[-1].seq
            yield frames

    def _hear(self, hint: Hint) -> None:
        self._hear_of(hint.id)

    def _hear_of(self, cohort_id: str) -> None:
        reader = self._readers.get(UUID(cohort_id))
        if reader is not None:
            reader.wake.set()
        elif self._waiting_for_news:
            self._look_now.set()

    async def _keep_looking(self) -> None:
        while True:
            with suppress(TimeoutError):
                async with asyncio.timeout(self._look_seconds):
                    await self._look_now.wait()
            self._look_now.clear()
            async with self._news:
                self._news.notify_all()
            try:
                await self._wake_those_behind()
            except ParleyError as error:
                log.warning("stream.database_away", reason=error.message)
            except Exception:
                log.exception("stream.look_failed")

    async def _wake_those_behind(self) -> None:
        if not self._readers:
            return
        async with self._database.transaction() as session:
            newest = await streams.last_of(session, tuple(self._readers))
        for cohort_id, last in newest.items():
            reader = self._readers.get(cohort_id)
            if reader is not None and reader.position < last:
                reader.wake.set()


def _shown(frames: Iterable[Frame], sent: dict[UUID, int], show: Show, mark: Callable[[], bytes] | None) -> bytes:
    """The frames that were not sent before, encoded; `sent` is moved on."""
    chunks = []
    for frame in frames:
        if frame.seq > sent[frame.cohort_id]:
            sent[frame.cohort_id] = frame.seq
            if (chunk := show(frame)) is not None:
                chunks.append(chunk)
    if chunks and mark is not None:
        chunks.insert(-1, mark())
    return b"".join(chunks)
