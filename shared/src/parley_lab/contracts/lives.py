"""The life of a member: its states, the commands, and which command leads from which state to which.

The table is data. All code that needs a set of states, in a rule or in SQL, takes it from here.
"""

from collections.abc import Collection, Mapping
from typing import Final, Literal, get_args

from parley_lab.base.errors import Conflict

Outcome = Literal[
    "completed",
    "declined",
    "screened_out",
    "left",
    "removed",
    "failed",
    "attention_failed",
    "transfer_declined",
    "transfer_timed_out",
    "dropped_out",
    "released",
]
"""How a member's part can end; it decides which completion code and which link a person gets."""

State = Literal["expected", "in_progress", "attention_check", "transfer_pending", "paused"] | Outcome

Command = Literal[
    "join",
    "fill",
    "act",
    "finish",
    "leave",
    "remove",
    "fail",
    "decline",
    "screen_out",
    "release",
    "drop_out",
    "replace",
    "pause",
    "resume",
    "check",
    "pass_check",
    "miss_check",
    "offer_transfer",
    "accept_transfer",
    "decline_transfer",
    "miss_transfer",
    "withdraw_transfer",
    "revive",
    "close",
    "end",
]
"""What can be done with a member. `fill`: an agent takes an empty seat. `act`: answer, post, go on.
`withdraw_transfer`: the place that was offered is there no more. `close`: its cohort ends, for mediators. `end`: the
experiment is ended around it."""

OUTCOMES: Final[tuple[Outcome, ...]] = get_args(Outcome)

TAKING_PART: Final[tuple[State, ...]] = ("in_progress", "attention_check", "transfer_pending")
"""Members who take part now: others see them, and wait for them."""
STILL_IN: Final[tuple[State, ...]] = (*TAKING_PART, "paused")
"""Members who have joined and have no end yet. A model's answer for them is kept."""
ON_THE_WAY: Final[tuple[State, ...]] = ("expected", *STILL_IN)
"""Members who may still come to a later stage."""
ARRIVED: Final[tuple[State, ...]] = (*TAKING_PART, "completed")
"""Members who have arrived at all stages up to their own."""
COUNTED: Final[tuple[State, ...]] = ("expected", *ARRIVED)
"""Members who count when a stage waits, which is not for paused members or those who are out."""
STATES: Final[tuple[State, ...]] = (*ON_THE_WAY, *OUTCOMES)
OUT: Final = frozenset(OUTCOMES) - {"completed"}
"""Members who are out for good: they hear no more of the others."""


def _all(states: Collection[State], to: State) -> Mapping[State, State]:
    return dict.fromkeys(states, to)


def _stays(states: Collection[State]) -> Mapping[State, State]:
    return {state: state for state in states}


TRANSITIONS: Final[Mapping[Command, Mapping[State, State]]] = {
    "join": {"expected": "in_progress"},
    "fill": {"expected": "in_progress"},
    "act": {"in_progress": "in_progress"},
    "finish": {"in_progress": "completed"},
    "leave": {**_all(STILL_IN, "left"), **_stays(OUTCOMES)},
    "remove": {
        **_all(ON_THE_WAY, "removed"),
        "attention_check": "attention_failed",
        **_stays(("removed", "attention_failed")),
    },
    "fail": _all(STILL_IN, "failed"),
    "decline": {"in_progress": "declined"},
    "screen_out": {"in_progress": "screened_out"},
    "release": {"in_progress": "released"},
    "drop_out": _all(TAKING_PART, "dropped_out"),
    "replace": _all(TAKING_PART, "in_progress"),
    "pause": {"in_progress": "paused", "paused": "paused"},
    "resume": {"paused": "in_progress", "in_progress": "in_progress"},
    "check": {"in_progress": "attention_check", "attention_check": "attention_check"},
    "pass_check": {"attention_check": "in_progress", "in_progress": "in_progress"},
    "miss_check": {"attention_check": "attention_failed"},
    "offer_transfer": {"in_progress": "transfer_pending"},
    "accept_transfer": {"transfer_pending": "in_progress"},
    "decline_transfer": {"transfer_pending": "transfer_declined", "transfer_declined": "transfer_declined"},
    "miss_transfer": {"transfer_pending": "transfer_timed_out"},
    "withdraw_transfer": {"transfer_pending": "in_progress"},
    "revive": {"failed": "in_progress", "completed": "in_progress"},
    "close": _all(STILL_IN, "completed"),
    "end": _all(ON_THE_WAY, "removed"),
}
"""Where each command leads, by the state in which it finds a member. A command that is not named for a state is
refused there; one that leads to the same state is done, and changes nothing: it is idempotent.
`completed` members are revived with their cohort, which mediators are."""

REFUSALS: Final[Mapping[State, tuple[str, str]]] = {
    "expected": ("not_joined", "Nobody has taken this seat yet."),
    "in_progress": ("in_progress", "The member takes part, and nothing of the kind is open."),
    "attention_check": ("attention_check", "An attention check is open; it has to be answered first."),
    "transfer_pending": ("transfer_pending", "A move to another group is offered; it has to be answered first."),
    "paused": ("paused", "The member is paused. Nothing was stored; try again when they go on."),
}


def after(state: str, command: Command) -> State:
    """The state to which the command leads from this one.

    Raises:
        Conflict: the command is refused in this state; `reason` is the state that is in the way, or `not_in_progress`.
    """
    for known, to in TRANSITIONS[command].items():
        if known == state:
            return to
    for known, (reason, message) in REFUSALS.items():
        if known == state:
            raise Conflict(message, reason=reason)
    raise Conflict(f"This member is not taking part any more: {state.replace('_', ' ')}.", reason="not_in_progress")


def outcome(state: str, command: Command) -> Outcome:
    """The end to which the command leads from this state.

    Raises:
        Conflict: as `after`.
        ValueError: the command does not end anybody's part.
    """
    found = after(state, command)
    for one in OUTCOMES:
        if one == found:
            return one
    raise ValueError(f"{command} is no way to end")


def require_acting(state: str) -> None:
    """Refuse an act of a member who is in the experiment and may not act now; members who are out are not checked.

    Raises:
        Conflict: as `after`.
    """
    if state in STILL_IN:
        after(state, "act")


def sources(command: Command) -> list[str]:
    """The states in which the command changes something."""
    return [state for state, to in TRANSITIONS[command].items() if state != to]


def leading_to(outcome: Outcome) -> list[str]:
    """The states from which some command leads to this end."""
    return sorted({state for table in TRANSITIONS.values() for state, to in table.items() if to == outcome != state})


def in_sql(states: Collection[str]) -> str:
    """The states as SQL writes a list, for `status IN ...`. They are constants: an index on them can be used."""
    return "({})".format(", ".join(f"'{state}'" for state in sorted(states)))
