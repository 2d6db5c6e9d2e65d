"""Who is typing in the conversations that this gateway has streams of: streams are told who begins and who stops.

Nothing else is told: neither how long it may last nor who renews it, so that agents and people type alike.
"""

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Final
from uuid import UUID

import orjson
from fastapi.sse import format_sse_event

from parley_lab.contracts.lives import OUT
from parley_lab.gateway.events import EventRow
from parley_lab.talk.typing_hints import TypingHint, typing_hint

EVENT: Final = "thread.typing"
ANY: Final = "any"
"""Stands for every member, or every conversation."""
_LEFT: Final = frozenset(f"member.{what}" for what in (*OUT, "moved", "transferred", "completed"))
_STOPPED: Final = ("experiment.paused", "cohort.ended")


@dataclass(frozen=True)
class TypingFrame:
    """That a member has begun to type, or has stopped, on its way to streams. It has no cursor: it is no event."""

    hint: TypingHint
    is_typing: bool

    @cached_property
    def for_members(self) -> bytes:
        hint = self.hint
        data = {"thread_id": hint.thread_id, "stage_id": hint.stage_id, "member_id": hint.member_id}
        told = {"type": EVENT, "data": {**data, "is_typing": self.is_typing}}
        return format_sse_event(data_str=orjson.dumps(told).decode(), event=EVENT)

    @property
    def for_experimenters(self) -> None:
        """Experimenters follow what happens, and nothing has."""

    @property
    def for_boards(self) -> bytes:
        return self.for_members


@dataclass(slots=True)
class _Typist:
    hint: TypingHint
    ending: asyncio.TimerHandle = field(repr=False)


class Typists:
    """Those who type now, by cohort, thread and member. `tell` passes a frame to the streams of a cohort."""

    def __init__(self, tell: Callable[[UUID, TypingFrame], None]) -> None:
        self._tell = tell
        self._now: dict[UUID, dict[tuple[UUID, UUID], _Typist]] = {}

    def hear(self, payload: str) -> None:
        """Take what a notification of Postgres says."""
        hint = typing_hint(payload)
        if hint.for_ms <= 0:
            self._stop(hint)
            return
        typists = self._now.setdefault(hint.cohort_id, {})
        key = hint.thread_id, hint.member_id
        known = typists.get(key)
        ending = asyncio.get_running_loop().call_later(hint.for_ms / 1000, self._stop, hint)
        if known is not None:
            known.ending.cancel()
        typists[key] = _Typist(hint, ending)
        if known is None:
            self._tell(hint.cohort_id, TypingFrame(hint, is_typing=True))

    def notice(self, cohort_id: UUID, events: Iterable[EventRow]) -> None:
        """A message ends the typing of its author, and so does whatever ends the conversation for a member."""
        if cohort_id not in self._now:
            return
        for event in events:
            if event.type == "message.created" and event.public is not None:
                author = orjson.loads(event.public)["author"]
                # Not told: the message itself says it.
                self._forget(cohort_id, who=None if author is None else author["id"], where=event.thread_id)
            elif event.type in _LEFT:
                self._end(cohort_id, who=str(event.subject_id))
            elif event.type == "thread.ended":
                self._end(cohort_id, where=event.thread_id)
            elif event.type in _STOPPED:
                self._end(cohort_id)

    def now(self, cohort_id: UUID) -> tuple[TypingFrame, ...]:
        """What a stream that begins now has missed, and one whose member comes to a conversation now."""
        return tuple(TypingFrame(one.hint, is_typing=True) for one in self._now.get(cohort_id, {}).values())

    def close(self) -> None:
        for cohort_id in tuple(self._now):
            self._forget(cohort_id)

    def _stop(self, hint: TypingHint) -> None:
        self._end(hint.cohort_id, who=str(hint.member_id), where=str(hint.thread_id))

    def _end(self, cohort_id: UUID, *, who: str | None = ANY, where: str | None = ANY) -> None:
        for hint in self._forget(cohort_id, who=who, where=where):
            self._tell(cohort_id, TypingFrame(hint, is_typing=False))

    def _forget(self, cohort_id: UUID, *, who: str | None = ANY, where: str | None = ANY) -> list[TypingHint]:
        typists = self._now.get(cohort_id, {})
        over = [key for key in typists if where in (ANY, str(key[0])) and who in (ANY, str(key[1]))]
        ended = [typists.pop(key) for key in over]
        for one in ended:
            one.ending.cancel()
        if not typists:
            self._now.pop(cohort_id, None)
        return [one.hint for one in ended]
