"""When a provider's key is paused, tried again and trusted, from what came of its calls. Pure.

A *gate* is what calls pass: one for each key at its address, one for each model with that key. A gate through which
nobody has come yet lets a first call go alone, where that is wanted; one that is paused lets one call go in 30 seconds.
Both are the same: a closed gate, and one call that tries it.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

MOST_REFUSALS: Final = 3
"""After so many refused calls in a row the key is paused."""
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
TRY_EVERY: Final = timedelta(seconds=30)
SAME_TIME: Final = timedelta(seconds=1)
"""Calls that go out so close to each other meet the same key: what becomes of one says something of the others."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What is known of a key at its address, or of a model with it; `name` says which.

    is_tried: some call came through since the lab began to ask. refused_at, accepted_at: when the latest call was made
    that was refused, or came through; refused_before_at: when the last refused one before it was made. fault, reason:
    what came back at last, as a status and in words. asked: the path of the member who was asked then. next_try_at:
    when the next call may try a closed gate.
    """

    name: str
    is_tried: bool = True
    refusals: int = 0
    refused_at: datetime | None = None
    refused_before_at: datetime | None = None
    accepted_at: datetime | None = None
    paused_at: datetime | None = None
    fault: str = ""
    reason: str = ""
    asked: str = ""
    next_try_at: datetime | None = None

    @property
    def is_open(self) -> bool:
        return self.is_tried and self.paused_at is None


def gate_names(account: str, model: str, base_url: str | None) -> tuple[str, str]:
    """The gates of a call: that of its key, and that of its model with this key."""
    at = f" at {base_url}" if base_url else ""
    return f"{account}{at}", f"{model if model.startswith(f'{account}/') else f'{account}/{model}'}{at}"


def may_try(gate: Gate, now: datetime) -> bool:
    """Whether a call may go out to see whether the gate opens."""
    return gate.is_open or gate.next_try_at is None or gate.next_try_at <= now


def tried_by_one(gate: Gate, until: datetime) -> Gate:
    """The gate while one call tries it, which is over by `until` at the latest."""
    return gate if gate.is_open else replace(gate, next_try_at=until)


def after_acceptance(gate: Gate, called_at: datetime) -> Gate:
    """The gate after a call that was neither refused nor without a connection.

    A call made before the last refused one says nothing: it may have been accepted before the key was withdrawn.
    """
    told = with_acceptance(gate, called_at)
    if gate.refused_at is not None and called_at < gate.refused_at:
        return told
    return replace(told, is_tried=True, refusals=0, paused_at=None, fault="", reason="", asked="", next_try_at=None)


def after_refusal(
    gate: Gate, called_at: datetime, *, fault: str, reason: str, asked: str, now: datetime, was_a_try: bool
) -> Gate:
    """The gate after a call that was refused for its key, or found nobody at the address.

    The third in a row pauses it, and so does the first call of all. was_a_try: the call went out to try a closed gate.
    """
    *_, before_at, refused_at = sorted([gate.refused_before_at or _NEVER, gate.refused_at or _NEVER, called_at])
    gate = replace(gate, refused_at=refused_at, refused_before_at=before_at if before_at > _NEVER else None)
    if is_known_to_work(gate, called_at):
        return gate
    refusals = gate.refusals + 1
    told = replace(gate, refusals=refusals, fault=fault, reason=reason, asked=asked)
    if gate.is_open and refusals < MOST_REFUSALS:
        return told
    next_try_at = called_at + TRY_EVERY if was_a_try or gate.is_open else gate.next_try_at
    return replace(told, paused_at=gate.paused_at or now, next_try_at=next_try_at)


def with_acceptance(gate: Gate, called_at: datetime | None) -> Gate:
    """The gate with what is known of the latest call that came through; None: of none."""
    return gate if called_at is None else replace(gate, accepted_at=max(called_at, gate.accepted_at or called_at))


def is_known_to_work(gate: Gate, called_at: datetime) -> bool:
    """Whether the key has been accepted since a call was made: if that was refused, it was for reasons of its own."""
    return gate.is_open and gate.accepted_at is not None and gate.accepted_at > called_at


def was_refused_for_itself(gate: Gate, called_at: datetime) -> bool:
    """Whether a refused call, some seconds later, failed for reasons of its own.

    It has stayed alone, and the key was accepted for calls that went out at about the same time, or since.
    """
    is_latest = gate.refused_at is None or gate.refused_at <= called_at
    is_alone = gate.refused_before_at is None or gate.refused_before_at < called_at - SAME_TIME
    is_accepted = gate.accepted_at is not None and gate.accepted_at > called_at - SAME_TIME
    return gate.is_open and gate.refusals <= 1 and is_latest and is_alone and is_accepted


def paused_in_words(gate: Gate) -> str:
    """Which key is paused, since when and why, for an experimenter."""
    since = f"{gate.paused_at:%H:%M:%S} UTC" if gate.paused_at else "now"
    if not gate.is_tried:
        return f"The first call with the key of {gate.name} was refused at {since}: {gate.reason}"
    return (
        f"The key of {gate.name} is paused since {since}: {gate.reason} "
        "Answers that are asked with it wait; one call tries it again every 30 seconds."
    )
