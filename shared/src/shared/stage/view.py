"""What the rules of a stage may read: who is there, what was answered and said, what is asked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal
from uuid import UUID

from shared.contracts.experiment import ChatSettings, Profile

Json = Any
"""A value that survives JSON unchanged."""

TALK = "talk"
"""The purpose of a participant's words in a thread."""

MEDIATE = "mediate"
"""The purpose of a mediator's words in a thread."""

SPEAK = "speak"
"""The purpose of the words of somebody whose turn it is: speaking is not up to them."""

WAKE = "wake"
"""The purpose of words after a silence: to talk if one likes, knowing that nobody has said anything for a while."""

READY = "ready"
"""The purpose of asking somebody who is not to speak now whether they are ready to end."""

PAGE = ""
"""The key of the answer that is a member's page on a stage; other keys are entries such as `round:7/move`."""


@dataclass(frozen=True, slots=True)
class Member:
    """A participant or mediator of the cohort, as the rules of a stage see them.

    `present` says that the member is in progress and sits on this stage now; `awaited` that they may still reach it.
    `script` is what the persona says about how it acts without a model, by stage or by kind of stage. `persona` is the
    id of the persona that plays; the data alone tell it. `player` is `hidden` where somebody else looks.
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

    @property
    def name(self) -> str:
        """What others call this member; the path when the profile has no name."""
        return self.profile.name or self.path


@dataclass(frozen=True, slots=True)
class Speaker:
    """A member in a thread: how often they spoke there, whether they are ready to end, or done with the topic."""

    member: Member
    spoken: int = 0
    ready: bool = False
    done: bool = False


@dataclass(frozen=True, slots=True)
class Thread:
    """A conversation as turn-taking sees it: enough to say who is asked to speak next.

    `trigger_key` is what is to be answered now; `asked` are the members who were asked about it already. `agent_run`
    counts agents' messages since a person last spoke. `message_count` includes system messages; `last_text` is what was
    said last by a member.

    `seed_text` is the same for the same seed and cohort. `failed` are those of whom no usable reply came,
    `unreachable` those of them whose model did not answer. `heard` says how many messages members had said when an
    agent was last asked something, `checked` how many when one was last asked whether it is ready. `topic` counts from
    0. `order`, `cycle` and `holder` are about turns, `skips` of which passed unused since somebody spoke. `wake_ups`
    counts those since somebody spoke; `is_waking`: the last of them is still to come. `is_thinking`: a reply
    is on its way that may still be said. `is_overtime`: the time limit has passed. Times are since the opening;
    `started_ms` is when a member first spoke, `silent_ms` how long ago one last did.

    Where late replies are said, `busy` are agents with a call or a reply on its way who are asked again only after it;
    `at_work` those who are asked about the current trigger. `has_overlooked`: who spoke last had not read all that was
    said before.
    """

    path: str
    pace: Literal["live", "fast"]
    trigger_key: str
    last_author_id: UUID | None
    message_count: int
    agent_run: int
    speakers: tuple[Speaker, ...]
    asked: frozenset[UUID] = frozenset()
    ended: bool = False
    last_text: str = ""
    seed_text: str = ""
    failed: frozenset[UUID] = frozenset()
    unreachable: frozenset[UUID] = frozenset()
    heard: Mapping[UUID, int] = field(default_factory=dict)
    checked: int = 0
    topic: int = 0
    order: tuple[UUID, ...] = ()
    cycle: int = 0
    holder: UUID | None = None
    skips: int = 0
    wake_ups: int = 0
    is_overtime: bool = False
    is_waking: bool = False
    is_thinking: bool = False
    elapsed_ms: int = 0
    started_ms: int | None = None
    silent_ms: int = 0
    busy: frozenset[UUID] = frozenset()
    at_work: frozenset[UUID] = frozenset()
    has_overlooked: bool = False

    @property
    def said(self) -> int:
        """How many messages members have said."""
        return sum(speaker.spoken for speaker in self.speakers)

    def speaker(self, member_id: UUID | None) -> Speaker | None:
        """The member in this thread; None when they have no part in it."""
        return next((speaker for speaker in self.speakers if speaker.member.id == member_id), None)


@dataclass(frozen=True, slots=True)
class Message:
    """One line of a transcript. `elapsed_ms` counts from the opening of the stage; `author_id` is None for the lab.

    `answered` is the earlier message that this one answers, without what that one answers itself.
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
    """What everybody's rules may read of one stage in one cohort, whoever looks.

    `state` is what the kind made of everybody's answers (`StageKind.public_state`); empty without shared asks.
    """

    members: tuple[Member, ...] = ()
    draws: Mapping[str, Json] = field(default_factory=dict)
    state: Mapping[str, Json] = field(default_factory=dict)
    variables: Mapping[str, Json] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnView(View):
    """One member's eyes: pages, prompts, what is asked of `me`, and the check of what `me` answers.

    `members` are those whom `me` meets on the stage: who has come to it and, while it goes on for `me`, who may still
    come; in private the mediators and one participant. Of the others it holds neither who plays them, nor persona and
    script. `own` are the answers of `me` by key; `shown` are the pages of others that `me` may read. `earlier` are the
    own pages of the stages before, by stage: show-if rules look back at them. A prompt has no thread: it shows what was
    said (`messages`), not how turns are taken.
    """

    me: Member
    own: Mapping[str, Json] = field(default_factory=dict)
    shown: Mapping[UUID, Json] = field(default_factory=dict)
    earlier: Mapping[str, Json] = field(default_factory=dict)
    thread: Thread | None = None
    messages: tuple[Message, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class LabView(View):
    """Nobody's eyes: all members of the cohort and all their answers here, by member and key."""

    answers: Mapping[UUID, Mapping[str, Json]] = field(default_factory=dict)

    def answer(self, member_id: UUID, key: str) -> Json | None:
        """What is stored for the member under this key; None also where nothing is."""
        given = self.answers.get(member_id)
        return None if given is None else given.get(key)


@dataclass(frozen=True, slots=True)
class Ask:
    """What the lab wants from one member: an answer stored under `key`, or words in a thread (key PAGE).

    Asking twice for the same key changes nothing. `purpose` is a word of the kind's own, or TALK, MEDIATE, SPEAK.
    """

    member_id: UUID
    key: str
    purpose: str
