"""The table of lives as a small model, to which a machine of commands holds the lab."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Final

from parley_lab.base.errors import Conflict
from parley_lab.contracts import lives
from parley_lab.contracts.lives import TRANSITIONS, Command

# What members do without a command of staff or of their own page: agents in their steps, the clock.
BY_ITSELF: Final[dict[str, Collection[Command]]] = {
    "person": ("miss_check", "miss_transfer"),
    "agent": (
        "pass_check", "act", "finish", "fail", "accept_transfer", "decline_transfer", "withdraw_transfer", "close",
        "miss_check",
    ),
}  # fmt: skip


@dataclass
class Known:
    """A member as the model knows it."""

    id: str
    kind: str
    player: str
    state: str
    token: str | None = None


def reachable(state: str, commands: Collection[Command]) -> set[str]:
    """The states to which these commands lead, one after another."""
    found, new = {state}, {state}
    while new:
        new = {to for one in new for command in commands for at, to in TRANSITIONS[command].items() if at == one}
        new -= found
        found |= new
    return found


def led(state: str, command: Command) -> tuple[str, str | None]:
    """Where the table leads, and why it does not where it refuses."""
    try:
        return lives.after(state, command), None
    except Conflict as refused:
        return state, refused.reason
