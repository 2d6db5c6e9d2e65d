"""One move as it is stored: what the player did, or what stands in its place and why. Pure."""

from dataclasses import dataclass

from shared.stages.matrix_game.config import OnInvalid
from shared.stages.matrix_game.payoffs import Action

FAILED = "failed"
EXCLUDED = "excluded"


@dataclass(frozen=True, slots=True)
class Move:
    """`flag` is empty for an action that the player gave; else it says what was done about one that could not be read.

    Without an action the round does not count (`excluded`), or the game is over without a result (`failed`).
    """

    action: Action | None
    flag: str = ""


def move_for_unreadable(on_invalid: OnInvalid, own: str, luck: float) -> Move:
    """What stands in the place of an action that could not be read, after all attempts; never one without a flag.

    `own` are the player's actions so far, `luck` its random number of this round. A player who has done nothing yet
    repeats nothing: its first action is drawn.
    """
    drawn: Action = "C" if luck < 0.5 else "D"
    match on_invalid:
        case "fail_game":
            return Move(None, FAILED)
        case "exclude_round":
            return Move(None, EXCLUDED)
        case "fallback:C":
            return Move("C", on_invalid)
        case "fallback:D":
            return Move("D", on_invalid)
        case "fallback:repeat":
            last: Action = "C" if own.endswith("C") else "D"
            return Move(last if own else drawn, on_invalid)
        case "fallback:random":
            return Move(drawn, on_invalid)
