"""When a provider's key is paused, tried again and trusted, depending on the outcomes of its calls. Pure.

Calls pass *gates*: one for each key at its address, one for each model with that key. A new gate lets a first call go
alone, where that is wanted; a paused one lets one call go every 30 seconds. Both are a closed gate with one call that
tries it.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from typing import Final

MOST_REFUSALS: Final = 3
"""After so many refused calls in a row the key is paused."""
UNREACHABLE: Final = "unreachable"
"""A fault of the connection, which says nothing about the key."""
BAD_REQUEST: Final = "bad_request"
"""A fault of the call, which says nothing about the key."""
WAITS: Final = frozenset({"rate_limited", "unavailable"})
"""Faults for which a provider may ask for a wait."""
PROVES_NOTHING: Final = WAITS | {"timeout"}
"""Outcomes that show not whether the key is accepted."""
LONG_WAIT: Final = timedelta(minutes=1)
"""A provider that asks for a longer wait pauses the key until then."""
_NEVER: Final = datetime.min.replace(tzinfo=UTC)
TRY_EVERY: Final = timedelta(seconds=30)
SAME_TIME: Final = timedelta(seconds=1)
"""Calls this close to each other use the key in the same condition: the outcome of one is evidence for the others."""


@dataclass(frozen=True, slots=True)
class Gate:
    """What is known of a key at its address, or of a model with it; `name` says which.

    is_tried: a call came through since the lab started. refused_at, accepted_at: the time of the latest call that was
    refused, or came through; refused_before_at: that of the refused call before. fault, reason: the last refusal, as a
    status and in words. asked: the path of the member of that call. next_try_at: when the next call may try a closed
    gate.
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

    @property
    def is_new(self) -> bool:
        """Whether no call has come through yet, and none was refused."""
        return not self.is_tried and self.paused_at is None

    @property
    def waits(self) -> bool:
        """Whether its provider has asked for a wait, which ends by itself."""
        return self.paused_at is not None and self.fault in WAITS


def gate_names(account: str, model: str, base_url: str | None) -> tuple[str, str]:
    """The gates of a call: that of its key, and that of its model with this key."""
    at = f" at {base_url}" if base_url else ""
    return f"{account}{at}", f"{model if model.startswith(f'{account}/') else f'{account}/{model}'}{at}"


def may_try(gate: Gate, now: datetime) -> bool:
    """Whether a call may try to open the gate now."""
    return gate.is_open or gate.next_try_at is None or gate.next_try_at <= now


def tried_by_one(gate: Gate, until: datetime) -> Gate:
    """The gate while one call tries it, which is over by `until` at the latest."""
    return gate if gate.is_open else replace(gate, next_try_at=until)


def after_acceptance(gate: Gate, called_at: datetime) -> Gate:
    """The gate after a call that was neither refused nor without a connection.

    A call made before the last refused one is no evidence: the key may have been withdrawn in between.
    """
    told = with_acceptance(gate, called_at)
    if gate.refused_at is not None and (called_at < gate.refused_at or (gate.waits and called_at == gate.refused_at)):
        return told
    return replace(told, is_tried=True, refusals=0, paused_at=None, fault="", reason="", asked="", next_try_at=None)


def after_refusal(
    gate: Gate, called_at: datetime, *, fault: str, reason: str, asked: str, now: datetime, was_a_try: bool
) -> Gate:
    """The gate after a call that was refused for its key, or could not connect.

    The third refusal in a row pauses it, and so does that of the very first call. was_a_try: the call tried a closed
    gate.
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


def after_long_wait(gate: Gate, *, until: datetime, fault: str, reason: str, asked: str, now: datetime) -> Gate:
    """The gate after the provider asked that no call be made until then; the key itself is accepted.

    A call made before is no evidence that calls are taken again.
    """
    paused = replace(gate, is_tried=True, refusals=0, refused_at=max(now, gate.refused_at or now))
    return replace(
        paused,
        paused_at=gate.paused_at or now,
        fault=fault,
        reason=reason,
        asked=asked,
        next_try_at=max(until, gate.next_try_at) if gate.waits and gate.next_try_at else until,
    )


def with_acceptance(gate: Gate, called_at: datetime | None) -> Gate:
    """The gate with the time of the latest call that came through, if any."""
    return gate if called_at is None else replace(gate, accepted_at=max(called_at, gate.accepted_at or called_at))


def is_known_to_work(gate: Gate, called_at: datetime) -> bool:
    """Whether the key was accepted after this call was made: a refusal of the call then has its own reasons."""
    return gate.is_open and gate.accepted_at is not None and gate.accepted_at > called_at


def was_refused_for_itself(gate: Gate, called_at: datetime) -> bool:
    """Whether a refused call, some seconds later, turns out to have failed for reasons of its own.

    It was the only refusal, and the key was accepted for calls at about the same time, or since.
    """
    is_latest = gate.refused_at is None or gate.refused_at <= called_at
    is_alone = gate.refused_before_at is None or gate.refused_before_at < called_at - SAME_TIME
    is_accepted = gate.accepted_at is not None and gate.accepted_at > called_at - SAME_TIME
    return gate.is_open and gate.refusals <= 1 and is_latest and is_alone and is_accepted


def paused_in_words(gate: Gate) -> str:
    """The paused key or unreachable address, since when and why, for an experimenter."""
    since = f"{gate.paused_at:%H:%M:%S} UTC" if gate.paused_at else "now"
    reason = f"{gate.reason.rstrip('. ')}."
    if not gate.is_tried:
        return f"{first_in_words(gate)} at {since}: {reason}"
    if gate.waits:
        return f"{waiting_in_words(gate)}: {reason} Answers that need it wait, and no member fails for it."
    state = f"{gate.name} is not reached" if gate.fault == UNREACHABLE else f"The key of {gate.name} is paused"
    return f"{state} since {since}: {reason} Answers that need it wait; one call tries it again every 30 seconds."


def waiting_in_words(gate: Gate) -> str:
    """Until when a provider has asked for a wait, for an experimenter."""
    until, since = gate.next_try_at, gate.paused_at
    if until is None or since is None:
        return f"{gate.name} is waiting"
    day = f" on {until:%d %B}" if until.date() != since.date() else ""
    return f"{gate.name} is waiting until {until:%H:%M} UTC{day}, as its provider asks"


def first_in_words(gate: Gate) -> str:
    """The outcome of the first call, which would have opened the gate."""
    if gate.fault == UNREACHABLE:
        return f"The first call to {gate.name} could not connect"
    if gate.fault == BAD_REQUEST:
        return f"The first call to {gate.name} was not understood"
    return f"The first call with the key of {gate.name} was refused"
