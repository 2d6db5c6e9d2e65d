"""Events on their way to streams."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC
from functools import cached_property
from typing import Any, Final, Protocol
from uuid import UUID

import orjson
from fastapi.sse import format_sse_event

from parley_lab.contracts.audience import told_as
from parley_lab.gateway.cursors import cohort_cursor_text
from parley_lab.gateway.resources.lab import AlertResource
from parley_lab.members.alerts import Alert

_NOT_ON_BOARDS: Final = frozenset(
    (
        "experiment.paused",
        "experiment.resumed",
        "message.reacted",
        "message.unreacted",
        "member.viewed",
        "alert.resolved",
    )
)
"""A board gets a hint of alerts and pauses, once for the whole experiment and not for each group."""
_ON_BOARDS: Final = (
    "stage_id", "from_stage_id", "to_stage_id", "cohort_id", "from_cohort_id", "to_cohort_id", "thread_id", "seq",
    "ask_id", "key", "purpose", "outcome", "status", "due_at", "locked", "joins", "persona", "kind", "player",
    "profile", "whose_turn",
)  # fmt: skip


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
    profile: str | None
    """How the member is seen whom the event is about, where one has come; JSON text."""


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
        return format_sse_event(data_str=data, event=event_type, id=cohort_cursor_text(self.cohort_id, self.seq))

    @cached_property
    def for_experimenters(self) -> bytes:
        """Without id: the cursor of an experiment is made of those of all its cohorts."""
        event = self.event
        about = (
            f'"actor":{_quoted(event.actor)},"cause":{_quoted(event.cause)},"subject":{_quoted(event.subject)},'
            f'"subject_id":{_quoted(event.subject_id)}'
        )
        data = event.payload
        if event.profile is not None:
            data = orjson.dumps({**orjson.loads(data), "profile": orjson.loads(event.profile)}).decode()
        return format_sse_event(data_str=f'{{{self._head(event.type)},{about},"data":{data}}}', event=event.type)

    @cached_property
    def for_boards(self) -> bytes | None:
        """What moves rows, without any text of members; None: nothing of it does."""
        event = self.event
        if event.type in _NOT_ON_BOARDS:
            return None
        payload = orjson.loads(event.payload)
        data = {name: payload[name] for name in _ON_BOARDS if name in payload}
        if event.type == "message.created":
            data["member_id"] = (payload.get("author") or {}).get("id")
        if event.profile is not None:
            data["profile"] = orjson.loads(event.profile)
        about = f'"subject":{_quoted(event.subject)},"subject_id":{_quoted(event.subject_id)}'
        said = f'{{{self._head(event.type)},{about},"data":{orjson.dumps(data).decode()}}}'
        return format_sse_event(data_str=said, event=event.type)

    def _head(self, event_type: str) -> str:
        at = self.event.at.astimezone(UTC).isoformat().replace("+00:00", "Z")
        return f'"type":{_quoted(event_type)},"cohort_id":"{self.cohort_id}","stream_seq":{self.seq},"at":"{at}"'


def hint(event_type: str, data: Mapping[str, Any]) -> bytes:
    """An event of a stream without a cursor, which nothing has stored."""
    return format_sse_event(data_str=orjson.dumps({"type": event_type, "data": data}).decode(), event=event_type)


def alert_hint(alert: Alert, **where: str) -> bytes:
    """The hint that this alert was raised or resolved; `where`: what its data say besides."""
    said = AlertResource.model_validate(alert, from_attributes=True).model_dump(mode="json")
    return hint("alert.resolved" if alert.is_over else "alert.raised", {**where, "alert": said})


def _quoted(value: object) -> str:
    return "null" if value is None else orjson.dumps(str(value)).decode()
