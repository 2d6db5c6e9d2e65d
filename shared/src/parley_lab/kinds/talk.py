"""The rules of a conversation, and its turns: who is asked to speak next, what an agent says, what is written down."""

from dataclasses import dataclass
from uuid import UUID

from parley_lab.kinds.view import TALK


@dataclass(frozen=True, slots=True)
class NextTurn:
    """Whose turn it is now; `order` and `cycle` are stored for later turns. `is_skip`: the last turn was passed."""

    order: tuple[UUID, ...]
    cycle: int
    holder: UUID
    is_skip: bool = False


@dataclass(frozen=True, slots=True)
class Wave:
    """Who is asked to speak next: some members at once, none for now, or none ever again (`over` says why).

    `purpose`: to talk if they like (TALK) or to speak now (SPEAK). `others` are asked at the same time, only for their
    readiness to end. `turn` opens the next turn. `notice` is a system message, published once; those of
    our kinds are a `LabLine`. `wake_after_seconds`:
    ask all again after so much silence; `retry_after_seconds`: the same when no model could be reached, in real time in
    any pace. `rests`: why no member is asked although some could be.
    """

    speakers: tuple[UUID, ...] = ()
    purpose: str = TALK
    over: str | None = None
    others: tuple[UUID, ...] = ()
    turn: NextTurn | None = None
    notice: str | None = None
    wake_after_seconds: float | None = None
    retry_after_seconds: float | None = None
    rests: str | None = None


@dataclass(frozen=True, slots=True)
class Lateness:
    """How a conversation goes on while agents think: replies are published although others have spoken since.

    At most `max_behind` messages of members may come after the message that a reply answers. After a message about
    which agents were asked, further messages of people within `quiet_seconds` are asked about together at the end of
    that time.
    """

    max_behind: int
    quiet_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class TalkRules:
    """The settings of a conversation."""

    turn_taking: str
    """The rule of turn-taking."""
    is_private: bool = False
    """Every participant has a separate thread with the mediators."""
    time_limit_seconds: float | None = None
    """How long the thread may last from its opening."""
    minimum_seconds: float | None = None
    """How long members stay in it at least, from the first message of one of them."""
    topics: tuple[tuple[str, str], ...] = ()
    """Id and name of each topic, in order."""
    replies_and_reactions: bool = False
    """Whether messages may reply to one another, and members may react to them."""
    lateness: Lateness | None = None
    """How late replies are published; None: they are dropped, and every message asks all agents anew."""
    post_limit: tuple[int, float] | None = None
    """How many messages a person may post within how many seconds."""


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a stage in a prompt: running text, or a turn of a conversation when `speaker` is set."""

    text: str
    speaker: UUID | None = None
    elapsed_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Utterance:
    """An agent's reply in a thread: it says `text`, or nothing when it is None."""

    text: str | None
    ready_to_end: bool
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class MinutesLine:
    """Something that all members who are there have heard. `key` is unique among the lines of the stage.

    `author_id` None: the lab read it out. `author_name`: the author's name for the others. `topic`: the id of its
    subject.
    """

    key: str
    text: str
    author_id: UUID | None = None
    author_name: str = ""
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class Minutes:
    """What all members have heard on a stage so far, in order; `are_closed`: no lines will be added."""

    lines: tuple[MinutesLine, ...]
    are_closed: bool
