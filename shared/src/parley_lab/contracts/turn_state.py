"""The state of turn-taking as it is stored with a thread."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Turn:
    """The state of turn-taking, stored with the thread.

    `asked` and `wave` are about the current trigger; `trigger` names it when it is not the last message of a member.
    `opened`: agents with an opening line; `ready`: members ready to end, since line `left`; `done`: members done with
    the current topic, which line `topic_since_seq` opened. `heard`: the number of members' messages when an agent was
    last asked; `checked`: their number at the last readiness check. `order`, `cycle`, `number` and `holder` are about
    turns: `number` counts them, `skips` counts unused ones since the last message.
    `wake_ups`: how many were set in all; `unanswered`: how many since the last message; `is_waking`: one is set.
    `leaving`: members who left while the thread was paused; system messages about them follow.

    `late`: triggers that only messages have overtaken, with replies in the making: a reply is published while members
    have said no more messages than the value. `has_overlooked`: the last speaker had not read all messages before.
    `person_spoke_at`: the number of members' messages when a person last spoke. Messages of people until `quiet_until`
    (since the opening) are asked about then, and the agent that spoke last lets others go first until then;
    `quiet_timer` numbers the timer.
    """

    asked: frozenset[UUID] = frozenset()
    wave: int = 0
    opened: frozenset[UUID] = frozenset()
    ready: frozenset[UUID] = frozenset()
    spoken: Mapping[UUID, int] = field(default_factory=dict)
    trigger: str | None = None
    heard: Mapping[UUID, int] = field(default_factory=dict)
    checked: int = 0
    topic: int = 0
    topic_since_seq: int = 0
    done: frozenset[UUID] = frozenset()
    order: tuple[UUID, ...] = ()
    cycle: int = 0
    number: int = 0
    holder: UUID | None = None
    skips: int = 0
    wake_ups: int = 0
    unanswered: int = 0
    is_waking: bool = False
    has_noticed: bool = False
    is_resting: bool = False
    is_overtime: bool = False
    started_ms: int | None = None
    leaving: frozenset[UUID] = frozenset()
    left: Mapping[UUID, int] = field(default_factory=dict)
    late: Mapping[str, int] = field(default_factory=dict)
    has_overlooked: bool = False
    person_spoke_at: int = 0
    quiet_until: int | None = None
    quiet_timer: int | None = None

    @property
    def said(self) -> int:
        """The number of members' messages."""
        return sum(self.spoken.values())

    def differences(self) -> dict[str, Any]:
        """The fields that differ from their initial values."""
        current = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: value for name, value in current if value != getattr(_BEGINNING, name)}


_BEGINNING: Final = Turn()


_SETS = ("asked", "opened", "ready", "done", "leaving")
_COUNTS = ("spoken", "heard", "left")


def turn_of(stored: Mapping[str, Any]) -> Turn:
    fields = dict(stored)
    for name in _SETS:
        fields[name] = frozenset(map(UUID, stored.get(name, ())))
    for name in _COUNTS:
        fields[name] = {UUID(member_id): count for member_id, count in stored.get(name, {}).items()}
    if "order" in stored:
        fields["order"] = tuple(map(UUID, stored["order"]))
    if "holder" in stored:
        fields["holder"] = UUID(stored["holder"])
    return Turn(**fields)


def turn_row(turn: Turn) -> dict[str, Any]:
    """The fields that differ from the initial values: most threads have neither turns nor topics."""
    return {name: _stored(value) for name, value in turn.differences().items()}


def _stored(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(member_id): count for member_id, count in value.items()}
    if isinstance(value, frozenset):
        return sorted(map(str, value))
    return [str(member_id) for member_id in value] if isinstance(value, tuple) else value
