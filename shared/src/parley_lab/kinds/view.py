"""What the rules of a stage may read: members, answers, messages and asks."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Literal
from uuid import UUID

from parley_lab.contracts.experiment import ChatSettings, Profile, StageConfig

if TYPE_CHECKING:
    # Reads hold columns, which are made of views.
    from parley_lab.kinds.reads import StageRead

_AGAIN: Final = re.compile("[.-]")

Json = Any
"""A value that survives JSON unchanged."""

TALK = "talk"
"""The purpose of a participant's message in a thread."""

MEDIATE = "mediate"
"""The purpose of a mediator's message in a thread."""

SPEAK = "speak"
"""The purpose of a message in one's turn, in which silence is no choice."""

WAKE = "wake"
"""The purpose of a message after a silence: to talk if one likes, knowing about the silence."""

READY = "ready"
"""The purpose of asking a member who is not to speak now for their readiness to end."""

TALKING = frozenset({TALK, MEDIATE, SPEAK, WAKE, READY})
"""The purposes of messages in a thread."""

PAGE = ""
"""The key of the answer that is a member's page on a stage; other keys are entries such as `round:7/move`."""


def first_seat(path: str) -> str:
    """The path of the seat that a person with this path got: `c1/m2`, also of `c1/m2.2` and `c1/m2-2`, to whom it was
    given again."""
    cohort, slash, seat = path.rpartition("/")
    return f"{cohort}{slash}{_AGAIN.split(seat)[0]}"


@dataclass(frozen=True, slots=True)
class Member:
    """A participant or mediator of the cohort, for the rules of a stage.

    `present`: the member is in progress and on this stage now; `awaited`: they may still reach it. `script`: how the
    persona acts without a model, by stage or by kind. `persona`: the id of the persona, known in the data only.
    `player` is `hidden` in other members' views. `seat`: the number of a participant's seat, from 1; None in a member's
    own view, so that no page shows it, and, where a stage draws, of a member who has come from another cohort.
    """

    id: UUID
    path: str
    kind: Literal["participant", "mediator"]
    player: Literal["person", "agent", "script", "hidden"]
    profile: Profile
    present: bool = True
    awaited: bool = False
    chat: ChatSettings = field(default_factory=ChatSettings)
    script: Mapping[str, Mapping[str, Json]] = field(default_factory=dict, hash=False)
    persona: str = ""
    seat: int | None = None

    @property
    def name(self) -> str:
        """The member's name for others; the path when the profile has none."""
        return self.profile.name or self.path

    @property
    def place(self) -> str:
        """What chance belongs to where a stage draws: the place in the cohort; the whole path of one from another."""
        return self.path if self.seat is None else self.path.rpartition("/")[2]

    def script_for(self, stage: StageConfig) -> Mapping[str, Json] | None:
        """The persona's script for this stage, or else for its kind; None: neither."""
        return self.script.get(stage.id) or self.script.get(stage.kind)


@dataclass(frozen=True, slots=True)
class Speaker:
    """A member in a thread: the number of their messages, and whether they are ready to end, or done with the topic.

    For an agent also whether it was asked about the current trigger, whether that gave no usable reply, whether its
    model did not answer at all, and how many messages it had `heard` when it was last asked. `is_at_work`: it is being
    asked about the current trigger. `is_busy`: where late replies are published, it has a call or a reply in the
    making, and is asked again only after it.
    """

    member: Member
    spoken: int = 0
    ready: bool = False
    done: bool = False
    was_asked: bool = False
    has_failed: bool = False
    is_unreachable: bool = False
    heard: int = 0
    is_at_work: bool = False
    is_busy: bool = False


@dataclass(frozen=True, slots=True)
class LastWords:
    """The last message of a member; `has_overlooked`: its author had not read all messages before it."""

    author_id: UUID | None = None
    text: str = ""
    has_overlooked: bool = False


@dataclass(frozen=True, slots=True)
class Turns:
    """The order of speakers, where members speak in turns; `skips` counts turns passed since the last message."""

    order: tuple[UUID, ...] = ()
    cycle: int = 0
    holder: UUID | None = None
    skips: int = 0


