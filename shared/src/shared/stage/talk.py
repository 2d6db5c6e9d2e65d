"""What the rules of a stage say of talking: who is asked to speak next, what an agent says, what is written down."""

from dataclasses import dataclass
from uuid import UUID

from shared.stage.view import TALK


@dataclass(frozen=True, slots=True)
class NextTurn:
    """Whose turn it is from now on; `order` and `cycle` are kept for the turns after it. `is_skip`: the last passed."""

    order: tuple[UUID, ...]
    cycle: int
    holder: UUID
    is_skip: bool = False


@dataclass(frozen=True, slots=True)
class Wave:
    """Who is asked to speak next: some members at once, nobody for now, or nobody ever again (`over` says why).

    `purpose` is what they are asked for: to talk if they like (TALK), to speak now (SPEAK). `others` are asked at the
    same time, and only whether they are ready to end. `turn` opens the next turn. `notice` is a line of the lab's,
    said once. `wake_after_seconds` asks everybody again when nobody has spoken for so long; `retry_after_seconds` does
    so when no model could be reached, in real time whatever the pace. `rests` says why nobody is asked
    although somebody could be.
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
    """How a conversation goes on while agents think: their replies are said though others have spoken since.

    At most `max_behind` messages of members may have come after the one that a reply answers. What people say within
    `quiet_seconds` of a message that was asked about is asked about together at their end.
    """

    max_behind: int
    quiet_seconds: float


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of a stage as a prompt shows it: running text, or a turn of a conversation when `speaker` is set."""

    text: str
    speaker: UUID | None = None
    elapsed_ms: int | None = None


@dataclass(frozen=True, slots=True)
class Utterance:
    """What an agent does in a thread with one reply: says `text`, or nothing when it is None."""

    text: str | None
    ready_to_end: bool
    explanation: str = ""


@dataclass(frozen=True, slots=True)
class MinutesLine:
    """Something that everybody who is there has heard. `key` tells it from the other lines of the stage.

    `author_id` None: the lab read it out. `author_name` is what the others call the author here. `topic` names what it
    is about.
    """

    key: str
    text: str
    author_id: UUID | None = None
    author_name: str = ""
    topic: str | None = None


@dataclass(frozen=True, slots=True)
class Minutes:
    """What everybody has heard on a stage until now, in its order; `are_closed`: nothing more will be said."""

    lines: tuple[MinutesLine, ...]
    are_closed: bool
