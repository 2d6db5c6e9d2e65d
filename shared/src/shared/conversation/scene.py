"""What stands in a thread, and what one change does to it."""

from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from datetime import datetime, timedelta
from typing import Any, Final, Literal
from uuid import UUID

from shared.contracts.experiment import StageConfig
from shared.stage import Lateness, Member
from shared.stages import kind_of

START = "start"
"""The trigger of an empty room, shared by all agents without a fixed opening line."""

CHECK = "ready"
"""What the trigger keys of readiness checks begin with: nobody answers them with a message."""

TURN = "turn"
"""What the trigger keys of turns begin with."""

DraftState = Literal["wanted", "thinking", "ready"]
Closing = Literal["declined", "moved_on", "lost_claim", "cancelled", "ended"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A reply that is being made for a trigger of this thread. `text` None in a ready draft: the agent says nothing."""

    id: UUID
    path: str
    member_id: UUID
    trigger_key: str
    state: DraftState
    due_at: datetime | None = None
    finish_ms: int | None = None
    text: str | None = None
    explanation: str | None = None
    ready_to_end: bool = False
    as_of_seq: int = 0

    @property
    def is_opening(self) -> bool:
        """Whether this is somebody's fixed opening line."""
        return self.trigger_key.startswith(f"{START}:")

    @property
    def is_check(self) -> bool:
        """Whether this only asks whether the agent is ready to end."""
        return self.trigger_key.startswith(f"{CHECK}:")


@dataclass(frozen=True, slots=True)
class Turn:
    """Turn-taking facts kept with the thread.

    `asked` and `wave` are about the current trigger; `trigger` names it when it is not the message that a member said
    last. `opened` had their opening line wanted; `ready` are ready to end, since line `left`; `done` are done with the
    current topic, which was opened by line `topic_since_seq`. `heard` says how many messages members had said when an
    agent was last asked something, `checked` how many when somebody was last asked whether they are ready. `order`,
    `cycle`, `number` and `holder` are about turns: `number` counts them, `skips` counts those that passed unused since
    somebody spoke.
    `wake_ups` were armed in all, `unanswered` of them since somebody spoke; `is_waking` says that one is armed.
    `leaving` have left while nothing could be said; the lab says so once it can.

    `late` are triggers that nothing but messages has overtaken and that somebody still works on: a reply to one is said
    while members have said no more messages than it names. `has_overlooked`: whoever spoke last had not read all that
    came before. `person_spoke_at` says how many messages members had said when a person last spoke. What people say
    until `quiet_until` (since the opening) is asked about then; `quiet_timer` numbers the timer that waits for it.
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
        """How many messages members have said."""
        return sum(self.spoken.values())

    def differences(self) -> dict[str, Any]:
        """The facts that are not as they were at the beginning."""
        current = ((each.name, getattr(self, each.name)) for each in fields(self))
        return {name: value for name, value in current if value != getattr(_BEGINNING, name)}


_BEGINNING: Final = Turn()


@dataclass(frozen=True, slots=True)
class Scene:
    """A thread, everybody in it, and its open drafts, as read under its lock.

    `opened_at` is later than in truth by the pauses since. While it is `held`, nothing is said, asked or timed in it.
    `failed` are the agents whose draft for the current trigger ended without a usable reply: `failed` when no model
    answered, `invalid` when one did.
    """

    experiment_id: UUID
    cohort_id: UUID
    thread_id: UUID
    path: str
    stage: StageConfig
    seed: int
    pace: Literal["live", "fast"]
    now: datetime
    opened_at: datetime
    ended: bool
    held: bool
    last_seq: int
    last_spoken_id: UUID | None
    last_spoken_trigger: str | None
    last_author_id: UUID | None
    last_text: str
    agent_run: int
    clock_ms: int
    turn: Turn
    members: tuple[Member, ...]
    providers: Mapping[UUID, str]
    drafts: tuple[Draft, ...]
    failed: Mapping[UUID, str] = field(default_factory=dict)
    last_spoken_at: datetime | None = None
    scope: str = "group"

    @property
    def is_private(self) -> bool:
        """Whether this is one participant's own conversation with the mediators."""
        return self.scope != "group"

    @property
    def trigger_key(self) -> str:
        """What is to be answered now."""
        if self.turn.trigger is not None:
            return self.turn.trigger
        return START if self.last_spoken_id is None else f"message:{self.last_spoken_id}"

    @property
    def trigger_label(self) -> str:
        """The current trigger by its position, which ids do not tell."""
        if self.turn.trigger is not None:
            return self.turn.trigger
        return START if self.last_spoken_id is None else f"after:{self.turn.said}"

    @property
    def is_in_turn(self) -> bool:
        """Whether somebody in particular is to speak now."""
        return self.trigger_key.startswith(f"{TURN}:")

    @property
    def is_of_person(self) -> bool:
        """Whether the current trigger is something that a person said."""
        author = next((member for member in self.members if member.id == self.last_author_id), None)
        return self.turn.trigger is None and author is not None and author.player == "person"

    @property
    def has_people(self) -> bool:
        return any(member.player == "person" and member.present for member in self.members)

    @property
    def lateness(self) -> Lateness | None:
        return kind_of(self.stage).lateness(self.stage)

    def may_still_be_said(self, draft: Draft) -> bool:
        """Whether a reply to the draft's trigger may try to claim it.

        What the last message answers counts: which of several replies is the one is decided by the claim.
        """
        if draft.trigger_key in (self.trigger_key, self.last_spoken_trigger):
            return True
        return self.turn.said <= self.turn.late.get(draft.trigger_key, -1)

    def overlooked_by(self, draft: Draft) -> int:
        """How many messages of members came after what the draft answers."""
        if self.lateness is None or draft.trigger_key not in self.turn.late:
            return 0
        return self.turn.said - (self.turn.late[draft.trigger_key] - self.lateness.max_behind)

    def member(self, member_id: UUID) -> Member:
        return next(member for member in self.members if member.id == member_id)

    def real_ms(self) -> int:
        """Real time since the opening."""
        return int((self.now - self.opened_at) / timedelta(milliseconds=1))

    def elapsed_ms(self) -> int:
        """Time since the opening: real, but in pace `fast` never before the simulated time."""
        real = self.real_ms()
        return max(self.clock_ms, real) if self.pace == "live" or self.has_people else self.clock_ms


@dataclass(frozen=True, slots=True)
class NewMessage:
    id: UUID
    seq: int
    author: Member | None
    text: str
    elapsed_ms: int
    topic: str | None = None
    trigger_key: str | None = None
    explanation: str | None = None
    client_key: str | None = None
    reply_to: UUID | None = None
    quote: Mapping[str, Any] | None = None
    author_name: str | None = None
    """What the others call the author here; None: as the profile says."""


@dataclass(frozen=True, slots=True)
class NewDraft:
    id: UUID
    path: str
    member_id: UUID
    trigger_key: str
    wave: int
    as_of_seq: int
    provider: str
    purpose: str
    state: Literal["wanted", "ready"] = "wanted"
    text: str | None = None
    due_at: datetime | None = None
    finish_ms: int | None = None


@dataclass(frozen=True, slots=True)
class NewTimer:
    """Something that happens to the thread at `due_at` unless it is out of date by then."""

    id: UUID
    path: str
    purpose: Literal["wake_up", "quiet"]
    generation: int
    due_at: datetime


@dataclass(frozen=True, slots=True)
class Change:
    """One write: all of it happens or, when `claims` loses its trigger, nothing but the closing of that draft.

    `after` is the scene once it is written.
    """

    after: Scene
    claims: Draft | None = None
    messages: tuple[NewMessage, ...] = ()
    wanted: tuple[NewDraft, ...] = ()
    closed: tuple[tuple[Draft, Closing], ...] = ()
    timers: tuple[NewTimer, ...] = ()
    end_reason: str | None = None
