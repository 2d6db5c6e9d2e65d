"""Who of those who wait at a stage become a group: from who is there to who is with whom. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal
from uuid import UUID


@dataclass(frozen=True, slots=True)
class Waiting:
    """A person who has come to the stage where groups are made."""

    id: UUID
    is_there: bool
    """Whether they were seen just now; a person who is away is passed over and keeps their place in the row."""
    time_is_up: bool = False
    """Whether they have waited as long as they may."""


@dataclass(frozen=True, slots=True)
class Rule:
    """`people`: how many people a group has. `fewest`: with how many a group begins once the time of one of them is up.
    `then`: what happens at that time."""

    people: int
    fewest: int = 1
    then: Literal["release", "go_on", "fill"] = "release"


@dataclass(frozen=True, slots=True)
class Decision:
    """The next thing to do in a room: to make a group of `group`, in the order of its seats, or to release people."""

    group: tuple[UUID, ...] = ()
    released: tuple[UUID, ...] = ()


def decide(row: Sequence[Waiting], rule: Rule) -> Decision | None:
    """What to do now with those who wait, in the order in which they came; None: nothing.

    A group is made of the first who are there, as soon as they are enough.
    """
    there = [one.id for one in row if one.is_there]
    if len(there) >= rule.people:
        return Decision(group=tuple(there[: rule.people]))
    late = [one for one in row if one.time_is_up]
    if any(one.is_there for one in late) and rule.then != "release" and len(there) >= rule.fewest:
        return Decision(group=tuple(there))
    return Decision(released=tuple(one.id for one in late)) if late else None
