"""What the lab has told its clients: the checker compares it with what is stored."""

from dataclasses import dataclass, field
from time import monotonic
from typing import Any

Json = Any


@dataclass(frozen=True)
class Post:
    """A message that the lab has accepted (201)."""

    message_id: str
    member_id: str
    client_key: str
    text: str
    at: float = field(default_factory=monotonic)


@dataclass(frozen=True)
class Given:
    """An answer that the lab has accepted."""

    member_id: str
    stage_id: str
    key: str
    value: Json
    at: float = field(default_factory=monotonic)


@dataclass
class Heard:
    """What one participant's live streams have told of one stay in a cohort, however often they were opened anew.

    `after` is where they began, `until` the last event that they told, `messages` the numbers of the events that were
    messages, in the order in which they came. `is_open`: the lab has neither refused them nor moved the member away, so
    that everything up to the end of the part is due.
    """

    member_id: str
    cohort_id: str
    after: int
    until: int
    messages: list[int] = field(default_factory=list)
    is_open: bool = True


@dataclass
class Ledger:
    posts: list[Post] = field(default_factory=list)
    answers: list[Given] = field(default_factory=list)
    streams: list[Heard] = field(default_factory=list)
