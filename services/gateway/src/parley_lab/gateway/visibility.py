"""What a member's stream shows: what REST would give the member, too, at every event that passes."""

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace

import orjson
from fastapi.sse import KEEPALIVE_COMMENT

from parley_lab.contracts.audience import may_read
from parley_lab.contracts.lives import OUT
from parley_lab.gateway.events import EventRow, Frame
from parley_lab.gateway.typists import TypingFrame
from parley_lab.talk.pages import Bearer


class MemberVisibility:
    """What one member may see of the events that pass, which move the member on or take them out themselves."""

    def __init__(
        self, reader: Bearer, withheld: Collection[str], typing_now: Callable[[], Iterable[TypingFrame]] = tuple
    ) -> None:
        """`reader`: where the member is after every event that is older than the stream. `withheld`: the stages whose
        conversations the member reads no more after going on. `typing_now`: who types in the cohort at that moment."""
        self._reader = reader
        self._withheld = withheld
        self._typing_now = typing_now
        self._is_void = False

    @property
    def is_over(self) -> bool:
        """Whether the member is out, or their token is void: then nothing more is for them."""
        return self._is_void or self._reader.is_out

    def see(self, frame: Frame | TypingFrame) -> bytes | None:
        if self.is_over:
            return None
        if isinstance(frame, TypingFrame):
            return frame.for_members if self._may_see_typing(frame) else None
        shown = frame.for_members if self._may_see(frame.event) else None
        if frame.event.subject_id == self._reader.member_id:
            before, self._reader = self._reader, _after(self._reader, frame.event)
            self._is_void = _is_void(self._reader, frame.event)
            if shown is not None and not self.is_over:
                shown += self._typing_anew(before)
        has_ended = self._is_void or self._reader.is_out
        # With something to send, the stream looks at once whether it is over.
        return KEEPALIVE_COMMENT if shown is None and has_ended else shown

    def _typing_anew(self, before: Bearer) -> bytes:
        """Who types in the conversations that the member has come to: what was told of them before was not for them."""
        typing = (frame for frame in self._typing_now() if self._may_see_typing(frame))
        return b"".join(
            frame.for_members for frame in typing if not self._reads(before, frame.hint.stage_id, frame.hint.scope)
        )

    def _may_see_typing(self, frame: TypingFrame) -> bool:
        is_own = frame.hint.member_id == self._reader.member_id
        return not is_own and self._reads(self._reader, frame.hint.stage_id, frame.hint.scope)

    def _may_see(self, event: EventRow) -> bool:
        if event.public is None or not may_read(self._reader.member_id, author=None, audience=event.audience):
            return False
        if event.thread_id is None:
            return True
        if event.thread_stage_id is None or event.thread_scope is None:
            return False
        return self._reads(self._reader, event.thread_stage_id, event.thread_scope)

    def _reads(self, reader: Bearer, stage_id: str, scope: str) -> bool:
        """Whether the member reads this conversation, by the rule of `GET /v1/me/threads/{id}/messages`."""
        is_closed = stage_id in self._withheld and reader.is_beyond(stage_id)
        return not is_closed and reader.may_read_thread(stage_id, scope)


def _is_void(reader: Bearer, event: EventRow) -> bool:
    """Whether a person has joined in the reader's place since, or the reader has gone to another cohort."""
    if event.type == "member.transferred":
        return True
    return event.type == "member.rejoined" and int(orjson.loads(event.payload)["joins"]) > reader.joins


def _after(reader: Bearer, event: EventRow) -> Bearer:
    """Where the member is once this has happened to them."""
    subject, _, happened = event.type.partition(".")
    if subject != "member":
        return reader
    if happened in OUT:
        return replace(reader, status=happened)
    if happened == "moved":
        to_stage_id = orjson.loads(event.payload)["to_stage_id"]
        is_over = to_stage_id is None
        position = len(reader.stage_ids) if is_over else reader.stage_ids.index(to_stage_id)
        # An event that is read again does not move the member back.
        return replace(reader, position=max(reader.position, position))
    return reader