@dataclass(frozen=True, slots=True)
class ThreadClock:
    """Times since the opening: now, and of the first message of a member; `silent_ms`: time since the last one.

    `is_overtime`: the time limit has passed.
    """

    elapsed_ms: int = 0
    started_ms: int | None = None
    silent_ms: int = 0
    is_overtime: bool = False


@dataclass(frozen=True, slots=True)
class WakeUps:
    """How often all agents were asked again since the last message; `is_waking`: one more wake-up is set."""

    count: int = 0
    is_waking: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Thread:
    """A conversation for turn-taking: all that decides who is asked to speak next.

    `trigger_key`: what agents are asked about now. `message_count` includes system messages; `agent_run` counts agents'
    messages since a person last spoke. `checked`: the number of members' messages when an agent was last asked for its
    readiness. `topic` counts from 0. `is_thinking`: a reply that may still be published is in the making. `seed_text`
    is the same for the same seed and cohort.
    """

    pace: Literal["live", "fast"]
    trigger_key: str
    message_count: int
    agent_run: int
    speakers: tuple[Speaker, ...]
    ended: bool = False
    topic: int = 0
    checked: int = 0
    is_thinking: bool = False
    seed_text: str = ""
    last: LastWords = LastWords()
    turns: Turns = Turns()
    clock: ThreadClock = ThreadClock()
    wake_ups: WakeUps = WakeUps()

    @property
    def said(self) -> int:
        """The number of members' messages."""
        return sum(speaker.spoken for speaker in self.speakers)

    def speaker(self, member_id: UUID | None) -> Speaker | None:
        """The member in this thread; None when they take no part in it."""
        return next((speaker for speaker in self.speakers if speaker.member.id == member_id), None)


@dataclass(frozen=True, slots=True)
class Message:
    """One line of a transcript. `elapsed_ms` counts from the opening of the stage; `author_id` is None for the lab.

    `answered`: the earlier message that this one answers, without its own quote.
    """

    seq: int
    author_id: UUID | None
    author_name: str
    text: str
    elapsed_ms: int
    topic: str | None = None
    answered: "Message | None" = None


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """What rules may read of one stage in one cohort in any view.

    `state`: what the kind made of all answers (`Parts.state`); empty without shared asks. `reads`: the earlier stages
    that the stage reads (`Parts.reads`), by id, as far as the reader may know them.
    """

    members: Sequence[Member] = ()
    draws: Mapping[str, Json] = field(default_factory=dict)
    state: Mapping[str, Json] = field(default_factory=dict)
    variables: Mapping[str, Json] = field(default_factory=dict)
    reads: "Mapping[str, StageRead]" = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnView(View):
    """One member's view: for pages, prompts, questions to `me`, and the check of answers of `me`.

    `members` are those whom `me` meets on the stage: members who have come to it and, while it goes on for `me`, those
    who may still come; in private the mediators and one participant. Where `me` acts (goes on, gives an answer, takes a
    step) they are `me` alone, since no other member was read. Player, persona and script of other members are left out.
    `own`: the answers of `me` by key; `shown`: others' pages that `me` may read by the audience of the stage.
    `earlier`: own pages of earlier stages, by stage, for show-if rules. A prompt has no thread: it shows `messages`,
    not turn-taking.
    """

    me: Member
    own: Mapping[str, Json] = field(default_factory=dict)
    shown: Mapping[UUID, Json] = field(default_factory=dict)
    earlier: Mapping[str, Json] = field(default_factory=dict)
    thread: Thread | None = None
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabView(View):
    """The lab's view: all members of the cohort and all their answers here, by member and key.

    `result`: the result of the stage when all were through (`Parts.result`); empty before, and where there is none.
    """

    answers: Mapping[UUID, Mapping[str, Json]] = field(default_factory=dict)
    result: Mapping[str, Json] = field(default_factory=dict)

    def answer(self, member_id: UUID, key: str) -> Json | None:
        """The member's stored answer under this key; None also where there is none."""
        given = self.answers.get(member_id)
        return None if given is None else given.get(key)


@dataclass(frozen=True, slots=True)
class Ask:
    """What the lab wants from one member: an answer under `key`, or a message in a thread (key PAGE).

    Asking again for the same key changes nothing. `purpose` is a word of the kind's own, or TALK, MEDIATE, SPEAK.
    """

    member_id: UUID
    key: str
    purpose: str
