"""The state of turn-taking as it is stored with a thread."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Final
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Turn:
    """The state of turn-taking, stored with the thread. Numbers of messages count those of members alone."""

    # The current trigger.
    trigger: str | None = None
    """Its name, unless it is the last message of a member."""
    asked: frozenset[UUID] = frozenset()
    """The members who are asked about it."""
    wave: int = 0
    """How many times members were asked about it."""
    late: Mapping[str, int] = field(default_factory=dict)
    """Triggers that later messages have overtaken while replies to them are in the making: a reply is published while
    members have said no more messages than the value."""

    # Messages.
    spoken: Mapping[UUID, int] = field(default_factory=dict)
    """The number of messages of each member."""
    heard: Mapping[UUID, int] = field(default_factory=dict)
    """The number of messages when each agent was last asked."""
    opened: frozenset[UUID] = frozenset()
    """Agents with an opening line that they have said."""
    has_overlooked: bool = False
    """Whether the last speaker had not read all messages before."""
    person_spoke_at: int = 0
    """The number of messages when a person last spoke."""
    quiet_until: int | None = None
    """Milliseconds since the opening. Agents are asked then about the messages that people write until then, and the
    agent that spoke last lets others go first."""
    quiet_timer: int | None = None
    """The number of the timer for that."""

    # Topics and readiness to end.
    topic: int = 0
    """The place of the current topic."""
    topic_since_seq: int = 0
    """The line that opened it."""
    done: frozenset[UUID] = frozenset()
    """Members who are done with it."""
    ready: frozenset[UUID] = frozenset()
    """Members who are ready to end."""
    left: Mapping[UUID, int] = field(default_factory=dict)
    """The line since which each of them is ready."""
    checked: int = 0
    """The number of messages at the last check of readiness."""

    # Turns, one after another.
    order: tuple[UUID, ...] = ()
    """The members in the order of this cycle."""
    cycle: int = 0
    number: int = 0
    """How many turns there were."""
    holder: UUID | None = None
    """The member whose turn it is."""
    skips: int = 0
    """The number of unused turns since the last message."""

    # Silence.
    wake_ups: int = 0
    """How many were set in all."""
    unanswered: int = 0
    """How many wake-ups there were since the last message."""
    is_waking: bool = False
    """Whether a wake-up is set."""
    has_noticed: bool = False
    """Whether the lab has said the notice that is due, such as that the talk ends soon."""
    is_resting: bool = False
    """Whether agents have said as much in a row as they may, and wait for a person."""
    is_overtime: bool = False
    """Whether the time limit has passed and the talk goes on."""
    started_ms: int | None = None
    """When the first message was said, in milliseconds since the opening."""
    leaving: frozenset[UUID] = frozenset()
    """Members who left while the thread was paused; system messages about them follow."""

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
