"""The state of a thread, and the effect of one change on it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any, Literal
from uuid import UUID

from parley_lab.contracts.experiment import StageConfig
from parley_lab.contracts.turn_state import Turn
from parley_lab.kinds import Member
from parley_lab.kinds.parts import Talk
from parley_lab.kinds.stages import parts_of
from parley_lab.kinds.talk import Lateness

START = "start"
"""The trigger of an empty room, shared by all agents without a fixed opening line."""

CHECK = "ready"
"""The prefix of trigger keys of readiness checks, which get no message as a reply."""

TURN = "turn"
"""The prefix of trigger keys of turns."""

DraftState = Literal["wanted", "thinking", "ready"]
Closing = Literal["declined", "moved_on", "lost_claim", "cancelled", "ended"]


@dataclass(frozen=True, slots=True)
class Draft:
    """A reply in the making to a trigger of this thread. `text` None in a ready draft: the agent says nothing."""

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
        """Whether this is a fixed opening line."""
        return self.trigger_key.startswith(f"{START}:")

    @property
    def is_check(self) -> bool:
        """Whether this only asks if the agent is ready to end."""
        return self.trigger_key.startswith(f"{CHECK}:")


@dataclass(frozen=True, slots=True)
class Scene:
    """A thread, its members and its open drafts, read under its lock.

    `opened_at` is moved forward by past pauses. While the thread is `held`, nothing is said, asked or timed in it.
    `is_clock_stopped`: its cohort is held, so that no timer fires in it, and no time passes on its clock.
    `failed`: the agents whose draft for the current trigger ended without a usable reply: `failed` when no model
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
    members: Sequence[Member]
    providers: Mapping[UUID, str]
    drafts: tuple[Draft, ...]
    failed: Mapping[UUID, str] = field(default_factory=dict)
    last_spoken_at: datetime | None = None
    is_clock_stopped: bool = False
    scope: str = "group"
    statuses: Mapping[UUID, str] = field(default_factory=dict)
    """The status of every member of the thread in the experiment."""

    @property
    def is_private(self) -> bool:
        """Whether this is a private conversation of one participant with the mediators."""
        return self.scope != "group"

    @property
    def moving_drafts(self) -> tuple[Draft, ...]:
        """The drafts of members who are not paused; drafts of paused members are kept, and do not hold up others."""
        return tuple(draft for draft in self.drafts if self.statuses.get(draft.member_id) != "paused")

    @property
    def trigger_key(self) -> str:
        """The trigger that agents are asked about now."""
        if self.turn.trigger is not None:
            return self.turn.trigger
        return START if self.last_spoken_id is None else f"message:{self.last_spoken_id}"

    @property
    def trigger_label(self) -> str:
        """The current trigger by its position, without ids."""
        if self.turn.trigger is not None:
            return self.turn.trigger
        return START if self.last_spoken_id is None else f"after:{self.turn.said}"

    @property
    def is_in_turn(self) -> bool:
        """Whether one particular member is to speak now."""
        return self.trigger_key.startswith(f"{TURN}:")

    @property
    def is_of_person(self) -> bool:
        """Whether the current trigger is a person's message."""
        author = next((member for member in self.members if member.id == self.last_author_id), None)
        return self.turn.trigger is None and author is not None and author.player == "person"

    @property
    def is_of_agent(self) -> bool:
        """Whether an agent has spoken last."""
        return any(member.id == self.last_author_id and member.player == "agent" for member in self.members)

    @property
    def has_people(self) -> bool:
        return any(member.player == "person" and member.present for member in self.members)

    @property
    def talk(self) -> Talk:
        """The rules of the conversation; only for threads in which members talk."""
        talk = parts_of(self.stage).talk
        assert talk is not None
        return talk

    @property
    def lateness(self) -> Lateness | None:
        talk = parts_of(self.stage).talk
        return None if talk is None else talk.rules.lateness

    def may_still_be_said(self, draft: Draft) -> bool:
        """Whether a reply to the draft's trigger may try to claim it.

        A trigger that the last message has answered counts: the claim decides between several replies.
        """
        if draft.trigger_key in (self.trigger_key, self.last_spoken_trigger):
            return True
        return self.turn.said <= self.turn.late.get(draft.trigger_key, -1)

    def overlooked_by(self, draft: Draft) -> int:
        """How many messages of members came after the draft's trigger."""
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
    """The author's name for the others; None: as in the profile."""
    line: Mapping[str, Any] | None = None
    """What the lab says, as a code with its parameters, for pages that say it in words of their own."""
    said_by: str | None = None
    """The experimenter for whom the lab says it; members see a line of the lab."""


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
    """A change of the thread at `due_at`, unless it is out of date by then."""

    id: UUID
    path: str
    purpose: Literal["wake_up", "quiet"]
    generation: int
    due_at: datetime


@dataclass(frozen=True, slots=True)
class Change:
    """One atomic write; when `claims` loses its trigger, only the closing of that draft is written.

    `after`: the scene after the write.
    """

    after: Scene
    claims: Draft | None = None
    messages: tuple[NewMessage, ...] = ()
    wanted: tuple[NewDraft, ...] = ()
    closed: tuple[tuple[Draft, Closing], ...] = ()
    timers: tuple[NewTimer, ...] = ()
    end_reason: str | None = None
