"""The long table of rounds: a row for every round of every game, with whatever stands in the place of an action."""

from collections.abc import Iterator
from itertools import accumulate
from typing import Final
from uuid import UUID

from shared.stage import Json, LabView, Member, Table
from shared.stages.matrix_game.game import SEATS, Game, message_key, move_key
from shared.stages.matrix_game.payoffs import violations
from shared.stages.matrix_game.prompts import Turn
from shared.stages.matrix_game.protocol import promise

_OF_A_PLAYER: Final = (
    "player",
    "name",
    "action",
    "points",
    "total",
    "flag",
    "letter",
    "reasoning",
    "message",
    "signal",
    "violations",
)
ROUNDS: Final = Table(
    "rounds", ("status", "is_dilemma", "round", *(f"{name}_{seat}" for name in _OF_A_PLAYER for seat in SEATS))
)


def rows(game: Game, view: LabView) -> Iterator[dict[str, Json]]:
    """The complete rounds in their order, then the one in which the game failed; nothing of one that is not complete.

    Actions are C and D whatever they are called in front of the players; `letter` is what the player chose. A round
    that does not count has no actions and no points.
    """
    common = {
        "status": game.status,
        "is_dilemma": not any(violations(game.stage.payoffs)),
        **{f"player_{seat}": _player(game, view, seat) for seat in SEATS},
        **{f"name_{seat}": _name(game, view, seat) for seat in SEATS},
    }
    turns = game.turns(0)
    totals = [list(accumulate((turn.points[side] for turn in turns), initial=0)) for side in (0, 1)]
    last = len(turns)
    shown = [*turns, Turn(last + 1, None)] if game.status == "failed" else turns
    for turn in shown:
        line: dict[str, Json] = {**common, "round": turn.number}
        for side, seat in enumerate(SEATS):
            line |= _of_side(game, view, turn, side)
            line[f"total_{seat}"] = round(totals[side][min(turn.number, last)], 6)
        yield line


def _of_side(game: Game, view: LabView, turn: Turn, side: int) -> dict[str, Json]:
    seat = SEATS[side]
    move = view.answer(UUID(game.draws[seat]), move_key(turn.number)) or {}
    return {
        f"action_{seat}": None if turn.actions is None else turn.actions[side],
        f"points_{seat}": None if turn.actions is None else turn.points[side],
        f"flag_{seat}": move.get("flag"),
        f"letter_{seat}": move.get("action"),
        f"reasoning_{seat}": move.get("reasoning") or move.get("last_reply"),
        **{f"{name}_{seat}": value for name, value in _message(game, view, turn.number, seat).items()},
    }


def _message(game: Game, view: LabView, number: int, seat: str) -> dict[str, Json]:
    """What the player said, what it promised with what was delivered, and whether it broke the protocol."""
    said = view.answer(UUID(game.draws[seat]), message_key(number))
    if said is None:
        return {}
    return {
        "message": said["message"],
        "signal": promise(said["delivered"], game.labels),
        "violations": int("violation" in said),
    }


def _player(game: Game, view: LabView, seat: str) -> str:
    """The persona that plays, else `person`."""
    member = _seated(game, view, seat)
    return "" if member is None else member.persona or member.player


def _name(game: Game, view: LabView, seat: str) -> str:
    """What the player is called by the others."""
    member = _seated(game, view, seat)
    return "" if member is None else member.name


def _seated(game: Game, view: LabView, seat: str) -> Member | None:
    return next((one for one in view.members if str(one.id) == game.draws.get(seat)), None)
